// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <fmt/format.h>

#include "report/value_text.h"

namespace plumber {
namespace {

constexpr std::size_t kNamedNodes = 2;  // of a bound; a thread can run dozens

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

std::string word_of(CpuBasis basis) {
  switch (basis) {
    case CpuBasis::kThreadClock:
      return "thread-clock";
    case CpuBasis::kNodeTime:
      return "node-time";
    case CpuBasis::kScaled:
      return "scaled";
    case CpuBasis::kAtMost:
      return "at-most";
    case CpuBasis::kUnknown:
      return "unknown";
  }
  return "";
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

std::string word_of(Level level) {
  switch (level) {
    case Level::kEmpty:
      return "empty";
    case Level::kBetween:
      return "between";
    case Level::kFull:
      return "full";
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
  std::string label = node.name;
  if (const std::size_t last = label.rfind('>'); last != std::string::npos) {
    label = label.substr(last + 1) + " in " + label.substr(0, label.find('>'));
  }
  if (!node.function || node.function->source_name.empty()) return label;
  return fmt::format("{} ({})", label, node.function->source_name);
}

std::string labels_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size() && i < kNamedNodes; ++i) {
    text += (i == 0 ? "" : ", ") + label_of(pipeline[nodes[i]]);
  }
  if (nodes.size() > kNamedNodes) text += fmt::format(" and {} more", nodes.size() - kNamedNodes);
  return text;
}

std::string binding_of(BoundKind kind) {
  switch (kind) {
    case BoundKind::kThread:
      return "one thread";
    case BoundKind::kParallel:
      return "calls at once";
    case BoundKind::kCpu:
      return "all cores";
    case BoundKind::kDisk:
      return "disk";
    case BoundKind::kPythonLock:
      return "Python's lock";
    case BoundKind::kConsumer:
      return "the consumer";
  }
  return {};
}

Sentence limit_of(const Pipeline& pipeline, const Bound& bound) {
  const std::pair<Unit, Value> rate{Unit::kPerSecond, bound.bound_per_s};
  if (bound.kind == BoundKind::kConsumer || bound.nodes.empty()) {
    return {"{} limits the pipeline to {}", {{Unit::kNone, binding_of(bound.kind)}, rate}};
  }
  const std::pair<Unit, Value> first{Unit::kNone, label_of(pipeline[bound.nodes.front()])};
  const std::size_t others = bound.nodes.size() - 1;
  switch (bound.kind) {
    case BoundKind::kThread:
      if (others == 0) return {"{} on its one thread limits the pipeline to {}", {first, rate}};
      return {"{}, on one thread with {}, limits the pipeline to {}",
              {first,
               {Unit::kNone, fmt::format("{} more node{}", others, others == 1 ? "" : "s")},
               rate}};
    case BoundKind::kParallel:
      return {"{} limits the pipeline to {}", {first, rate}};
    case BoundKind::kCpu:
      return {"the cores are all busy, most of all with {}, and limit the pipeline to {}",
              {first, rate}};
    case BoundKind::kDisk:
      return {"the disk, read by {}, limits the pipeline to {}", {first, rate}};
    case BoundKind::kPythonLock:
      return {
          "{} holds Python's lock, which one thread at a time can have, and limits the pipeline "
          "to {}",
          {first, rate}};
    case BoundKind::kConsumer:
      break;
  }
  return {};
}

std::vector<std::string> names_of(const Pipeline& pipeline, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(pipeline[node].name);
  return names;
}

namespace {

std::string label_of(const Pipeline& pipeline, const std::string& name) {
  const std::string taken_out = unfused_map_name("");
  if (name.starts_with(taken_out))
    return "the map of " + label_of(pipeline, name.substr(taken_out.size()));
  const auto node = find_node(pipeline, name);
  return node ? label_of(pipeline[*node]) : name;
}

bool is_map(const Pipeline& pipeline, const std::string& name) {
  const auto id = find_node(pipeline, name);
  return id && pipeline[*id].kind == Kind::kMap;
}

/// Of a map and batch that was taken apart the map has a name of its own.
std::string moved_label(const Pipeline& pipeline, const std::string& name) {
  const auto node = find_node(pipeline, name);
  const bool batch = node && pipeline[*node].kind == Kind::kMapBatch;
  return (batch ? "the batch of " : "") + label_of(pipeline, name);
}

std::string conversion(const std::string& op, const std::string& label, const std::string& calls,
                       const char* plural) {
  if (op == "RebatchDatasetV2")
    return fmt::format("Make one op of {} and the unbatch below it", label);
  if (op == "MapAndBatchDataset")
    return fmt::format("Make one op of {} and the map below it, {} call{} at once", label, calls,
                       plural);
  if (calls == "-") return fmt::format("Make {} a {}", label, op);
  return fmt::format("Run {} in parallel, {} call{} at once", label, calls, plural);
}

}  // namespace

std::string sentence_of(const Edit& edit, const Pipeline& pipeline) {
  const std::string label = label_of(pipeline, edit.node);
  const std::string value = readable(value_of(edit.value), Unit::kCount);
  const char* plural = value == "1" ? "" : "s";
  switch (edit.kind) {
    case EditKind::kSetParallelism:
      return fmt::format("Run {} call{} of {} at once", value, plural, label);
    case EditKind::kConvert:
      return conversion(edit.to, label, value, plural);
    case EditKind::kSequential:
      return fmt::format("Run {} sequentially", label);
    case EditKind::kInline:
      return fmt::format("Run the function of {} on its caller's thread", label);
    case EditKind::kParallelInline:
      return fmt::format("Run {} call{} of {} at once, each on one thread", value, plural, label);
    case EditKind::kParallelUnbounded:
      return fmt::format("Run {} call{} of {} at once, each on a thread of its own", value, plural,
                         label);
    case EditKind::kPassThroughFilter:
      if (value == "-") return fmt::format("Compute the predicate of {} inline", label);
      return fmt::format("Compute the predicate of {} in parallel, {} call{} at once", label, value,
                         plural);
    case EditKind::kMoveIntoFunction:
      return fmt::format("Move {} into the function of {}", moved_label(pipeline, edit.node),
                         label_of(pipeline, edit.to));
    case EditKind::kUnfuse:
      return fmt::format("Split {} into a map and a batch", label);
    case EditKind::kInsertPrefetch:
      return fmt::format("Add prefetch({}) after {}", value, label);
    case EditKind::kSetBuffer:
      return fmt::format("Give {} a buffer of {} element{}", label, value, plural);
    case EditKind::kInsertCache:
      return fmt::format("Add {} after {}",
                         edit.to.empty() ? "cache() in memory" : "cache('" + edit.to + "')", label);
    case EditKind::kRehomeCache:
      return fmt::format("Give the cache {} a memory of its own", label);
    case EditKind::kReorder:
      if (edit.to == unfused_map_name(edit.node))
        return fmt::format("Move the batch of {} below its map", label);
      return fmt::format("Move {} below {}", label, label_of(pipeline, edit.to));
    case EditKind::kInsertPartialCache:
      return fmt::format("Cache what the first {} file{} of {} give{} after {}", value, plural,
                         label_of(pipeline, edit.to), value == "1" ? "s" : "", label);
    case EditKind::kInsertChunks:
      return fmt::format("Hand on the elements of {} in chunks of {}, {} at once", label, value,
                         edit.to);
    case EditKind::kLengthenCycle:
      return fmt::format("Let {} read {} data sets in turn", label, value);
    case EditKind::kBalance:
      return fmt::format("Balance the concatenations below {}", label);
    case EditKind::kRemove:
      return fmt::format("Remove {}", label);
    case EditKind::kSetOptions:
      return fmt::format("Set tf.data.Options {} to {}", edit.to,
                         value == "-" ? "its default" : value);
  }
  return {};
}

std::string candidate_of(const Rejected& rejected, const Pipeline& pipeline) {
  const std::string label = label_of(pipeline, rejected.node);
  if (rejected.node.empty()) return rejected.edit;
  const auto kind = edit_kind(rejected.edit);
  if (kind == EditKind::kInsertCache) return "a cache after " + label;
  if (kind == EditKind::kInsertPrefetch) return "a prefetch after " + label;
  if (kind == EditKind::kConvert) return "running " + label + " in parallel";
  if (kind == EditKind::kParallelUnbounded)
    return "running calls of " + label + " on threads of their own";
  if (kind == EditKind::kSetParallelism) return "more calls of " + label + " at once";
  if (kind == EditKind::kInline) return "running the function of " + label + " inline";
  if (kind == EditKind::kReorder)
    return fmt::format("moving {} below a {}", label,
                       is_map(pipeline, rejected.node) ? "shuffle" : "map");
  if (kind == EditKind::kInsertPartialCache) return "a cache of some files after " + label;
  if (kind == EditKind::kInsertChunks) return "chunks of elements at " + label;
  if (kind == EditKind::kRemove) return "removing " + label;
  if (kind == EditKind::kLengthenCycle) return "a longer cycle of " + label;
  if (kind == EditKind::kBalance) return "balancing " + label;
  if (kind == EditKind::kUnfuse) return "splitting " + label + " into a map and a batch";
  if (kind == EditKind::kMoveIntoFunction) return "moving maps into a function at " + label;
  return fmt::format("{} at {}", rejected.edit, label);
}

Value value_of(const EditValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

}  // namespace plumber
