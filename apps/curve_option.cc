// SPDX-License-Identifier: Apache-2.0
#include "curve_option.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "option_values.h"

namespace plumber {
namespace {

constexpr const char* kHint = "write cores=1..96, cores=1..96/4, cores=1,2,4 or memory=1G..64G";
constexpr double kMostPoints = 1000;
constexpr double kMostCores = 100'000;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kUsage, "--curve", message, kHint);
}

double value_of_sweep(Swept what, const std::string& text) {
  const double value = what == Swept::kCores ? parse_positive(text, "--curve cores")
                                             : parse_size(text, "--curve", "--curve memory=");
  if (!(value > 0)) refuse("'" + text + "' is not above 0");
  if (what == Swept::kCores && value > kMostCores) refuse("no machine has so many cores");
  return value;
}

std::vector<double> range_of(Swept what, const std::string& first, const std::string& rest) {
  const std::size_t slash = rest.find('/');
  const double low = value_of_sweep(what, first);
  const double high = value_of_sweep(what, rest.substr(0, slash));
  const double step =
      slash == std::string::npos ? 1 : parse_positive(rest.substr(slash + 1), "--curve");
  if (high < low) refuse("the range runs backwards");
  std::vector<double> values;
  if (what == Swept::kMemory) {
    if (slash != std::string::npos) refuse("a range of memory doubles and takes no step");
    for (double value = low; value < high; value *= 2) values.push_back(value);
  } else {
    if ((high - low) / step > kMostPoints) refuse("more than 1000 points");
    for (double value = low; value < high; value += step) values.push_back(value);
  }
  values.push_back(high);
  return values;
}

}  // namespace

Sweep sweep_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (name == "mem") name = "memory";  // as the option is called
  if (equals == std::string::npos || (name != "cores" && name != "memory"))
    refuse("'" + text + "' says neither cores= nor memory=");
  Sweep sweep{name == "cores" ? Swept::kCores : Swept::kMemory, {}};
  const std::string what = text.substr(equals + 1);
  if (const std::size_t dots = what.find(".."); dots != std::string::npos) {
    sweep.values = range_of(sweep.what, what.substr(0, dots), what.substr(dots + 2));
  } else {
    for (const std::string& word : split_list(what))
      sweep.values.push_back(value_of_sweep(sweep.what, word));
  }
  if (sweep.values.empty()) refuse("no values");
  std::sort(sweep.values.begin(), sweep.values.end());
  sweep.values.erase(std::unique(sweep.values.begin(), sweep.values.end()), sweep.values.end());
  return sweep;
}

}  // namespace plumber
