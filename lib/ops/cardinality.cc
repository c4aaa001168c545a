// SPDX-License-Identifier: Apache-2.0
#include "ops/cardinality.h"

#include <algorithm>
#include <cmath>

#include "ops/cardinality_rules.h"
#include "ops/epoch_counts.h"
#include "ops/file_records.h"
#include "ops/visit_ratios.h"
#include "pipeline/iterator_names.h"

namespace plumber {
namespace {

constexpr double kWhole = 0.95;  // of a list, of which the last items may be lost between polls

class Passes {
 public:
  Passes(const Pipeline& pipeline, const PerNode<double>& visits)
      : p_(pipeline),
        visits_(visits),
        elements_(p_.size(), kUnknown),
        ended_(p_.size(), false),
        programs_(program_cardinalities(pipeline)),
        counts_(epoch_counts(pipeline)),
        files_(pipeline) {}

  PerNode<Cardinality> run() {
    for (std::size_t i = p_.size(); i-- > 0;) note_end(static_cast<NodeId>(i));
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto n = static_cast<NodeId>(i);
      if (!p_[n].outer) elements_[n] = main_graph(n);
    }
    for (std::size_t i = p_.size(); i-- > 0;) {  // outer nodes stand after what they hold
      const auto n = static_cast<NodeId>(i);
      if (p_[n].outer) elements_[n] = inside(n, *p_[n].outer);
    }
    for (Cardinality& c : elements_)
      c.elements = std::round(c.elements);  // there is no half of one
    return std::move(elements_);
  }

 private:
  // What feeds a cache that has handed on more than it was given has been read to its end.
  void note_end(NodeId n) {
    for (const NodeId input : p_[n].inputs) {
      const bool replays = p_[n].kind == Kind::kCache && !p_.dumps.empty() &&
                           counters(n)->elements * visits_[input] >
                               counters(input)->elements * visits_[n] * (1 + 1e-6);
      ended_[input] = ended_[input] || ended_[n] || replays;
    }
  }

  // The only data set that a node makes yields what the node yields.
  Cardinality inside(NodeId n, NodeId outer) const {
    const Node& node = p_[outer];
    const bool hands_on = node.kind == Kind::kFlatMap || node.kind == Kind::kInterleave ||
                          node.kind == Kind::kGroup || has_snapshot_parts(node);
    if (hands_on && node.inner.size() == 1 && node.inner.front() == n) return elements_[outer];
    return by_visits(n, outer);
  }

  Cardinality main_graph(NodeId n) const {
    if (counts_[n]) return within(*counts_[n], from_program(n));
    const Cardinality by_program = from_program(n);
    if (by_program.kind != Cardinality::Kind::kUnknown) return by_program;
    const std::int64_t traced = p_[n].traced_cardinality;
    return traced >= 0 ? known(static_cast<double>(traced)) : by_program;
  }

  Cardinality from_program(NodeId n) const {
    if (programs_[n]) return known(*programs_[n]);
    switch (p_[n].kind) {
      case Kind::kFileSource:
        return from_files(n, n);
      case Kind::kMemorySource:
        return memory_source(p_[n]);
      case Kind::kMap:
      case Kind::kPrefetch:
      case Kind::kShuffle:
      case Kind::kCache:
      case Kind::kScan:
      case Kind::kWrapper:
      case Kind::kSink:
        return input(n);
      case Kind::kFlatMap:
      case Kind::kInterleave:
        return from_inner(n);
      case Kind::kZip:
        return shortest(p_[n].inputs);
      case Kind::kConcatenate:
        return sum(p_[n].inputs);
      case Kind::kMixture:
        return mixture(n);
      case Kind::kTakeWhile:
        return kUnknown;  // where it stops, only a whole pass tells
      case Kind::kGroup:
        return group(n);
      default:
        return by_count(n);
    }
  }

  // Ops with a number in the program; without it, and for all others, by measured ratios.
  Cardinality by_count(NodeId n) const {
    const Node& node = p_[n];
    switch (node.kind) {
      case Kind::kPass:
        return node.count && *node.count != -2 ? asserted(*node.count) : input(n);
      case Kind::kRepeat:
      case Kind::kShuffleRepeat:
        return repeated(input(n), node.count);
      case Kind::kTake:
        return taken(input(n), node.count);
      case Kind::kSkip:
        return skipped(input(n), node.count);
      case Kind::kShard:
      case Kind::kBatch:
      case Kind::kMapBatch:
        if (!node.count || *node.count < 1) return by_input(n);
        return rounded(input(n), static_cast<double>(*node.count), node.drop_remainder);
      default:
        return by_input(n);
    }
  }

  Cardinality input(NodeId n) const {
    return p_[n].inputs.empty() ? kUnknown : elements_[p_[n].inputs.front()];
  }

  // n_i = n_of * V_i / V_of, where both were counted.
  Cardinality by_visits(NodeId n, NodeId of) const {
    const Cardinality& base = elements_[of];
    if (!is_known(base)) return base;
    return was_counted(n) && was_counted(of) ? known(base.elements * visits_[n] / visits_[of])
                                             : kUnknown;
  }

  bool was_counted(NodeId n) const {
    return !p_.dumps.empty() && counters(n)->elements > 0 && visits_[n] > 0;
  }

  // A unique's ratio falls all the way, so a part of a pass tells nothing of the whole.
  Cardinality by_input(NodeId n) const {
    if (p_[n].inputs.empty() || p_[n].op.ends_with("UniqueDataset")) return kUnknown;
    return by_visits(n, p_[n].inputs.front());
  }

  // What waits in open groups was read but not counted: little, beside many groups made.
  Cardinality group(NodeId n) const {
    constexpr double kMany = 50;
    const bool many =
        was_counted(n) && counters(n)->elements >= kMany * std::max(1.0, counters(n)->iterators);
    return many ? by_input(n) : kUnknown;
  }

  Cardinality memory_source(const Node& node) const {
    if (node.op.find("Random") != std::string::npos) return kInfinite;
    return node.source_elements ? known(static_cast<double>(*node.source_elements)) : kUnknown;
  }

  Cardinality shortest(const std::vector<NodeId>& inputs) const {
    Cardinality least = inputs.empty() ? kUnknown : kInfinite;
    for (const NodeId input : inputs) {
      const Cardinality& c = elements_[input];
      if (c.kind == Cardinality::Kind::kUnknown) return kUnknown;
      if (is_known(c) && (is_infinite(least) || c.elements < least.elements)) least = c;
    }
    return least;
  }

  Cardinality sum(const std::vector<NodeId>& inputs) const {
    double total = 0;
    bool all_known = true;
    for (const NodeId input : inputs) {
      if (is_infinite(elements_[input])) return kInfinite;
      all_known = all_known && is_known(elements_[input]);
      total += elements_[input].elements;
    }
    return all_known ? known(total) : kUnknown;
  }

  // Ends with the first empty input where told to, else with the last; or with its selector.
  Cardinality mixture(NodeId n) const {
    const Node& node = p_[n];
    if (node.inputs.size() < 2) return kUnknown;
    const std::vector<NodeId> data(node.inputs.begin() + 1, node.inputs.end());
    Cardinality whole = sum(data);
    if (node.stop_on_empty) {
      whole = kInfinite;
      for (const NodeId input : data) {
        const Cardinality alone = by_share(n, input);
        if (alone.kind == Cardinality::Kind::kUnknown) return kUnknown;
        if (is_known(alone) && (is_infinite(whole) || alone.elements < whole.elements))
          whole = alone;
      }
    }
    const Cardinality& selector = elements_[node.inputs.front()];
    return is_known(selector) ? taken(whole, std::llround(selector.elements)) : whole;
  }

  // Elements of the mixture until this input is used up.
  Cardinality by_share(NodeId mixture, NodeId input) const {
    const Cardinality& c = elements_[input];
    if (!is_known(c)) return c;
    return was_counted(mixture) && was_counted(input)
               ? known(c.elements * visits_[mixture] / visits_[input])
               : kUnknown;
  }

  Cardinality from_inner(NodeId n) const {
    const Node& node = p_[n];
    if (node.inputs.empty()) return kUnknown;
    const Cardinality& list = elements_[node.inputs.front()];
    if (!is_known(list)) return list;
    if (list.elements > 0 && holds_endless(node)) return kInfinite;
    if (const Cardinality c = from_files(n, node.inputs.front()); is_known(c)) return c;
    if (const auto per_item = program_per_item(node, programs_))
      return known(list.elements * *per_item);
    if (p_.dialect != Dialect::kModel) return by_visits(n, node.inputs.front());
    const auto per_item = counted_per_item(n);
    return per_item ? known(list.elements * *per_item) : kUnknown;
  }

  bool holds_endless(const Node& node) const {
    return std::ranges::any_of(node.inner, [&](NodeId inner) {
      NodeId at = inner;
      while (p_[at].inputs.size() == 1 && p_[at].kind != Kind::kRepeat &&
             p_[at].kind != Kind::kTake)
        at = p_[at].inputs.front();
      return p_[at].kind == Kind::kRepeat && p_[at].count == -1;
    });
  }

  const Counters* counters(NodeId n) const {
    return p_.dumps.empty() ? nullptr : &p_.dumps.back().counters[n];
  }

  // What polling lost of a node's count is made up for by the root's, which a cache cuts it off
  // from.
  double counted(NodeId n) const {
    const double own = counters(n)->elements;
    return ended_[n] ? own : std::max(own, visits_[n] * p_.dumps.back().root_elements);
  }

  // Elements that one item of the node's list (a file) makes; nullopt if no item is known to have
  // been read to its end.
  std::optional<double> counted_per_item(NodeId n) const {
    const NodeId list = p_[n].inputs.front();
    if (p_.dumps.empty()) return std::nullopt;
    const double opened = counters(list)->elements, items = std::max(1.0, elements_[list].elements);
    double open = 0, made = counted(n);
    if (!ended_[n])
      open = std::clamp(static_cast<double>(p_[n].cycle_length.value_or(1)), 1.0, items);
    // Lists that were last seen half read, in short epochs: each stands beside the elements made
    // until then, and each had files open.
    const double lists = counters(list)->iterators, seen_with = counters(list)->consumer_elements;
    if (in_first_pass(n)) return by_whole_items(n);
    if (opened < kWhole * lists * items) open *= lists, made = seen_with;
    if (opened - open < 1 || !(made > 0)) return std::nullopt;
    return made / (opened - open / 2);
  }

  // One list, and the data sets of the items that are open now.
  bool in_first_pass(NodeId n) const {
    return !ended_[n] && p_[n].inner.size() == 1 &&
           counters(p_[n].inputs.front())->iterators == 1 &&
           counters(p_[n].inner.front())->live_elements > 0;
  }

  // Of all that was made, what the items that are still open did not make.
  std::optional<double> by_whole_items(NodeId n) const {
    const NodeId list = p_[n].inputs.front();
    const Counters& inner = *counters(p_[n].inner.front());
    const double open = inner.iterators - inner.gone_iterators;
    const double closed = counters(list)->elements - open;
    const double made = std::max(counted(n), counters(n)->elements) +
                        counters(n)->buffered_elements - inner.live_elements;
    if (closed < 1 || !(made > 0)) return std::nullopt;
    return std::max(made, inner.gone_elements) / closed;
  }

  // Records of the files that `list` names, as they come out of `n`, by the bytes of the files.
  Cardinality from_files(NodeId n, NodeId list) const {
    const auto reader = files_.reader(n);
    const auto per_file = files_.records_per_file(n, list);
    if (!reader || !per_file) return kUnknown;
    const double files =
        n == list ? static_cast<double>(p_[n].file_names.size()) : elements_[list].elements;
    const double share = n == *reader           ? 1
                         : visits_[*reader] > 0 ? visits_[n] / visits_[*reader]
                                                : 0;
    return share > 0 ? known(files * *per_file * share) : kUnknown;
  }

  const Pipeline& p_;
  const PerNode<double>& visits_;
  PerNode<Cardinality> elements_;
  PerNode<bool> ended_;  // its iterator has come to its end
  PerNode<std::optional<double>> programs_;
  PerNode<std::optional<EpochCount>> counts_;
  FileRecords files_;
};

}  // namespace

PerNode<Cardinality> elements_per_epoch(const Pipeline& pipeline,
                                        const PerNode<double>& visit_ratios) {
  return Passes(pipeline, visit_ratios).run();
}

std::optional<double> materialized_bytes(const Cardinality& elements, double bytes_per_element) {
  const bool bytes_known = bytes_per_element > 0 || elements.elements == 0;
  if (!is_known(elements) || !bytes_known) return std::nullopt;
  return elements.elements * bytes_per_element;
}

}  // namespace plumber
