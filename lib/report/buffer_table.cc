// SPDX-License-Identifier: Apache-2.0
#include "report/buffer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "report/words.h"

namespace plumber {
namespace {

constexpr std::size_t kShownFills = 8;

std::string sentence_of(Level level) {
  switch (level) {
    case Level::kEmpty:
      return "empty: what fills it is the limit (producer-bound)";
    case Level::kBetween:
      return "neither empty nor full: both sides keep up";
    case Level::kFull:
      return "full: what empties it is the limit (consumer-bound)";
  }
  return {};
}

// "0, 2, 8": the first, the last, and evenly between them.
std::string over_time(const std::vector<double>& fills) {
  if (fills.size() < 2) return {};
  const std::size_t shown = std::min(fills.size(), kShownFills);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : ", ") + format_number(fills[i * (fills.size() - 1) / (shown - 1)]);
  return text;
}

}  // namespace

Section buffer_table(const Pipeline& pipeline, const Analysis& analysis) {
  Table table;
  const char* over_time_title = analysis.dumps > 1 ? "dump by dump" : "";
  table.columns = {{"node", "", Unit::kNone},      {"", "node", Unit::kNone, true, "Dataset"},
                   {"capacity", "", Unit::kCount}, {"autotuned", "", Unit::kNone},
                   {"mean", "mean", Unit::kNone},  {"", "of", Unit::kNone},
                   {"least", "", Unit::kCount},    {"most", "", Unit::kCount},
                   {"fills", "", Unit::kNone},     {"", over_time_title, Unit::kNone},
                   {"level", "", Unit::kNone},     {"", "which says", Unit::kNone}};
  for (const BufferLevel& buffer : analysis.buffers) {
    const std::string& name = pipeline[buffer.node].name;
    const std::string of = (buffer.autotuned ? "A " : "") + format_number(buffer.capacity);
    table.rows.push_back(
        {{name, name, buffer.capacity, buffer.autotuned, buffer.mean, of, buffer.least, buffer.most,
          buffer.fills, over_time(buffer.fills), word_of(buffer.level), sentence_of(buffer.level)},
         false});
  }
  return {"buffers", "Buffers between threads, elements held", table};
}

}  // namespace plumber
