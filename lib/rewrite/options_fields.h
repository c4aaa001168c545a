// SPDX-License-Identifier: Apache-2.0
// Fields of tf.data.Options by the path that Python gives them:
//   "deterministic", "autotune.enabled", "threading.private_threadpool_size",
//   "experimental_optimization.map_parallelization", ...
#pragma once

#include <string>
#include <vector>

#include "options.pb.h"
#include "pipeline/plan.h"

namespace plumber {

/// Sets the field, or unsets it if the value is empty. Refused if there is no such field or the
/// value's type is another one.
void set_options_field(tensorflow::data::Options& options, const std::string& path,
                       const EditValue& value);

/// True if no field is set, unknown ones and those of nested messages included.
bool is_empty(const google::protobuf::Message& options);

/// All paths, sorted.
std::vector<std::string> options_paths();

}  // namespace plumber
