#include "tuner/run/trial_history.h"

#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mdh {
std::string IdentityOf(const Kernel& kernel) {
  std::string identity = absl::StrCat(static_cast<int>(kernel.compiler), "\n");
  for (const std::string& option : kernel.compile_options) absl::StrAppend(&identity, option, " ");
  for (const KernelLaunch& launch : kernel.launches) {
    absl::StrAppend(&identity, "\n", launch.function, " ", launch.dynamic_shared_bytes);
    for (int axis = 0; axis < 3; ++axis) {
      absl::StrAppend(&identity, " ", launch.geometry.grid[axis], " ", launch.geometry.block[axis]);
    }
  }
  // Lines of comment at the head say where the kernel comes from.
  absl::string_view code = kernel.source;
  while (absl::StartsWith(code, "//")) {
    const size_t end = code.find('\n');
    code.remove_prefix(end == absl::string_view::npos ? code.size() : end + 1);
  }
  return absl::StrCat(identity, "\n", code);
}

int64_t SearchTime(const Measurement& measurement) {
  if (measurement.outcome != TrialOutcome::kOk || measurement.times_ns.empty()) return 0;
  return *std::ranges::min_element(measurement.times_ns);
}

bool WasCancelled(const Measurement& measurement) {
  return measurement.outcome == TrialOutcome::kTimeout && measurement.reason == "cancelled";
}

namespace {

// Of a kernel that has run before: says nothing of it.
bool IsLack(TrialOutcome outcome) {
  return outcome == TrialOutcome::kCompileError || outcome == TrialOutcome::kLaunchError ||
         outcome == TrialOutcome::kOutOfResources;
}

void SortBy(const std::function<int64_t(const Measurement&)>& time,
            std::vector<Candidate>& candidates) {
  std::ranges::stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
    return time(a.measurement) < time(b.measurement);
  });
}

}  // namespace

std::optional<int64_t> KernelsInWork::Number(const std::string& identity) const {
  const auto found = numbers_.find(identity);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

const Candidate& KernelsInWork::Add(const std::string& identity, Candidate candidate) {
  numbers_[identity] = ++last_number_;
  return candidates_.emplace(last_number_, std::move(candidate))->second;
}

std::vector<Candidate> KernelsInWork::Take(int64_t number) {
  const auto [first, last] = candidates_.equal_range(number);
  std::vector<Candidate> taken;
  for (auto at = first; at != last; ++at) taken.push_back(std::move(at->second));
  candidates_.erase(first, last);
  if (!taken.empty()) numbers_.erase(IdentityOf(taken.front().kernel));
  return taken;
}

Cost TrialHistory::Record(const Candidate& candidate, int64_t elapsed_ns) {
  ++trials_;
  const Measurement& measurement = candidate.measurement;
  const bool is_valid = measurement.outcome == TrialOutcome::kOk;
  if (!is_valid) {
    ++failed_trials_;
    ++reasons_[absl::StrCat(std::string(Name(measurement.outcome)), ": ", measurement.reason)];
  }
  const Cost cost = is_valid ? Cost(static_cast<double>(SearchTime(measurement))) : std::nullopt;
  if (candidate.configuration) evaluated_[*candidate.configuration] = cost;
  if (!candidate.kernel.source.empty()) measured_[IdentityOf(candidate.kernel)] = measurement;
  if (is_valid) KeepIfGood(candidate, elapsed_ns);
  if (is_valid && candidate.is_kept) kept_.push_back(candidate);
  return cost;
}

const Cost* TrialHistory::CostOf(const Configuration& configuration) const {
  const auto found = evaluated_.find(configuration);
  return found == evaluated_.end() ? nullptr : &found->second;
}

const Measurement* TrialHistory::MeasurementOf(const std::string& identity) const {
  const auto found = measured_.find(identity);
  return found == measured_.end() ? nullptr : &found->second;
}

bool TrialHistory::IsAmongBest(const Kernel& kernel) const {
  return std::ranges::any_of(best_, [identity = IdentityOf(kernel)](const Candidate& candidate) {
    return IdentityOf(candidate.kernel) == identity;
  });
}

void TrialHistory::AddKept() {
  for (Candidate& candidate : kept_) {
    if (!IsAmongBest(candidate.kernel)) best_.push_back(std::move(candidate));
  }
  kept_.clear();
}

void TrialHistory::KeepIfGood(const Candidate& candidate, int64_t elapsed_ns) {
  if (IsAmongBest(candidate.kernel)) return;
  const int64_t time_ns = SearchTime(candidate.measurement);
  if (best_.empty() || time_ns < best_ns()) {
    improvements_.push_back(
        {.elapsed_ns = elapsed_ns, .evaluations = trials_, .cost = static_cast<double>(time_ns)});
  }
  best_.push_back(candidate);
  SortBy(SearchTime, best_);
  if (best_.size() > finalists_) best_.pop_back();
}

Status TrialHistory::Replace(std::vector<Measurement> finals) {
  std::vector<Candidate> remaining, lacking;
  std::string lack;
  for (size_t k = 0; k < best_.size(); ++k) {
    const Measurement& final = finals[k];
    if (WasCancelled(final)) {
      remaining.push_back(std::move(best_[k]));
      continue;
    }
    if (final.outcome == TrialOutcome::kOk) {
      remaining.push_back(std::move(best_[k]));
      remaining.back().measurement = final;
      continue;
    }
    const std::string reason =
        absl::StrCat(std::string(Name(final.outcome)), " on new inputs: ", final.reason);
    ++reasons_[reason];
    if (!IsLack(final.outcome)) continue;
    lacking.push_back(std::move(best_[k]));
    lack = reason;
  }
  const bool is_lack = remaining.empty() && !lacking.empty();
  best_ = is_lack ? std::move(lacking) : std::move(remaining);
  SortBy(&Measurement::time_ns, best_);
  return is_lack ? Unavailable(lack) : absl::OkStatus();
}

void TrialHistory::PreferIfUnsettled(const std::string& identity,
                                     const std::set<std::string>& faster) {
  if (best_.empty() || !best_.front().measurement.is_disturbed) return;
  const auto preferred = std::ranges::find_if(
      best_, [&](const Candidate& candidate) { return IdentityOf(candidate.kernel) == identity; });
  // Others only lengthen times: what is faster than a settled one although they lengthened it, is.
  if (preferred == best_.end() || !preferred->measurement.is_disturbed) return;
  const auto first = std::find_if(best_.begin(), preferred, [&](const Candidate& candidate) {
    return faster.contains(IdentityOf(candidate.kernel));
  });
  std::rotate(best_.begin(), first, first + 1);
}

Status TrialHistory::CheckThatSomethingIsValid(const std::string& expression) const {
  if (!best_.empty()) return absl::OkStatus();
  const auto commonest = std::ranges::max_element(
      reasons_, [](const auto& a, const auto& b) { return a.second < b.second; });
  return FailedPrecondition(
      "none of ", trials_, " configurations of ", expression, " was valid",
      commonest == reasons_.end() ? "" : absl::StrCat("; most often: ", commonest->first));
}

}  // namespace mdh
