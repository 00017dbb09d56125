#include "tests/bounds/expression_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "tests/bounds/unrolled_lines.h"

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;
using Codes = std::vector<std::vector<int64_t>>;

// Any time below the bound is a violation, and others only make calls longer: the least of a few is
// enough.
constexpr MeasureOptions kQuick = {.run_limit_ns = 300'000'000,
                                   .min_repeats = 3,
                                   .target_time_ns = 1'000'000,
                                   .max_time_ns = 10'000'000,
                                   .slow_factor = 1,
                                   .may_share_unit = true};
// What takes so many times its bound is not called often, and what others disturb may take longer.
constexpr double kFar = 4;
// Alone, of what is nearer to its bound.
constexpr MeasureOptions kCareful = {.run_limit_ns = 2'000'000'000,
                                     .min_repeats = 20,
                                     .target_time_ns = 20'000'000,
                                     .max_time_ns = 200'000'000};
// Bounds that are looked at with ranges of what has completions, which take milliseconds each: of
// one configuration in so many.
constexpr int kEveryPartial = 40;
// Configurations that are compiled, measured and judged together.
constexpr int kAtOnce = 20;
// Draws of one configuration whose kernel has not too many lines.
constexpr int kMostAttempts = 20;

std::vector<std::string> Names(const std::string& sources) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(sources + "/client/expressions")) {
    if (entry.path().extension() == ".mdh") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Of what decisions leave: of values that have completions.
double BoundOf(const MdhBound& bound, const PartialConfiguration& partial) {
  const Codes codes = RemainingCodes(partial);
  return bound.Of(SpansOf(codes));
}

// None if it was not right.
std::optional<double> FastestCall(const Measurement& measurement) {
  if (measurement.outcome != TrialOutcome::kOk) return std::nullopt;
  return static_cast<double>(
      *std::min_element(measurement.times_ns.begin(), measurement.times_ns.end()));
}

// Adds the time of a block to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum_s) : sum_s_(sum_s), start_(Clock::now()) {}
  ~Stopwatch() { sum_s_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_s_;
  Clock::time_point start_;
};

}  // namespace

ExpressionCheck::ExpressionCheck(const BoundCheckOptions& options, int64_t number,
                                 const MachinePeaks& peaks, Runner& runner, absl::Mutex& measuring,
                                 const std::function<void(const std::string&)>& on_failure)
    : options_(options),
      peaks_(peaks),
      runner_(runner),
      measuring_(measuring),
      on_failure_(on_failure),
      rng_(options.seed * 1'000'003 + static_cast<uint64_t>(number)),
      name_(absl::StrCat("number ", number)) {}

Status ExpressionCheck::Run(const std::function<bool()>& is_over) {
  {
    const Stopwatch watch(report_.prepared_s);
    const std::vector<std::string> names = Names(options_.sources);
    const std::string& name = names[rng_() % names.size()];
    name_ = absl::StrCat(name, " (", name_, ")");
    MDH_ASSIGN_OR_RETURN(expression_,
                         RandomlySized(options_.sources, name, options_.points, rng_()));
    const DeviceDescription& device = runner_.device();
    MDH_ASSIGN_OR_RETURN(space_, MdhSpace::Create(*expression_, TuningModel(device.kind), device));
    bound_ = std::make_unique<MdhBound>(*space_, *expression_,
                                        BoundFacts{device, RatesOf(device, peaks_), {.calls = 1}});
    estimate_ = MdhEstimateOf(*space_);
    MDH_RETURN_IF_ERROR(runner_.SetProblem(*expression_, 1));
  }
  report_.expressions = 1;
  for (int round = 0; round <= options_.climbs; ++round) {
    MDH_RETURN_IF_ERROR(CheckRound(is_over));
    if (nearest_.configuration.empty() || is_over()) break;
  }
  return absl::OkStatus();
}

std::string ExpressionCheck::Summary() const {
  std::string text =
      absl::StrFormat("%s, %.3g points: %d of %d measured, bound / time %.3g at most", name_,
                      static_cast<double>(expression_->points()), report_.measured,
                      report_.configurations, nearest_.share);
  for (const auto& [why, count] : unmeasured_) absl::StrAppend(&text, " (", count, " ", why, ")");
  return text;
}

// As many as are asked for, or fewer of an expression whose kernels take long.
Status ExpressionCheck::CheckRound(const std::function<bool()>& is_over) {
  const Clock::time_point start = Clock::now();
  for (int left = options_.each; left > 0; left -= kAtOnce) {
    MDH_RETURN_IF_ERROR(CheckSome(std::min(left, kAtOnce)));
    const auto passed_s = std::chrono::duration<double>(Clock::now() - start).count();
    const auto limit_s = static_cast<double>(options_.expression_seconds);
    if (is_over() || (limit_s > 0 && passed_s > limit_s)) break;
  }
  return absl::OkStatus();
}

Status ExpressionCheck::CheckSome(int count) {
  std::vector<Drawn> drawn;
  {
    const Stopwatch watch(report_.prepared_s);
    for (int n = 0; n < count; ++n) {
      drawn.push_back(DrawWithKernel());
      ++report_.configurations;
    }
  }
  MDH_RETURN_IF_ERROR(MeasureAll(drawn));
  const Stopwatch watch(report_.judged_s);
  for (const Drawn& one : drawn) {
    if (one.kernel) Judge(one);
  }
  return absl::OkStatus();
}

// Of what has too many lines as many others are drawn as it takes, up to a limit.
ExpressionCheck::Drawn ExpressionCheck::DrawWithKernel() {
  const DeviceDescription& device = runner_.device();
  Drawn drawn;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    drawn = {Draw(), {}};
    const Result<LowLevelExpression> low_level =
        Lower(*expression_, TuningModel(device.kind), device, space_->Decode(drawn.configuration));
    if (!low_level.ok()) return drawn;
    Result<Kernel> kernel = GenerateKernel(*low_level, device);
    if (!kernel.ok()) return drawn;
    if (options_.lines == 0 || UnrolledLines(kernel->source) <= options_.lines) {
      drawn.kernel = *std::move(kernel);
      return drawn;
    }
  }
  return drawn;
}

// Any one; then one that differs in a few values from the one that is nearest to its bound.
Configuration ExpressionCheck::Draw() {
  const SearchSpace& space = space_->space();
  if (nearest_.configuration.empty()) return DrawDangerous();
  const Codes all = AllCodes(space);
  Configuration near = nearest_.configuration;
  const size_t changes = 1 + rng_() % 3;
  for (size_t n = 0; n < changes; ++n) {
    const size_t parameter = rng_() % near.size();
    near[parameter] = all[parameter][rng_() % all[parameter].size()];
  }
  return space.Nearest(near);
}

// Of several the one whose bound is the largest share of what it is expected to take.
Configuration ExpressionCheck::DrawDangerous() {
  const SearchSpace& space = space_->space();
  Configuration drawn = space.Sample(rng_);
  if (estimate_ == nullptr) return drawn;
  const auto share = [&](const Configuration& configuration) {
    return bound_->OfOne(configuration) / estimate_->Of(configuration);
  };
  for (int n = 1; n < options_.picks; ++n) {
    Configuration other = space.Sample(rng_);
    if (share(other) > share(drawn)) drawn = std::move(other);
  }
  return drawn;
}

Status ExpressionCheck::MeasureAll(std::vector<Drawn>& drawn) {
  const Stopwatch watch(report_.measured_s);
  std::vector<Drawn*> all;
  for (Drawn& one : drawn) {
    if (one.kernel) all.push_back(&one);
  }
  {
    const absl::ReaderMutexLock lock(&measuring_);
    MDH_RETURN_IF_ERROR(Measure(all, kQuick));
  }
  // What spills many registers is given up unless all calls count.
  std::vector<Drawn*> again;
  for (Drawn* const one : all) {
    const bool was_given_up = one->measurement.outcome == TrialOutcome::kOutOfResources;
    if (was_given_up || IsNear(*one)) again.push_back(one);
  }
  if (again.empty()) return absl::OkStatus();
  const absl::MutexLock lock(&measuring_);
  return Measure(again, kCareful);
}

Status ExpressionCheck::Measure(std::vector<Drawn*> drawn, const MeasureOptions& options) {
  for (size_t n = 0; n < drawn.size(); ++n) {
    MeasureOptions own = options;
    own.compile_limit_ns = options_.compile_seconds * 1'000'000'000;
    // PoCL compiles a kernel for blocks of its size, and links it, as it is called first.
    const DeviceDescription& device = runner_.device();
    if (RunsOnHost(device) && device.kind == DeviceKind::kOpenCl) {
      own.run_limit_ns += own.compile_limit_ns;
    }
    if (options.may_share_unit) {
      own.best_so_far_ns =
          std::max<int64_t>(1, std::llround(kFar * bound_->OfOne(drawn[n]->configuration)));
    }
    MDH_RETURN_IF_ERROR(runner_.Submit(static_cast<int64_t>(n), *drawn[n]->kernel, own));
  }
  for (size_t n = 0; n < drawn.size(); ++n) {
    MDH_ASSIGN_OR_RETURN(Runner::Finished finished, runner_.Next());
    report_.compiled_s += static_cast<double>(finished.measurement.compile_ns) / 1e9;
    drawn[static_cast<size_t>(finished.number)]->measurement = std::move(finished.measurement);
  }
  return absl::OkStatus();
}

bool ExpressionCheck::IsNear(const Drawn& one) const {
  const std::optional<double> time_ns = FastestCall(one.measurement);
  return time_ns.has_value() && *time_ns < kFar * bound_->OfOne(one.configuration);
}

void ExpressionCheck::Judge(const Drawn& one) {
  const Configuration& configuration = one.configuration;
  if (one.measurement.outcome == TrialOutcome::kImplausible) {
    Fail(configuration, one.measurement.reason);
  }
  const std::optional<double> time_ns = FastestCall(one.measurement);
  if (!time_ns.has_value()) {
    ++unmeasured_[absl::StrCat(std::string(Name(one.measurement.outcome)), ": ",
                               one.measurement.reason)];
  } else {
    ++report_.measured;
    const double share = bound_->OfOne(configuration) / *time_ns;
    report_.shares.push_back(share);
    if (share > nearest_.share) nearest_ = {configuration, share};
    report_.problem_shares.push_back(bound_->problem_ns() / *time_ns);
  }
  std::vector<int> order(configuration.size());
  std::iota(order.begin(), order.end(), 0);
  JudgeOrder(configuration, order, time_ns);
  std::reverse(order.begin(), order.end());
  JudgeOrder(configuration, order, time_ns);
  for (int n = 0; n < 3; ++n) {
    std::shuffle(order.begin(), order.end(), rng_);
    JudgeOrder(configuration, order, time_ns);
  }
  if (judged_++ % kEveryPartial == 0) JudgeDecisions(configuration, order, time_ns);
}

// One decision after the other; what is not decided may have any value of its range.
void ExpressionCheck::JudgeOrder(const Configuration& configuration, const std::vector<int>& order,
                                 std::optional<double> time_ns) {
  const Codes all = AllCodes(space_->space());
  std::vector<absl::Span<const int64_t>> open = SpansOf(all);
  const Clock::time_point start = Clock::now();
  std::vector<double> bounds = {bound_->Of(open)};
  for (const int parameter : order) {
    open[parameter] = absl::MakeConstSpan(&configuration[parameter], 1);
    bounds.push_back(bound_->Of(open));
  }
  report_.bound_ns += std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  report_.bounds += static_cast<int64_t>(bounds.size());
  for (size_t n = 1; n < bounds.size(); ++n) {
    JudgeStep(configuration, bounds[n - 1], bounds[n], time_ns);
  }
}

// The same with what has completions.
void ExpressionCheck::JudgeDecisions(const Configuration& configuration,
                                     const std::vector<int>& order, std::optional<double> time_ns) {
  PartialConfiguration partial(space_->space());
  double before = BoundOf(*bound_, partial);
  for (const int parameter : order) {
    partial = *partial.Decide(parameter, {configuration[parameter]});
    const double after = BoundOf(*bound_, partial);
    JudgeStep(configuration, before, after, time_ns);
    before = after;
  }
}

void ExpressionCheck::JudgeStep(const Configuration& configuration, double before, double after,
                                std::optional<double> time_ns) {
  if (after < before) {
    ++report_.drops;
    Fail(configuration, absl::StrCat("the bound falls from ", before, " to ", after));
  }
  if (!time_ns.has_value() || after <= *time_ns) return;
  ++report_.violations;
  Fail(configuration,
       absl::StrCat("took ", *time_ns, " ns, less than its bound of ", after, " ns"));
}

void ExpressionCheck::Fail(const Configuration& configuration, const std::string& why) {
  on_failure_(absl::StrCat(name_, ": ", why, "\n  ", space_->space().ToText(configuration), "\n"));
}

}  // namespace mdh
