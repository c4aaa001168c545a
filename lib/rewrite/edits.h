// SPDX-License-Identifier: Apache-2.0
// The edits of a plan (design, "Edits"), one function each. An edit checks all that it needs, then
// changes the graph; what cannot be done is thrown as Error(kInput) and leaves a graph that is only
// good for checking further edits. What every edit keeps: the elements and their order, unknown
// attributes, control inputs, captured arguments (which stand between the data set that is read and
// the scalars, so scalars are addressed from the end), the order of nodes (source first), and
// constants that others read (they are copied).
#pragma once

#include "pipeline/plan.h"
#include "rewrite/rewriting.h"

namespace plumber {

/// Dispatches on the kind.
void apply_edit(Rewriting& program, const Edit& edit);

// edits_parallel.cc
void set_parallelism(Rewriting& program, const Edit& edit);
/// An interleave reads so many data sets in turn: other elements follow each other.
void lengthen_cycle(Rewriting& program, const Edit& edit);
/// Map -> ParallelMapV2, Filter -> ParallelFilter, Interleave -> ParallelInterleaveV4 (same cycle
/// and block length), BatchV2 -> ParallelBatch; deterministic, as the sequential op is.
void convert(Rewriting& program, const Edit& edit);
/// Once all edits are made: a ParallelFilter of the main graph needs the Options field
/// experimental_optimization.apply_default_optimizations to be false. TensorFlow (2.21) fails to
/// serialise the op, which it does before it rewrites a program by default.
void check_parallel_filter(Rewriting& program, const Edit& edit);
/// The way back. A map is told to stay synchronous: TensorFlow would make it parallel again.
void make_sequential(Rewriting& program, const Edit& edit);
/// MapAndBatch -> ParallelMapV2 under BatchV2. The batch keeps the name, in the main graph the map
/// is unfused_map_name(); later edits of the function go to the map under either name.
void unfuse(Rewriting& program, const Edit& edit);

// edits_inline.cc
/// Map without a dispatch: use_inter_op_parallelism=false and force_synchronous=true. Refused for a
/// function that reaches control flow, which TensorFlow's single-threaded executor does not run.
void make_inline(Rewriting& program, const Edit& edit);
/// ParallelMapV2 whose calls run without a dispatch of their own.
void make_parallel_inline(Rewriting& program, const Edit& edit);

/// A parallel map whose calls run on threads of their own, use_unbounded_threadpool=true: for
/// functions that wait.
void make_parallel_unbounded(Rewriting& program, const Edit& edit);
/// filter(p) -> inline map(x -> x, p(x)) + filter(x, keep -> keep), which TensorFlow answers
/// without a call, + inline map(x, keep -> x). The last one keeps the name. With a value the first
/// map is a parallel one of so many calls: a parallel filter that TensorFlow's own rewrites take.
void make_pass_through_filter(Rewriting& program, const Edit& edit);

// edits_insert.cc
void insert_prefetch(Rewriting& program, const Edit& edit);
void insert_cache(Rewriting& program, const Edit& edit);
void rehome_cache(Rewriting& program, const Edit& edit);
void set_buffer(Rewriting& program, const Edit& edit);
/// Takes out a node that passes its input on: prefetch, cache, assertions, wrappers.
void remove_node(Rewriting& program, const Edit& edit);
/// Every memory cache of main graph and functions gets a DummyMemoryCache of its own: the handle in
/// a serialised program is a name, under which a process may hold another data set's elements.
void rehome_all_caches(Rewriting& program);

// edits_move.cc
/// A 1:1 map right above a deterministic interleave moves into the interleave's function; above
/// chunks a filter and a batch do, too.
void move_into_function(Rewriting& program, const Edit& edit);

// edits_reorder.cc
/// Swaps a 1:1 map with the take, skip, shard, shuffle, repeat, prefetch, cache or batch right
/// above it. Below the batch go only functions with a batch form (pipeline/batch_form.h).
void reorder(Rewriting& program, const Edit& edit);

// edits_batches.cc
/// convert to RebatchDatasetV2: unbatch and the batch right above it as one op.
void fuse_rebatch(Rewriting& program, const Edit& edit);
/// convert to MapAndBatchDataset: a 1:1 map and the batch right above it as one op.
void fuse_map_and_batch(Rewriting& program, const Edit& edit);
/// remove: unbatch and the batch right below it.
void remove_batch_pair(Rewriting& program, const Edit& edit);
/// Nested concatenations as a balanced tree of the same data sets in the same order.
void balance(Rewriting& program, const Edit& edit);

// edits_partial_cache.cc
/// Cuts the list of files below a node: what the first files give is cached.
void insert_partial_cache(Rewriting& program, const Edit& edit);

// edits_chunks.cc
/// Cuts what the node hands on into chunks, whose elements go through a function of their own
/// (rewrite/chunks.h); maps, filters and a batch may move into that.
void insert_chunks(Rewriting& program, const Edit& edit);

// edits_options.cc
/// Sets or unsets one field of the program's Options: in the OptionsDataset at the root, which is
/// made if there is none and goes when no field is set any more.
void set_options(Rewriting& program, const Edit& edit);
/// False if the program's Options allow another order of elements.
bool is_deterministic(Rewriting& program);
/// False if the program's Options switch TensorFlow's default rewrites off.
bool has_default_rewrites(Rewriting& program);

}  // namespace plumber
