// SPDX-License-Identifier: Apache-2.0
// A plan and what it leaves out as text, a line each.
#pragma once

#include <fmt/format.h>

#include <string>

#include "optimize/optimize.h"

namespace plumber {

inline std::string value_text(const EditValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "-";
}

inline std::string story(const OptimizeResult& result) {
  std::string text;
  for (const Edit& edit : result.plan.edits) {
    text += fmt::format("{} {} {} {} {} | {}\n", edit.id, edit_word(edit.kind),
                        edit.node.empty() ? "-" : edit.node, edit.to.empty() ? "-" : edit.to,
                        value_text(edit.value), edit.python);
  }
  return text;
}

inline std::string reasons(const OptimizeResult& result) {
  std::string text;
  for (const Rejected& rejected : result.rejected) {
    text += fmt::format("{} {}: {}\n", rejected.edit, rejected.node, rejected.reason);
  }
  return text;
}

}  // namespace plumber
