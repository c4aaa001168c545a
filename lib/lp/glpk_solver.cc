// SPDX-License-Identifier: Apache-2.0
// The only file that sees GLPK: its integer codes and its one-based indices stay in here.
#include "lp/glpk_solver.h"

#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"

namespace plumber {
namespace {

/// GLPK keeps an environment per thread and prints by default: silence it, and free it at the end.
class Environment {
 public:
  Environment() { glp_term_out(GLP_OFF); }
  ~Environment() { glp_free_env(); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

struct DeleteProblem {
  void operator()(glp_prob* problem) const { glp_delete_prob(problem); }
};
using Problem = std::unique_ptr<glp_prob, DeleteProblem>;

int bound_type(double lower, double upper) {
  if (lower == upper) return GLP_FX;
  if (lower == -kInfinity && upper == kInfinity) return GLP_FR;
  if (upper == kInfinity) return GLP_LO;
  if (lower == -kInfinity) return GLP_UP;
  return GLP_DB;
}

// GLPK gets no names: it aborts on some that a program may have, and nothing reads them back.
void load_columns(glp_prob* problem, const LinearProgram& program) {
  glp_add_cols(problem, static_cast<int>(program.columns.size()));
  int index = 0;
  for (const Column& column : program.columns) {
    ++index;
    glp_set_col_bnds(problem, index, bound_type(column.lower, column.upper), column.lower,
                     column.upper);
    glp_set_obj_coef(problem, index, column.cost);
    if (column.kind == ColumnKind::kInteger) glp_set_col_kind(problem, index, GLP_IV);
  }
}

void load_rows(glp_prob* problem, const LinearProgram& program) {
  if (program.rows.empty()) return;
  glp_add_rows(problem, static_cast<int>(program.rows.size()));
  std::vector<int> columns;
  std::vector<double> coefficients;
  int index = 0;
  for (const Row& row : program.rows) {
    ++index;
    columns.assign(1, 0);
    coefficients.assign(1, 0);
    for (const Term& term : row.terms) {
      columns.push_back(static_cast<int>(index_of(term.column)) + 1);
      coefficients.push_back(term.coefficient);
    }
    glp_set_row_bnds(problem, index, bound_type(row.lower, row.upper), row.lower, row.upper);
    glp_set_mat_row(problem, index, static_cast<int>(row.terms.size()), columns.data(),
                    coefficients.data());
  }
}

Problem load(const LinearProgram& program) {
  Problem problem(glp_create_prob());
  glp_set_obj_dir(problem.get(), program.sense == Sense::kMinimise ? GLP_MIN : GLP_MAX);
  load_columns(problem.get(), program);
  load_rows(problem.get(), program);
  glp_scale_prob(problem.get(), GLP_SF_GM | GLP_SF_EQ | GLP_SF_2N);
  return problem;
}

SolveStatus status_of(int code) {
  switch (code) {
    case GLP_OPT:
      return SolveStatus::kOptimal;
    case GLP_FEAS:
      return SolveStatus::kFeasible;
    case GLP_NOFEAS:
    case GLP_INFEAS:
      return SolveStatus::kInfeasible;
    case GLP_UNBND:
      return SolveStatus::kUnbounded;
    default:
      return SolveStatus::kUnknown;
  }
}

Solution solve_relaxed(glp_prob* problem, std::size_t columns) {
  glp_smcp parameters;
  glp_init_smcp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.meth = GLP_DUALP;
  const int failed = glp_simplex(problem, &parameters);
  Solution solution;
  if (failed != 0) return solution;
  solution.status = status_of(glp_get_status(problem));
  if (!fits(solution)) return solution;
  solution.objective = solution.bound = glp_get_obj_val(problem);
  for (std::size_t i = 1; i <= columns; ++i) {
    solution.values.push_back(glp_get_col_prim(problem, static_cast<int>(i)));
  }
  return solution;
}

/// What the callback of branch and bound shares with us.
struct Search {
  int limit = 0;
  int nodes = 0;
  double bound = 0;
};

void on_search(glp_tree* tree, void* shared) {
  auto& search = *static_cast<Search*>(shared);
  int active = 0, current = 0, total = 0;
  glp_ios_tree_size(tree, &active, &current, &total);
  search.nodes = total;
  const int best = glp_ios_best_node(tree);
  if (best != 0) search.bound = glp_ios_node_bound(tree, best);
  if (total > search.limit) glp_ios_terminate(tree);
}

Solution solve_integer(glp_prob* problem, const Solution& relaxed, const SolveLimits& limits) {
  Search search{limits.search_nodes, 0, relaxed.objective};
  glp_iocp parameters;
  glp_init_iocp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.br_tech = GLP_BR_DTH;
  parameters.bt_tech = GLP_BT_BLB;
  parameters.mip_gap = limits.relative_gap;
  parameters.cb_func = on_search;
  parameters.cb_info = &search;
  const int code = glp_intopt(problem, &parameters);
  Solution solution;
  solution.search_nodes = search.nodes;
  solution.status = status_of(glp_mip_status(problem));
  if (code == GLP_ESTOP && solution.status != SolveStatus::kFeasible &&
      solution.status != SolveStatus::kOptimal) {
    solution.status = SolveStatus::kUnknown;
  }
  if (code == 0 && solution.status == SolveStatus::kFeasible)
    solution.status = SolveStatus::kOptimal;
  solution.bound = search.bound;
  if (!fits(solution)) return solution;
  solution.objective = glp_mip_obj_val(problem);
  if (solution.status == SolveStatus::kOptimal) solution.bound = solution.objective;
  return solution;
}

void read_integer_values(glp_prob* problem, const LinearProgram& program, Solution& solution) {
  int index = 0;
  for (const Column& column : program.columns) {
    const double value = glp_mip_col_val(problem, ++index);
    const bool whole = column.kind == ColumnKind::kInteger;
    solution.values.push_back(whole ? std::round(value) : value);
  }
}

}  // namespace

double relative_gap(const Solution& solution) {
  const double size = std::max(std::abs(solution.objective), 1e-300);
  return std::abs(solution.objective - solution.bound) / size;
}

Solution solve(const LinearProgram& program, const SolveLimits& limits) {
  validate(program);
  const Environment environment;
  const Problem problem = load(program);
  const Solution relaxed = solve_relaxed(problem.get(), program.columns.size());
  if (!has_integers(program) || relaxed.status != SolveStatus::kOptimal) return relaxed;
  Solution solution = solve_integer(problem.get(), relaxed, limits);
  if (fits(solution)) read_integer_values(problem.get(), program, solution);
  return solution;
}

}  // namespace plumber
