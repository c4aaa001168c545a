// SPDX-License-Identifier: Apache-2.0
// Small pipelines for tests, one line a node, source first:
//
//   PipelineBuilder b;
//   b.add("files", "TensorSliceDataset").source(4);
//   b.add("read>file", "TFRecordDataset").counts(400, 10);   // inside the function of "read"
//   b.add("read", "InterleaveDataset", {"files"}).holds("read>file").cycle(2).counts(400, 10);
//   b.add("batch", "BatchDatasetV2", {"read"}).count(8).counts(50, 80);
//   const Pipeline p = b.build();                            // the last node is the root
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "pipeline/pipeline.h"

namespace plumber {

class PipelineBuilder {
 public:
  class Added {
   public:
    Added(PipelineBuilder& builder, NodeId id) : b_(builder), id_(id) {}

    Added& source(std::int64_t elements) { return node().source_elements = elements, *this; }
    Added& count(std::int64_t n) { return node().count = n, *this; }
    Added& buffer(std::int64_t n) { return node().buffer_size = n, *this; }
    Added& parallelism(std::int64_t n) { return node().parallelism = n, *this; }
    Added& cycle(std::int64_t n) { return node().cycle_length = n, *this; }
    Added& files(std::vector<std::string> names) {
      node().source_elements = static_cast<std::int64_t>(names.size());
      return node().file_names = std::move(names), *this;
    }
    Added& drop_remainder() { return node().drop_remainder = true, *this; }
    Added& stop_on_empty() { return node().stop_on_empty = true, *this; }
    Added& nondeterministic() { return node().deterministic = false, *this; }
    Added& seed(bool fixed) { return node().fixed_seed = fixed, *this; }
    Added& shuffles_once() { return node().reshuffle_each_iteration = false, *this; }
    Added& function(FunctionFacts facts, std::string name = "f") {
      return node().function = Function{name, name, std::move(facts)}, *this;
    }
    /// Inner roots; they and what feeds them stand inside the node's functions.
    Added& holds(const std::string& inner) {
      node().inner.push_back(b_.id(inner));
      for (NodeId at = b_.id(inner);; at = b_.p_[at].inputs.front()) {
        b_.p_[at].outer = id_;
        if (b_.p_[at].inputs.empty()) return *this;
      }
    }
    Added& counts(double elements, double bytes_per_element = 0, double service_s = 0) {
      Counters& c = b_.counters_[id_];
      c.elements = elements;
      c.bytes_produced = elements * bytes_per_element;
      c.service_s = service_s;
      node().aligned = true;
      return *this;
    }
    /// Of all its iterators; gone before their consumers had made more than `with` elements.
    Added& iterators(double n, double with = 0) {
      b_.counters_[id_].iterators = n;
      return b_.counters_[id_].consumer_elements = with, *this;
    }
    /// Iterators alive at the end of an epoch, and all their elements.
    Added& ends(double iterators, double elements) {
      b_.counters_[id_].ended_iterators = iterators;
      return b_.counters_[id_].ended_elements = elements, *this;
    }
    Added& reads(double disk_bytes) { return b_.counters_[id_].disk_bytes = disk_bytes, *this; }
    Node& node() { return b_.p_[id_]; }

   private:
    PipelineBuilder& b_;
    NodeId id_;
  };

  Added add(const std::string& name, const std::string& op,
            std::initializer_list<const char*> inputs = {}) {
    const OpTraits& traits = op_traits(op);
    Node node;
    node.name = name;
    node.op = op;
    node.kind = traits.kind;
    node.threading = traits.threading;
    for (const char* input : inputs) node.inputs.push_back(id(input));
    const auto added = static_cast<NodeId>(p_.size());
    p_.nodes.push_back(std::move(node));
    return {*this, added};
  }

  /// Epochs of the root that were seen to their end, and all their elements.
  void epochs(double n, double elements) { epochs_ = n, epochs_elements_ = elements; }

  NodeId id(const std::string& name) const { return find_node(p_, name).value(); }

  /// One dump after `time_s` seconds; the root is the node added last.
  Pipeline build(Dialect dialect = Dialect::kModel, double time_s = 1) const {
    Pipeline p = p_;
    p.name = "test";
    p.dialect = dialect;
    p.root = static_cast<NodeId>(p.size() - 1);
    PipelineDump dump;
    dump.time_s = time_s;
    dump.counters = PerNode<Counters>(p.size());
    for (const auto& [node, counters] : counters_) dump.counters[node] = counters;
    dump.root_elements = dump.counters[p.root].elements;
    dump.epochs = epochs_;
    dump.epochs_elements = epochs_elements_;
    p.dumps.push_back(std::move(dump));
    return p;
  }

 private:
  Pipeline p_;
  std::map<NodeId, Counters> counters_;
  double epochs_ = 0, epochs_elements_ = 0;
};

/// V_i as the counters tell: elements of the node / elements of the root.
inline PerNode<double> counted_visits(const Pipeline& p) {
  PerNode<double> visits(p.size(), 0);
  const PipelineDump& dump = p.dumps.back();
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (dump.root_elements > 0) visits[n] = dump.counters[n].elements / dump.root_elements;
  }
  return visits;
}

}  // namespace plumber
