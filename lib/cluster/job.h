// SPDX-License-Identifier: Apache-2.0
// The training job, a JSON object. All members are optional but `samples`, which turns epochs into
// iterations: n = e D / B (Scavenger, Eq. 4).
//
//   {"name": "resnet18-cifar10", "samples": 50000, "target": "80 % accuracy",
//    "learning_rate_rule": "linear", "memory_per_sample_bytes": 12000000,
//    "memory_fixed_bytes": 800000000, "min_batch": 64, "max_batch": 4096, "max_per_worker_batch":
//    512, "parameters": 11000000, "e_star": -210.6, "theta": 557.0}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_member.h"

namespace plumber {

struct Job {
  std::string name;
  std::string target;
  std::string learning_rate_rule;    // as the user scales it with B; said, not computed
  std::optional<double> samples;     // D
  std::optional<double> parameters;  // of the model, to find similar jobs
  std::optional<double> memory_per_sample_bytes;
  std::optional<double> memory_fixed_bytes;  // of a worker, whatever the batch
  std::optional<double> min_batch;           // smallest sensible B
  std::optional<double> max_batch;
  std::optional<double> max_per_worker_batch;  // what a worker's memory holds at once
  std::optional<double> e_star;                // epochs = e_star + theta noise, of earlier runs
  std::optional<double> theta;
  std::vector<std::string> unknown;  // members that nobody here knows
};

Job parse_job(std::string_view text, const std::string& name);

/// The same of an object within a document.
Job job_at(const JsonMember& object);

/// Memory that a worker of b samples needs; nullopt when the job does not say.
std::optional<double> worker_memory_bytes(const Job& job, double per_worker_batch);

}  // namespace plumber
