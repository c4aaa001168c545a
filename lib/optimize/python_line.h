// SPDX-License-Identifier: Apache-2.0
// The line of Python that makes an edit in the source, for people who edit the source instead of
// loading the rewritten program.
//
//   set_parallelism   .map(_decode, num_parallel_calls=2)
//   insert_cache      .cache()  # after .map(_parse)
//   set_options       options.threading.private_threadpool_size = 2
#pragma once

#include <string>

#include "pipeline/pipeline.h"
#include "pipeline/plan.h"

namespace plumber {

/// Empty where there is nothing to change in the source.
std::string python_line(const Pipeline& pipeline, const Edit& edit);

}  // namespace plumber
