// SPDX-License-Identifier: Apache-2.0
#include "cluster/model_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace plumber {
namespace {

using Json = nlohmann::json;

// A member of an object, with its path for errors.
struct Member {
  const Json* value = nullptr;
  std::string path;

  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorKind::kInput, path, message, "plumber cluster fit writes such files");
  }
  Member at(const std::string& key) const {
    if (!value->is_object() || !value->contains(key)) refuse("no member '" + key + "'");
    return {&(*value)[key], path + "." + key};
  }
  bool has(const std::string& key) const {
    return value->is_object() && value->contains(key) && !(*value)[key].is_null();
  }
  double number() const {
    if (!value->is_number()) refuse("not a number");
    return value->get<double>();
  }
  std::string text() const {
    if (!value->is_string()) refuse("not a text");
    return value->get<std::string>();
  }
  bool flag() const {
    if (!value->is_boolean()) refuse("neither true nor false");
    return value->get<bool>();
  }
  std::vector<Member> elements() const {
    if (!value->is_array()) refuse("not an array");
    std::vector<Member> all;
    for (std::size_t i = 0; i < value->size(); ++i) {
      all.push_back({&(*value)[i], path + "[" + std::to_string(i) + "]"});
    }
    return all;
  }
  std::optional<double> number_or_none(const std::string& key) const {
    return has(key) ? std::optional(at(key).number()) : std::nullopt;
  }
  Range range() const {
    const auto ends = elements();
    if (ends.size() != 2) refuse("not a pair of numbers");
    return {ends[0].number(), ends[1].number()};
  }
};

Line line_of(const Member& object, const std::string& intercept, const std::string& slope) {
  Line line;
  line.intercept = object.at(intercept).number();
  line.slope = object.at(slope).number();
  line.r2 = object.number_or_none("r2").value_or(0);
  if (object.has("range")) line.range = object.at("range").range();
  return line;
}

std::optional<EpochsFit> epochs_of(const Member& root) {
  if (!root.has("epochs")) return std::nullopt;
  const Member object = root.at("epochs");
  EpochsFit epochs;
  epochs.line = line_of(object, "e_star", "theta");
  const std::string law = object.has("law") ? object.at("law").text() : "noise";
  if (law != "noise" && law != "batch") object.at("law").refuse("neither 'noise' nor 'batch'");
  epochs.law = law == "noise" ? EpochsLaw::kNoise : EpochsLaw::kBatch;
  const std::string source = object.has("source") ? object.at("source").text() : "runs";
  epochs.given = source == "job";
  epochs.calibrated = source == "one-configuration";
  return epochs;
}

IterationLaw law_at(const Member& member) {
  const auto law = law_of(member.text());
  if (!law) member.refuse("unknown law '" + member.text() + "'");
  return *law;
}

IterationFit iteration_of(const Member& row) {
  IterationFit fit;
  fit.machine = row.at("machine").text();
  fit.chosen.law = law_at(row.at("law"));
  IterationModel law{fit.chosen.law, {}, row.at("update_s").number()};
  const auto names = row.at("names").elements(), values = row.at("values").elements();
  if (names.size() != values.size()) row.refuse("names and values differ in length");
  for (std::size_t i = 0; i < names.size(); ++i) {
    law.coefficients.push_back({names[i].text(), values[i].number(), {}});
  }
  fit.chosen.model = law;
  return fit;
}

TrainingRun run_at(const Member& row) {
  TrainingRun run;
  run.where = row.path;
  run.workers = row.at("workers").number();
  run.global_batch = row.at("global_batch").number();
  run.nodes = row.number_or_none("nodes");
  run.iteration_s = row.number_or_none("iteration_s");
  run.compute_s = row.number_or_none("compute_s");
  run.sync_s = row.number_or_none("sync_s");
  run.noise = row.number_or_none("noise");
  run.epochs = row.number_or_none("epochs");
  run.restarts = row.number_or_none("restarts");
  run.machine = row.at("machine").text();
  return run;
}

IterationOptions options_of(const Member& object) {
  IterationOptions options;
  if (object.at("model").text() != "auto") options.law = law_at(object.at("model"));
  options.batch_term = object.at("batch_term").flag();
  options.total_only = object.at("total_only").flag();
  return options;
}

ValidRange valid_of(const Member& object) {
  ValidRange valid;
  valid.workers = object.at("workers").range();
  valid.global_batch = object.at("global_batch").range();
  valid.per_worker_batch = object.at("per_worker_batch").range();
  if (object.has("noise")) valid.noise = object.at("noise").range();
  return valid;
}

}  // namespace

Model parse_cluster_model(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  const Member root{&json, name};
  if (!json.is_object()) root.refuse("not a JSON object");
  if (root.at("schema_version").number() != 1) root.refuse("the schema_version is not 1");
  Model model;
  model.job = parse_job(root.at("job").value->dump(), name + ".job");
  if (root.has("noise")) model.noise = line_of(root.at("noise"), "intercept", "slope");
  model.epochs = epochs_of(root);
  if (model.epochs && model.epochs->law == EpochsLaw::kNoise && !model.noise) {
    root.refuse("its epochs follow noise, but it has no line of noise");
  }
  for (const Member& row : root.at("machines").elements()) {
    model.iterations.push_back(iteration_of(row));
  }
  if (model.iterations.empty()) root.refuse("no machine type in it");
  model.valid = valid_of(root.at("valid"));
  model.options = options_of(root.at("options"));
  for (const Member& row : root.at("runs").elements()) model.runs.push_back(run_at(row));
  return model;
}

}  // namespace plumber
