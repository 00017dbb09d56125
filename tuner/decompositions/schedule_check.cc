#include "tuner/decompositions/schedule_check.h"

#include <algorithm>
#include <chrono>
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

// What a schedule leaves. Which constraint leaves nothing is not asked for.
Result<MdhSpace> SpaceUnder(const Schedule& schedule, const DeviceDescription& device,
                            NumericsPolicy numerics, const FusedDimensions& fused) {
  return MdhSpace::Create(schedule.expression(), schedule.model(), device, numerics,
                          {.names_what_empties = false}, fused, &schedule);
}

// QuickXplain (Junker, 2004) over the lines of a schedule: which of them leave nothing together.
class ConflictSearch {
 public:
  ConflictSearch(const DeviceDescription& device, const Schedule& schedule, NumericsPolicy numerics,
                 const FusedDimensions& fused, int64_t most_ms)
      : device_(device),
        schedule_(schedule),
        numerics_(numerics),
        fused_(fused),
        until_(std::chrono::steady_clock::now() + std::chrono::milliseconds(most_ms)) {}

  // Lines without which something is left are in every set that contradicts itself, and most often
  // they do so alone. With so many others pinned, spaces are small.
  ScheduleConflict Find() {
    std::set<int> lines;
    for (const Decision& decision : schedule_.decisions()) lines.insert(decision.line);
    std::vector<int> needed, others;
    ScheduleConflict conflict;
    for (const int line : lines) {
      std::vector<int> without(lines.begin(), lines.end());
      without.erase(std::find(without.begin(), without.end(), line));
      (IsNeeded(line, without, &conflict) ? needed : others).push_back(line);
    }
    conflict.lines = Explain(needed, /*has_more=*/!needed.empty(), others);
    conflict.lines.insert(conflict.lines.end(), needed.begin(), needed.end());
    std::sort(conflict.lines.begin(), conflict.lines.end());
    conflict.is_minimal = !is_late_;
    conflict.constraint = LastOf(conflict.lines);
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

  Result<MdhSpace> SpaceOf(const std::vector<int>& lines) const {
    const Schedule part = PartOf(lines);
    return SpaceUnder(part, device_, numerics_, fused_);
  }

  // Whether something is left: most often something is that was found before.
  bool IsPossible(const std::vector<int>& lines) {
    const Schedule part = PartOf(lines);
    for (const TuningParameters& known : known_) {
      if (part.Allows(known).ok()) return true;
    }
    const Result<MdhSpace> space = SpaceOf(lines);
    if (!space.ok()) return false;
    Remember(*space);
    return true;
  }

  void Remember(const MdhSpace& space) {
    constexpr int kSamples = 16;
    for (int n = 0; n < kSamples; ++n) known_.push_back(space.Decode(space.space().Sample(rng_)));
  }

  // Whether something is left without the line; then how much, if it is more than without others.
  bool IsNeeded(int line, const std::vector<int>& without, ScheduleConflict* conflict) {
    if (IsLate()) return false;
    const Result<MdhSpace> space = SpaceOf(without);
    if (!space.ok()) return false;
    Remember(*space);
    if (!space->space().is_lazy() && space->space().count() > most_) {
      most_ = space->space().count();
      conflict->without_line = line;
      conflict->count_without = CountText(most_);
    }
    return true;
  }

  bool IsLate() {
    is_late_ = is_late_ || std::chrono::steady_clock::now() > until_;
    return is_late_;
  }

  // The lines of `lines` that, with `background`, leave nothing, so that each of them is needed;
  // once it is late, perhaps more.
  std::vector<int> Explain(const std::vector<int>& background, bool has_more,
                           const std::vector<int>& lines) {
    if (has_more && !IsLate() && !IsPossible(background)) return {};
    if (lines.size() <= 1 || IsLate()) return lines;
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
  std::string LastOf(const std::vector<int>& lines) const {
    const Schedule part = PartOf(lines);
    const std::vector<Decision> decisions(part.decisions().begin(), part.decisions().end());
    const auto of_last = [&](size_t n) { return decisions[n].line == lines.back(); };
    size_t n = 0;
    while (n + 1 < decisions.size() && !of_last(n)) ++n;
    for (; n + 1 < decisions.size(); ++n) {
      const Schedule some = schedule_.With({decisions.begin(), decisions.begin() + n + 1});
      if (!SpaceUnder(some, device_, numerics_, fused_).ok()) break;
    }
    return ConstraintName(schedule_, decisions[n]);
  }

  const DeviceDescription& device_;
  const Schedule& schedule_;
  const NumericsPolicy numerics_;
  const FusedDimensions& fused_;
  const std::chrono::steady_clock::time_point until_;
  bool is_late_ = false;
  std::vector<TuningParameters> known_;
  Count most_ = 0;  // that is left without a line
  Rng rng_{1};
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
  const FusedDimensions fused = FusedUnder(schedule, starts);
  const Result<MdhSpace> space = SpaceUnder(schedule, device, numerics, fused);
  if (space.ok()) {
    check.is_exact = space->has_exactly_schedule() && !space->space().is_lazy();
    if (!space->space().is_lazy()) check.count = space->space().count();
    check.example = ExampleOf(*space, schedule);
    return check;
  }
  if (!absl::IsFailedPrecondition(space.status())) return space.status();
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
  check.conflicts = {ConflictSearch(device, schedule, numerics, fused, *most_ms).Find()};
  return check;
}

}  // namespace mdh
