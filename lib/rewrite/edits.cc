// SPDX-License-Identifier: Apache-2.0
#include "rewrite/edits.h"

namespace plumber {

void apply_edit(Rewriting& program, const Edit& edit) {
  switch (edit.kind) {
    case EditKind::kSetParallelism:
      return set_parallelism(program, edit);
    case EditKind::kConvert:
      if (edit.to == "RebatchDatasetV2") return fuse_rebatch(program, edit);
      if (edit.to == "MapAndBatchDataset") return fuse_map_and_batch(program, edit);
      return convert(program, edit);
    case EditKind::kSequential:
      return make_sequential(program, edit);
    case EditKind::kInline:
      return make_inline(program, edit);
    case EditKind::kParallelInline:
      return make_parallel_inline(program, edit);
    case EditKind::kParallelUnbounded:
      return make_parallel_unbounded(program, edit);
    case EditKind::kPassThroughFilter:
      return make_pass_through_filter(program, edit);
    case EditKind::kMoveIntoFunction:
      return move_into_function(program, edit);
    case EditKind::kUnfuse:
      return unfuse(program, edit);
    case EditKind::kInsertPrefetch:
      return insert_prefetch(program, edit);
    case EditKind::kSetBuffer:
      return set_buffer(program, edit);
    case EditKind::kInsertCache:
      return insert_cache(program, edit);
    case EditKind::kRehomeCache:
      return rehome_cache(program, edit);
    case EditKind::kReorder:
      return reorder(program, edit);
    case EditKind::kRemove:
      return remove_node(program, edit);
    case EditKind::kSetOptions:
      return set_options(program, edit);
    case EditKind::kInsertPartialCache:
      return insert_partial_cache(program, edit);
    case EditKind::kInsertChunks:
      return insert_chunks(program, edit);
    case EditKind::kLengthenCycle:
      return lengthen_cycle(program, edit);
    case EditKind::kBalance:
      return balance(program, edit);
  }
}

}  // namespace plumber
