// SPDX-License-Identifier: Apache-2.0
// Random small pipelines with costs of all sizes, for tests that compare with trying everything.
#pragma once

#include <cmath>
#include <random>

#include "small_pipeline.h"

namespace plumber {

class RandomPipelines {
 public:
  explicit RandomPipelines(unsigned seed) : random_(seed) {}

  /// Two to six nodes: a chain, or two chains under a zip, a concatenate or a mixture.
  SmallPipeline next() {
    SmallPipeline p;
    const bool hand_off = random_() % 2 == 0;
    if (!hand_off) p.without_hand_off();
    p.analysis.costs.think_time_s = random_() % 3 == 0 ? seconds(1e-5, 5e-3) : 0;
    NodeId top = chain(p, 1 + random_() % 2);
    if (random_() % 3 == 0) {
      const NodeId other = chain(p, 1);
      const char* ops[] = {"ZipDataset", "ConcatenateDataset", "DirectedInterleaveDataset"};
      top = p.add(ops[random_() % 3], {top, other}, numbers());
    }
    if (random_() % 2 == 0) top = p.batch(top, 16, {.work_ms = ms(0.001, 5), .bytes = 1e5});
    if (random_() % 4 == 0) top = p.prefetch(top, 2);
    p.finish(top);
    return p;
  }

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

 private:
  double seconds(double low, double high) {
    return low * std::pow(high / low, uniform());  // as many small ones as large ones
  }
  double ms(double low, double high) { return seconds(low, high); }

  NodeNumbers numbers() {
    const double calls[] = {1, 16, 128};
    const double n = calls[random_() % 3];
    return {.work_ms = ms(0.01, 20),
            .calls = n,
            .elements = n,
            .bytes = ms(10, 1e5),
            .per_epoch = 1000};
  }

  NodeId chain(SmallPipeline& p, std::size_t maps) {
    NodeId top = p.source("TFRecordDataset", {.work_ms = ms(0.01, 3), .elements = 16});
    p.pipeline[top].equal_shapes = true;
    if (random_() % 2 == 0) p.may_cache(top);
    for (std::size_t i = 0; i < maps; ++i) {
      const bool parallel = random_() % 2 == 0;
      top = parallel ? p.parallel_map(top, "f", 1 + random_() % 3, numbers())
                     : p.map(top, "f", numbers());
      if (random_() % 3 == 0) p.random(top);
      if (random_() % 3 == 0) p.may_cache(top);
    }
    return top;
  }

  std::mt19937 random_;
};

}  // namespace plumber
