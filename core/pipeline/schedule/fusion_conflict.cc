#include "core/pipeline/schedule/fusion_conflict.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/plan/step_fusions.h"

namespace mdh {
namespace {

using Kind = PipelineDecision::Kind;

constexpr std::chrono::milliseconds kMostTime(1500);

bool IsAboutFusion(const PipelineDecision& decision) {
  return decision.kind == Kind::kEdge || decision.kind == Kind::kSiblings ||
         decision.kind == Kind::kSplit;
}

class ConflictSearch {
 public:
  ConflictSearch(const PipelineSchedule& schedule, const PlanOptions& options)
      : schedule_(schedule), options_(options) {
    for (const PipelineDecision& decision : schedule.decisions()) {
      if (IsAboutFusion(decision)) decisions_.push_back(decision);
    }
  }

  std::optional<FusionConflict> Find() {
    if (IsPossible(decisions_)) return std::nullopt;
    for (const PipelineDecision& decision : decisions_) {
      // A plan for each line would take long.
      const bool is_suspect = decisions_.size() == 1 || !ReasonsOf(decision).empty();
      if (is_suspect && !IsPossible({decision})) return Conflict({decision});
    }
    const auto until = std::chrono::steady_clock::now() + kMostTime;
    for (size_t n = decisions_.size(); n-- > 0;) {
      is_minimal_ = std::chrono::steady_clock::now() < until;
      if (!is_minimal_) break;
      std::vector<PipelineDecision> without = decisions_;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(n));
      if (!IsPossible(without)) decisions_ = std::move(without);
    }
    return Conflict(decisions_);
  }

 private:
  bool IsPossible(const std::vector<PipelineDecision>& decisions) const {
    const PipelineSchedule part = schedule_.With(decisions, /*has_sections=*/false);
    return !PlanPartitions(schedule_.pipeline(), part.Under(options_)).empty();
  }

  FusionConflict Conflict(const std::vector<PipelineDecision>& decisions) const {
    std::set<int> lines;
    for (const PipelineDecision& decision : decisions) lines.insert(decision.line);
    FusionConflict conflict{{lines.begin(), lines.end()}, ""};
    if (decisions.size() == 1) {
      conflict.text =
          absl::StrCat(schedule_.PlaceOf(decisions[0]), ": '", schedule_.TextOf(decisions[0]),
                       "' leaves nothing", ReasonOf(decisions[0]));
      return conflict;
    }
    std::vector<std::string> texts;
    for (const PipelineDecision& decision : decisions) {
      texts.push_back(
          absl::StrCat(schedule_.PlaceOf(decision), ": '", schedule_.TextOf(decision), "'"));
    }
    conflict.text = absl::StrCat(absl::StrJoin(texts, ", "),
                                 " contradict each other: no partition has all of them",
                                 is_minimal_ ? "" : " (not shown to be minimal)");
    return conflict;
  }

  // ": inline: the producer reduces".
  std::string ReasonOf(const PipelineDecision& decision) const {
    const std::vector<std::string> reasons = ReasonsOf(decision);
    return reasons.empty() ? ": plans have no such partition"
                           : absl::StrCat(": ", absl::StrJoin(reasons, "; "));
  }

  // Of everything that the line allows, why not; empty: by itself, something of it can be.
  std::vector<std::string> ReasonsOf(const PipelineDecision& decision) const {
    std::vector<std::string> reasons;
    bool can_be = decision.kind == Kind::kEdge &&
                  decision.edge_kinds.Contains(static_cast<int64_t>(EdgeKind::kStage));
    const auto add = [&](const PlannedEdge& edge) {
      const Status obstacle = FusionObstacle(schedule_.pipeline(), edge, options_);
      can_be = can_be || (obstacle.ok() && decision.kind == Kind::kEdge);
      if (obstacle.ok()) return;
      reasons.push_back(
          absl::StrCat(std::string(Name(edge.kind)), ": ", std::string(obstacle.message())));
    };
    for (const auto& [producer, consumer] : decision.pairs) {
      const bool is_split = decision.kind == Kind::kSplit;
      add({producer, consumer, is_split ? EdgeKind::kSplit : EdgeKind::kSiblings});
    }
    for (const EdgeKind kind : {EdgeKind::kInline, EdgeKind::kEpilogue, EdgeKind::kContraction}) {
      const bool is_named =
          decision.kind == Kind::kEdge && decision.edge_kinds.Contains(static_cast<int64_t>(kind));
      if (is_named) add({decision.producer, decision.consumer, kind});
    }
    return can_be ? std::vector<std::string>() : reasons;
  }

  const PipelineSchedule& schedule_;
  const PlanOptions& options_;
  bool is_minimal_ = true;
  std::vector<PipelineDecision> decisions_;
};

}  // namespace

std::optional<FusionConflict> FindFusionConflict(const PipelineSchedule& schedule,
                                                 const PlanOptions& options) {
  return ConflictSearch(schedule, options).Find();
}

}  // namespace mdh
