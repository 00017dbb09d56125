#include "tuner/decompositions/schedule_check.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
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

namespace mdh {
namespace {

// "1234", "3.1e+09".
std::string CountText(const Count& count) {
  constexpr int64_t kMostWritten = 1'000'000;
  if (count < kMostWritten) return count.get_str();
  return absl::StrFormat("%.1e", count.get_d());
}

// Spaces that need more do not tell in time whether they are empty, nor how large they are.
constexpr int64_t kQuickBytes = int64_t{32} << 20;
constexpr int64_t kCountedBytes = int64_t{12} << 20;

// What a schedule is about, and when it is no longer asked for.
struct Question {
  const DeviceDescription& device;
  NumericsPolicy numerics;
  FusedDimensions fused = {};
  std::function<bool()> gives_up = {};

  // What a schedule leaves. Which constraint leaves nothing is not asked for.
  Result<MdhSpace> SpaceUnder(const Schedule& schedule, SpaceOptions options = {}) const {
    options.names_what_empties = false;
    options.gives_up = gives_up;
    return MdhSpace::Create(schedule.expression(), schedule.model(), device, numerics, options,
                            fused, &schedule);
  }
  // One of what it leaves.
  Result<TuningParameters> OneUnder(const Schedule& schedule) const {
    return MdhSpace::FindOne(schedule.expression(), schedule.model(), device, numerics,
                             {.max_bytes = kQuickBytes, .gives_up = gives_up}, fused, &schedule);
  }
};

// QuickXplain (Junker, 2004) over the lines of a schedule: which of them leave nothing together.
class ConflictSearch {
 public:
  ConflictSearch(const Schedule& schedule, const Question& question)
      : schedule_(schedule), question_(question) {}

  ScheduleConflict Find() {
    std::set<int> all;
    for (const Decision& decision : schedule_.decisions()) all.insert(decision.line);
    const std::vector<int> lines(all.begin(), all.end());
    ScheduleConflict conflict;
    conflict.lines = Explain({}, /*has_more=*/false, lines);
    std::sort(conflict.lines.begin(), conflict.lines.end());
    conflict.is_minimal = is_sure_;
    conflict.constraint = LastOf(conflict.lines);
    for (size_t n = conflict.lines.size(); n-- > 0 && conflict.without_line == 0;) {
      CountWithout(conflict.lines[n], lines, &conflict);
    }
    return conflict;
  }

 private:
  Schedule PartOf(const std::vector<int>& lines) const {
    std::vector<Decision> decisions;
    for (const Decision& decision : schedule_.decisions()) {
      if (std::find(lines.begin(), lines.end(), decision.line) != lines.end()) {
        decisions.push_back(decision);
      }
    }
    return schedule_.With(std::move(decisions));
  }

  // Whether something is left: most often something is that was found before. Where that cannot be
  // told in time, perhaps; then what is found need not be minimal.
  bool IsPossible(const Schedule& part) {
    for (const TuningParameters& known : known_) {
      if (part.Allows(known).ok()) return true;
    }
    Result<TuningParameters> one = question_.OneUnder(part);
    if (one.ok()) {
      known_.push_back(*std::move(one));
      return true;
    }
    if (absl::IsFailedPrecondition(one.status())) return false;
    is_sure_ = false;
    return true;
  }

  // The lines of `lines` that, with `background`, leave nothing, so that each of them is needed;
  // once it is late, perhaps more.
  std::vector<int> Explain(const std::vector<int>& background, bool has_more,
                           const std::vector<int>& lines) {
    if (has_more && !IsPossible(PartOf(background))) return {};
    if (lines.size() <= 1) return lines;
    const auto middle = lines.begin() + std::ssize(lines) / 2;
    const std::vector<int> first(lines.begin(), middle), second(middle, lines.end());
    const auto joined = [](std::vector<int> a, const std::vector<int>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    const std::vector<int> of_second = Explain(joined(background, first), !first.empty(), second);
    const std::vector<int> of_first =
        Explain(joined(background, of_second), !of_second.empty(), first);
    return joined(of_first, of_second);
  }

  // The decision that leaves nothing together with those before it, as spaces call it: it is of the
  // last line, as something is left without that.
  std::string LastOf(const std::vector<int>& lines) {
    const Schedule part = PartOf(lines);
    const std::vector<Decision> decisions(part.decisions().begin(), part.decisions().end());
    const auto of_last = [&](size_t n) { return decisions[n].line == lines.back(); };
    size_t n = 0;
    while (n + 1 < decisions.size() && !of_last(n)) ++n;
    for (; n + 1 < decisions.size(); ++n) {
      const Schedule some = schedule_.With({decisions.begin(), decisions.begin() + n + 1});
      if (!IsPossible(some)) break;
    }
    return ConstraintName(schedule_, decisions[n]);
  }

  // How much is left without a line, if anything is: what other lines contradict is not told.
  void CountWithout(int line, std::vector<int> lines, ScheduleConflict* conflict) {
    lines.erase(std::find(lines.begin(), lines.end(), line));
    const Schedule part = PartOf(lines);
    if (!question_.OneUnder(part).ok()) return;
    const Result<MdhSpace> space =
        question_.SpaceUnder(part, {.max_bytes = kCountedBytes, .may_be_lazy = false});
    if (!space.ok()) return;
    conflict->without_line = line;
    conflict->count_without = CountText(space->space().count());
  }

  const Schedule& schedule_;
  const Question& question_;
  bool is_sure_ = true;
  std::vector<TuningParameters> known_;
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

// What is left where a search has its space.
Result<ScheduleCheck> CheckSpace(const Schedule& schedule, const Question& question,
                                 ScheduleCheck check) {
  const Result<TuningParameters> one = question.OneUnder(schedule);
  if (absl::IsFailedPrecondition(one.status())) return one.status();
  MDH_ASSIGN_OR_RETURN(const MdhSpace space, question.SpaceUnder(schedule));
  check.is_exact = space.has_exactly_schedule() && !space.space().is_lazy();
  if (!space.space().is_lazy()) check.count = space.space().count();
  check.example =
      one.ok() && schedule.Allows(*one).ok() ? ToText(*one) : ExampleOf(space, schedule);
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
  Question question = {device, numerics, FusedUnder(schedule, starts)};
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(most_ms.value_or(0));
  Result<ScheduleCheck> left = CheckSpace(schedule, question, check);
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
  question.gives_up = [until] { return std::chrono::steady_clock::now() > until; };
  check.conflicts = {ConflictSearch(schedule, question).Find()};
  return check;
}

}  // namespace mdh
