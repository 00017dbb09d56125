#include "tests/bounds/bound_check.h"

#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "core/base/allowed_cores.h"
#include "core/text/parser.h"
#include "tests/bounds/expression_check.h"
#include "tests/definition_header.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/runner.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Expressions that are under way on so many cores.
constexpr int kMostRunners = 4;
constexpr int kCoresOfRunner = 4;
// Configurations that are drawn until one must have been measured, on average.
constexpr int64_t kMostDrawn = 50;

// The first line of a file of peaks: what it is of.
std::string HeadOf(const DeviceDescription& device) {
  return absl::StrCat("# ", device.name, ", ", device.cores, " cores\n");
}

// What the file says, or else what is measured, which is written there. Errors: InvalidArgument if
// the file is of another device, or cannot be read or written.
Result<MachinePeaks> PeaksOf(Runner& runner, const std::string& path) {
  if (path.empty()) return runner.Peaks();
  const std::string head = HeadOf(runner.device());
  if (std::filesystem::exists(path)) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    v1::MachinePeaks known;
    if (!absl::StartsWith(text.str(), head) ||
        !google::protobuf::TextFormat::ParseFromString(text.str(), &known)) {
      return InvalidArgument(path, " has no peaks of ", absl::StripAsciiWhitespace(head.substr(2)));
    }
    return FromMessage(known);
  }
  MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, runner.Peaks());
  std::string text;
  google::protobuf::TextFormat::PrintToString(ToMessage(peaks), &text);
  // Whole, for others who read it.
  const std::string written = absl::StrCat(path, ".", getpid());
  std::ofstream(written) << head << text;
  std::error_code error;
  std::filesystem::rename(written, path, error);
  if (error) return InvalidArgument(path, " cannot be written: ", error.message());
  return peaks;
}

class BoundChecker {
 public:
  BoundChecker(const BoundCheckOptions& options,
               const std::function<void(const std::string&)>& on_failure)
      : options_(options),
        on_failure_([&](const std::string& failure) {
          const absl::MutexLock lock(&telling_);
          on_failure(failure);
        }),
        deadline_ns_(options.seconds > 0 ? NowNs() + options.seconds * 1'000'000'000 : 0) {}

  Result<BoundCheckReport> Run() {
    MDH_RETURN_IF_ERROR(StartRunners());
    std::vector<std::thread> threads;
    for (const std::unique_ptr<Runner>& runner : runners_) {
      threads.emplace_back([this, one = runner.get()] { CheckExpressions(*one); });
    }
    for (std::thread& thread : threads) thread.join();
    const absl::MutexLock lock(&mutex_);
    MDH_RETURN_IF_ERROR(status_);
    std::sort(report_.shares.begin(), report_.shares.end());
    std::sort(report_.problem_shares.begin(), report_.problem_shares.end());
    if (report_.bounds > 0) report_.bound_ns /= static_cast<double>(report_.bounds);
    return std::move(report_);
  }

 private:
  bool IsOver() const { return deadline_ns_ > 0 && NowNs() >= deadline_ns_; }

  // The first one measures what the others are told.
  Status StartRunners() {
    RunnerOptions options;
    options.program = options_.runner;
    options.device = options_.device;
    options.work_directory = absl::StrCat(options_.work_directory, "/0");
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<Runner> first, Runner::Start(options));
    has_cores_alone_ = RunsOnHost(first->device());
    const int wanted = Wanted();
    if (has_cores_alone_ && wanted > 1) {
      first.reset();
      options.cores = CoresOf(0, wanted);
      MDH_ASSIGN_OR_RETURN(first, Runner::Start(options));
    }
    if (options_.has_peaks) {
      MDH_ASSIGN_OR_RETURN(peaks_, PeaksOf(*first, options_.known_peaks));
      options.peaks = peaks_;
    }
    {
      const absl::MutexLock lock(&mutex_);
      report_.device = first->device().name;
    }
    runners_.push_back(std::move(first));
    for (int n = 1; n < wanted; ++n) {
      options.work_directory = absl::StrCat(options_.work_directory, "/", n);
      if (has_cores_alone_) options.cores = CoresOf(n, wanted);
      MDH_ASSIGN_OR_RETURN(runners_.emplace_back(), Runner::Start(options));
    }
    for (const std::unique_ptr<Runner>& runner : runners_) {
      if (deadline_ns_ > 0) runner->SetDeadline(deadline_ns_);
    }
    return absl::OkStatus();
  }

  int Wanted() const {
    const int cores = std::max(1, static_cast<int>(AllowedCores().size()));
    if (has_cores_alone_) return std::clamp(options_.runners, 1, cores);
    if (options_.runners > 0) return options_.runners;
    return std::clamp(cores / kCoresOfRunner, 1, kMostRunners);
  }

  // The same number for all, so that their devices are alike.
  static std::vector<int> CoresOf(int runner, int runners) {
    const std::vector<int> all = AllowedCores();
    const auto share = std::ssize(all) / runners;
    return {all.begin() + runner * share, all.begin() + (runner + 1) * share};
  }

  void CheckExpressions(Runner& runner) {
    absl::Mutex alone;  // of a runner that no other one disturbs
    while (std::optional<int64_t> number = Next()) {
      ExpressionCheck check(options_, *number, peaks_, runner,
                            has_cores_alone_ ? alone : measuring_, on_failure_);
      const Status status = check.Run([this] { return IsOver(); });
      Add(check, status);
    }
  }

  // The expression that is to be checked next; none: no more.
  std::optional<int64_t> Next() {
    const absl::MutexLock lock(&mutex_);
    const int64_t most = kMostDrawn * (options_.count + options_.each);
    const bool is_enough = report_.measured >= options_.count || report_.configurations >= most;
    if (is_enough || !status_.ok() || IsOver()) return std::nullopt;
    return next_++;
  }

  void Add(const ExpressionCheck& check, const Status& status) {
    const absl::MutexLock lock(&mutex_);
    // What is begun when the time is over ends with an error.
    if (!status.ok() && !IsOver()) status_.Update(status);
    const BoundCheckReport& one = check.report();
    if (one.expressions == 0) return;
    report_.expressions += one.expressions;
    report_.configurations += one.configurations;
    report_.measured += one.measured;
    report_.bounds += one.bounds;
    report_.violations += one.violations;
    report_.drops += one.drops;
    report_.bound_ns += one.bound_ns;
    report_.prepared_s += one.prepared_s;
    report_.measured_s += one.measured_s;
    report_.judged_s += one.judged_s;
    report_.compiled_s += one.compiled_s;
    report_.shares.insert(report_.shares.end(), one.shares.begin(), one.shares.end());
    report_.problem_shares.insert(report_.problem_shares.end(), one.problem_shares.begin(),
                                  one.problem_shares.end());
    if (!options_.on_expression) return;
    // So that whoever is cut off knows what was done.
    options_.on_expression(absl::StrFormat(
        "%s; so far %d measured, %d bounds, %d violations, %d drops", check.Summary(),
        report_.measured, report_.bounds, report_.violations, report_.drops));
  }

  const BoundCheckOptions& options_;
  absl::Mutex telling_;  // of failures
  const std::function<void(const std::string&)> on_failure_;
  const int64_t deadline_ns_;  // 0: none
  std::vector<std::unique_ptr<Runner>> runners_;
  MachinePeaks peaks_;
  bool has_cores_alone_ = false;
  absl::Mutex measuring_;
  absl::Mutex mutex_;
  BoundCheckReport report_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  Status status_ ABSL_GUARDED_BY(mutex_);
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
  return BoundChecker(options, on_failure).Run();
}

std::string Summary(const BoundCheckReport& report) {
  return absl::StrFormat(
      "%d configurations of %d expressions on %s, %d of them measured: %d violations, %d drops in "
      "%d bounds of %.2g us; bound / time: %.3g of the configuration, %.3g of the problem "
      "(medians), %.3g at most; %.0f s of preparing, %.0f of measuring, %.0f of judging; compilers "
      "took %.0f",
      report.configurations, report.expressions, report.device, report.measured, report.violations,
      report.drops, report.bounds, report.bound_ns / 1e3, Median(report.shares),
      Median(report.problem_shares), report.shares.empty() ? 0 : report.shares.back(),
      report.prepared_s, report.measured_s, report.judged_s, report.compiled_s);
}

}  // namespace mdh
