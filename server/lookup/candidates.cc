#include "server/lookup/candidates.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/printer.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "server/devices/known_devices.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/similar_records.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/search/bound_histogram.h"
#include "tuner/study/restrictions.h"

namespace mdh {
namespace {

// Values of a parameter that answers list.
constexpr size_t kMostListed = 1'000;
// What is kept: as many states, of spaces that take so many bytes together.
constexpr size_t kMostKept = 32;
constexpr int64_t kMostKeptBytes = int64_t{256} << 20;
constexpr size_t kMostRecords = 3;
// Configurations whose bounds are compared, unless the request says so, and at most.
constexpr int64_t kUsuallyCompared = 10'000;
constexpr int64_t kMostCompared = 100'000;

std::string SpaceKeyOf(const AskedSpace& asked) {
  const std::string device = ToProto(asked.device).SerializeAsString();
  return absl::StrCat(ToText(asked.expression), "\n", static_cast<int>(asked.numerics), "\n",
                      asked.schedule.CanonicalText(), "\n", device);
}

v1::KernelKey KernelKeyOf(const AskedSpace& asked) {
  return MakeKernelKey(asked.expression, KeyEnvironment::Of(asked.device),
                       static_cast<v1::NumericsPolicy>(asked.numerics));
}

// Of what is known of the device now: from its specification, where nothing was measured.
BoundFacts FactsOf(const AskedSpace& asked, const DeviceCatalogue& catalogue) {
  DeviceDescription device = WithLimits(asked.device, catalogue.known());
  const std::optional<v1::MachinePeaks> peaks = catalogue.PeaksSoFar(device.Fingerprint());
  const DeviceRates rates = RatesOf(device, peaks ? FromMessage(*peaks) : MachinePeaks{});
  return {std::move(device), rates, {.numerics = asked.numerics, .calls = 1}};
}

// Bounds of a candidate and of each value that remains.
class CandidateBounds {
 public:
  CandidateBounds(const Expression& expression, const CandidateSpace& space,
                  const PartialConfiguration& partial, const BoundFacts& facts)
      : bound_(space.space(), expression, facts), codes_(RemainingCodes(partial)) {}

  void Add(v1::DescribeCandidateResponse& response) const {
    const ProblemBound all = bound_.Explain(SpansOf(codes_));
    if (all.floors.empty()) return;
    const Floor& binding = all.floors.front();
    response.set_bound_ns(all.time_ns());
    response.set_binding_floor(absl::StrCat(binding.resource, ": ", binding.reason));
    response.set_bound_assumption(binding.assumption);
    // In the order of the range, as values are listed.
    std::vector<absl::Span<const int64_t>> open = SpansOf(codes_);
    for (int n = 0; n < response.decisions_size(); ++n) {
      const absl::Span<const int64_t> before = open[n];
      v1::CandidateDecision& decision = *response.mutable_decisions(n);
      for (int value = 0; value < decision.remaining_size(); ++value) {
        open[n] = before.subspan(value, 1);
        decision.mutable_remaining(value)->set_bound_ns(bound_.Of(open));
      }
      open[n] = before;
    }
  }

 private:
  MdhBound bound_;
  std::vector<std::vector<int64_t>> codes_;
};

v1::CandidateDecision DecisionOf(const CandidateSpace& space, const PartialConfiguration& partial,
                                 int parameter) {
  const ParameterMeaning& meaning = space.meanings()[parameter];
  v1::CandidateDecision decision;
  decision.set_parameter(partial.space().parameters()[parameter].name);
  decision.set_meaning(meaning.text);
  decision.set_layer(meaning.layer);
  decision.set_dimension(meaning.dimension);
  decision.set_buffer(meaning.buffer);
  decision.set_schedule(meaning.schedule);
  const std::vector<ValueCount> values = partial.Remaining(parameter, kMostListed);
  for (const ValueCount& value : values) {
    v1::RemainingValue* const remaining = decision.add_remaining();
    remaining->set_value(space.ValueText(parameter, value.code));
    if (!partial.is_lazy()) remaining->set_count(value.count.get_str());
  }
  const bool is_all = values.size() < kMostListed;
  decision.set_remaining_values(
      static_cast<int64_t>(is_all ? values.size() : partial.RemainingValues(parameter)));
  return decision;
}

}  // namespace

Result<Candidates::Opened> Candidates::Open(const v1::Candidate& candidate) {
  MDH_ASSIGN_OR_RETURN(const std::vector<NamedDecision> decisions,
                       InField("restrictions", ReadRestrictions(candidate.restrictions())));
  MDH_ASSIGN_OR_RETURN(AskedSpace asked, ReadAskedSpace(candidate, limits_, catalogue_));
  std::string restrictions;
  for (const v1::Restriction& restriction : candidate.restrictions()) {
    absl::StrAppend(&restrictions, restriction.ByteSizeLong(), ":",
                    restriction.SerializeAsString());
  }
  std::string key = SpaceKeyOf(asked);
  {
    absl::MutexLock lock(&mutex_);
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->key != key || kept->restrictions != restrictions) continue;
      kept_.splice(kept_.begin(), kept_, kept);
      return Opened{std::move(asked), kept->space, kept->partial};
    }
  }
  MDH_ASSIGN_OR_RETURN(const Space space, InField("schedule", SpaceOf(asked, key)));
  MDH_ASSIGN_OR_RETURN(PartialConfiguration partial,
                       InField("restrictions", space->With(decisions)));
  Keep({std::move(key), space, std::move(restrictions), partial});
  return Opened{std::move(asked), space, std::move(partial)};
}

Result<Candidates::Space> Candidates::SpaceOf(const AskedSpace& asked, const std::string& key) {
  {
    absl::MutexLock lock(&mutex_);
    for (const Kept& kept : kept_) {
      if (kept.key == key) return kept.space;
    }
  }
  const bool is_free = asked.schedule.is_free();
  MDH_ASSIGN_OR_RETURN(
      CandidateSpace space,
      CandidateSpace::Create(asked.expression, asked.device, asked.numerics,
                             is_free ? std::nullopt : std::optional(asked.schedule)));
  return std::make_shared<const CandidateSpace>(std::move(space));
}

void Candidates::Keep(Kept kept) {
  absl::MutexLock lock(&mutex_);
  kept_.push_front(std::move(kept));
  std::set<const CandidateSpace*> spaces;
  int64_t bytes = 0;
  size_t count = 0;
  auto at = kept_.begin();
  for (; at != kept_.end() && count < kMostKept; ++at, ++count) {
    const SearchSpace& space = at->space->space().space();
    // The counts of a state are as many as the space has nodes.
    const SpaceSize size = space.size();
    bytes += 2 * size.nodes * static_cast<int64_t>(sizeof(Count));
    if (spaces.insert(at->space.get()).second) bytes += size.bytes;
    if (bytes > kMostKeptBytes && count > 0) break;
  }
  kept_.erase(at, kept_.end());
}

Result<v1::DescribeCandidateResponse> Candidates::Describe(
    const v1::DescribeCandidateRequest& request) {
  MDH_ASSIGN_OR_RETURN(const Opened opened, InField("candidate", Open(request.candidate())));
  const auto& [asked, space, partial] = opened;
  v1::DescribeCandidateResponse response;
  if (!partial.is_lazy()) {
    response.set_count(partial.count().get_str());
    response.set_space_count(partial.space().count().get_str());
  }
  std::set<std::string> restricted;
  for (const v1::Restriction& restriction : request.candidate().restrictions()) {
    restricted.insert(restriction.parameter());
  }
  for (int n = 0; n < std::ssize(partial.space().parameters()); ++n) {
    v1::CandidateDecision* const decision = response.add_decisions();
    *decision = DecisionOf(*space, partial, n);
    decision->set_is_restricted(restricted.contains(decision->parameter()));
  }
  const BoundFacts facts = FactsOf(asked, catalogue_);
  CandidateBounds(asked.expression, *space, partial, facts).Add(response);
  if (request.has_comparison()) {
    MDH_ASSIGN_OR_RETURN(*response.mutable_bounds(),
                         InField("comparison", Compare(opened, facts, request.comparison())));
  }
  response.set_schedule(space->ScheduleOf(partial));
  response.set_is_exact(space->space().has_exactly_schedule());
  return response;
}

Result<v1::BoundHistogram> Candidates::Compare(const Opened& opened, const BoundFacts& facts,
                                               const v1::BoundComparison& comparison) const {
  const auto& [asked, space, partial] = opened;
  if (!(comparison.time_ns() >= 0) || std::isinf(comparison.time_ns())) {
    return InvalidField("time_ns", "must be a positive number, or 0 for that of the record");
  }
  if (comparison.most_configurations() < 0 || comparison.most_configurations() > kMostCompared) {
    return InvalidField("most_configurations", absl::StrCat("must be at most ", kMostCompared,
                                                            ", or 0 for ", kUsuallyCompared));
  }
  if (partial.is_lazy()) {
    return absl::FailedPreconditionError(
        "the space is too large to be counted: there is no share of it to be told");
  }
  double time_ns = comparison.time_ns();
  if (time_ns == 0) {
    const Result<v1::TuningRecord> record = lookup_table_.FindRecord(KernelKeyOf(asked));
    if (!record.ok() || record->time_ns() <= 0) {
      return absl::NotFoundError("there is no record to compare with: tune first, or give a time");
    }
    time_ns = static_cast<double>(record->time_ns());
  }
  const int64_t most = comparison.most_configurations();
  const BoundHistogram found = HistogramOf(
      partial.AsSpace(), MdhBound(space->space(), asked.expression, facts), time_ns,
      most == 0 ? kUsuallyCompared : most, comparison.seed() == 0 ? 1 : comparison.seed());
  const ShareInterval within = found.left_within();
  v1::BoundHistogram histogram;
  histogram.set_time_ns(time_ns);
  histogram.set_configurations(found.configurations);
  histogram.set_is_exact(found.is_exact);
  histogram.set_left(found.left);
  histogram.set_left_share_low(within.low);
  histogram.set_left_share_high(within.high);
  histogram.mutable_counts()->Add(found.counts.begin(), found.counts.end());
  return histogram;
}

Result<FinishedCandidate> Candidates::NearRecord(const Opened& opened,
                                                 std::string& made_from) const {
  const auto& [asked, space, partial] = opened;
  const v1::KernelKey key = KernelKeyOf(asked);
  for (const v1::TuningRecord& record :
       lookup_table_.FindSimilar(key, kMostRecords, ToProto(asked.device))) {
    const Result<TuningParameters> parameters = ParametersFor(asked.device, record);
    const std::optional<ExpressionShape> shape = ExpressionShape::Of(record.key().canonical_form());
    if (!parameters.ok() || !shape) continue;
    made_from = record.name();
    return space->Near(partial, *parameters, shape->sizes);
  }
  return absl::NotFoundError("there is no record of this computation to be near to");
}

Result<v1::FinishCandidateResponse> Candidates::Finish(const v1::FinishCandidateRequest& request) {
  MDH_ASSIGN_OR_RETURN(const Opened opened, InField("candidate", Open(request.candidate())));
  const AskedSpace& asked = opened.asked;
  v1::FinishCandidateResponse response;
  const auto finish = [&]() -> Result<FinishedCandidate> {
    switch (request.by()) {
      case v1::FINISH_RULE_RULES:
        return opened.space->ByRules(opened.partial);
      case v1::FINISH_RULE_NEAREST_RECORD:
        return NearRecord(opened, *response.mutable_made_from());
      case v1::FINISH_RULE_SAMPLE:
        return opened.space->Sample(opened.partial, request.seed() == 0 ? 1 : request.seed());
      default:
        return InvalidField(
            "by", absl::StrCat("there is no way to finish number ", static_cast<int>(request.by()),
                               "; there are RULES, NEAREST_RECORD and SAMPLE"));
    }
  };
  MDH_ASSIGN_OR_RETURN(const FinishedCandidate finished, finish());
  const TuningParameters parameters = opened.space->space().Decode(finished.configuration);
  const v1::KernelKey key = KernelKeyOf(asked);
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       KernelWithParameters(asked.expression, asked.device, key, parameters));
  *response.mutable_kernel() = std::move(made.kernel);
  response.set_parameters(ToText(parameters));
  response.set_schedule(
      Schedule::Of(parameters, asked.expression, asked.schedule.model()).CanonicalText());
  response.set_changed_parameters(finished.changed);
  for (int n = 0; n < std::ssize(finished.configuration); ++n) {
    v1::Restriction* const value = response.add_configuration();
    value->set_parameter(opened.partial.space().parameters()[n].name);
    value->add_values(opened.space->ValueText(n, finished.configuration[n]));
  }
  return response;
}

}  // namespace mdh
