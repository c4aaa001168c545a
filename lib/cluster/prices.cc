// SPDX-License-Identifier: Apache-2.0
#include "cluster/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/error.h"

namespace plumber {
namespace {

constexpr double kGib = 1024. * 1024 * 1024;
constexpr double kFirstMinute_s = 60;
const std::vector<std::string> kColumns{"name",        "vcpus",
                                        "memory_gib",  "accelerators",
                                        "accelerator", "usd_per_hour",
                                        "region",      "usd_per_hour_spot",
                                        "as_of",       "usd_per_vcpu_hour",
                                        "gib_step",    "usd_per_gib_hour",
                                        "vcpu_step",   "min_gib_per_vcpu",
                                        "max_vcpus",   "max_gib_per_vcpu"};

std::optional<CustomPrice> custom_price(const TableRow& row) {
  const auto vcpu = optional_positive_in(row, "usd_per_vcpu_hour");
  const auto gib = optional_positive_in(row, "usd_per_gib_hour");
  if (!vcpu && !gib) return std::nullopt;
  CustomPrice price;
  price.usd_per_vcpu_hour = vcpu.value_or(0);
  price.usd_per_gib_hour = gib.value_or(0);
  price.min_gib_per_vcpu = optional_positive_in(row, "min_gib_per_vcpu").value_or(0.5);
  price.max_gib_per_vcpu = optional_positive_in(row, "max_gib_per_vcpu").value_or(8);
  price.gib_step = optional_positive_in(row, "gib_step").value_or(0.25);
  price.vcpu_step = optional_positive_in(row, "vcpu_step").value_or(2);
  price.max_vcpus = optional_positive_in(row, "max_vcpus").value_or(32);
  return price;
}

void check_vcpus(const MachineType& machine, const TableRow& row) {
  if (machine.vcpus <= 0) {
    throw Error(ErrorKind::kInput, row.where("usd_per_vcpu_hour"),
                "a machine priced by its vCPUs needs column 'vcpus'", "give its number of vCPUs");
  }
  const double steps = machine.vcpus / machine.custom->vcpu_step;
  if (steps == std::floor(steps) && machine.vcpus <= machine.custom->max_vcpus) return;
  throw Error(ErrorKind::kInput, row.where("vcpus"),
              fmt::format("{:.6g} vCPUs are no legal shape: multiples of {:.6g} up to {:.6g} are",
                          machine.vcpus, machine.custom->vcpu_step, machine.custom->max_vcpus),
              "other rules go in the columns vcpu_step and max_vcpus");
}

// Dates are compared as they are written, which orders these: 2023, 2023-01, 2023-01-31.
std::string date_in(const TableRow& row) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  const std::string date = text_in(row, "as_of").value_or("");
  const auto fits = [](char c, char form) { return form == '-' ? c == '-' : c >= '0' && c <= '9'; };
  const bool whole = date.empty() || date.size() == 4 || date.size() == 7 || date.size() == 10;
  if (whole && std::equal(date.begin(), date.end(), kForm.begin(), fits)) return date;
  throw Error(ErrorKind::kInput, row.where("as_of"), "column 'as_of': '" + date + "' is no date",
              "write 2023-01 or 2023-01-31");
}

MachineType machine_of(const TableRow& row) {
  MachineType machine;
  const auto name = text_in(row, "name");
  if (!name) {
    throw Error(ErrorKind::kInput, row.where(), "column 'name' is empty", "every row needs it");
  }
  machine.name = *name;
  machine.vcpus = optional_positive_in(row, "vcpus").value_or(0);
  if (const auto gib = optional_positive_in(row, "memory_gib")) machine.memory_bytes = *gib * kGib;
  const auto accelerators = number_in(row, "accelerators");
  if (accelerators && (*accelerators < 0 || *accelerators != std::floor(*accelerators))) {
    throw Error(
        ErrorKind::kInput, row.where("accelerators"),
        fmt::format("column 'accelerators': {} is no whole number from 0 on", *accelerators),
        "workers on a machine; leave the field empty for one without accelerators");
  }
  machine.workers = std::max(accelerators.value_or(1), 1.0);
  machine.accelerator = text_in(row, "accelerator").value_or("");
  machine.usd_per_hour_spot = optional_positive_in(row, "usd_per_hour_spot");
  machine.region = text_in(row, "region").value_or("");
  machine.as_of = date_in(row);
  machine.custom = custom_price(row);
  if (machine.custom) {
    check_vcpus(machine, row);
  } else {
    machine.usd_per_hour = positive_in(row, "usd_per_hour");
  }
  return machine;
}

// The newest price of each type in each region, in the order of the rows.
class NewestPrices {
 public:
  void add(const MachineType& one, const TableRow& row) {
    if (!seen_.emplace(one.name, one.region, one.as_of).second) refuse_second(one, row);
    const auto [known, is_new] = places_[one.name].emplace(one.region, machines_.size());
    if (is_new) {
      machines_.push_back(one);
    } else if (machines_[known->second].as_of < one.as_of) {
      machines_[known->second] = one;
    }
  }

  std::vector<MachineType> take() {
    for (MachineType& one : machines_)
      if (places_.at(one.name).size() > 1) one.with_region = label_of(one);
    return std::move(machines_);
  }

 private:
  // Another type may be called "a in eu", as the type a in the region eu would be: "'a' in eu".
  std::string label_of(const MachineType& one) const {
    std::string name = one.name, label = name + " in " + one.region;
    while (places_.contains(label)) {
      name = "'" + name + "'";
      label = name + " in " + one.region;
    }
    return label;
  }

  [[noreturn]] static void refuse_second(const MachineType& one, const TableRow& row) {
    throw Error(ErrorKind::kInput, row.where("name"),
                "'" + one.name + "' has two prices" +
                    (one.region.empty() ? "" : " in " + one.region) +
                    (one.as_of.empty() ? "" : " as of " + one.as_of),
                "tell them apart by the columns region and as_of, or keep one");
  }

  std::vector<MachineType> machines_;
  std::map<std::string, std::map<std::string, std::size_t>> places_;  // by name and region
  std::set<std::tuple<std::string, std::string, std::string>> seen_;  // and by date
};

}  // namespace

std::vector<MachineType> read_prices(const InputTable& table) {
  require_column(table, "name", {"machine", "machine_type", "instance", "instance_type", "type"});
  refuse_misspelt(table, kColumns);
  NewestPrices prices;
  for (const TableRow& row : table.rows) prices.add(machine_of(row), row);
  return prices.take();
}

MachineType priced_worker(double usd_per_hour) {
  MachineType machine;
  machine.usd_per_hour = usd_per_hour;
  return machine;
}

std::optional<double> custom_memory_gib(const MachineType& machine, double needed_bytes) {
  const CustomPrice& price = *machine.custom;
  const double least = price.min_gib_per_vcpu * machine.vcpus;
  const double most = price.max_gib_per_vcpu * machine.vcpus;
  const double steps = std::ceil(needed_bytes / kGib / price.gib_step - 1e-9);
  const double gib = std::max(steps * price.gib_step, least);
  if (gib > most) return std::nullopt;
  return gib;
}

std::optional<double> usd_per_hour(const MachineType& machine, std::optional<double> needed_bytes,
                                   bool spot) {
  if (!machine.custom) {
    const bool too_small =
        needed_bytes && machine.memory_bytes && *needed_bytes > *machine.memory_bytes;
    if (too_small || (spot && !machine.usd_per_hour_spot)) return std::nullopt;
    return spot ? *machine.usd_per_hour_spot : machine.usd_per_hour;
  }
  if (!needed_bytes || spot) return std::nullopt;
  const auto gib = custom_memory_gib(machine, *needed_bytes);
  if (!gib) return std::nullopt;
  return machine.custom->usd_per_vcpu_hour * machine.vcpus +
         machine.custom->usd_per_gib_hour * *gib;
}

double billed_s(double seconds) { return std::max(std::ceil(seconds - 1e-9), kFirstMinute_s); }

}  // namespace plumber
