// SPDX-License-Identifier: Apache-2.0
#include "report/cluster_view.h"

namespace plumber {

Report curves_view(const std::vector<CurvePoint>& curves) {
  Table table;
  for (const char* key : {"machine", "workers", "nodes", "global_batch", "noise", "epochs",
                          "compute_s", "sync_s", "iteration_s"}) {
    table.columns.push_back({key, ""});
  }
  for (const CurvePoint& one : curves) {
    table.rows.push_back(
        {{one.machine, one.at.workers, one.at.nodes, one.at.global_batch, value_of(one.noise),
          value_of(one.epochs), one.time.compute_s, one.time.sync_s, one.time.iteration_s},
         false});
  }
  Report report;
  report.sections.push_back({"curves", "", table});
  report.csv_section = "curves";
  return report;
}

}  // namespace plumber
