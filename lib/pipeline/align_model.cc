// SPDX-License-Identifier: Apache-2.0
// A ModelProto describes iterators of the program that TensorFlow made of the user's; the GraphDef
// is the user's own. The walk keeps pairs (iterator, node). At each pair it takes the first that
// fits:
//
//   the names agree            count it here, go on with the inputs of both
//   MapAndBatch                over Batch <- Map: elements go to the batch, time and calls to the
//   map ShuffleAndRepeat           over Repeat <- Shuffle: elements to the repeat, the rest to the
//   shuffle MemoryCache <- its Impl    over Cache a node TensorFlow dropped  (skip(0), take(-1),
//   repeat(1), identity map, wrappers): go below the node an injected prefetch       go below the
//   iterator
//
// Where a node has several inputs or data sets inside functions, iterators are dealt by position
// and name: an interleave's first iterator is its list, the others are its functions' data sets.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "pipeline/align.h"
#include "pipeline/iterator_names.h"

namespace plumber {
namespace {

using Iterator = std::int32_t;

bool is_batch(const Node& node) { return node.kind == Kind::kBatch; }
bool is_map(const Node& node) { return node.kind == Kind::kMap; }

enum class Fit { kNone, kSame, kMapAndBatch, kShuffleAndRepeat, kCache };

class Aligner {
 public:
  Aligner(const IteratorTree& tree, Pipeline& pipeline, PerNode<Counters>& counters)
      : tree_(tree),
        pipeline_(pipeline),
        counters_(counters),
        seen_(tree.iterators.size(), false),
        consumer_(tree.iterators.size(), -1),
        newest_(pipeline.size(), -1) {}

  void run() {
    if (tree_.root < 0) return;
    for (std::size_t i = 0; i < tree_.iterators.size(); ++i)
      for (const Iterator input : tree_.iterators[i].inputs)
        consumer_[static_cast<std::size_t>(input)] = static_cast<Iterator>(i);
    seen_[static_cast<std::size_t>(tree_.root)] = true;
    for (const Iterator input : at(tree_.root).inputs) push(input, pipeline_.root);
    while (!pairs_.empty()) {
      const auto [iterator, node] = pairs_.back();
      pairs_.pop_back();
      settle(iterator, node);
    }
    list_unaligned();
  }

 private:
  const IteratorNode& at(Iterator i) const { return tree_.iterators[static_cast<std::size_t>(i)]; }

  void push(Iterator iterator, NodeId node) {
    if (seen_[static_cast<std::size_t>(iterator)]) return;
    seen_[static_cast<std::size_t>(iterator)] = true;
    pairs_.emplace_back(iterator, node);
  }

  // The only dataset input, or nullopt.
  std::optional<NodeId> only_input(NodeId id) const {
    const auto& inputs = pipeline_[id].inputs;
    return inputs.size() == 1 ? std::optional(inputs.front()) : std::nullopt;
  }

  Fit fit(Iterator iterator, NodeId id) const {
    const std::string_view name = without_index(at(iterator).name);
    const Node& node = pipeline_[id];
    const auto below = only_input(id);
    if (node.kind == Kind::kCache && (name == "MemoryCache" || name == "FileCache"))
      return Fit::kCache;
    if (same_name(node, name)) return Fit::kSame;
    if (name == "MapAndBatch" && is_batch(node) && below && is_map(pipeline_[*below]))
      return Fit::kMapAndBatch;
    if (name.starts_with("ShuffleAndRepeat") && node.kind == Kind::kRepeat && below &&
        pipeline_[*below].kind == Kind::kShuffle)
      return Fit::kShuffleAndRepeat;
    return Fit::kNone;
  }

  // TensorFlow has no iterator for these.
  bool droppable(NodeId id) const {
    const Node& node = pipeline_[id];
    if (!only_input(id)) return false;
    switch (node.kind) {
      case Kind::kWrapper:
        return true;
      case Kind::kSkip:
        return node.count == 0;
      case Kind::kTake:
        return node.count == -1;
      case Kind::kRepeat:
        return node.count == 1;
      case Kind::kMap:
        return node.function && node.function->facts.short_circuit;
      case Kind::kPrefetch:
        return node.buffer_size == 0;
      default:
        return model_name(node).empty();
    }
  }

  // The node at or below `id` that the iterator fits, through what TensorFlow dropped.
  std::optional<NodeId> fitting(Iterator iterator, NodeId id) const {
    while (fit(iterator, id) == Fit::kNone) {
      if (!droppable(id)) return std::nullopt;
      id = *only_input(id);
    }
    return id;
  }

  void settle(Iterator iterator, NodeId wanted) {
    if (const auto id = fitting(iterator, wanted)) return take(iterator, *id);
    const IteratorNode& it = at(iterator);
    // An injected prefetch, or any iterator of TensorFlow's own with one input that does fit.
    const bool below_fits = std::any_of(it.inputs.begin(), it.inputs.end(), [&](Iterator input) {
      return fitting(input, wanted).has_value() || at(input).name == "Prefetch";
    });
    if (it.name == "Prefetch" || below_fits) {
      if (it.name != "Prefetch") unaligned_.push_back(iterator);
      for (const Iterator input : it.inputs) push(input, wanted);
      return;
    }
    // A node that has no iterator although it should: go on below it if that fits.
    if (const auto below = only_input(wanted); below && fitting(iterator, *below))
      return take(iterator, *fitting(iterator, *below));
    unaligned_.push_back(iterator);
  }

  void take(Iterator iterator, NodeId id) {
    switch (fit(iterator, id)) {
      case Fit::kMapAndBatch:
        return take_map_and_batch(iterator, id);
      case Fit::kShuffleAndRepeat:
        take_fused(iterator, id);
        return;
      case Fit::kCache:
        return take_cache(iterator, id);
      case Fit::kSame:
      case Fit::kNone:
        break;
    }
    count(iterator, id);
    deal(without_parts(at(iterator).inputs, id), id);
  }

  // Snapshot <- SnapshotWriter <- input, or Snapshot <- SnapshotReader <- what reader_func makes of
  // the readers. The time of the parts is the snapshot's.
  std::vector<Iterator> without_parts(const std::vector<Iterator>& inputs, NodeId id) {
    NodeId owner = id;
    while (!has_snapshot_parts(pipeline_[owner]) && pipeline_[owner].outer)
      owner = *pipeline_[owner].outer;
    if (!has_snapshot_parts(pipeline_[owner])) return inputs;
    std::vector<Iterator> open = inputs, rest;
    while (!open.empty()) {
      const Iterator input = open.back();
      open.pop_back();
      if (!is_snapshot_part(at(input).name)) {
        rest.push_back(input);
        continue;
      }
      if (seen_[static_cast<std::size_t>(input)]) continue;
      seen_[static_cast<std::size_t>(input)] = true;
      counters_[owner].service_s += at(input).busy_s;
      open.insert(open.end(), at(input).inputs.begin(), at(input).inputs.end());
    }
    std::ranges::sort(rest);
    return rest;
  }

  // An iterator that does the work of two nodes: the lower one gets its time, both its elements.
  // Returns the lower one.
  NodeId take_fused(Iterator iterator, NodeId upper) {
    const NodeId lower = *only_input(upper);
    const IteratorNode& it = at(iterator);
    count(iterator, lower);
    pipeline_[lower].fused_upward = true;
    Counters& c = counters_[upper];
    c.elements += it.elements;
    c.bytes_produced += it.bytes_produced;
    c.iterators += 1;
    pipeline_[upper].aligned = true;
    move_end(it, lower, upper);
    deal(it.inputs, lower);
    return lower;
  }

  void take_map_and_batch(Iterator iterator, NodeId batch) {
    const NodeId map = take_fused(iterator, batch);
    const IteratorNode& it = at(iterator);
    counters_[map].elements += it.elements * (it.ratio > 0 ? it.ratio - 1 : 0);
    counters_[map].bytes_produced -= it.bytes_produced;  // unknown below the batch
  }

  // The cache's own iterator hands on what its Impl (writer in the first epoch, then reader)
  // yields.
  void take_cache(Iterator iterator, NodeId cache) {
    count(iterator, cache);
    for (const Iterator input : at(iterator).inputs) {
      if (!at(input).name.ends_with("Impl")) {
        push(input, cache);
        continue;
      }
      seen_[static_cast<std::size_t>(input)] = true;
      const IteratorNode& impl = at(input);
      counters_[cache].service_s += impl.busy_s;
      counters_[cache].buffered_elements = impl.buffered_elements;
      counters_[cache].buffered_bytes = impl.buffered_bytes;
      deal(impl.inputs, cache);
    }
  }

  void count(Iterator iterator, NodeId id) {
    const IteratorNode& it = at(iterator);
    Counters& c = counters_[id];
    c.elements += it.elements;
    c.service_s += it.busy_s;
    c.bytes_produced += it.bytes_produced;
    c.iterators += 1;
    Node& node = pipeline_[id];
    node.aligned = true;
    count_besides(it, consumer_[static_cast<std::size_t>(iterator)], id);
    if (iterator < newest_[id]) return;
    // State at this moment belongs to the iterator made last.
    newest_[id] = iterator;
    c.buffered_elements = it.buffered_elements;
    c.buffered_bytes = it.buffered_bytes;
    for (const IteratorParameter& p : it.parameters) take_parameter(p, node);
    take_buffer_fill(it, node);
  }

  // What says how much the counts tell: see Counters.
  void count_besides(const IteratorNode& it, Iterator consumer, NodeId id) {
    Counters& c = counters_[id];
    const double held = pipeline_[id].kind == Kind::kShuffle ? 0.5 : 0;
    const double worked = it.elements + held * it.buffered_elements;
    const double start = it.start_elements + held * it.start_buffered_elements;
    c.worked_elements += worked;
    if (it.start_busy_s > 0) {
      c.start_service_s += it.start_busy_s;
      c.start_elements += std::min(start, worked);
    }
    if (it.consumer_elements) {
      c.gone_iterators += 1;
      c.gone_elements += it.elements;
      c.gone_squares += it.elements * it.elements;
    } else {
      c.live_elements += it.elements;
    }
    if (consumer >= 0) c.consumer_elements += it.consumer_elements.value_or(at(consumer).elements);
    if (!it.ended) return;
    c.ended_iterators += 1;
    c.ended_elements += it.elements;
  }

  // The elements of a fused iterator are those of the upper of its nodes.
  void move_end(const IteratorNode& it, NodeId from, NodeId to) {
    if (!it.ended) return;
    counters_[from].ended_iterators -= 1;
    counters_[from].ended_elements -= it.elements;
    counters_[to].ended_iterators += 1;
    counters_[to].ended_elements += it.elements;
  }

  static void take_parameter(const IteratorParameter& p, Node& node) {
    const double runs = p.tunable ? p.state_value : p.value;
    if (p.name == "parallelism") {
      if (runs >= 1) node.traced_parallelism = runs;
      node.autotuned = p.tunable;
    } else if (p.name == "buffer_size") {
      node.traced_buffer_size = runs;
      node.autotuned = p.tunable;
    } else if (p.name == "cycle_length" && !node.cycle_length) {
      node.cycle_length = static_cast<std::int64_t>(std::clamp(p.value, 0.0, 1e15));
    }
  }

  void take_buffer_fill(const IteratorNode& it, Node& node) const {
    if (!pipeline_.recorder) return;
    for (const BufferFill& fill : pipeline_.recorder->buffer_fill)
      if (fill.iterator_id == it.id) node.buffer_fill = fill.mean_elements;
  }

  // Deals the inputs of an iterator to the inputs and inner data sets of its node.
  void deal(const std::vector<Iterator>& iterators, NodeId id) {
    const Node& node = pipeline_[id];
    const bool hands_on =
        node.kind == Kind::kFlatMap || node.kind == Kind::kInterleave || node.kind == Kind::kGroup;
    if (node.inner.empty() && hands_on) {
      deal_list(iterators, node);
    } else if (node.inner.empty() && node.inputs.size() == 1) {
      for (const Iterator iterator : iterators) push(iterator, node.inputs.front());
    } else if (node.inner.empty() && iterators.size() == node.inputs.size()) {
      for (std::size_t i = 0; i < iterators.size(); ++i) push(iterators[i], node.inputs[i]);
    } else {
      deal_by_name(iterators, node);
    }
  }

  // Data sets that come from elsewhere (windows, captured ones) have no node inside the function.
  // The list's own iterator is made right after its consumer's.
  void deal_list(const std::vector<Iterator>& iterators, const Node& node) {
    for (const Iterator iterator : iterators) {
      const Iterator consumer = consumer_[static_cast<std::size_t>(iterator)];
      const bool first = consumer >= 0 && at(iterator).id == at(consumer).id + 1;
      if (first && node.inputs.size() == 1)
        push(iterator, node.inputs.front());
      else
        unaligned_.push_back(iterator);
    }
  }

  void deal_by_name(const std::vector<Iterator>& iterators, const Node& node) {
    std::vector<NodeId> targets = node.inputs;
    targets.insert(targets.end(), node.inner.begin(), node.inner.end());
    std::size_t expected = 0;  // by position: inputs first, then inner ones again and again
    for (const Iterator iterator : iterators) {
      std::optional<NodeId> best;
      std::size_t most = 0;
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const std::size_t score = 2 * likeness(iterator, targets[t]) + (t == expected ? 1 : 0);
        if (score > most) most = score, best = targets[t];
      }
      if (expected < node.inputs.size()) ++expected;
      if (best && most > 1)
        push(iterator, *best);
      else
        unaligned_.push_back(iterator);
    }
  }

  // How many pairs in a row fit, down the first inputs; 0: not at all.
  std::size_t likeness(Iterator iterator, NodeId id) const {
    constexpr std::size_t kEnough = 12;
    std::size_t score = 0;
    while (score < kEnough) {
      auto found = fitting(iterator, id);
      while (!found && at(iterator).name == "Prefetch" && at(iterator).inputs.size() == 1) {
        iterator = at(iterator).inputs.front();
        found = fitting(iterator, id);
      }
      if (!found) break;
      ++score;
      if (at(iterator).inputs.empty() || pipeline_[*found].inputs.empty()) break;
      iterator = at(iterator).inputs.front();
      id = pipeline_[*found].inputs.front();
    }
    return score;
  }

  // Iterators that fit nowhere and what hangs below them, by name.
  void list_unaligned() {
    std::map<std::string, int> names;
    for (const Iterator iterator : unaligned_) ++names[at(iterator).name];
    // Windows and groups hand data sets on that stand in no program.
    const bool windows = std::ranges::any_of(pipeline_.nodes, [](const Node& node) {
      return node.kind == Kind::kWindow || node.kind == Kind::kGroup;
    });
    if (windows) names.erase("Window");
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i] && !(windows && tree_.iterators[i].name == "Window"))
        ++names[tree_.iterators[i].name];
    pipeline_.unaligned.model.clear();
    for (const auto& [name, times] : names)
      pipeline_.unaligned.model.push_back(
          times == 1 ? name : fmt::format("{} ({} iterators)", name, times));
  }

  const IteratorTree& tree_;
  Pipeline& pipeline_;
  PerNode<Counters>& counters_;
  std::vector<bool> seen_;
  std::vector<Iterator> consumer_;  // of each iterator; -1: none
  PerNode<Iterator> newest_;
  std::vector<std::pair<Iterator, NodeId>> pairs_;
  std::vector<Iterator> unaligned_;
};

}  // namespace

void align_model(const Dump& dump, Pipeline& pipeline, PipelineDump& out) {
  Aligner(dump.model, pipeline, out.counters).run();
  if (dump.model.root >= 0)
    out.root_elements = dump.model.iterators[static_cast<std::size_t>(dump.model.root)].elements;
  out.epochs = dump.model.epochs;
  out.epochs_elements = dump.model.epochs_elements;
}

}  // namespace plumber
