// SPDX-License-Identifier: Apache-2.0
// The words of the results: enum values as JSON has them, nodes and edits as people read them.
#pragma once

#include <string>

#include "optimize/optimize.h"
#include "report/report.h"

namespace plumber {

std::string word_of(Dialect dialect);    // "opstats", "model", "none"
std::string word_of(Verdict verdict);    // "input-bound", ...
std::string word_of(CpuBasis basis);     // "node-time", ...
std::string word_of(BoundKind kind);     // "thread", "parallel", "cpu", ...
std::string word_of(Severity severity);  // "error", ...
std::string word_of(Level level);        // "empty", "between", "full"
std::string word_of(CacheClass cache);   // "exact", "order", "content"
std::string word_of(PlanStatus status);  // "optimal", "no-change", "infeasible"
std::string word_of(ModelKind model);    // "default", "paper"

/// "MapDataset/_7 (_decode)": the name, and the user's function if there is one. A node inside a
/// function goes by its own name and the outermost one: "TFRecordDataset in MapDataset/_7".
std::string label_of(const Node& node);

/// Labels of a bound's nodes, the first two of them; "and 3 more" stands for the rest.
std::string labels_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes);

/// What binds, in words: "one thread", "calls at once", ...
std::string binding_of(BoundKind kind);

/// The bound as a sentence without its end: "MapDataset/_7 (_decode) limits the pipeline to {}".
Sentence limit_of(const Pipeline& pipeline, const Bound& bound);

/// Names of the nodes, as JSON has them.
std::vector<std::string> names_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes);

/// What an edit does: "run 2 calls of ParallelMapDatasetV2/_9 (_parse) at once".
std::string sentence_of(const Edit& edit, const Pipeline& pipeline);

/// A candidate that was not taken: "a cache after MapDataset/_7 (_decode)".
std::string candidate_of(const Rejected& rejected, const Pipeline& pipeline);

/// An edit's value as a cell.
Value value_of(const EditValue& value);

}  // namespace plumber
