// SPDX-License-Identifier: Apache-2.0
#include "rewrite/apply_plan.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "graph.pb.h"
#include "pipeline/fingerprint.h"
#include "pipeline/op_table.h"
#include "pipeline/seed_generators.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"
#include "rewrite/rewriting.h"

namespace plumber {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

void check_fingerprint(const GraphDef& graph, const Plan& plan, const RewriteNames& names) {
  if (plan.graph_fingerprint.empty()) return;
  const std::string own = graph_fingerprint(graph);
  if (own == plan.graph_fingerprint) return;
  throw Error(ErrorKind::kInput, names.plan,
              fmt::format("it was made for another program ({}, this one is {})",
                          plan.graph_fingerprint, own),
              "run 'plumber optimize' on the trace that is to be rewritten");
}

// A file's elements are those of one program, down to its last constant.
void check_cache_files(const GraphDef& graph, const Plan& plan, const RewriteNames& names) {
  for (const Edit& edit : plan.edits) {
    const std::string* hash = std::get_if<std::string>(&edit.value);
    if (edit.kind != EditKind::kInsertCache || hash == nullptr || *hash == program_hash(graph))
      continue;
    throw Error(ErrorKind::kInput, names.plan,
                fmt::format("{} is the file of another program or other data", edit.to),
                "run 'plumber optimize' on the trace that is to be rewritten");
  }
}

void refuse_shared_generators(const GraphDef& graph, const RewriteNames& names) {
  const auto shared = shared_seed_generators(graph);
  if (!shared.empty())
    throw Error(ErrorKind::kInput, names.program, shared.front(),
                "every change of a plan also stands as a line of Python");
}

struct Fault {
  std::string place;
  std::string message;
  std::string hint;
};

std::string place_of(const Edit& edit) {
  std::string place = fmt::format("edit {} ({})", edit.id, edit_word(edit.kind));
  return edit.node.empty() ? place : fmt::format("{}: node '{}'", place, edit.node);
}

void report(const std::vector<Fault>& faults, const RewriteNames& names) {
  if (faults.empty()) return;
  if (faults.size() == 1)
    throw Error(ErrorKind::kInput, names.plan + ": " + faults[0].place, faults[0].message,
                faults[0].hint);
  std::string message = fmt::format("{} edits cannot be made", faults.size());
  for (const Fault& fault : faults) {
    message += fmt::format("\n  {}: {}", fault.place, fault.message);
    if (!fault.hint.empty()) message += fmt::format(" ({})", fault.hint);
  }
  throw Error(ErrorKind::kInput, names.plan, message,
              "nothing was written; mend or drop these edits");
}

// Runs one step of every edit and collects what is refused.
template <class Step>
void for_each_edit(const std::vector<Edit>& edits, std::vector<Fault>& faults, Step step) {
  for (const Edit& edit : edits) {
    try {
      step(edit);
    } catch (const Error& error) {
      if (error.kind != ErrorKind::kInput) throw;
      faults.push_back({place_of(edit), error.what(), error.hint});
    }
  }
}

void apply_edits(Rewriting& program, const std::vector<Edit>& edits, const RewriteNames& names) {
  std::vector<Fault> faults;
  for_each_edit(edits, faults, [&](const Edit& edit) { apply_edit(program, edit); });
  for_each_edit(edits, faults, [&](const Edit& edit) { check_parallel_filter(program, edit); });
  report(faults, names);
}

std::optional<ElementSpec> root_spec(Body& main, const RewriteNames& names) {
  for (const NodeDef* node : main.nodes()) {
    if (node->op() != "_Retval" || node->input_size() == 0) continue;
    const NodeDef* root = main.producer(node->input(0));
    return root ? element_spec(*root) : std::nullopt;
  }
  throw Error(ErrorKind::kInput, names.program, "it has no root: no _Retval node",
              "a program is what DatasetToGraphV2 returns; record the trace again");
}

bool hands_elements_on(Kind kind) {
  return kind == Kind::kPrefetch || kind == Kind::kCache || kind == Kind::kPass ||
         kind == Kind::kWrapper || kind == Kind::kRepeat || kind == Kind::kTake ||
         kind == Kind::kShuffle;
}

// A node that hands elements on, but claims another type for them than it gets.
const NodeDef* contradiction(Body& main) {
  for (const NodeDef* node : main.nodes()) {
    if (!hands_elements_on(op_traits(node->op()).kind) || data_inputs(*node) < 1) continue;
    const NodeDef* below = main.producer(node->input(0));
    const auto own = element_spec(*node);
    const auto given = below ? element_spec(*below) : std::nullopt;
    if (own && given && !same_spec(*own, *given)) return node;
  }
  return nullptr;
}

// Either the program contradicted itself before, or an edit of ours is wrong.
[[noreturn]] void report_changed_types(const GraphDef& graph, const RewriteNames& names) {
  GraphDef original = graph;
  Rewriting untouched(&original);
  const NodeDef* node = contradiction(untouched.graph.main());
  if (!node)
    throw Error(ErrorKind::kInternal, names.plan, "it changes the types of the program's elements");
  throw Error(ErrorKind::kInput, fmt::format("{}: node '{}'", names.program, node->name()),
              "it hands elements on, and claims another type for them than it gets",
              "the program is damaged; record the trace again");
}

}  // namespace

GraphDef apply_plan(const GraphDef& graph, const Plan& plan, const RewriteNames& names) {
  check_fingerprint(graph, plan, names);
  check_cache_files(graph, plan, names);
  refuse_shared_generators(graph, names);
  GraphDef result = graph;
  Rewriting program(&result);
  const std::optional<ElementSpec> before = root_spec(program.graph.main(), names);
  apply_edits(program, plan.edits, names);
  // From here on the plan is done; what follows holds for every program that we write.
  rehome_all_caches(program);
  const std::optional<ElementSpec> after = root_spec(program.graph.main(), names);
  if (before && (!after || !same_spec(*before, *after))) report_changed_types(graph, names);
  program.graph.write_back();
  return result;
}

}  // namespace plumber
