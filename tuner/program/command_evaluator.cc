#include "tuner/program/command_evaluator.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tuner/process/child_process.h"

namespace mdh {
namespace {

// std::regex recurses once per character.
constexpr size_t kLongestLine = 4096;
// Folders, which stay one word of the command.
const std::set<std::string> kPaths = {"work", "spec"};
// What a shell exits with when a command was killed by a signal, and when there is no such command.
constexpr int kShellSignal = 128;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

std::string Said(const CommandEnd& end) {
  const std::string excerpt = Excerpt(end.err.empty() ? end.out : end.err);
  return excerpt.empty() ? "" : absl::StrCat(":\n", excerpt);
}

// Of the last match, if that is a number.
std::optional<double> FindCost(const std::string& text, const std::regex& pattern) {
  std::optional<double> cost;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string searched(line.substr(0, kLongestLine));
    for (std::sregex_iterator match(searched.begin(), searched.end(), pattern), none; match != none;
         ++match) {
      double value = 0;
      if (absl::SimpleAtod((*match)[1].str(), &value)) cost = value;
    }
  }
  return cost;
}

// What is wrong with the end of `run`; nullopt if it succeeded.
std::optional<v1::EvaluateResponse> RunFailure(const CommandEnd& end, int64_t limit_ns) {
  if (end.timed_out) {
    return FailedEvaluation(FailureKind::kTimeOut,
                            absl::StrCat("the run takes longer than ", limit_ns / 1e9, " s"));
  }
  if (end.signal != 0) {
    return FailedEvaluation(FailureKind::kCrash, absl::StrCat(SignalName(end.signal), Said(end)));
  }
  if (end.exit_code == 0) return std::nullopt;
  const std::string status = absl::StrCat("exit status ", end.exit_code);
  if (end.exit_code == kNotExecutable || end.exit_code == kNotFound) {
    return FailedEvaluation(FailureKind::kLaunchError, absl::StrCat(status, Said(end)));
  }
  const bool is_signal = end.exit_code > kShellSignal && end.exit_code <= kShellSignal + 64;
  return FailedEvaluation(FailureKind::kCrash,
                          is_signal
                              ? absl::StrCat(SignalName(end.exit_code - kShellSignal), Said(end))
                              : absl::StrCat(status, Said(end)));
}

// A folder and its end.
class TrialFolder {
 public:
  static Result<TrialFolder> Create(const std::string& parent) {
    std::string path = parent + "/trial-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return FailedPrecondition("cannot make a folder in ", parent);
    }
    return TrialFolder(std::move(path));
  }
  TrialFolder(TrialFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TrialFolder& operator=(TrialFolder&&) = delete;
  ~TrialFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TrialFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Result<FilledCommands> FillCommands(const TunableProgram& program,
                                    const v1::NamedConfiguration& configuration,
                                    const std::string& work) {
  MDH_ASSIGN_OR_RETURN(const Configuration codes,
                       ConfigurationFromNamed(configuration, program.study.parameters));
  MDH_ASSIGN_OR_RETURN(auto texts, PlainValues(program.study, codes));
  texts["work"] = work;
  texts["spec"] = program.folder;
  const auto& plan = std::get<CommandPlan>(program.plan);
  FilledCommands commands = {.compile = plan.compile.FillForShell(texts, kPaths),
                             .run = plan.run.FillForShell(texts, kPaths),
                             .environment = {}};
  for (const TuningParameter& parameter : program.study.parameters) {
    commands.environment.push_back(absl::StrCat(parameter.name, "=", texts.at(parameter.name)));
  }
  return commands;
}

Result<v1::EvaluateResponse> CommandEvaluator::Evaluate(
    const v1::NamedConfiguration& configuration) {
  // One that is none is an error of whoever asks.
  MDH_RETURN_IF_ERROR(ConfigurationFromNamed(configuration, program_.study.parameters).status());
  MDH_ASSIGN_OR_RETURN(const TrialFolder folder, TrialFolder::Create(folder_));
  Result<FilledCommands> commands = FillCommands(program_, configuration, folder.path());
  if (!commands.ok()) {
    return FailedEvaluation(FailureKind::kLaunchError, std::string(commands.status().message()));
  }
  return CompileAndRun(*std::move(commands), folder.path());
}

v1::EvaluateResponse CommandEvaluator::CompileAndRun(FilledCommands commands,
                                                     const std::string& work) const {
  ShellCommand command;
  command.directory = work;
  command.time_limit_ns = plan_.time_limit_ns;
  command.environment = std::move(commands.environment);
  if (!commands.compile.empty()) {
    command.command = std::move(commands.compile);
    const Result<CommandEnd> end = RunShellCommand(command);
    if (!end.ok()) {
      return FailedEvaluation(FailureKind::kCompileError, std::string(end.status().message()));
    }
    if (end->timed_out) {
      return FailedEvaluation(
          FailureKind::kTimeOut,
          absl::StrCat("the compilation takes longer than ", plan_.time_limit_ns / 1e9, " s"));
    }
    if (end->signal != 0 || end->exit_code != 0) {
      return FailedEvaluation(
          FailureKind::kCompileError,
          absl::StrCat(end->signal != 0 ? SignalName(end->signal)
                                        : absl::StrCat("exit status ", end->exit_code),
                       Said(*end)));
    }
  }
  command.command = std::move(commands.run);
  v1::EvaluateResponse best;
  for (int n = 0; n < plan_.repetitions; ++n) {
    v1::EvaluateResponse response = RunOnce(command);
    if (!response.failure().empty()) return response;
    if (n == 0 || response.cost() < best.cost()) best = std::move(response);
  }
  return best;
}

v1::EvaluateResponse CommandEvaluator::RunOnce(const ShellCommand& command) const {
  const Result<CommandEnd> end = RunShellCommand(command);
  if (!end.ok()) {
    return FailedEvaluation(FailureKind::kLaunchError, std::string(end.status().message()));
  }
  if (auto failure = RunFailure(*end, plan_.time_limit_ns)) return *std::move(failure);
  const bool reads_output = plan_.cost_pattern || !plan_.expected_output.empty();
  if (reads_output && end->is_cut) {
    return FailedEvaluation(
        FailureKind::kNoCost,
        absl::StrCat("it prints more than ", command.max_output_bytes >> 20, " MiB"));
  }
  if (!absl::StrContains(end->out, plan_.expected_output) &&
      !absl::StrContains(end->err, plan_.expected_output)) {
    return FailedEvaluation(
        FailureKind::kWrongResult,
        absl::StrCat("the output does not contain '", plan_.expected_output, "'", Said(*end)));
  }
  if (!plan_.cost_pattern) return Evaluated(static_cast<double>(end->time_ns));
  std::optional<double> cost = FindCost(end->out, *plan_.cost_pattern);
  if (!cost) cost = FindCost(end->err, *plan_.cost_pattern);
  if (cost) return Evaluated(*cost);
  return FailedEvaluation(FailureKind::kNoCost,
                          absl::StrCat("the output has no cost_pattern with a number", Said(*end)));
}

}  // namespace mdh
