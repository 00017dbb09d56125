#include "server/jobs/tuning_request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/error_details.h"
#include "server/records/cache_state.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {
namespace {

static_assert(static_cast<int>(NumericsPolicy::kFixedTree) == v1::NUMERICS_POLICY_FIXED_TREE);
static_assert(static_cast<int>(NumericsPolicy::kFp8) == v1::NUMERICS_POLICY_FP8);
static_assert(static_cast<int>(NumericsPolicy::kExactOrder) == v1::NUMERICS_POLICY_EXACT_ORDER);

constexpr int64_t kDefaultBudgetNs = 60'000'000'000;
constexpr int64_t kMaxBudgetNs = 24 * 3600 * int64_t{1'000'000'000};

}  // namespace

Result<NumericsPolicy> ReadNumericsPolicy(v1::NumericsPolicy policy) {
  if (!v1::NumericsPolicy_IsValid(policy)) {
    return InvalidField("numerics_policy", absl::StrCat("there is no numerics policy number ",
                                                        static_cast<int>(policy)));
  }
  return policy == v1::NUMERICS_POLICY_UNSPECIFIED ? NumericsPolicy::kReassociate
                                                   : static_cast<NumericsPolicy>(policy);
}

Result<v1::TuningOptions> CheckTuningOptions(v1::TuningOptions options) {
  if (options.budget_ns() < 0 || options.budget_ns() > kMaxBudgetNs) {
    return InvalidField("budget_ns", absl::StrCat("the budget of ", options.budget_ns(),
                                                  " ns is not between 0 and 24 hours"));
  }
  if (options.max_trials() < 0) {
    return InvalidField("max_trials", absl::StrCat("the number of trials, ", options.max_trials(),
                                                   ", is negative"));
  }
  if (options.max_device_time_ns() < 0) {
    return InvalidField("max_device_time_ns",
                        absl::StrCat("the limit of device time, ", options.max_device_time_ns(),
                                     " ns, is negative"));
  }
  if (options.budget_ns() == 0) options.set_budget_ns(kDefaultBudgetNs);
  if (options.seed() == 0) options.set_seed(1);
  if (!(options.tolerance() >= 0 && options.tolerance() <= 1)) {
    return InvalidField("tolerance", absl::StrCat("the tolerance, ", options.tolerance(),
                                                  ", is not between 0 and 1"));
  }
  if (!(options.gap() >= 0 && options.gap() < 1)) {
    return InvalidField(
        "gap", absl::StrCat("the gap, ", options.gap(), ", is not at least 0 and less than 1"));
  }
  MDH_ASSIGN_OR_RETURN(const NumericsPolicy numerics,
                       ReadNumericsPolicy(options.numerics_policy()));
  options.set_numerics_policy(static_cast<v1::NumericsPolicy>(numerics));
  if (!v1::CacheState_IsValid(options.cache_state())) {
    return InvalidField("cache_state", absl::StrCat("there is no state of the caches number ",
                                                    static_cast<int>(options.cache_state())));
  }
  if (options.technique().empty()) options.set_technique("auc_bandit");
  MDH_RETURN_IF_ERROR(SearchTechniqueNamed(options.technique()).status());
  return options;
}

TuningOptions FromProto(const v1::TuningOptions& options) {
  TuningOptions result;
  result.technique = options.technique();
  result.seed = options.seed();
  result.numerics = {static_cast<NumericsPolicy>(options.numerics_policy()), options.tolerance()};
  result.measure.cache = IsCold(options.cache_state()) ? CacheState::kCold : CacheState::kWarm;
  result.gap = options.gap();
  result.abort = AbortCondition::Duration(options.budget_ns());
  if (options.max_trials() > 0) {
    result.abort = std::move(result.abort) || AbortCondition::Evaluations(options.max_trials());
  }
  return result;
}

int64_t RemainingTime(const v1::TuningOptions& options, int64_t trials, int64_t elapsed_ns) {
  int64_t remaining = std::max<int64_t>(0, options.budget_ns() - elapsed_ns);
  if (options.max_trials() > 0 && trials > 0) {
    const double per_trial = static_cast<double>(elapsed_ns) / static_cast<double>(trials);
    const double left = per_trial * static_cast<double>(options.max_trials() - trials);
    // More than the budget may be more than 64 bits hold.
    if (left < static_cast<double>(remaining))
      remaining = static_cast<int64_t>(std::max(0.0, left));
  }
  return remaining;
}

}  // namespace mdh
