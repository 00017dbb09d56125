#include "tests/bounds/bound_check.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/definition_header.h"
#include "tuner/decompositions/mdh_bound.h"
#include "tuner/measure/runner.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Of what decisions leave: of values that have completions.
double BoundOf(const MdhBound& bound, const PartialConfiguration& partial) {
  const std::vector<std::vector<int64_t>> codes = RemainingCodes(partial);
  return bound.Of(SpansOf(codes));
}

using Codes = std::vector<std::vector<int64_t>>;

// Calls that are not worth waiting for are far above any bound.
constexpr MeasureOptions kMeasure = {.run_limit_ns = 300'000'000,
                                     .min_repeats = 5,
                                     .target_time_ns = 3'000'000,
                                     .max_time_ns = 30'000'000};
// Bounds that were looked at with ranges of what has completions, which take milliseconds each.
constexpr int kEveryPartial = 10;

std::vector<std::string> Names(const std::string& sources) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(sources + "/client/expressions")) {
    if (entry.path().extension() == ".mdh") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Expects one that is right.
double FastestCall(const Measurement& measurement) {
  return static_cast<double>(
      *std::min_element(measurement.times_ns.begin(), measurement.times_ns.end()));
}

class BoundChecker {
 public:
  BoundChecker(const BoundCheckOptions& options, Runner& runner,
               const std::function<void(const std::string&)>& on_failure, int64_t deadline_ns)
      : options_(options),
        runner_(runner),
        on_failure_(on_failure),
        rng_(options.seed),
        deadline_ns_(deadline_ns) {}

  Result<BoundCheckReport> Run() {
    report_.device = runner_.device().name;
    MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, runner_.Peaks());
    facts_ = {runner_.device(), RatesOf(runner_.device(), peaks), {.calls = 1}};
    const std::vector<std::string> names = Names(options_.sources);
    if (deadline_ns_ > 0) runner_.SetDeadline(deadline_ns_);
    while (report_.configurations < options_.count && !IsOver()) {
      const Status checked = CheckExpression(names[rng_() % names.size()]);
      if (!checked.ok() && IsOver()) break;
      MDH_RETURN_IF_ERROR(checked);
    }
    std::sort(report_.shares.begin(), report_.shares.end());
    std::sort(report_.problem_shares.begin(), report_.problem_shares.end());
    if (report_.bounds > 0) report_.bound_ns /= static_cast<double>(report_.bounds);
    return std::move(report_);
  }

 private:
  bool IsOver() const { return deadline_ns_ > 0 && NowNs() >= deadline_ns_; }

  Status CheckExpression(const std::string& name) {
    const uint64_t seed = rng_();
    name_ = absl::StrCat(name, " (sizes ", seed, ")");
    MDH_ASSIGN_OR_RETURN(const Expression expression,
                         RandomlySized(options_.sources, name, options_.points, seed));
    const SystemModel model = TuningModel(runner_.device().kind);
    MDH_ASSIGN_OR_RETURN(const MdhSpace space,
                         MdhSpace::Create(expression, model, runner_.device()));
    const MdhBound bound(space, expression, facts_);
    MDH_RETURN_IF_ERROR(runner_.SetProblem(expression, 1));
    ++report_.expressions;
    nearest_ = {};
    std::vector<Measurement> all;
    for (int round = 0; round <= options_.climbs; ++round) {
      MDH_ASSIGN_OR_RETURN(const std::vector<Measurement> measured,
                           CheckSome({expression, model, space, bound}));
      all.insert(all.end(), measured.begin(), measured.end());
      if (nearest_.configuration.empty() || IsOver()) break;
    }
    Tell(expression, all);
    return absl::OkStatus();
  }

  struct Checked {
    const Expression& expression;
    const SystemModel& model;
    const MdhSpace& space;
    const MdhBound& bound;
  };

  Result<std::vector<Measurement>> CheckSome(const Checked& checked) {
    std::vector<Configuration> drawn;
    std::vector<Kernel> kernels;
    const auto& [expression, model, space, bound] = checked;
    for (int n = 0; n < options_.each; ++n) {
      Configuration configuration = Draw(space.space());
      ++report_.configurations;
      const Result<LowLevelExpression> low_level =
          Lower(expression, model, runner_.device(), space.Decode(configuration));
      if (!low_level.ok()) continue;
      Result<Kernel> kernel = GenerateKernel(*low_level, runner_.device());
      if (!kernel.ok()) continue;
      kernels.push_back(*std::move(kernel));
      drawn.push_back(std::move(configuration));
    }
    MDH_ASSIGN_OR_RETURN(std::vector<Measurement> measured, runner_.Measure(kernels, kMeasure));
    for (size_t n = 0; n < drawn.size(); ++n) {
      if (measured[n].outcome == TrialOutcome::kImplausible) {
        Fail(space, drawn[n], measured[n].reason);
      }
      CheckConfiguration(space, bound, drawn[n], measured[n]);
    }
    return measured;
  }

  // Any one; then one that differs in a few values from the one that is nearest to its bound.
  Configuration Draw(const SearchSpace& space) {
    if (nearest_.configuration.empty()) return space.Sample(rng_);
    const Codes all = AllCodes(space);
    Configuration near = nearest_.configuration;
    const size_t changes = 1 + rng_() % 3;
    for (size_t n = 0; n < changes; ++n) {
      const size_t parameter = rng_() % near.size();
      near[parameter] = all[parameter][rng_() % all[parameter].size()];
    }
    return space.Nearest(near);
  }

  // So that whoever is cut off knows what was done.
  void Tell(const Expression& expression, absl::Span<const Measurement> measured) const {
    if (!options_.on_expression) return;
    const auto right = std::count_if(
        measured.begin(), measured.end(),
        [](const Measurement& measurement) { return measurement.outcome == TrialOutcome::kOk; });
    options_.on_expression(absl::StrFormat(
        "%s, %.3g points: %d of %d measured, bound / time %.3g at most; so far %d measured, %d "
        "bounds, %d violations, %d drops",
        name_, static_cast<double>(expression.points()), right, measured.size(), nearest_.share,
        report_.measured, report_.bounds, report_.violations, report_.drops));
  }

  void CheckConfiguration(const MdhSpace& space, const MdhBound& bound,
                          const Configuration& configuration, const Measurement& measurement) {
    std::optional<double> time_ns;
    if (measurement.outcome == TrialOutcome::kOk) {
      time_ns = FastestCall(measurement);
      ++report_.measured;
      const double share = bound.OfOne(configuration) / *time_ns;
      report_.shares.push_back(share);
      if (share > nearest_.share) nearest_ = {configuration, share};
      report_.problem_shares.push_back(bound.problem_ns() / *time_ns);
    }
    std::vector<int> order(configuration.size());
    std::iota(order.begin(), order.end(), 0);
    CheckOrder(space, bound, configuration, order, time_ns);
    std::reverse(order.begin(), order.end());
    CheckOrder(space, bound, configuration, order, time_ns);
    for (int n = 0; n < 3; ++n) {
      std::shuffle(order.begin(), order.end(), rng_);
      CheckOrder(space, bound, configuration, order, time_ns);
    }
    if (++checked_ % kEveryPartial != 0) return;
    PartialConfiguration partial(space.space());
    double before = BoundOf(bound, partial);
    for (const int parameter : order) {
      partial = *partial.Decide(parameter, {configuration[parameter]});
      const double after = BoundOf(bound, partial);
      Judge(space, configuration, before, after, time_ns);
      before = after;
    }
  }

  // One decision after the other; what is not decided may have any value of its range.
  void CheckOrder(const MdhSpace& space, const MdhBound& bound, const Configuration& configuration,
                  const std::vector<int>& order, std::optional<double> time_ns) {
    const Codes all = AllCodes(space.space());
    std::vector<absl::Span<const int64_t>> open = SpansOf(all);
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> bounds = {bound.Of(open)};
    for (const int parameter : order) {
      open[parameter] = absl::MakeConstSpan(&configuration[parameter], 1);
      bounds.push_back(bound.Of(open));
    }
    report_.bound_ns +=
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    report_.bounds += static_cast<int64_t>(bounds.size());
    for (size_t n = 1; n < bounds.size(); ++n) {
      Judge(space, configuration, bounds[n - 1], bounds[n], time_ns);
    }
  }

  void Judge(const MdhSpace& space, const Configuration& configuration, double before, double after,
             std::optional<double> time_ns) {
    if (after < before) {
      ++report_.drops;
      Fail(space, configuration, absl::StrCat("the bound falls from ", before, " to ", after));
    }
    if (!time_ns.has_value() || after <= *time_ns) return;
    ++report_.violations;
    Fail(space, configuration,
         absl::StrCat("took ", *time_ns, " ns, less than its bound of ", after, " ns"));
  }

  void Fail(const MdhSpace& space, const Configuration& configuration, const std::string& why) {
    on_failure_(absl::StrCat(name_, ": ", why, "\n  ", space.space().ToText(configuration), "\n"));
  }

  const BoundCheckOptions& options_;
  Runner& runner_;
  const std::function<void(const std::string&)>& on_failure_;
  Rng rng_;
  const int64_t deadline_ns_;  // 0: none
  BoundFacts facts_;
  int64_t checked_ = 0;
  std::string name_;
  struct Nearest {
    Configuration configuration;  // empty: none was right
    double share = 0;             // bound / time
  } nearest_;                     // of this expression
  BoundCheckReport report_;
};

double Median(const std::vector<double>& values) {
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

Result<Expression> RandomlySized(const std::string& sources, const std::string& name,
                                 int64_t points, uint64_t seed) {
  const std::string path = absl::StrCat(sources, "/client/expressions/", name, ".mdh");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  MDH_ASSIGN_OR_RETURN(const DefinitionHeader header, ParseHeader(text.str()));
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text.str(), {}, path));
  Rng rng(seed);
  Bindings sizes;
  for (const ParameterDeclaration& parameter : header.parameters) {
    const std::string& value = parameter.default_value;
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    if (!parameter.is_type && !value.empty() && is_number) sizes[parameter.name] = value;
  }
  while (expression.points() > points && !sizes.empty()) {
    const auto largest = std::max_element(
        sizes.begin(), sizes.end(),
        [](const auto& a, const auto& b) { return std::stoll(a.second) < std::stoll(b.second); });
    const int64_t size = std::stoll(largest->second);
    if (size < 4) break;
    largest->second = absl::StrCat(size / 2 + static_cast<int64_t>(rng() % (size / 4)));
    MDH_ASSIGN_OR_RETURN(expression, ParseExpression(text.str(), sizes, path));
  }
  return expression;
}

Result<BoundCheckReport> CheckBounds(const BoundCheckOptions& options,
                                     const std::function<void(const std::string&)>& on_failure) {
  const int64_t deadline_ns = options.seconds > 0 ? NowNs() + options.seconds * 1'000'000'000 : 0;
  RunnerOptions runner_options;
  runner_options.program = options.runner;
  runner_options.work_directory = options.work_directory;
  runner_options.device = options.device;
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Start(runner_options));
  return BoundChecker(options, *runner, on_failure, deadline_ns).Run();
}

std::string Summary(const BoundCheckReport& report) {
  return absl::StrFormat(
      "%d configurations of %d expressions on %s, %d of them measured: %d violations, %d drops in "
      "%d bounds of %.2g us; bound / time: %.3g of the configuration, %.3g of the problem "
      "(medians), %.3g at most",
      report.configurations, report.expressions, report.device, report.measured, report.violations,
      report.drops, report.bounds, report.bound_ns / 1e3, Median(report.shares),
      Median(report.problem_shares), report.shares.empty() ? 0 : report.shares.back());
}

}  // namespace mdh
