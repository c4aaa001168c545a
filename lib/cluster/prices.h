// SPDX-License-Identifier: Apache-2.0
// Machine types and what they cost. A price file is a table, one type a row:
//
//   name, vcpus, memory_gib, accelerators, accelerator, usd_per_hour, usd_per_hour_spot, region,
//   as_of
//
// (GiB: 2^30). A row with usd_per_vcpu_hour and usd_per_gib_hour instead of usd_per_hour is priced
// by what it holds: vcpus stay (multiples of vcpu_step up to max_vcpus), and memory is what a
// worker needs, rounded up to a legal shape (min_gib_per_vcpu, max_gib_per_vcpu, gib_step). Such a
// row needs the job's memory.
//
// Billing is by the second, after a first minute that is paid in full.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/table_file.h"

namespace plumber {

struct CustomPrice {
  double usd_per_vcpu_hour = 0;
  double usd_per_gib_hour = 0;
  double min_gib_per_vcpu = 0.5;
  double max_gib_per_vcpu = 8;
  double gib_step = 0.25;
  double vcpu_step = 2;
  double max_vcpus = 32;
};

struct MachineType {
  std::string name;
  double vcpus = 0;  // 0: unknown
  std::optional<double> memory_bytes;
  double workers = 1;  // that it holds: its accelerators, else 1
  std::string accelerator;
  double usd_per_hour = 0;
  std::optional<double> usd_per_hour_spot;
  std::string region;
  std::string as_of;
  std::optional<CustomPrice> custom;
  std::string with_region;  // where its name has prices in several; no other type's name

  /// The name, with the region where that tells it from others.
  std::string label() const { return with_region.empty() ? name : with_region; }
};

/// Of a type's prices in one region the newest by as_of (2023-01). Error(kInput) for two of one
/// date, and for what is no date.
std::vector<MachineType> read_prices(const InputTable& table);

/// One type without any other property: what --price says.
MachineType priced_worker(double usd_per_hour);

/// The least legal memory of a custom type that holds `needed_bytes`; nullopt when none does.
std::optional<double> custom_memory_gib(const MachineType& machine, double needed_bytes);

/// Dollars an hour of one machine that must hold `needed_bytes`; nullopt when it cannot.
std::optional<double> usd_per_hour(const MachineType& machine, std::optional<double> needed_bytes,
                                   bool spot);

/// Seconds that are paid for.
double billed_s(double seconds);

}  // namespace plumber
