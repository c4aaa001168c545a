// SPDX-License-Identifier: Apache-2.0
#include "cluster/job.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"

namespace plumber {
namespace {

struct TextMember {
  const char* key;
  std::string Job::*member;
};
struct NumberMember {
  const char* key;
  std::optional<double> Job::*member;
  bool positive;
};

constexpr std::array kTexts{TextMember{"name", &Job::name}, TextMember{"target", &Job::target},
                            TextMember{"learning_rate_rule", &Job::learning_rate_rule}};
constexpr std::array kNumbers{
    NumberMember{"samples", &Job::samples, true},
    NumberMember{"parameters", &Job::parameters, true},
    NumberMember{"memory_per_sample_bytes", &Job::memory_per_sample_bytes, true},
    NumberMember{"memory_fixed_bytes", &Job::memory_fixed_bytes, true},
    NumberMember{"min_batch", &Job::min_batch, true},
    NumberMember{"max_batch", &Job::max_batch, true},
    NumberMember{"max_per_worker_batch", &Job::max_per_worker_batch, true},
    NumberMember{"e_star", &Job::e_star, false},
    NumberMember{"theta", &Job::theta, false}};

bool take(Job& job, const JsonMember& member) {
  const std::string& key = member.path.back();
  for (const TextMember& text : kTexts) {
    if (key != text.key) continue;
    const nlohmann::ordered_json& value = *member.value;
    if (value.is_structured()) member.refuse("neither a text nor a number");
    job.*text.member = value.is_string() ? value.get<std::string>() : value.dump();
    return true;
  }
  for (const NumberMember& number : kNumbers) {
    if (key != number.key) continue;
    job.*number.member = number.positive ? member.positive() : member.number();
    return true;
  }
  return false;
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const TextMember& text : kTexts) keys.emplace_back(text.key);
  for (const NumberMember& number : kNumbers) keys.emplace_back(number.key);
  return keys;
}

}  // namespace

Job job_at(const JsonMember& object) {
  Job job;
  for (const JsonMember& member : object.members()) {
    if (member.value->is_null() || take(job, member)) continue;
    const std::string& key = member.path.back();
    const std::string hint = did_you_mean(key, known_keys());
    if (!hint.empty()) {
      throw Error(ErrorKind::kInput, member.where(), "unknown member '" + key + "'", hint);
    }
    job.unknown.push_back(key);  // somebody else's note
  }
  if (job.min_batch && job.max_batch && *job.min_batch > *job.max_batch) {
    object.at("min_batch").refuse("above max_batch", "no batch is left between them");
  }
  if (job.e_star && !job.theta) {
    object.at("e_star").refuse("it needs theta too", "epochs = e_star + theta * noise");
  }
  return job;
}

Job parse_job(std::string_view text, const std::string& name) {
  const JsonDocument document =
      parse_document(text, name, "a job is a JSON object such as {\"samples\": 50000}");
  return job_at(document.root());
}

std::optional<double> worker_memory_bytes(const Job& job, double per_worker_batch) {
  if (!job.memory_per_sample_bytes) return std::nullopt;
  return job.memory_fixed_bytes.value_or(0) + *job.memory_per_sample_bytes * per_worker_batch;
}

}  // namespace plumber
