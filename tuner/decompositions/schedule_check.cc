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

namespace mdh {
namespace {

// "1234", "3.1e+09".
std::string CountText(const Count& count) {
  constexpr int64_t kMostWritten = 1'000'000;
  if (count < kMostWritten) return count.get_str();
  return absl::StrFormat("%.1e", count.get_d());
}

// What stands in quotes in an error of SearchSpace::Create.
std::string ConstraintIn(absl::string_view message) {
  const size_t begin = message.find('\'');
  const size_t end = message.rfind('\'');
  if (begin == absl::string_view::npos || end == begin) return std::string(message);
  return std::string(message.substr(begin + 1, end - begin - 1));
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

  ScheduleConflict Find() {
    std::set<int> lines;
    for (const Decision& decision : schedule_.decisions()) lines.insert(decision.line);
    const std::vector<int> all(lines.begin(), lines.end());
    ScheduleConflict conflict;
    conflict.lines = Explain({}, /*has_more=*/false, all);
    std::sort(conflict.lines.begin(), conflict.lines.end());
    conflict.is_minimal = !is_late_;
    const Result<MdhSpace> space = SpaceOf(conflict.lines);
    if (!space.ok()) conflict.constraint = ConstraintIn(space.status().message());
    SetWithout(&conflict);
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
    return MdhSpace::Create(schedule_.expression(), schedule_.model(), device_, numerics_, {},
                            fused_, &part);
  }

  // Whether something is left: most often something is that was found before.
  bool IsPossible(const std::vector<int>& lines) {
    const Schedule part = PartOf(lines);
    for (const TuningParameters& known : known_) {
      if (part.Allows(known).ok()) return true;
    }
    const Result<MdhSpace> space = SpaceOf(lines);
    if (!space.ok()) return false;
    constexpr int kSamples = 16;
    for (int n = 0; n < kSamples; ++n) {
      known_.push_back(space->Decode(space->space().Sample(rng_)));
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

  // The line without which most remains, as far as there is time to find out.
  void SetWithout(ScheduleConflict* conflict) {
    Count most = 0;
    for (const int line : conflict->lines) {
      if (IsLate()) return;
      std::vector<int> others = conflict->lines;
      others.erase(std::find(others.begin(), others.end(), line));
      const Result<MdhSpace> space = SpaceOf(others);
      if (!space.ok() || space->space().is_lazy() || space->space().count() <= most) continue;
      most = space->space().count();
      conflict->without_line = line;
      conflict->count_without = CountText(most);
    }
  }

  const DeviceDescription& device_;
  const Schedule& schedule_;
  const NumericsPolicy numerics_;
  const FusedDimensions& fused_;
  const std::chrono::steady_clock::time_point until_;
  bool is_late_ = false;
  std::vector<TuningParameters> known_;
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
  const Result<MdhSpace> space = MdhSpace::Create(schedule.expression(), schedule.model(), device,
                                                  numerics, {}, fused, &schedule);
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
