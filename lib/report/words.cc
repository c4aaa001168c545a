// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <fmt/format.h>

#include "report/value_text.h"

namespace plumber {
namespace {

constexpr std::size_t kNamedNodes = 3;  // of a bound; a thread can run dozens

}  // namespace

std::string word_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kOpstats:
      return "opstats";
    case Dialect::kModel:
      return "model";
    case Dialect::kNone:
      return "none";
  }
  return {};
}

std::string word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kInputBound:
      return "input-bound";
    case Verdict::kConsumerBound:
      return "consumer-bound";
    case Verdict::kBalanced:
      return "balanced";
    case Verdict::kUnknown:
      return "unknown";
  }
  return {};
}

std::string word_of(BoundKind kind) {
  switch (kind) {
    case BoundKind::kThread:
      return "thread";
    case BoundKind::kParallel:
      return "parallel";
    case BoundKind::kCpu:
      return "cpu";
    case BoundKind::kDisk:
      return "disk";
    case BoundKind::kPythonLock:
      return "python-lock";
    case BoundKind::kConsumer:
      return "consumer";
  }
  return {};
}

std::string word_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kHint:
      return "hint";
  }
  return {};
}

std::string word_of(CacheClass cache) {
  switch (cache) {
    case CacheClass::kExact:
      return "exact";
    case CacheClass::kOrder:
      return "order";
    case CacheClass::kContent:
      return "content";
  }
  return {};
}

std::string word_of(PlanStatus status) {
  switch (status) {
    case PlanStatus::kOptimal:
      return "optimal";
    case PlanStatus::kNoChange:
      return "no-change";
    case PlanStatus::kInfeasible:
      return "infeasible";
  }
  return {};
}

std::string word_of(ModelKind model) {
  switch (model) {
    case ModelKind::kDefault:
      return "default";
    case ModelKind::kPaper:
      return "paper";
  }
  return {};
}

std::string label_of(const Node& node) {
  if (!node.function || node.function->source_name.empty()) return node.name;
  return fmt::format("{} ({})", node.name, node.function->source_name);
}

std::string labels_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size() && i < kNamedNodes; ++i) {
    text += (i == 0 ? "" : ", ") + label_of(pipeline[nodes[i]]);
  }
  if (nodes.size() > kNamedNodes) text += fmt::format(" and {} more", nodes.size() - kNamedNodes);
  return text;
}

std::string binding_of(const Pipeline& pipeline, const Bound& bound) {
  const std::string labels = labels_of(pipeline, bound.nodes);
  switch (bound.kind) {
    case BoundKind::kThread:
      return "the one thread of " + labels;
    case BoundKind::kParallel:
      return "the calls in flight of " + labels;
    case BoundKind::kCpu:
      return "all cores together, most of them for " + labels;
    case BoundKind::kDisk:
      return "the disk, read by " + labels;
    case BoundKind::kPythonLock:
      return "Python's one lock, held by " + labels;
    case BoundKind::kConsumer:
      return "the consumer's own time between two elements";
  }
  return {};
}

std::vector<std::string> names_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(pipeline[node].name);
  return names;
}

std::string sentence_of(const Edit& edit, const Pipeline& pipeline) {
  const auto node = find_node(pipeline, edit.node);
  const std::string label = node ? label_of(pipeline[*node]) : edit.node;
  const std::string value = readable(value_of(edit.value), Unit::kCount);
  switch (edit.kind) {
    case EditKind::kSetParallelism:
      return fmt::format("Run {} calls of {} at once", value, label);
    case EditKind::kConvert:
      return fmt::format("Make {} a {} with {} calls at once", label, edit.to, value);
    case EditKind::kSequential:
      return fmt::format("Run {} sequentially", label);
    case EditKind::kInline:
      return fmt::format("Run the function of {} on its caller's thread", label);
    case EditKind::kParallelInline:
      return fmt::format("Run {} calls of {} at once, each on one thread", value, label);
    case EditKind::kPassThroughFilter:
      return fmt::format("Compute the predicate of {} inline", label);
    case EditKind::kMoveIntoFunction:
      return fmt::format("Move {} into the function of {}", label, edit.to);
    case EditKind::kUnfuse:
      return fmt::format("Split {} into a map and a batch", label);
    case EditKind::kInsertPrefetch:
      return fmt::format("Add prefetch({}) after {}", value, label);
    case EditKind::kSetBuffer:
      return fmt::format("Give {} a buffer of {} elements", label, value);
    case EditKind::kInsertCache:
      return fmt::format("Add {} after {}",
                         edit.to.empty() ? "cache() in memory" : "cache('" + edit.to + "')", label);
    case EditKind::kRehomeCache:
      return fmt::format("Give the cache {} a memory of its own", label);
    case EditKind::kReorder:
      return fmt::format("Move {} next to {}", label, edit.to);
    case EditKind::kRemove:
      return fmt::format("Remove {}", label);
    case EditKind::kSetOptions:
      return fmt::format("Set tf.data.Options {} to {}", edit.to,
                         value == "-" ? "its default" : value);
  }
  return {};
}

Value value_of(const EditValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

}  // namespace plumber
