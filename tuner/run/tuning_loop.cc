// The tuning loop: default configuration, start configurations, then what the technique proposes;
// at the end the best few once more, on new inputs.
#include "tuner/run/tuning_loop.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/process/clock.h"
#include "tuner/run/background_space.h"
#include "tuner/run/design_turns.h"
#include "tuner/run/finalists.h"
#include "tuner/run/first_points.h"
#include "tuner/run/loop_nest_time.h"
#include "tuner/run/runner_pool.h"
#include "tuner/run/search_bounds.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/trial_limits.h"
#include "tuner/run/tuning_budget.h"
#include "tuner/search/search.h"

namespace mdh {
namespace {

constexpr size_t kFinalists = 3;
// What is compared with them besides: the configuration from rules and the record there is.
constexpr size_t kKept = 2;
// Of the time of the search, for patience at the end (TuningOptions).
constexpr int64_t kPatiencePart = 10;

class TuningRun {
 public:
  TuningRun(const Expression& expression, absl::Span<Runner* const> runners,
            const TuningOptions& options,
            const std::function<void(const TuningProgress&)>& on_trial,
            const std::atomic<bool>& cancelled)
      : expression_(expression),
        options_(options),
        on_trial_(on_trial),
        cancelled_(cancelled),
        device_(runners.front()->device()),
        model_(TuningModel(device_.kind)),
        limits_(TrialLimits::For(device_)),
        lookahead_(options.lookahead > 0 ? options.lookahead : limits_.lookahead),
        runners_(runners.begin(), runners.end()),
        pool_(runners, lookahead_) {}

  Result<TuningResult> Run() {
    MDH_RETURN_IF_ERROR(SearchTechniqueNamed(options_.technique).status());
    // On the host's cores it is built when what is known has been measured: that needs no space,
    // and perhaps there is no time for more.
    building_.emplace(target_, is_cpu() ? std::launch::deferred : std::launch::async);
    TuningResult result;
    SetDeadline();
    MDH_RETURN_IF_ERROR(SetProblem());
    if (cancelled_) MDH_RETURN_IF_ERROR(CheckThatSomethingIsValid());
    if (is_cpu()) {
      MDH_ASSIGN_OR_RETURN(result.loop_nest_ns, LoopNestTime());
    }
    const Status searched = RunSearch();
    const bool is_cut_short = absl::IsCancelled(searched) && IsLate();
    if (!searched.ok() && !is_cut_short) {
      // An hour's search is not thrown away because its last runner went.
      if (history_.best().empty()) return searched;
      result.incomplete = searched;
    }
    MDH_RETURN_IF_ERROR(CheckThatSomethingIsValid());
    if (result.incomplete.ok() && !cancelled_ && budget_.HasTimeForTheEnd()) {
      result.incomplete = MeasureBest();
      if (history_.best().empty()) {
        return Refuted(std::string(CheckThatSomethingIsValid().message()));
      }
    }
    if (!is_cpu() && !cancelled_) {
      MDH_ASSIGN_OR_RETURN(result.loop_nest_ns, LoopNestTime());
    }
    if (is_cpu() && !cancelled_ && !IsLate()) {
      TimeShortLoopNestAgain(pool_.idle(), result.loop_nest_ns);
    }
    return Finish(std::move(result));
  }

 private:
  bool is_cpu() const { return device_.kind == DeviceKind::kCpu; }
  NumericsPolicy policy() const { return PolicyFor(expression_, options_.numerics.policy); }

  // ---- Time ----

  // Of a small problem nothing takes long but a machine that does other things: until there is a
  // first result its time is no reason to give up.
  int64_t Deadline() const {
    const int64_t deadline_ns = budget_.deadline_ns();
    const bool is_patient = history_.best().empty() && expression_.points() <= kMostPointsOfSmall;
    return deadline_ns > 0 && is_patient ? deadline_ns + kExtensionOfSmall : deadline_ns;
  }

  void SetDeadline() { pool_.SetDeadline(Deadline()); }

  bool IsLate() const {
    const int64_t deadline_ns = Deadline();
    return deadline_ns > 0 && NowNs() > deadline_ns;
  }

  // The caller may have changed the condition by now.
  void TakeExtension() {
    if (!options_.extension) return;
    std::optional<AbortCondition> extension = options_.extension();
    if (!extension) return;
    budget_.SetAbort(*std::move(extension));
    SetDeadline();
  }

  void Tell(SearchPhase phase) {
    if (!options_.on_step) return;
    const int64_t remaining_ns =
        phase == SearchPhase::kFinals ? budget_.TimeOfTheEnd() : budget_.remaining_ns();
    absl::MutexLock lock(&step_mutex_);
    options_.on_step({phase, budget_.elapsed_ns(), remaining_ns});
  }

  Status SetProblem() {
    // Of several kinds of inputs that are drawn the last is the one that is drawn at the end, too.
    std::atomic<int64_t> drawn_ns = NowNs();
    for (Runner* runner : runners_) {
      runner->SetStepListener([this, &drawn_ns](ProblemStep step) {
        if (step == ProblemStep::kInputs) drawn_ns = NowNs();
        Tell(step == ProblemStep::kInputs ? SearchPhase::kInputs : SearchPhase::kReference);
      });
    }
    Status status = pool_.SetProblem(expression_, options_.seed, options_.numerics);
    budget_.SetProblemTime(NowNs() - drawn_ns);
    for (Runner* runner : runners_) runner->SetStepListener(nullptr);
    if (absl::IsDeadlineExceeded(status)) return BudgetTooShort(std::string(status.message()));
    if (absl::IsCancelled(status) && !cancelled_ && IsLate()) {
      return BudgetTooShort("its inputs and what results are compared with were not there");
    }
    return status;
  }

  Status BudgetTooShort(const std::string& why) const {
    return DeadlineExceeded(
        absl::StrFormat("the budget is too short for '%s': %s after %.1f s; no kernel was measured",
                        expression_.name(), why, static_cast<double>(budget_.elapsed_ns()) * 1e-9));
  }

  Result<int64_t> LoopNestTime() {
    Tell(SearchPhase::kLoopNest);
    return mdh::LoopNestTime(pool_.idle(), expression_, is_cpu(), IsLate());
  }

  // ---- The space ----

  // Waits for it, and finds the places of the trials until now.
  Status TakeSpace() {
    if (space_.has_value()) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(space_, building_->Take(history_));
    for (const auto& [parameters, cost] : unplaced_) {
      const std::optional<Configuration> configuration = space_->Encode(parameters);
      if (configuration.has_value()) history_.Place(*configuration, cost);
    }
    unplaced_.clear();
    return absl::OkStatus();
  }

  std::optional<Configuration> Encode(const TuningParameters& parameters) const {
    return space_.has_value() ? space_->Encode(parameters) : std::nullopt;
  }

  // ---- Budget ----

  TuningBudget::State BudgetState() const {
    TuningBudget::State state = {
        .in_work = static_cast<int64_t>(in_work_.size()), .known = known_, .space_count = 0};
    if (space_.has_value() && !space_->space().is_lazy()) {
      state.space_count = space_->space().count();
    }
    return state;
  }
  int Room() const { return budget_.Room(BudgetState()); }
  int Allowance(int wanted) const { return budget_.Allowance(wanted, BudgetState()); }

  // ---- Search ----

  Status RunSearch() {
    budget_.BeginSearch();
    Tell(SearchPhase::kCompiling);
    std::vector<StartPoint> first = FirstPoints(target_, options_.start);
    MDH_RETURN_IF_ERROR(EvaluateKnown(first));
    // A schedule, or restrictions, may leave nothing, which the space says.
    if (!first.empty()) MDH_RETURN_IF_ERROR(SearchDesigns(first.front().parameters));
    is_exhausted_ = !cancelled_ && OnlyCandidate(target_).has_value();
    if (is_exhausted_ || (history_.trials() > 0 && Allowance(1) == 0)) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(TakeSpace());
    if (!history_.best().empty()) first.push_back({history_.best().front().parameters});
    MDH_ASSIGN_OR_RETURN(Search search, Search::Create(space_->space(), Options(first)));
    search_ = &search;
    const Status status = InTurns([this] { return StartProposals(); });
    search_ = nullptr;
    cut_ = CutOf(search, options_);
    is_exhausted_ = status.ok() && !cancelled_ && Allowance(1) > 0 && HasSoughtAll(options_, cut_);
    return status;
  }

  // Starts candidates and takes their results, until nothing is in work.
  template <typename StartSome>
  Status InTurns(const StartSome& start) {
    while (true) {
      MDH_RETURN_IF_ERROR(start());
      if (in_work_.empty()) return absl::OkStatus();
      MDH_RETURN_IF_ERROR(TakeOne());
    }
  }

  // The search starts from what is known, repaired where it is no member of the space.
  SearchOptions Options(const std::vector<StartPoint>& first) const {
    SearchOptions options = {
        .technique = options_.technique, .seed = options_.seed, .lookahead = lookahead_};
    for (const StartPoint& point : first) {
      if (!IsOfModel(target_, point)) continue;
      options.start.push_back(space_->EncodeNearest(point.parameters, point.sizes));
    }
    SetBounds(*space_, expression_, options_, history_.best_ns(), options);
    return options;
  }

  // The configuration from rules and those of earlier runs as they are, which need not be in the
  // space. The first one is evaluated even if the abort condition holds already: there is always a
  // result. Leaves them in work.
  Status EvaluateKnown(const std::vector<StartPoint>& first) {
    const int allowed = std::min(std::max(Allowance(static_cast<int>(first.size())), 1),
                                 static_cast<int>(first.size()));
    for (int n = 0; n < allowed && !cancelled_; ++n) {
      const StartPoint& point = first[static_cast<size_t>(n)];
      const bool is_repeated =
          std::find(first.begin(), first.begin() + n, point) != first.begin() + n;
      if (is_repeated || (n > 0 && !IsValidOn(target_, point))) continue;
      MDH_RETURN_IF_ERROR(
          Start({.parameters = point.parameters,
                 .configuration = Encode(point.parameters),
                 .is_default = n == 0,
                 .is_kept = n == 0 || IsOfSameSizes(target_, options_.start, point)}));
    }
    return absl::OkStatus();
  }

  // Designs that a model of the device holds to be good, and what is near the best of them, until
  // that helps no more and nothing is in work. The order of operations that other policies fix
  // leaves little to design, and restrictions are about the space.
  Status SearchDesigns(const TuningParameters& from_rules) {
    std::optional<DesignTurns> designs;
    if (Reassociates(policy()) && target_.restrictions.empty()) {
      designs.emplace(target_, from_rules);
      designs_ = &*designs;
    }
    const Status status =
        InTurns([this] { return designs_ != nullptr ? StartDesigns() : absl::OkStatus(); });
    designs_ = nullptr;
    return status;
  }

  Status StartDesigns() {
    TakeExtension();
    while (!cancelled_ && designs_->HasMore()) {
      if (IsWithinGap(expression_, options_, history_.best_ns())) break;
      if (Room() <= 0 || Allowance(1) == 0) break;
      std::optional<Candidate> next = designs_->Next(/*is_idle=*/in_work_.empty());
      if (!next.has_value()) break;
      next->configuration = Encode(next->parameters);
      MDH_RETURN_IF_ERROR(Start(*std::move(next)));
    }
    return absl::OkStatus();
  }

  // As many as there is room, and the budget, for.
  Status StartProposals() {
    TakeExtension();
    while (!cancelled_) {
      const int room = Room();
      const int allowed = room > 0 ? Allowance(room) : 0;
      if (allowed == 0) break;
      const std::vector<Proposal> proposals = search_->Ask(allowed);
      if (proposals.empty()) break;
      for (const Proposal& proposal : proposals) {
        // Known before the search began.
        if (const Cost* cost = history_.CostOf(proposal.configuration); cost != nullptr) {
          MDH_RETURN_IF_ERROR(search_->Tell(proposal.number, *cost));
          continue;
        }
        MDH_RETURN_IF_ERROR(Start({.parameters = space_->Decode(proposal.configuration),
                                   .proposal = proposal.number,
                                   .configuration = proposal.configuration}));
      }
    }
    return absl::OkStatus();
  }

  // ---- Trials ----

  // Submits its kernel; one that was measured before, or is in work, is not measured again.
  Status Start(Candidate candidate) {
    Result<Kernel> kernel = Generate(candidate.parameters);
    if (!kernel.ok()) {
      candidate.measurement.outcome = TrialOutcome::kCompileError;
      candidate.measurement.reason = std::string(kernel.status().message());
      return RecordTrial(candidate);
    }
    candidate.kernel = *std::move(kernel);
    const std::string identity = IdentityOf(candidate.kernel);
    if (const Measurement* known = history_.MeasurementOf(identity); known != nullptr) {
      candidate.measurement = *known;
      return RecordTrial(candidate);
    }
    if (const Measurement* known = options_.known ? options_.known(identity) : nullptr) {
      candidate.measurement = *known;
      return RecordKnown(candidate);
    }
    const std::optional<int64_t> number = in_work_.Number(identity);
    if (number.has_value()) {
      in_work_.Join(*number, std::move(candidate));
      return absl::OkStatus();
    }
    if (options_.on_start) options_.on_start(candidate.parameters, identity);
    candidate.submitted_ns = NowNs();
    const MeasureOptions limited = LimitedOptions(options_.measure, limits_, history_);
    const Candidate& added = in_work_.Add(identity, std::move(candidate));
    pool_.Submit(in_work_.last_number(), added.kernel, limited);
    return absl::OkStatus();
  }

  Result<Kernel> Generate(const TuningParameters& parameters) const {
    MDH_RETURN_IF_ERROR(KeepsToSchedule(target_, parameters));
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression_, model_, device_, parameters));
    return GenerateKernel(low_level, device_);
  }

  // Waits for the next measurement and writes down all trials that it is for. Once the time is up,
  // or after a cancellation, what is in work is given up.
  Status TakeOne() {
    AddJoining();
    if (cancelled_ || IsLate() || budget_.IsTimeUp(BudgetState())) pool_.Abandon();
    MDH_ASSIGN_OR_RETURN(const Runner::Finished finished, pool_.Next());
    std::vector<Candidate> candidates = in_work_.Take(finished.number);
    if (WasCancelled(finished.measurement)) return absl::OkStatus();
    budget_.SetTrialTime(NowNs() - candidates.front().submitted_ns);
    for (Candidate& candidate : candidates) {
      candidate.measurement = finished.measurement;
      MDH_RETURN_IF_ERROR(RecordTrial(candidate));
    }
    return absl::OkStatus();
  }

  void AddJoining() {
    if (!options_.joining) return;
    for (Runner* runner : options_.joining()) pool_.Add(runner);
  }

  Status RecordTrial(const Candidate& candidate) {
    MDH_RETURN_IF_ERROR(Tell(candidate));
    if (!on_trial_) return absl::OkStatus();
    const Trial trial{
        history_.trials() - known_, candidate.parameters, candidate.measurement,
        candidate.kernel.source.empty() ? std::string() : IdentityOf(candidate.kernel)};
    on_trial_({.trial = &trial,
               .trials = history_.trials() - known_,
               .failed_trials = history_.failed_trials() - known_failed_,
               .best_ns = history_.best_ns(),
               .best = history_.best().empty() ? nullptr : &history_.best().front().parameters,
               .elapsed_ns = budget_.elapsed_ns()});
    return absl::OkStatus();
  }

  // What an earlier run has paid for and reported: the search learns from it, nobody else hears.
  Status RecordKnown(const Candidate& candidate) {
    ++known_;
    if (candidate.measurement.outcome != TrialOutcome::kOk) ++known_failed_;
    return Tell(candidate);
  }

  // Everyone within the search.
  Status Tell(const Candidate& candidate) {
    const bool had_none = history_.best().empty();
    if (candidate.is_default) {
      default_.time_ns = candidate.measurement.time_ns();
      default_.identity = IdentityOf(candidate.kernel);
    }
    const Cost cost = history_.Record(candidate, budget_.elapsed_ns());
    if (had_none && !history_.best().empty()) SetDeadline();
    if (!space_.has_value()) unplaced_.emplace_back(candidate.parameters, cost);
    if (designs_ != nullptr) designs_->Tell(candidate);
    if (candidate.proposal > 0) MDH_RETURN_IF_ERROR(search_->Tell(candidate.proposal, cost));
    return absl::OkStatus();
  }

  Status CheckThatSomethingIsValid() const {
    const Status status = history_.CheckThatSomethingIsValid(expression_.name());
    if (!status.ok() && cancelled_) {
      return Cancelled("cancelled before any configuration was measured");
    }
    if (history_.trials() == 0 && IsLate()) return BudgetTooShort("nothing had been measured");
    return status;
  }

  // ---- The end ----

  Status MeasureBest() {
    Tell(SearchPhase::kFinals);
    check_ = history_.best().front().measurement.check;
    const bool tries_nvcc = history_.best().front().kernel.language == Language::kCudaCxx &&
                            budget_.elapsed_ns() >= options_.least_search_for_nvcc_ns;
    const int64_t patience_ns =
        budget_.TimeOfTheEnd() + options_.patience_ns + budget_.elapsed_ns() / kPatiencePart;
    return MeasureBestAgain(pool_, {expression_, options_, patience_ns, tries_nvcc}, default_,
                            history_, cancelled_);
  }

  Result<TuningResult> Finish(TuningResult result) const {
    const Candidate& best = history_.best().front();
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression_, model_, device_, best.parameters));
    result.parameters = best.parameters;
    result.kernel = best.kernel;
    result.measurement = best.measurement;
    result.measurement.check = std::min(check_, best.measurement.check);
    result.default_ns = default_.time_ns;
    result.trials = history_.trials();
    result.failed_trials = history_.failed_trials();
    result.elapsed_ns = budget_.elapsed_ns();
    result.low_level_table = low_level.ToTable();
    result.is_exhausted = is_exhausted_;
    result.cut = cut_;
    return result;
  }

  const Expression& expression_;
  const TuningOptions& options_;
  const std::function<void(const TuningProgress&)>& on_trial_;
  const std::atomic<bool>& cancelled_;
  const DeviceDescription device_;
  const SystemModel model_;
  const SearchTarget target_{expression_,
                             model_,
                             device_,
                             policy(),
                             options_.schedule ? &*options_.schedule : nullptr,
                             options_.restrictions};
  const TrialLimits limits_;
  const int lookahead_;
  const std::vector<Runner*> runners_;  // that it begins with
  absl::Mutex step_mutex_;              // so that the caller hears of one step at a time
  RunnerPool pool_;
  std::optional<BackgroundSpace> building_;
  std::optional<MdhSpace> space_;                            // once it is built
  std::vector<std::pair<TuningParameters, Cost>> unplaced_;  // trials before that
  DesignTurns* designs_ = nullptr;                           // while it runs
  Search* search_ = nullptr;                                 // idem
  DefaultKernel default_;
  bool is_exhausted_ = false;
  CutFigures cut_;
  ResultCheck check_ = ResultCheck::kNothing;  // of the best before it is measured once more
  int64_t known_ = 0;         // of the trials in the history: those that an earlier run has made
  int64_t known_failed_ = 0;  // of these
  KernelsInWork in_work_;
  TrialHistory history_{kFinalists};
  TuningBudget budget_{options_, history_, lookahead_, kFinalists + kKept};
};

}  // namespace

Result<TuningResult> Tune(const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& options,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
  if (runners.empty()) return InvalidArgument("tuning needs a device");
  for (const Runner* runner : runners) {
    if (runner->device().Fingerprint() == runners.front()->device().Fingerprint()) continue;
    return InvalidArgument(
        "devices that tune together must be alike: ", runners.front()->device().name, " and ",
        runner->device().name, " are not");
  }
  return TuningRun(expression, runners, options, on_trial, cancelled).Run();
}

Result<TuningResult> Tune(const Expression& expression, Runner& runner,
                          const TuningOptions& options,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
  Runner* one = &runner;
  return Tune(expression, absl::MakeConstSpan(&one, 1), options, on_trial, cancelled);
}

}  // namespace mdh
