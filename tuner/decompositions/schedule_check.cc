#include "tuner/decompositions/schedule_check.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/choose/default_parameters.h"
#include "core/schedule/broken_rule.h"
#include "core/schedule/complete_parameters.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/mdh_space_kind.h"
#include "tuner/space/solver/constraint_solver.h"

namespace mdh {
namespace {

// What decisions of a schedule leave, and which of them leave nothing together, without the space.
// All questions are about one space: that of the whole schedule, which offers whatever one of its
// lines names. Not thread-safe.
class ScheduleSolver {
 public:
  // Decisions are the groups of its answers, by their numbers in the schedule.
  using Answer = ConstraintSolver::Answer;

  // Errors: those of MdhSpace::Create, but nothing being left.
  static Result<ScheduleSolver> Create(const Schedule& schedule, const DeviceDescription& device,
                                       NumericsPolicy numerics, const FusedDimensions& fused) {
    MDH_ASSIGN_OR_RETURN(ScheduledKind made, MakeKind(schedule.expression(), schedule.model(),
                                                      device, numerics, fused, &schedule));
    return ScheduleSolver(std::move(made.kind), fused);
  }

  // Something that these decisions leave. Decisions that no formula says, and those on which
  // dimensions are fused, count as kept.
  Answer Find(const std::vector<int>& decisions, const std::function<bool()>& gives_up = {}) {
    return solver_->Find(decisions, gives_up);
  }
  // Of kFound.
  TuningParameters Decode(const Answer& answer) const {
    TuningParameters parameters = kind_->Decode(answer.configuration);
    parameters.fused = fused_;
    return parameters;
  }

 private:
  ScheduleSolver(std::shared_ptr<const MdhSpaceKind> kind, FusedDimensions fused)
      : kind_(std::move(kind)), fused_(std::move(fused)) {
    const SpaceBuilder& builder = kind_->builder();
    std::vector<int> decisions;
    for (int n = 0; n < std::ssize(builder.constraints()); ++n) {
      decisions.push_back(kind_->DecisionOf(n));
    }
    solver_ =
        std::make_unique<ConstraintSolver>(builder.parameters(), builder.constraints(), decisions);
  }

  std::shared_ptr<const MdhSpaceKind> kind_;
  FusedDimensions fused_;
  std::unique_ptr<ConstraintSolver> solver_;
};

// "1234", "3.1e+09".
std::string CountText(const Count& count) {
  constexpr int64_t kMostWritten = 1'000'000;
  if (count < kMostWritten) return count.get_str();
  return absl::StrFormat("%.1e", count.get_d());
}

// What the space of a count may take, and the share of the time of the search for a conflict.
constexpr int64_t kCountedBytes = int64_t{12} << 20;
constexpr int64_t kCountShare = 20;

using Outcome = ScheduleSolver::Answer::Outcome;
using Clock = std::chrono::steady_clock;
using GivesUp = std::function<bool()>;

GivesUp AfterMs(int64_t ms) {
  return [until = Clock::now() + std::chrono::milliseconds(ms)] { return Clock::now() > until; };
}

// What a schedule is about.
struct Question {
  const DeviceDescription& device;
  NumericsPolicy numerics;
  FusedDimensions fused = {};

  // What a schedule leaves. Which constraint leaves nothing is not asked for.
  Result<MdhSpace> SpaceUnder(const Schedule& schedule, SpaceOptions options = {}) const {
    options.names_what_empties = false;
    return MdhSpace::Create(schedule.expression(), schedule.model(), device, numerics, options,
                            fused, &schedule);
  }
};

// Which lines of a schedule leave nothing together: those that the solver needs, without each that
// can be left out.
class ConflictSearch {
 public:
  ConflictSearch(const Schedule& schedule, const Question& question, ScheduleSolver& solver,
                 GivesUp gives_up, int64_t count_ms)
      : schedule_(schedule),
        question_(question),
        solver_(solver),
        gives_up_(std::move(gives_up)),
        count_ms_(count_ms) {}

  // `decisions`: that leave nothing.
  ScheduleConflict Find(const std::vector<int>& decisions) {
    std::vector<int> lines = LinesOf(decisions);
    ScheduleConflict conflict;
    for (size_t needed = 0; needed < lines.size();) {  // the last ones
      std::vector<int> others = lines;
      others.erase(others.end() - 1 - static_cast<std::ptrdiff_t>(needed));
      const Answer answer = solver_.Find(DecisionsOf(others), gives_up_);
      if (answer.outcome == Outcome::kEmpty) {
        lines = LinesOf(answer.groups);
        continue;
      }
      conflict.is_minimal = conflict.is_minimal && answer.outcome == Outcome::kFound;
      ++needed;
    }
    conflict.lines = std::move(lines);
    conflict.constraint = LastOf(conflict.lines);
    const GivesUp is_late = AfterMs(count_ms_);
    for (size_t n = conflict.lines.size(); n-- > 0 && conflict.without_line == 0;) {
      CountWithout(conflict.lines[n], is_late, &conflict);
    }
    return conflict;
  }

 private:
  using Answer = ScheduleSolver::Answer;

  const Decision& DecisionAt(int n) const { return schedule_.decisions()[n]; }

  std::vector<int> LinesOf(const std::vector<int>& decisions) const {
    std::set<int> lines;
    for (const int n : decisions) lines.insert(DecisionAt(n).line);
    return {lines.begin(), lines.end()};
  }

  std::vector<int> DecisionsOf(const std::vector<int>& lines) const {
    std::vector<int> decisions;
    for (int n = 0; n < std::ssize(schedule_.decisions()); ++n) {
      const bool is_there = std::ranges::find(lines, DecisionAt(n).line) != lines.end();
      if (is_there) decisions.push_back(n);
    }
    return decisions;
  }

  // The decision that leaves nothing together with those before it, as spaces call it: it is of the
  // last line, as something is left without that.
  std::string LastOf(const std::vector<int>& lines) {
    if (lines.empty()) return "";
    const std::vector<int> last = DecisionsOf({lines.back()});
    std::vector<int> some = DecisionsOf({lines.begin(), lines.end() - 1});
    for (const int n : last) {
      some.push_back(n);
      if (n == last.back() || solver_.Find(some, gives_up_).outcome == Outcome::kEmpty) {
        return ConstraintName(schedule_, DecisionAt(n));
      }
    }
    return "";
  }

  // How much is left without a line, if anything is: what other lines contradict is not told.
  void CountWithout(int line, const GivesUp& is_late, ScheduleConflict* conflict) {
    std::vector<int> others;
    std::vector<Decision> decisions;
    for (int n = 0; n < std::ssize(schedule_.decisions()); ++n) {
      if (DecisionAt(n).line == line) continue;
      others.push_back(n);
      decisions.push_back(DecisionAt(n));
    }
    if (solver_.Find(others, is_late).outcome != Outcome::kFound) return;
    const Schedule part = schedule_.With(std::move(decisions));
    const Result<MdhSpace> space = question_.SpaceUnder(
        part, {.max_bytes = kCountedBytes, .may_be_lazy = false, .gives_up = is_late});
    if (!space.ok()) return;
    conflict->without_line = line;
    conflict->count_without = CountText(space->space().count());
  }

  const Schedule& schedule_;
  const Question& question_;
  ScheduleSolver& solver_;
  GivesUp gives_up_;
  int64_t count_ms_;
};

// One of the space that the schedule allows; empty: none of many is.
std::string ExampleOf(const MdhSpace& space, const Schedule& schedule) {
  constexpr int kTries = 1000;
  Rng rng(1);
  for (int n = 0; n < kTries; ++n) {
    const TuningParameters p = space.Decode(space.space().Sample(rng));
    if (schedule.Allows(p).ok()) return ToText(p);
  }
  return "";
}

std::vector<int> AllDecisions(const Schedule& schedule) {
  std::vector<int> all(schedule.decisions().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// What is left where a search has its space. FailedPrecondition: nothing is.
Result<ScheduleCheck> CheckSpace(const Schedule& schedule, const Question& question,
                                 const ScheduleSolver& solver, const ScheduleSolver::Answer& answer,
                                 ScheduleCheck check) {
  if (answer.outcome == Outcome::kEmpty) return FailedPrecondition("nothing is left");
  if (answer.outcome == Outcome::kFound) {
    const TuningParameters one = solver.Decode(answer);
    if (schedule.Allows(one).ok()) check.example = ToText(one);
  }
  const Result<MdhSpace> space = question.SpaceUnder(schedule);
  if (absl::IsResourceExhausted(space.status())) {
    check.is_exact = false;  // too large for a diagram, and too full of dead ends without
    return check;
  }
  MDH_RETURN_IF_ERROR(space.status());
  check.is_exact = space->has_exactly_schedule() && !space->space().is_lazy();
  if (!space->space().is_lazy()) check.count = space->space().count();
  if (check.example.empty()) check.example = ExampleOf(*space, schedule);
  return check;
}

}  // namespace

std::string ScheduleConflict::ToText() const {
  if (!rule.empty()) return rule;
  std::vector<std::string> numbers;
  for (const int line : lines) numbers.push_back(absl::StrCat(line));
  std::string which = absl::StrJoin(numbers, ", ");
  if (numbers.size() > 1) {
    const std::string last = numbers.back();
    numbers.pop_back();
    which = absl::StrCat(absl::StrJoin(numbers, ", "), " and ", last);
  }
  std::string text = lines.size() == 1 ? absl::StrCat("line ", which, " leaves nothing")
                                       : absl::StrCat("lines ", which, " contradict each other");
  if (!constraint.empty()) absl::StrAppend(&text, " under '", constraint, "'");
  if (!is_minimal) absl::StrAppend(&text, " (not shown to be minimal)");
  if (without_line > 0) {
    absl::StrAppend(&text, "; without line ", without_line, " there are ", count_without,
                    " configurations");
  }
  return text;
}

FusedDimensions FusedUnder(const Schedule& schedule, absl::Span<const TuningParameters> starts) {
  for (const TuningParameters& start : starts) {
    if (schedule.AllowsFused(start.fused)) return start.fused;
  }
  return schedule.fused();
}

Result<ScheduleCheck> CheckSchedule(const DeviceDescription& device, const Schedule& schedule,
                                    NumericsPolicy numerics, std::optional<int64_t> most_ms) {
  ScheduleCheck check{.canonical = schedule.CanonicalText()};
  if (const auto complete = CompleteParameters(schedule, device, numerics)) {
    check.count = 1;
    check.example = ToText(*complete);
    return check;
  }
  const std::vector<TuningParameters> starts =
      StartingParameters(schedule.expression(), schedule.model(), device, numerics);
  const Question question = {device, numerics, FusedUnder(schedule, starts)};
  const GivesUp is_late = AfterMs(most_ms.value_or(0));
  MDH_ASSIGN_OR_RETURN(ScheduleSolver solver,
                       ScheduleSolver::Create(schedule, device, numerics, question.fused));
  const std::vector<int> all = AllDecisions(schedule);
  const ScheduleSolver::Answer answer = solver.Find(all, most_ms.has_value() ? is_late : GivesUp());
  Result<ScheduleCheck> left = CheckSpace(schedule, question, solver, answer, check);
  if (!absl::IsFailedPrecondition(left.status())) return left;
  for (const TuningParameters& start : starts) {
    if (!schedule.Allows(start).ok()) continue;
    ++check.count;
    check.is_exact = false;
    if (check.example.empty()) check.example = ToText(start);
  }
  if (check.count > 0 || !most_ms.has_value()) return check;
  if (const std::optional<BrokenRule> broken = FindBrokenRule(schedule, device, numerics)) {
    ScheduleConflict conflict{.rule = ToText(*broken, schedule)};
    if (broken->decision.has_value()) conflict.lines = {broken->decision->line};
    check.conflicts = {std::move(conflict)};
    return check;
  }
  const std::vector<int>& those = answer.outcome == Outcome::kEmpty ? answer.groups : all;
  check.conflicts = {
      ConflictSearch(schedule, question, solver, is_late, *most_ms / kCountShare).Find(those)};
  return check;
}

}  // namespace mdh
