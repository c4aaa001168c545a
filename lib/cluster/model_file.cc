// SPDX-License-Identifier: Apache-2.0
#include "cluster/model_file.h"

#include "base/error.h"
#include "base/json_member.h"
#include "base/suggest.h"
#include "cluster/seen_placements.h"

namespace plumber {
namespace {

constexpr const char* kWhatAModelIs = "plumber cluster fit writes such files";

Line line_of(const JsonMember& object, const std::string& intercept, const std::string& slope) {
  Line line;
  line.intercept = object.at(intercept).number();
  line.slope = object.at(slope).number();
  line.r2 = object.number_or_none("r2").value_or(0);
  if (object.has("range")) line.range = object.at("range").range();
  return line;
}

std::optional<EpochsFit> epochs_of(const JsonMember& root) {
  if (!root.has("epochs")) return std::nullopt;
  const JsonMember object = root.at("epochs");
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

IterationLaw law_at(const JsonMember& member) {
  const auto law = law_of(member.text());
  if (!law) {
    const std::string near =
        did_you_mean(member.text(), {"scavenger", "overlap", "ernest", "pollux"});
    member.refuse("unknown law '" + member.text() + "'",
                  near.empty() ? "laws: scavenger, overlap, ernest, pollux" : near);
  }
  return *law;
}

IterationFit iteration_of(const JsonMember& row) {
  IterationFit fit;
  fit.machine = row.at("machine").text();
  fit.chosen.law = law_at(row.at("law"));
  IterationModel law{fit.chosen.law, {}, row.at("update_s").number()};
  const auto names = row.at("names").elements(), values = row.at("values").elements();
  if (names.size() != values.size()) row.at("values").refuse("not as many as names");
  for (std::size_t i = 0; i < names.size(); ++i) {
    law.coefficients.push_back({names[i].text(), values[i].number(), {}});
  }
  fit.chosen.model = law;
  return fit;
}

IterationOptions options_of(const JsonMember& object) {
  IterationOptions options;
  if (object.at("model").text() != "auto") options.law = law_at(object.at("model"));
  options.batch_term = object.at("batch_term").flag();
  options.total_only = object.at("total_only").flag();
  return options;
}

Range positive_range(const JsonMember& member) {
  const Range range = member.range();
  if (range.first <= 0) member.refuse("not above 0");
  return range;
}

// Files of earlier versions have numbers for what no run tells.
void keep_what_runs_tell(Model& model) {
  for (IterationFit& fit : model.iterations) {
    std::vector<TrainingRun> own;
    for (const TrainingRun& run : model.runs) {
      if (run.iteration_s && run.machine == fit.machine) own.push_back(run);
    }
    if (!own.empty()) keep_what_runs_tell(*fit.chosen.model, own);
  }
}

ValidRange valid_of(const JsonMember& object) {
  ValidRange valid;
  valid.workers = positive_range(object.at("workers"));
  valid.global_batch = positive_range(object.at("global_batch"));
  valid.per_worker_batch = positive_range(object.at("per_worker_batch"));
  if (object.has("noise")) valid.noise = object.at("noise").range();
  return valid;
}

}  // namespace

Model parse_cluster_model(std::string_view text, const std::string& name) {
  const JsonDocument document = parse_document(text, name, kWhatAModelIs);
  const JsonMember root = document.root();
  if (root.at("schema_version").number() != 1) root.at("schema_version").refuse("not 1");
  Model model;
  model.job = job_at(root.at("job"));
  if (root.has("noise")) model.noise = line_of(root.at("noise"), "intercept", "slope");
  model.epochs = epochs_of(root);
  if (model.epochs && model.epochs->law == EpochsLaw::kNoise && !model.noise) {
    root.at("epochs").refuse("they follow noise, but there is no line of noise");
  }
  for (const JsonMember& row : root.at("machines").elements()) {
    model.iterations.push_back(iteration_of(row));
  }
  if (model.iterations.empty()) root.at("machines").refuse("no machine type in it");
  model.valid = valid_of(root.at("valid"));
  model.options = options_of(root.at("options"));
  if (root.has("interruptions")) {
    model.interruptions = Interruptions{root.at("interruptions").at("restarts").number(),
                                        root.at("interruptions").at("machine_hours").positive()};
  }
  for (const JsonMember& row : root.at("runs").elements()) model.runs.push_back(run_at(row));
  model.workers_per_node = workers_per_node(model.runs);
  keep_what_runs_tell(model);
  return model;
}

}  // namespace plumber
