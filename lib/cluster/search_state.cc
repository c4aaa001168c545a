// SPDX-License-Identifier: Apache-2.0
#include "cluster/search_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/suggest.h"

namespace plumber {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPolicies{SearchPolicy::kFull, SearchPolicy::kPartial, SearchPolicy::kNone};
const std::vector<std::string> kMembers{"schema_version",
                                        "policy",
                                        "objective",
                                        "workers",
                                        "batches",
                                        "job",
                                        "runs",
                                        "usd_per_hour",
                                        "restore_s",
                                        "profile_iterations",
                                        "max_hours",
                                        "budget_usd",
                                        "settle_iterations",
                                        "max_cost_usd",
                                        "max_usd_per_hour"};

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint = "") {
  throw Error(ErrorKind::kInput, where, message, hint);
}

Json parsed(std::string_view text, const std::string& name) {
  Json state = Json::parse(text, nullptr, false);
  if (!state.is_object()) refuse(name, "the state is not a JSON object");
  for (const auto& [key, value] : state.items()) {
    if (std::find(kMembers.begin(), kMembers.end(), key) != kMembers.end()) continue;
    refuse(name, "unknown member '" + key + "'", did_you_mean(key, kMembers));
  }
  if (state.contains("schema_version") && state["schema_version"] != 1) {
    refuse(name, "the schema_version is not 1");
  }
  if (!state.contains("runs")) state["runs"] = Json::array();
  if (!state["runs"].is_array()) refuse(name, "'runs' is not an array");
  return state;
}

std::optional<double> number(const Json& state, const std::string& key, const std::string& name) {
  if (!state.contains(key) || state[key].is_null()) return std::nullopt;
  if (!state[key].is_number() || state[key].get<double>() < 0 || state[key].get<double>() > 1e12) {
    refuse(name, "'" + key + "' is not a number from 0 to 1e12");
  }
  return state[key].get<double>();
}

std::vector<double> counts(const Json& state, const std::string& key, const std::string& name) {
  std::vector<double> values;
  const bool array = state.contains(key) && state[key].is_array();
  for (const Json& value : array ? state[key] : Json::array()) {
    if (!value.is_number() || value.get<double>() <= 0 || value.get<double>() > 1e12) {
      refuse(name, "'" + key + "' holds what is not a number above 0");
    }
    values.push_back(value.get<double>());
  }
  if (values.empty()) refuse(name, "no list '" + key + "' of what may be chosen");
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::string word(const Json& state, const std::string& key, const std::string& fallback,
                 const std::string& name) {
  if (!state.contains(key)) return fallback;
  if (!state[key].is_string()) refuse(name, "'" + key + "' is not a word");
  return state[key].get<std::string>();
}

ExploredRun explored(const Json& row, const SearchState& state, const std::string& where) {
  if (!row.is_object()) refuse(where, "not an object");
  TableRow cells{where, {}};
  for (const auto& [key, value] : row.items()) {
    if (value.is_null() || value.is_structured()) continue;
    cells.cells[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  ExploredRun run;
  run.run = run_of(cells);
  run.iterations = optional_positive_in(cells, "iterations").value_or(state.profile_iterations);
  const auto stable = text_in(cells, "noise_stable");
  run.noise_stable = stable ? *stable == "true" : run.run.noise.has_value();
  return run;
}

void take_policy(SearchState& state, const Json& json, const std::string& name) {
  const std::string policy = word(json, "policy", "partial", name);
  const std::string objective = word(json, "objective", "time", name);
  const auto* known = std::find_if(kPolicies.begin(), kPolicies.end(),
                                   [&](SearchPolicy p) { return policy_word(p) == policy; });
  if (known == kPolicies.end())
    refuse(name, "unknown policy '" + policy + "'", "policies: full, partial, none");
  state.policy = *known;
  const auto kind = objective_of(objective);
  if (!kind)
    refuse(name, "unknown objective '" + objective + "'",
           "objectives: time, cost, knee, cost-time");
  state.objective = *kind;
}

// "true" and numbers as such, everything else as text.
Json json_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const auto value = number_of(text);
  if (!value) return text;
  const bool is_whole = *value == std::floor(*value) && std::abs(*value) < 1e15;
  return is_whole ? Json(static_cast<std::int64_t>(*value)) : Json(*value);
}

}  // namespace

std::string policy_word(SearchPolicy policy) {
  switch (policy) {
    case SearchPolicy::kFull:
      return "full";
    case SearchPolicy::kPartial:
      return "partial";
    case SearchPolicy::kNone:
      return "none";
  }
  return "";
}

SearchState parse_search_state(std::string_view text, const std::string& name) {
  const Json json = parsed(text, name);
  SearchState state;
  take_policy(state, json, name);
  state.workers = counts(json, "workers", name);
  state.batches = counts(json, "batches", name);
  if (json.contains("job")) state.job = parse_job(json["job"].dump(), name + ": job");
  state.usd_per_hour = number(json, "usd_per_hour", name).value_or(0);
  if (state.usd_per_hour <= 0) refuse(name, "no 'usd_per_hour' of a worker");
  state.restore_s = number(json, "restore_s", name).value_or(0);
  state.profile_iterations = number(json, "profile_iterations", name).value_or(20);
  state.settle_iterations = number(json, "settle_iterations", name).value_or(2000);
  state.budget_usd = number(json, "budget_usd", name);
  state.constraints = {number(json, "max_cost_usd", name), number(json, "max_hours", name),
                       number(json, "max_usd_per_hour", name)};
  for (std::size_t i = 0; i < json["runs"].size(); ++i) {
    state.runs.push_back(explored(json["runs"][i], state, fmt::format("{}: runs[{}]", name, i)));
  }
  return state;
}

std::string with_run(std::string_view text, const std::string& name, const std::string& run) {
  Json state = parsed(text, name);
  Json row = Json::object();
  std::size_t from = 0;
  while (from < run.size()) {
    const std::size_t comma = std::min(run.find(',', from), run.size());
    const std::string part = run.substr(from, comma - from);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorKind::kUsage, "--record", "'" + part + "' is not of the form name=value");
    }
    row[part.substr(0, equals)] = json_value(part.substr(equals + 1));
    from = comma + 1;
  }
  state["runs"].push_back(row);
  const std::string result = state.dump(2) + "\n";
  parse_search_state(result, name);  // what cannot be read must not be written
  return result;
}

}  // namespace plumber
