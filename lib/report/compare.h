// SPDX-License-Identifier: Apache-2.0
// What two of plumber's JSON documents, analyses or plans, tell differently. Members of lists are
// matched by what they are about (a node's name, an edit and its node), not by their place.
//
// Without a tolerance of the user's a number has changed when it differs by more than 12 %, which
// two runs of one program do not; an observed rate whose two documents tell 95 % intervals, when
// these do not overlap; a demand, when it is also 1 % of the longer period or more. Texts, counts
// that only tell how long the trace was, and numbers that follow from others are left out then.
// With a tolerance every number is compared by it, and nothing else counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace plumber {

/// A document with the name that errors give it.
struct NamedDocument {
  std::string name;
  std::string text;
};

struct Difference {
  std::string where;             // a node, an edit, a bound; empty: of the whole
  std::string what;              // the key, dots nest
  Value before, after;           // null: not there
  std::optional<double> change;  // of numbers: after ÷ before − 1
  std::string function{};        // the user's, of the node that it is about, where it is known
  std::string label{};           // where, with the function behind its node
};

struct Comparison {
  std::string kind;  // "analysis" or "plan"
  std::vector<Difference> differences;
  double within = 0;         // numbers that differ by less than the tolerance
  bool same_program = true;  // by their nodes; of plans by the program's fingerprint
  std::optional<double> rate_before_per_s, rate_after_per_s;  // observed, of plans predicted
};

/// True if the text is a document of plumber's, not a trace.
bool is_document(const std::string& text);

/// Error(kInput) where a document is damaged, or an analysis is compared with a plan.
Comparison compare_documents(const NamedDocument& before, const NamedDocument& after,
                             const std::optional<double>& tolerance);

}  // namespace plumber
