// SPDX-License-Identifier: Apache-2.0
// One report in four formats. The same report gives the same bytes.
#pragma once

#include <string>

#include "report/report.h"

namespace plumber {

enum class Format { kText, kJson, kCsv, kDot };

struct TextStyle {
  bool color = false;  // ANSI sequences
  bool all = false;    // every row of long tables
  int width = 110;     // columns
};

std::string render(const Report& report, Format format, const TextStyle& style = {});

/// For people: sections with a title or prose, rounded numbers with units.
std::string render_text(const Report& report, const TextStyle& style);

/// For programs: sections with a key; numbers with 9 significant digits, whole ones exact, never
/// NaN.
std::string render_json(const Report& report);

/// The table of the section `csv_section`, one column a key; quoted as in RFC 4180, lines end in
/// \n.
std::string render_csv(const Report& report);

/// The graph, for Graphviz.
std::string render_dot(const Report& report);

}  // namespace plumber
