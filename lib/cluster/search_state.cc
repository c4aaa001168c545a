// SPDX-License-Identifier: Apache-2.0
#include "cluster/search_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/json_member.h"
#include "base/suggest.h"
#include "cluster/runs.h"

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
                                        "workers_per_node",
                                        "restore_s",
                                        "profile_iterations",
                                        "max_hours",
                                        "budget_usd",
                                        "settle_iterations",
                                        "max_cost_usd",
                                        "max_usd_per_hour"};
constexpr double kMost = 1e12;

constexpr const char* kWhatAStateIs = "docs/cluster.md shows the state of a search";

JsonDocument parsed(std::string_view text, const std::string& name) {
  JsonDocument document = parse_document(text, name, kWhatAStateIs);
  const JsonMember root = document.root();
  root.refuse_unknown(kMembers);
  if (root.has("schema_version") && root.at("schema_version").number() != 1) {
    root.at("schema_version").refuse("not 1");
  }
  if (!root.has("runs")) document.json["runs"] = Json::array();
  return document;
}

std::optional<double> number(const JsonMember& root, const std::string& key) {
  return root.has(key) ? std::optional(root.at(key).number_within(0, kMost)) : std::nullopt;
}

std::vector<double> counts(const JsonMember& root, const std::string& key) {
  std::vector<double> values;
  for (const JsonMember& value : root.at(key).elements()) {
    values.push_back(value.positive());
    value.number_within(0, kMost);
    if (values.back() != std::floor(values.back())) value.refuse("not a whole number");
  }
  if (values.empty()) root.at(key).refuse("nothing to choose from", "\"workers\": [8, 12, 16]");
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

ExploredRun explored(const JsonMember& object, const SearchState& state) {
  object.refuse_unknown(run_columns());
  ExploredRun run;
  run.run = run_at(object);
  if (!run.run.nodes && state.workers_per_node > 1) {
    run.run.nodes = state.nodes_of(run.run.workers);
  }
  run.iterations = state.profile_iterations;
  if (object.has("iterations")) run.iterations = object.at("iterations").positive();
  run.noise_stable = run.run.noise.has_value();
  if (object.has("noise_stable")) run.noise_stable = object.at("noise_stable").flag();
  return run;
}

void take_policy(SearchState& state, const JsonMember& root) {
  const std::string policy = root.has("policy") ? root.at("policy").text() : "partial";
  const std::string objective = root.has("objective") ? root.at("objective").text() : "time";
  const auto* known = std::find_if(kPolicies.begin(), kPolicies.end(),
                                   [&](SearchPolicy p) { return policy_word(p) == policy; });
  if (known == kPolicies.end()) {
    root.at("policy").refuse("unknown policy '" + policy + "'", "policies: full, partial, none");
  }
  state.policy = *known;
  const auto kind = objective_of(objective);
  if (!kind) {
    root.at("objective")
        .refuse("unknown objective '" + objective + "'", "objectives: time, cost, knee, cost-time");
  }
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

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// What the command line held may be no UTF-8.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// What cannot be read must not be written.
void check_record(const Json& row) {
  const JsonDocument document = parse_document(written(row), "--record", "");
  try {
    explored(document.root(), {});
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, "--record", error.what(), error.hint);
  }
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
  const JsonDocument document = parsed(text, name);
  const JsonMember root = document.root();
  SearchState state;
  take_policy(state, root);
  state.workers = counts(root, "workers");
  state.batches = counts(root, "batches");
  if (root.has("job")) state.job = job_at(root.at("job"));
  state.usd_per_hour = root.at("usd_per_hour").positive();
  if (root.has("workers_per_node")) {
    state.workers_per_node = root.at("workers_per_node").number_within(1, kMost);
    if (state.workers_per_node != std::floor(state.workers_per_node)) {
      root.at("workers_per_node").refuse("not a whole number");
    }
  }
  state.restore_s = number(root, "restore_s").value_or(0);
  for (const auto& [key, value] : {std::pair("profile_iterations", &state.profile_iterations),
                                   std::pair("settle_iterations", &state.settle_iterations)}) {
    if (root.has(key)) *value = root.at(key).number_within(1, kMost);
  }
  state.budget_usd = number(root, "budget_usd");
  state.constraints = {number(root, "max_cost_usd"), number(root, "max_hours"),
                       number(root, "max_usd_per_hour")};
  for (const JsonMember& run : root.at("runs").elements()) {
    state.runs.push_back(explored(run, state));
  }
  return state;
}

std::string with_run(std::string_view text, const std::string& name, const std::string& run) {
  JsonDocument document = parsed(text, name);
  if (!document.json["runs"].is_array()) document.root().at("runs").refuse("not an array");
  Json row = Json::object();
  for (std::size_t from = 0; from < run.size();) {
    const std::size_t comma = std::min(run.find(',', from), run.size());
    const std::string part = trimmed(run.substr(from, comma - from));
    const std::size_t equals = part.find('=');
    const std::string key = trimmed(part.substr(0, equals));
    if (equals == std::string::npos) {
      throw Error(ErrorKind::kUsage, "--record", "'" + part + "' is not of the form name=value",
                  "--record workers=8,global_batch=384,iteration_s=1.5");
    }
    if (row.contains(key)) {
      throw Error(ErrorKind::kUsage, "--record", "'" + key + "' is there twice", "keep one");
    }
    if (std::ranges::find(run_columns(), key) == run_columns().end()) {
      throw Error(ErrorKind::kUsage, "--record", "unknown member '" + key + "'",
                  did_you_mean(key, run_columns()));
    }
    row[key] = json_value(trimmed(part.substr(equals + 1)));
    from = comma + 1;
  }
  check_record(row);
  document.json["runs"].push_back(row);
  return written(document.json) + "\n";
}

}  // namespace plumber
