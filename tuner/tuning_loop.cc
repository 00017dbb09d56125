// The tuning loop: default configuration, start configurations, then what the technique proposes;
// at the end the best few once more, on new inputs.
#include "tuner/tuning_loop.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/default_parameters.h"
#include "core/low_level_expression.h"
#include "tuner/mdh_space.h"
#include "tuner/measure/clock.h"
#include "tuner/search/search.h"

namespace mdh {
namespace {

constexpr size_t kFinalists = 3;
constexpr int kFinalRounds = 2;
// The final figure is timed this much longer than a trial.
constexpr int kFinalTimeFactor = 4;
// A candidate that is this many times slower than the best ends as a timeout, but none does before
// the second time has passed: calls of a good one must fit in.
constexpr int64_t kHopelessFactor = 30;
constexpr int64_t kLeastRunLimit = 1'000'000'000;
// The same for compiling.
constexpr int64_t kLongCompileFactor = 10;
constexpr int64_t kLeastCompileLimit = 8'000'000'000;

bool WasCancelled(const Measurement& measurement) {
  return measurement.outcome == TrialOutcome::kTimeout && measurement.reason == "cancelled";
}

// What the search compares. Noise only ever adds to a time, so of a few calls the fastest says
// most; the figure that is reported in the end is a median of many.
int64_t SearchTime(const Measurement& measurement) {
  if (measurement.outcome != TrialOutcome::kOk || measurement.times_ns.empty()) return 0;
  return *std::min_element(measurement.times_ns.begin(), measurement.times_ns.end());
}

// Kernels that differ in nothing but the comment at their head are one: many configurations
// generate the same code.
std::string IdentityOf(const Kernel& kernel) {
  std::string identity = absl::StrCat(static_cast<int>(kernel.compiler), "\n");
  for (const std::string& option : kernel.compile_options) absl::StrAppend(&identity, option, " ");
  const size_t code = kernel.source.find("\n#include");
  return absl::StrCat(identity, "\n", kernel.source.substr(code == std::string::npos ? 0 : code));
}

// A configuration on its way from proposal to trial.
struct Candidate {
  TuningParameters parameters;
  int64_t proposal = 0;                        // number that the search gave it; 0: none
  std::optional<Configuration> configuration;  // nullopt: not in the space
  Kernel kernel;
  Measurement measurement;
};

class TuningRun {
 public:
  TuningRun(const Expression& expression, Runner& runner, const TuningOptions& options,
            const std::function<void(const TuningProgress&)>& on_trial,
            const std::atomic<bool>& cancelled)
      : expression_(expression),
        runner_(runner),
        options_(options),
        on_trial_(on_trial),
        cancelled_(cancelled),
        start_ns_(NowNs()),
        model_(OpenMpSimdRegistersModel()) {}

  Result<TuningResult> Run() {
    MDH_RETURN_IF_ERROR(SearchTechniqueNamed(options_.technique).status());
    MDH_ASSIGN_OR_RETURN(
        space_, MdhSpace::Create(expression_, model_, runner_.device(), options_.numerics.policy));
    TuningResult result;
    const int64_t before_problem_ns = NowNs();
    MDH_RETURN_IF_ERROR(runner_.SetProblem(expression_, options_.seed, options_.numerics));
    problem_ns_ = NowNs() - before_problem_ns;
    MDH_ASSIGN_OR_RETURN(result.loop_nest_ns, runner_.LoopNestTime());
    MDH_RETURN_IF_ERROR(RunSearch());
    MDH_RETURN_IF_ERROR(CheckThatSomethingIsValid());
    if (!cancelled_) MDH_RETURN_IF_ERROR(MeasureFinalists());
    MDH_RETURN_IF_ERROR(CheckThatSomethingIsValid());
    return Finish(std::move(result));
  }

 private:
  // The figures of the search so far, as abort conditions see them.
  SearchProgress Progress() const {
    return {.elapsed_ns = NowNs() - start_ns_,
            .evaluations = trials_,
            .valid_evaluations = trials_ - failed_trials_,
            .best_cost = best_.empty() ? std::nullopt
                                       : std::optional<double>(static_cast<double>(best_ns())),
            .space_count = space_->space().is_lazy() ? Count(0) : space_->space().count(),
            .improvements = improvements_};
  }

  // How long the measurements at the end will take.
  int64_t ReservedForTheEnd() const {
    const int64_t each = kFinalTimeFactor * options_.measure.target_time_ns * kFinalRounds;
    return problem_ns_ + static_cast<int64_t>(kFinalists) * each;
  }

  // How many evaluations may follow before the condition holds, at most `wanted`. Time that the end
  // needs, and half of what a batch lasts, count as spent.
  int Allowance(int wanted) const {
    SearchProgress progress = Progress();
    progress.elapsed_ns += ReservedForTheEnd() + batch_ns_ / 2;
    int allowed = 0;
    while (allowed < wanted && !options_.abort.Holds(progress)) {
      ++allowed;
      ++progress.evaluations;
    }
    return allowed;
  }

  Status RunSearch() {
    std::vector<StartPoint> first = {
        {DefaultParameters(expression_, model_, runner_.device(), options_.numerics.policy)}};
    first.insert(first.end(), options_.start.begin(), options_.start.end());
    MDH_RETURN_IF_ERROR(EvaluateKnown(first));
    MDH_ASSIGN_OR_RETURN(Search search, Search::Create(space_->space(), Options(first)));
    search_ = &search;
    while (!cancelled_) {
      const int allowed = Allowance(options_.lookahead);
      if (allowed == 0) break;
      const std::vector<Proposal> proposals = search.Ask(allowed);
      if (proposals.empty()) break;
      MDH_RETURN_IF_ERROR(EvaluateProposals(proposals));
    }
    search_ = nullptr;
    return absl::OkStatus();
  }

  // The search starts from what is known, repaired where it is no member of the space.
  SearchOptions Options(const std::vector<StartPoint>& first) const {
    SearchOptions options = {
        .technique = options_.technique, .seed = options_.seed, .lookahead = options_.lookahead};
    for (const StartPoint& point : first) {
      if (!IsOfThisModel(point)) continue;
      options.start.push_back(space_->EncodeNearest(point.parameters, point.sizes));
    }
    return options;
  }

  bool IsOfThisModel(const StartPoint& point) const {
    return point.parameters.system_model == model_.name &&
           point.parameters.tile.size() == model_.layers.size() &&
           static_cast<int>(point.parameters.tile[0].size()) == expression_.rank();
  }

  // As it is: those of other sizes, or of other devices, may be invalid here.
  bool IsValidHere(const StartPoint& point) const {
    return IsOfThisModel(point) && point.parameters.numerics == options_.numerics.policy &&
           Validate(expression_, model_, runner_.device(), point.parameters).ok();
  }

  Status EvaluateProposals(const std::vector<Proposal>& proposals) {
    std::vector<Candidate> candidates;
    for (const Proposal& proposal : proposals) {
      // Known before the search began.
      const auto found = evaluated_.find(proposal.configuration);
      if (found != evaluated_.end()) {
        MDH_RETURN_IF_ERROR(search_->Tell(proposal.number, found->second));
        continue;
      }
      candidates.push_back({.parameters = space_->Decode(proposal.configuration),
                            .proposal = proposal.number,
                            .configuration = proposal.configuration,
                            .kernel = {},
                            .measurement = {}});
    }
    return Evaluate(candidates);
  }

  // The configuration from rules and those of earlier runs as they are, which need not be in the
  // space. The first one is evaluated even if the abort condition holds already: there is always a
  // result.
  Status EvaluateKnown(const std::vector<StartPoint>& first) {
    std::vector<Candidate> candidates;
    const int allowed = std::min(std::max(Allowance(static_cast<int>(first.size())), 1),
                                 static_cast<int>(first.size()));
    for (int n = 0; n < allowed; ++n) {
      const StartPoint& point = first[static_cast<size_t>(n)];
      const TuningParameters& parameters = point.parameters;
      const bool repeated = std::find(first.begin(), first.begin() + n, point) != first.begin() + n;
      if (repeated || (n > 0 && !IsValidHere(point))) continue;
      candidates.push_back({.parameters = parameters,
                            .configuration = space_->Encode(parameters),
                            .kernel = {},
                            .measurement = {}});
    }
    MDH_RETURN_IF_ERROR(Evaluate(candidates));
    if (!candidates.empty()) default_ns_ = candidates[0].measurement.time_ns();
    return absl::OkStatus();
  }

  Status Evaluate(std::vector<Candidate>& candidates) {
    if (candidates.empty()) return absl::OkStatus();
    const int64_t before_ns = NowNs();
    MDH_RETURN_IF_ERROR(MeasureNew(candidates));
    for (Candidate& candidate : candidates) {
      if (WasCancelled(candidate.measurement)) continue;
      MDH_RETURN_IF_ERROR(RecordTrial(candidate));
    }
    batch_ns_ = NowNs() - before_ns;
    return absl::OkStatus();
  }

  // Fills in the measurements; a kernel that was measured before is not measured again.
  Status MeasureNew(std::vector<Candidate>& candidates) {
    std::map<std::string, size_t> to_measure;  // identity -> position in `kernels`
    std::vector<Kernel> kernels;
    for (Candidate& candidate : candidates) {
      Result<Kernel> kernel = Generate(candidate.parameters);
      if (!kernel.ok()) {
        candidate.measurement.outcome = TrialOutcome::kCompileError;
        candidate.measurement.reason = std::string(kernel.status().message());
        continue;
      }
      candidate.kernel = *std::move(kernel);
      const std::string identity = IdentityOf(candidate.kernel);
      if (measured_.contains(identity)) continue;
      if (to_measure.emplace(identity, kernels.size()).second) kernels.push_back(candidate.kernel);
    }
    MeasureOptions options = options_.measure;
    if (!best_.empty()) {
      options.best_so_far_ns = best_ns();
      // What is hopeless is not waited for, and neither is code that has grown out of proportion.
      options.compile_limit_ns = std::min(
          options.compile_limit_ns,
          std::max(kLongCompileFactor * best_.front().measurement.compile_ns, kLeastCompileLimit));
      options.run_limit_ns =
          std::min(options.run_limit_ns, std::max(kHopelessFactor * best_ns(), kLeastRunLimit));
    }
    if (!kernels.empty()) {
      MDH_ASSIGN_OR_RETURN(const std::vector<Measurement> measurements,
                           runner_.Measure(kernels, options));
      for (const auto& [identity, position] : to_measure) {
        measured_[identity] = measurements[position];
      }
    }
    for (Candidate& candidate : candidates) {
      if (!candidate.kernel.source.empty()) {
        candidate.measurement = measured_.at(IdentityOf(candidate.kernel));
      }
    }
    return absl::OkStatus();
  }

  Result<Kernel> Generate(const TuningParameters& parameters) const {
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression_, model_, runner_.device(), parameters));
    return GenerateOpenMp(low_level, runner_.device());
  }

  Status RecordTrial(Candidate& candidate) {
    ++trials_;
    const bool valid = candidate.measurement.outcome == TrialOutcome::kOk;
    if (!valid) {
      ++failed_trials_;
      ++reasons_[absl::StrCat(std::string(Name(candidate.measurement.outcome)), ": ",
                              candidate.measurement.reason)];
    }
    const Cost cost =
        valid ? Cost(static_cast<double>(SearchTime(candidate.measurement))) : std::nullopt;
    if (candidate.configuration) evaluated_[*candidate.configuration] = cost;
    if (candidate.proposal > 0) MDH_RETURN_IF_ERROR(search_->Tell(candidate.proposal, cost));
    const Trial trial = {.number = trials_,
                         .parameters = candidate.parameters,
                         .measurement = candidate.measurement};
    if (valid) KeepIfGood(candidate);
    if (on_trial_) Publish(trial);
    return absl::OkStatus();
  }

  void Publish(const Trial& trial) const {
    on_trial_({.trial = &trial,
               .trials = trials_,
               .failed_trials = failed_trials_,
               .best_ns = best_ns(),
               .best = best_.empty() ? nullptr : &best_.front().parameters,
               .elapsed_ns = NowNs() - start_ns_});
  }

  void KeepIfGood(const Candidate& candidate) {
    const std::string identity = IdentityOf(candidate.kernel);
    for (const Candidate& kept : best_) {
      if (IdentityOf(kept.kernel) == identity) return;
    }
    if (best_.empty() || SearchTime(candidate.measurement) < best_ns()) {
      improvements_.push_back({.elapsed_ns = NowNs() - start_ns_,
                               .evaluations = trials_,
                               .cost = static_cast<double>(SearchTime(candidate.measurement))});
    }
    best_.push_back(candidate);
    SortBest(SearchTime);
    if (best_.size() > kFinalists) best_.pop_back();
  }

  void SortBest(const std::function<int64_t(const Measurement&)>& time) {
    std::stable_sort(best_.begin(), best_.end(), [&](const Candidate& a, const Candidate& b) {
      return time(a.measurement) < time(b.measurement);
    });
  }

  // The smallest of many noisy times is mostly luck: the best few are timed again, in turn and for
  // longer, and their results are checked on inputs that no one has seen before.
  Status MeasureFinalists() {
    Status status = runner_.SetProblem(expression_, options_.seed + 1, options_.numerics);
    // A runner that has died is started again: an hour's search is not thrown away for that.
    if (absl::IsUnavailable(status))
      status = runner_.SetProblem(expression_, options_.seed + 1, options_.numerics);
    if (absl::IsCancelled(status)) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(status);
    std::vector<Kernel> kernels;
    for (const Candidate& candidate : best_) kernels.push_back(candidate.kernel);
    MeasureOptions options = options_.measure;
    options.target_time_ns *= kFinalTimeFactor;
    options.best_so_far_ns = 0;
    std::vector<Measurement> finals(best_.size());
    for (int round = 0; round < kFinalRounds; ++round) {
      MDH_ASSIGN_OR_RETURN(std::vector<Measurement> measurements,
                           runner_.Measure(kernels, options));
      for (size_t k = 0; k < kernels.size(); ++k) Append(measurements[k], finals[k]);
    }
    std::vector<Candidate> remaining;
    for (size_t k = 0; k < best_.size(); ++k) {
      // Cancelled in the middle: what was measured before still holds.
      if (!WasCancelled(finals[k])) best_[k].measurement = finals[k];
      if (best_[k].measurement.outcome == TrialOutcome::kOk) {
        remaining.push_back(best_[k]);
      } else {
        ++reasons_[absl::StrCat(std::string(Name(finals[k].outcome)),
                                " on new inputs: ", finals[k].reason)];
      }
    }
    best_ = std::move(remaining);
    SortBest(&Measurement::time_ns);
    return absl::OkStatus();
  }

  static void Append(const Measurement& round, Measurement& all) {
    if (all.outcome != TrialOutcome::kOk) return;
    if (round.outcome != TrialOutcome::kOk) {
      all = round;
      return;
    }
    all.times_ns.insert(all.times_ns.end(), round.times_ns.begin(), round.times_ns.end());
    all.compile_ns = std::max(all.compile_ns, round.compile_ns);
  }

  Status CheckThatSomethingIsValid() const {
    if (!best_.empty()) return absl::OkStatus();
    if (cancelled_) return absl::CancelledError("cancelled before any configuration was measured");
    const auto commonest =
        std::max_element(reasons_.begin(), reasons_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return absl::FailedPreconditionError(absl::StrCat(
        "none of ", trials_, " configurations of ", expression_.name(), " was valid",
        commonest == reasons_.end() ? "" : absl::StrCat("; most often: ", commonest->first)));
  }

  Result<TuningResult> Finish(TuningResult result) const {
    const Candidate& best = best_.front();
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression_, model_, runner_.device(), best.parameters));
    result.parameters = best.parameters;
    result.kernel = best.kernel;
    result.measurement = best.measurement;
    result.default_ns = default_ns_;
    result.trials = trials_;
    result.failed_trials = failed_trials_;
    result.elapsed_ns = NowNs() - start_ns_;
    result.low_level_table = low_level.ToTable();
    return result;
  }

  // Of the best so far, as the search compares; 0 if there is none.
  int64_t best_ns() const { return best_.empty() ? 0 : SearchTime(best_.front().measurement); }

  const Expression& expression_;
  Runner& runner_;
  const TuningOptions& options_;
  const std::function<void(const TuningProgress&)>& on_trial_;
  const std::atomic<bool>& cancelled_;
  const int64_t start_ns_;
  const SystemModel model_;
  std::optional<MdhSpace> space_;
  Search* search_ = nullptr;  // while it runs
  int64_t problem_ns_ = 0;    // what SetProblem took
  int64_t batch_ns_ = 0;      // what the last batch took
  int64_t default_ns_ = 0;
  int64_t trials_ = 0;
  int64_t failed_trials_ = 0;
  std::map<std::string, int64_t> reasons_;  // of failures -> how often
  absl::flat_hash_map<Configuration, Cost> evaluated_;
  absl::flat_hash_map<std::string, Measurement> measured_;  // by identity
  std::vector<Candidate> best_;                             // distinct kernels, best first
  std::vector<SearchProgress::Improvement> improvements_;
};

}  // namespace

Result<TuningResult> Tune(const Expression& expression, Runner& runner,
                          const TuningOptions& options,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
  return TuningRun(expression, runner, options, on_trial, cancelled).Run();
}

}  // namespace mdh
