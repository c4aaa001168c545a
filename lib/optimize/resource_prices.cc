// SPDX-License-Identifier: Apache-2.0
#include "optimize/resource_prices.h"

#include "base/json_member.h"

namespace plumber {
namespace {

constexpr const char* kHint =
    R"(such as {"usd_per_core_hour": 0.03, "usd_per_gib_hour": 0.004, "usd_per_mb_per_s_hour": 6e-5})";
constexpr double kMost_usd = 1e9, kFastest_bytes_per_s = 1e15;

double price_in(const JsonMember& object, const std::string& key) {
  return object.at(key).number_within(0, kMost_usd);
}

DiskType disk_type_of(const JsonMember& disk) {
  disk.refuse_unknown({"name", "bytes_per_s", "usd_per_hour", "usd_per_gib_month", "gib"});
  DiskType type{disk.at("name").text(),
                disk.at("bytes_per_s").number_within(1, kFastest_bytes_per_s), 0};
  if (disk.has("usd_per_hour")) {
    type.usd_per_hour = price_in(disk, "usd_per_hour");
  } else {
    type.usd_per_hour = price_in(disk, "usd_per_gib_month") *
                        disk.at("gib").number_within(0, kMost_usd) / kHoursOfMonth;
  }
  return type;
}

}  // namespace

ResourcePrices read_resource_prices(const std::string& text, const std::string& name) {
  const JsonDocument document = parse_document(text, name, kHint);
  const JsonMember root = document.root();
  root.refuse_unknown({"schema_version", "usd_per_core_hour", "usd_per_gib_hour",
                       "usd_per_mb_per_s_hour", "disks"});
  ResourcePrices prices;
  prices.usd_per_core_hour = price_in(root, "usd_per_core_hour");
  prices.usd_per_gib_hour = price_in(root, "usd_per_gib_hour");
  if (root.has("usd_per_mb_per_s_hour"))
    prices.usd_per_mb_per_s_hour = price_in(root, "usd_per_mb_per_s_hour");
  if (root.has("disks"))
    for (const JsonMember& disk : root.at("disks").elements())
      prices.disks.push_back(disk_type_of(disk));
  return prices;
}

}  // namespace plumber
