// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include "base/printable.h"

namespace plumber {

std::string format(const Error& error) {
  std::string text = "plumber: error: ";
  if (!error.where.empty()) text += printable(error.where) + ": ";
  text += printable_lines(error.what());
  if (!error.hint.empty()) text += "\nhint: " + printable(error.hint);
  return text;
}

}  // namespace plumber
