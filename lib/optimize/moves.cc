// SPDX-License-Identifier: Apache-2.0
#include "optimize/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/number_format.h"
#include "optimize/best_plan.h"
#include "optimize/chunk_candidates.h"
#include "optimize/fused_pairs.h"
#include "optimize/ledger.h"
#include "optimize/move_candidates.h"
#include "optimize/seeded_order.h"
#include "optimize/unfused.h"

namespace plumber {
namespace {

constexpr std::size_t kMostNodes = 200;  // of a program whose moves are tried: a second or less
constexpr int kMostMoves = 12;
constexpr double kWorthRate = 0.02;  // of the rate
// Of the rate too, for what cannot be written as a line of Python: beyond the error of predictions.
constexpr double kWorthStructure = 0.1;
constexpr double kWorthMemory = 0.02;  // of the budget
constexpr double kSameRate = 0.01;
constexpr double kWorthFirstEpoch = 0.1;  // of its rate, where later epochs stay as they are

struct Judged {
  double rate_per_s = 0;
  double first_epoch_per_s = 0;  // where a new cache makes it another
  double memory_bytes = 0;
  bool fits = true;
  bool over_budget = false;
};

/// True if a program of another structure comes of it, which only a rewrite can make; or whose
/// costs were measured as one.
bool changes_structure(const MoveCandidate& candidate) {
  return std::ranges::any_of(candidate.edits, [](const Edit& edit) {
    return edit.kind == EditKind::kInsertChunks || edit.kind == EditKind::kMoveIntoFunction ||
           edit.kind == EditKind::kUnfuse;
  });
}

class Chooser {
 public:
  explicit Chooser(const OptimizeOptions& options) : options_(options) {}

  ChosenMoves run(const Pipeline& pipeline, const Analysis& analysis) {
    chosen_.moved = {pipeline, analysis};
    if (!options_.allow_moves) return std::move(chosen_);
    if (pipeline.size() > kMostNodes) {
      chosen_.warning = fmt::format(
          "nodes stay where they are: moves are tried in programs of up to {} nodes, this one has "
          "{}",
          kMostNodes, pipeline.size());
      return std::move(chosen_);
    }
    // Chunks come last: nodes do not move over them any more.
    for (const bool chunks : {false, true}) make_all(chunks);
    return std::move(chosen_);
  }

 private:
  void make_all(bool chunks) {
    for (int made = 0; made < kMostMoves; ++made) {
      MoveCandidates found = allowed_moves(chunks);
      if (found.legal.empty()) return reject(found);
      Judged now = judge(chosen_.moved);
      now.rate_per_s = mixed_rate_per_s(chosen_.hit_share, chosen_.hit_rate_per_s, now.rate_per_s);
      MoveCandidate* best = best_of(found, now);
      // A partial cache copies the nodes below it: nothing moves after that.
      if (best == nullptr || chosen_.hit_share > 0) return reject(found);
      take(*best, now);
      rejected_.clear();
    }
  }

  MoveCandidates allowed_moves(bool chunks) const {
    const FindMoves find = chunks ? find_chunks : find_moves;
    MoveCandidates found = find(chosen_.moved, options_);
    if (!chunks) add_unfused(chosen_.moved, found);
    add_beyond_unfused(chosen_.moved, options_, find, found);
    const std::set<std::string> with_repeat = shuffles_with_repeat(chosen_.moved.pipeline);
    std::erase_if(found.legal, [&](const MoveCandidate& candidate) {
      const std::optional<Rejected> rejected = why_not_allowed(candidate, with_repeat);
      if (rejected && !std::ranges::count(found.illegal, *rejected))
        found.illegal.push_back(*rejected);
      return rejected.has_value();
    });
    return found;
  }

  // What --without leaves out is as good as illegal. So is what parts a shuffle from its repeat or
  // brings the two together, and that after which TensorFlow would fuse what decides about errors.
  std::optional<Rejected> why_not_allowed(const MoveCandidate& candidate,
                                          const std::set<std::string>& with_repeat) const {
    const auto rejected = [&](const Edit& edit, std::string why) {
      return Rejected{edit_word(edit.kind), candidate.node, std::move(why)};
    };
    const std::vector<Edit>& edits = candidate.edits;
    if (shuffles_with_repeat(candidate.moved.pipeline) != with_repeat)
      return rejected(edits.back(), kOtherOrder);
    const auto out = std::ranges::find_if(
        edits, [&](const Edit& edit) { return options_.left_out.contains(edit.kind); });
    if (out != edits.end()) return rejected(*out, kLeftOut);
    const std::string why = why_no_new_pair(candidate.moved.pipeline);
    return why.empty() ? std::nullopt : std::optional(rejected(edits.front(), why));
  }

  Judged judge(const Moved& moved) const {
    const Problem problem =
        make_problem(moved.pipeline, moved.analysis, options_, machine_of(options_.limits));
    const BestPlan plan = best_plan(problem, {0, true});
    const double first_s = evaluate_first_epoch(problem, plan.settled).period_s;
    return {rate_of(problem, plan.settled), first_s > 0 ? 1 / first_s : 0,
            planned_memory(problem, plan.settled).planned_bytes, plan.fits, plan.over_budget};
  }

  // What a move brings: its share of the rate; at the same rate its share of the first epoch's, and
  // of the memory, less.
  double worth(const MoveCandidate& candidate, const Judged& after, const Judged& now) const {
    if (!(now.rate_per_s > 0) || (now.fits && !after.fits)) return 0;
    // What is over the budget shrinks first.
    if (now.over_budget && !candidate.for_memory) return 0;
    if (candidate.asked_for) return 1;
    const double rate = after.rate_per_s / now.rate_per_s - 1;
    if (rate >= (changes_structure(candidate) ? kWorthStructure : kWorthRate)) return rate;
    if (rate < -kSameRate) return 0;
    const double first = after.first_epoch_per_s / now.first_epoch_per_s - 1;
    if (after.fits && first >= kWorthFirstEpoch) return kWorthRate * first / (1 + first);
    if (!candidate.for_memory) return 0;
    if (after.fits && !now.fits) return kWorthRate;
    const double memory =
        (now.memory_bytes - after.memory_bytes) / std::max(1.0, options_.limits.memory_bytes);
    return memory >= kWorthMemory ? std::min(kWorthRate, memory * kWorthRate) : 0;
  }

  MoveCandidate* best_of(MoveCandidates& found, const Judged& now) {
    MoveCandidate* best = nullptr;
    double most = 0;
    rejected_.clear();
    forbidden_bring_.clear();
    for (MoveCandidate& candidate : found.legal) {
      Judged after = judge(candidate.moved);
      const double hits_per_s = candidate.all_hits ? judge(*candidate.all_hits).rate_per_s : 0;
      const double misses_per_s = after.rate_per_s;
      after.rate_per_s = mixed_rate_per_s(candidate.hit_share, hits_per_s, misses_per_s);
      const double brings = worth(candidate, after, now);
      if (candidate.needs) {
        note_forbidden(candidate, brings, after);
        continue;
      }
      if (brings > most * (1 + kSameRate)) {
        best = &candidate;
        most = brings;
        best_ = after;
        hits_per_s_ = hits_per_s;
      }
      if (brings <= 0) note(candidate, after, now);
    }
    return best;
  }

  // Of those that are not permitted the best is said, once for each node.
  void note_forbidden(const MoveCandidate& candidate, double brings, const Judged& after) {
    double& most = forbidden_bring_[candidate.node];
    if (brings <= most * (1 + kSameRate)) return;
    most = brings;
    const std::string word = edit_word(candidate.edits.back().kind);
    std::erase_if(rejected_, [&](const Rejected& rejected) {
      return rejected.node == candidate.node && rejected.edit == word;
    });
    rejected_.push_back(
        {word, candidate.node,
         fmt::format("{} would bring {} (--allow {}): {}", candidate.what,
                     format_rate(after.rate_per_s), permission_word(*candidate.needs),
                     candidate.edits.back().reason)});
  }

  void note(const MoveCandidate& candidate, const Judged& after, const Judged& now) {
    const Edit& edit = candidate.edits.front();
    const auto is_same = [&](const Rejected& rejected) {
      return rejected.node == candidate.node && rejected.edit == edit_word(edit.kind);
    };
    if (std::ranges::any_of(rejected_, is_same) || std::ranges::any_of(chosen_.rejected, is_same))
      return;
    std::string why = candidate.why_little;
    if (changes_structure(candidate) && after.rate_per_s >= now.rate_per_s * (1 + kWorthRate))
      why = fmt::format("another structure has to bring {}, more than predictions may be off",
                        format_share(kWorthStructure));
    rejected_.push_back(
        {edit_word(edit.kind), candidate.node,
         fmt::format("{} and {} with it, {} and {} without: too little{}{}",
                     format_rate(after.rate_per_s), format_bytes(after.memory_bytes),
                     format_rate(now.rate_per_s), format_bytes(now.memory_bytes),
                     why.empty() ? "" : "; ", why)});
  }

  void reject(const MoveCandidates& found) {
    chosen_.rejected.insert(chosen_.rejected.end(), found.illegal.begin(), found.illegal.end());
    chosen_.rejected.insert(chosen_.rejected.end(), rejected_.begin(), rejected_.end());
    rejected_.clear();
  }

  void take(MoveCandidate& candidate, const Judged& now) {
    const double gain = best_.rate_per_s - now.rate_per_s;
    // What does not fit has no rate to compare with.
    if (gain > 0 && now.fits) candidate.edits.back().gain_per_s = gain;
    for (Edit& edit : candidate.edits) chosen_.edits.push_back(std::move(edit));
    if (candidate.hit_share > 0) {
      chosen_.hit_share = candidate.hit_share;
      chosen_.hit_rate_per_s = hits_per_s_;
    }
    chosen_.moved = std::move(candidate.moved);
  }

  const OptimizeOptions& options_;
  ChosenMoves chosen_;
  Judged best_;
  double hits_per_s_ = 0;
  std::map<std::string, double> forbidden_bring_;  // the most, by node
  std::vector<Rejected> rejected_;
};

}  // namespace

double mixed_rate_per_s(double share, double share_rate_per_s, double rate_per_s) {
  if (!(share > 0) || !(share_rate_per_s > 0) || !(rate_per_s > 0)) return rate_per_s;
  return 1 / (share / share_rate_per_s + (1 - share) / rate_per_s);
}

ChosenMoves choose_moves(const Pipeline& pipeline, const Analysis& analysis,
                         const OptimizeOptions& options) {
  return Chooser(options).run(pipeline, analysis);
}

std::optional<NodeId> original_of(const Pipeline& original, const Pipeline& moved, NodeId id) {
  const Node& node = moved[id];
  return find_node(original, node.made_above.empty() ? node.name : node.made_above);
}

}  // namespace plumber
