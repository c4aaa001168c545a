// SPDX-License-Identifier: Apache-2.0
#include "cluster/job.h"

#include <array>
#include <nlohmann/json.hpp>
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
    NumberMember{"e_star", &Job::e_star, false},
    NumberMember{"theta", &Job::theta, false}};

[[noreturn]] void refuse(const std::string& name, const std::string& message,
                         const std::string& hint = "") {
  throw Error(ErrorKind::kInput, name, message, hint);
}

bool take(Job& job, const std::string& key, const nlohmann::json& value, const std::string& name) {
  for (const TextMember& text : kTexts) {
    if (key != text.key) continue;
    if (value.is_structured()) refuse(name, "'" + key + "' is neither a text nor a number");
    job.*text.member = value.is_string() ? value.get<std::string>() : value.dump();
    return true;
  }
  for (const NumberMember& number : kNumbers) {
    if (key != number.key) continue;
    if (!value.is_number()) refuse(name, "'" + key + "' is not a number");
    if (number.positive && value.get<double>() <= 0) refuse(name, "'" + key + "' is not above 0");
    job.*number.member = value.get<double>();
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

Job parse_job(std::string_view text, const std::string& name) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) refuse(name, "the job is not a JSON object");
  Job job;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || take(job, key, value, name)) continue;
    const std::string hint = did_you_mean(key, known_keys());
    if (!hint.empty()) refuse(name, "unknown member '" + key + "'", hint);
    job.unknown.push_back(key);  // somebody else's note
  }
  return job;
}

std::optional<double> worker_memory_bytes(const Job& job, double per_worker_batch) {
  if (!job.memory_per_sample_bytes) return std::nullopt;
  return job.memory_fixed_bytes.value_or(0) + *job.memory_per_sample_bytes * per_worker_batch;
}

}  // namespace plumber
