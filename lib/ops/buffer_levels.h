// SPDX-License-Identifier: Apache-2.0
// How full the buffers between threads were over time: prefetches and the finished calls of
// parallel maps. A buffer that is empty waits for what fills it, a full one for what empties it:
//
//   mean fill / capacity   <= 20 %  empty    the producer below it is the limit
//                          >= 80 %  full     the consumer above it is
//                          else     between  both keep up with each other
//
// Elements; the mean of the recorder's polls, else that of three dumps or more: one look at the end
// says nothing. The fills are those of the dumps, in their order. Opstats traces hold no fill.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/pipeline.h"

namespace plumber {

enum class Level { kEmpty, kBetween, kFull };

struct BufferLevel {
  NodeId node{};
  double capacity = 0;
  bool autotuned = false;
  double mean = 0;
  double least = 0, most = 0;
  std::vector<double> fills;  // one a dump
  Level level = Level::kBetween;
};

/// Source first; those whose capacity is known and through which elements went.
std::vector<BufferLevel> buffer_levels(const Pipeline& pipeline);

}  // namespace plumber
