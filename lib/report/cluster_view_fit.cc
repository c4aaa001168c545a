// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

Value positive_pair(const std::vector<double>& errors) {
  return errors.empty() ? Value() : Value(errors);
}

void add_line(Fields& fields, const Line& line) {
  fields.fields.push_back(key_value("r2", line.r2));
  fields.fields.push_back(key_value("standard_errors", positive_pair(line.standard_errors)));
  fields.fields.push_back(key_value("leave_one_out", value_of(line.leave_one_out)));
  fields.fields.push_back(key_value("points", static_cast<double>(line.points)));
  fields.fields.push_back(key_value("range", pair_value(line.range)));
}

Section noise_section(const Model& model) {
  if (!model.noise) return json_field("noise", {});
  Fields fields{
      {key_value("intercept", model.noise->intercept), key_value("slope", model.noise->slope)}};
  add_line(fields, *model.noise);
  return {"noise", "", fields};
}

Section epochs_section(const Model& model) {
  if (!model.epochs) return json_field("epochs", {});
  const EpochsFit& epochs = *model.epochs;
  const std::string source = epochs.given        ? "job"
                             : epochs.calibrated ? "one-configuration"
                                                 : "runs";
  Fields fields{{key_value("law", std::string(epochs.law == EpochsLaw::kNoise ? "noise" : "batch")),
                 key_value("e_star", epochs.line.intercept), key_value("theta", epochs.line.slope),
                 key_value("source", source)}};
  add_line(fields, epochs.line);
  return {"epochs", "", fields};
}

Section saturation_section(const Model& model) {
  Table table;
  table.columns = {{"machine", ""},
                   {"workers", "", Unit::kCount},
                   {"per_worker_batch", ""},
                   {"rate_samples_per_s", "", Unit::kPerSecond}};
  for (const Saturation& one : model.saturation) {
    table.rows.push_back(
        {{one.machine, one.workers, one.per_worker_batch, one.rate_samples_per_s}, false});
  }
  return {"saturation", "", table};
}

Section interruptions_section(const Model& model) {
  if (!model.interruptions) return json_field("interruptions", {});
  const Interruptions& seen = *model.interruptions;
  return {"interruptions", "",
          Fields{{key_value("per_machine_hour", seen.per_machine_hour()),
                  key_value("restarts", seen.restarts),
                  key_value("machine_hours", seen.machine_hours)}}};
}

Section valid_section(const ValidRange& valid) {
  return {"valid", "",
          Fields{{key_value("workers", pair_value(valid.workers)),
                  key_value("global_batch", pair_value(valid.global_batch)),
                  key_value("per_worker_batch", pair_value(valid.per_worker_batch)),
                  key_value("noise", valid.noise ? pair_value(*valid.noise) : Value())}}};
}

Section job_section(const Job& job) {
  return {
      "job", "",
      Fields{{key_value("name", job.name), key_value("target", job.target),
              key_value("learning_rate_rule", job.learning_rate_rule),
              key_value("samples", value_of(job.samples)),
              key_value("parameters", value_of(job.parameters)),
              key_value("memory_per_sample_bytes", value_of(job.memory_per_sample_bytes)),
              key_value("memory_fixed_bytes", value_of(job.memory_fixed_bytes)),
              key_value("min_batch", value_of(job.min_batch)),
              key_value("max_batch", value_of(job.max_batch)),
              key_value("max_per_worker_batch", value_of(job.max_per_worker_batch)),
              key_value("e_star", value_of(job.e_star)), key_value("theta", value_of(job.theta))}}};
}

Section options_section(const IterationOptions& options) {
  return {"options", "",
          Fields{{key_value("model", options.law ? law_word(*options.law) : std::string("auto")),
                  key_value("batch_term", options.batch_term),
                  key_value("total_only", options.total_only)}}};
}

ReportRow run_row(const Model& model, const TrainingRun& run) {
  Value fitted_s, fitted_compute_s, fitted_sync_s, fitted_noise, fitted_epochs, error;
  const IterationFit* fit = iteration_for(model, run.machine);
  if (fit && run.iteration_s) {
    const IterationTime time = iteration_time(*fit->chosen.model, placement_of(run));
    fitted_s = time.iteration_s;
    fitted_compute_s = time.compute_s;
    fitted_sync_s = time.sync_s;
    error = time.iteration_s / *run.iteration_s - 1;
  }
  if (model.noise) fitted_noise = noise_at(*model.noise, run.global_batch);
  if (model.epochs) fitted_epochs = epochs_of_run(*model.epochs, model.noise, run);
  return {{run.machine, run.workers, run.global_batch, whole(run.global_batch), value_of(run.nodes),
           value_of(run.iteration_s), fitted_s, error, value_of(run.compute_s), fitted_compute_s,
           value_of(run.sync_s), fitted_sync_s, value_of(run.noise), fitted_noise,
           value_of(run.epochs), fitted_epochs, value_of(run.restarts)},
          false};
}

Section runs_section(const Model& model) {
  Table table;
  table.columns = {{"machine", ""},
                   {"workers", "workers", Unit::kCount},
                   {"global_batch", ""},
                   {"", "batch"},
                   {"nodes", ""},
                   {"iteration_s", "iteration", Unit::kSeconds},
                   {"fitted_iteration_s", "fitted", Unit::kSeconds},
                   {"iteration_error", ""},
                   {"compute_s", ""},
                   {"fitted_compute_s", ""},
                   {"sync_s", ""},
                   {"fitted_sync_s", ""},
                   {"noise", "noise"},
                   {"fitted_noise", "fitted"},
                   {"epochs", "epochs"},
                   {"fitted_epochs", "fitted"},
                   {"restarts", ""}};
  table.shown = 20;
  for (const TrainingRun& run : model.runs) table.rows.push_back(run_row(model, run));
  return {"runs", "Runs, and what the laws say of them", table};
}

void add_interruptions_sentence(Prose& prose, const Model& model) {
  if (!model.interruptions) return;
  prose.sentences.push_back({"{} interruptions in {} hours of a machine.",
                             {{Unit::kCount, model.interruptions->restarts},
                              {Unit::kCount, model.interruptions->machine_hours}}});
}

void add_statistics_sentences(Prose& prose, const Model& model) {
  if (model.noise) {
    prose.sentences.push_back({"Noise: {} + {} / sqrt(batch), R2 {}.",
                               {{Unit::kNone, model.noise->intercept},
                                {Unit::kNone, model.noise->slope},
                                {Unit::kNone, model.noise->r2}}});
  }
  if (!model.epochs) return;
  const EpochsFit& epochs = *model.epochs;
  const std::string source = epochs.given        ? "as the job file says"
                             : epochs.calibrated ? "by one configuration"
                                                 : "by the runs";
  prose.sentences.push_back({epochs.law == EpochsLaw::kNoise ? "Epochs: {} + {} noise, {}."
                                                             : "Epochs: {} + {} batch, {}.",
                             {{Unit::kNone, epochs.line.intercept},
                              {Unit::kNone, epochs.line.slope},
                              {Unit::kNone, source}}});
}

Prose headline(const Model& model) {
  const LawResult& law = model.iterations[0].chosen;
  Prose prose{{{"{} runs fitted; iteration time by the law '{}', {} off on average.",
                {{Unit::kCount, static_cast<double>(model.runs.size())},
                 {Unit::kNone, law_word(law.law)},
                 {Unit::kShare, law.mean_error}}}}};
  prose.sentences.push_back({"Why this law: {}.", {{Unit::kNone, model.iterations[0].why}}});
  add_statistics_sentences(prose, model);
  add_interruptions_sentence(prose, model);
  const auto& [k_min, k_max] = model.valid.workers;
  const auto& [b_min, b_max] = model.valid.global_batch;
  prose.sentences.push_back({"Valid for {} workers and batches of {}.",
                             {{Unit::kNone, whole(k_min) + " to " + whole(k_max)},
                              {Unit::kNone, whole(b_min) + " to " + whole(b_max)}}});
  return prose;
}

}  // namespace

Report fit_view(const Model& model) {
  Report report;
  report.sections.push_back({"", "", headline(model)});
  report.sections.push_back(json_field("schema_version", 1.0));
  report.sections.push_back(job_section(model.job));
  report.sections.push_back(noise_section(model));
  report.sections.push_back(epochs_section(model));
  add_iteration_laws(report, model);
  report.sections.push_back(saturation_section(model));
  report.sections.push_back(interruptions_section(model));
  report.sections.push_back(valid_section(model.valid));
  report.sections.push_back(options_section(model.options));
  report.sections.push_back(runs_section(model));
  report.sections.push_back(warnings_section(model.warnings));
  report.csv_section = "runs";
  return report;
}

}  // namespace plumber
