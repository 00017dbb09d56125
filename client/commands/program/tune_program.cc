// mdh tune-program: tunes any program that a specification describes, on this machine.
#include <google/protobuf/util/message_differencer.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands/call/cancel_on_interrupt.h"
#include "client/commands/call/command.h"
#include "client/commands/call/duration_argument.h"
#include "client/commands/call/output_file.h"
#include "client/commands/format/progress_display.h"
#include "client/commands/program/evaluate_program.h"
#include "client/commands/program/program_dry_run.h"
#include "client/commands/program/program_report.h"
#include "client/commands/program/program_tuning.h"
#include "client/text/terminal.h"
#include "tuner/program/program_file.h"
#include "tuner/search/techniques/search_technique.h"
#include "tuner/study/study_spec.h"

namespace mdh {
namespace {

constexpr const char* kDefaultAbort = "duration(60s)";

struct TuneProgramArguments {
  std::string file;
  std::string budget;     // empty: none
  int64_t budget_ns = 0;  // of `budget`
  std::string lease;      // empty: as the loop likes
  int64_t lease_ns = 0;   // of `lease`
  int64_t trials = 0;
  std::string technique;
  std::optional<uint64_t> seed;
  std::string resume;
  std::string output;
  std::string cuda_root;
  int jobs = 1;
  bool local = false;
  bool dry_run = false;
};

// The specification with what the command line says instead.
v1::StudySpec SpecOf(const v1::StudySpec& written, const TuneProgramArguments& arguments) {
  v1::StudySpec spec = written;
  std::vector<std::string> conditions;
  if (arguments.budget_ns > 0) {
    conditions.push_back(absl::StrCat("duration(", arguments.budget_ns, "ns)"));
  }
  if (arguments.trials > 0) {
    conditions.push_back(absl::StrCat("evaluations(", arguments.trials, ")"));
  }
  if (!conditions.empty()) {
    spec.set_abort(absl::StrJoin(conditions, " or "));
  } else if (spec.abort().empty()) {
    spec.set_abort(kDefaultAbort);
  }
  if (!arguments.technique.empty()) spec.set_technique(arguments.technique);
  if (arguments.seed) spec.set_seed(*arguments.seed);
  spec = WithDefaults(std::move(spec));
  if (spec.lookahead() < arguments.jobs) spec.set_lookahead(arguments.jobs);
  return spec;
}

// Whether trials of one search are trials of the other.
bool HaveSameSpace(const v1::StudySpec& a, const v1::StudySpec& b) {
  const auto space = [](const v1::StudySpec& whole) {
    v1::StudySpec part = WithDefaults(whole);
    part.clear_display_name();
    part.clear_technique();
    part.clear_seed();
    part.clear_lookahead();
    part.clear_abort();
    part.clear_start();
    return part;
  };
  return google::protobuf::util::MessageDifferencer::Equals(space(a), space(b));
}

bool CostIsTime(const v1::ProgramSpec& spec) {
  return spec.has_kernel() || spec.command().cost_pattern().empty();
}

// About the longest that a trial may take.
int64_t LongestTrialNs(const TunableProgram& program) {
  constexpr int64_t kGraceNs = 60'000'000'000;
  if (const auto* command = std::get_if<CommandPlan>(&program.plan)) {
    return (command->repetitions + 1) * command->time_limit_ns + kGraceNs;
  }
  return std::get<KernelPlan>(program.plan).time_limit_ns + kGraceNs;
}

Result<std::unique_ptr<TrialSource>> Created(Result<std::unique_ptr<TrialSource>> trials) {
  const Status& status = trials.status();
  if (absl::IsUnavailable(status)) return WithExitCode(ExitCode::kCannotConnect, status);
  if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)) {
    return WithExitCode(ExitCode::kBadExpression, status);
  }
  return trials;
}

// One run of the command.
class Run {
 public:
  Run(const GlobalOptions& options, const TuneProgramArguments& arguments)
      : options_(options), arguments_(arguments) {}

  Status operator()() {
    MDH_ASSIGN_OR_RETURN(file_,
                         WithExitCode(ExitCode::kBadExpression, ReadProgramFile(arguments_.file)));
    spec_ = SpecOf(file_.spec.study(), arguments_);
    if (arguments_.dry_run) return DryRun();
    MDH_ASSIGN_OR_RETURN(trials_, Created(Open()));
    MDH_ASSIGN_OR_RETURN(const v1::Study study, trials_->Get());
    if (!arguments_.resume.empty() && !HaveSameSpace(study.spec(), file_.spec.study())) {
      return WithExitCode(
          ExitCode::kUsage,
          absl::StrCat(trials_->name(), " searches another space than ", arguments_.file));
    }
    return Report(Tune(study.spec().abort()));
  }

 private:
  // What would be searched, and how the first configuration would be evaluated.
  Status DryRun() const {
    MDH_ASSIGN_OR_RETURN(const std::unique_ptr<TrialSource> trials,
                         Created(CreateLocalTrials(spec_)));
    MDH_ASSIGN_OR_RETURN(const v1::Study study, trials->Get());
    MDH_ASSIGN_OR_RETURN(const v1::AskTrialsResponse asked,
                         trials->Ask(1, LongestTrialNs(file_.program)));
    if (asked.trials().empty()) {
      return WithExitCode(ExitCode::kBadExpression, "there is no configuration");
    }
    MDH_ASSIGN_OR_RETURN(
        const std::string text,
        WithExitCode(ExitCode::kBadExpression,
                     FormatDryRun(study, asked.trials(0).configuration(), file_.program)));
    std::printf("%s", text.c_str());
    return absl::OkStatus();
  }

  Result<std::unique_ptr<TrialSource>> Open() {
    if (arguments_.local) return CreateLocalTrials(spec_);
    PatienceOptions patience;
    patience.is_interrupted = [this] { return interrupted_.load(); };
    patience.on_wait = [](const Status& status) {
      std::fprintf(stderr, "mdh: waiting for the daemon: %s\n",
                   std::string(status.message()).c_str());
    };
    if (arguments_.resume.empty()) {
      return CreateDaemonTrials(options_.server, options_.client, spec_, std::move(patience));
    }
    const std::string name = arguments_.resume.find('/') == std::string::npos
                                 ? "studies/" + arguments_.resume
                                 : arguments_.resume;
    return OpenDaemonTrials(options_.server, options_.client, name, std::move(patience));
  }

  // Until the study ends, or Ctrl-C.
  Status Tune(const std::string& abort) {
    std::vector<std::unique_ptr<IsolatedEvaluator>> evaluators;
    const WorkerCommand worker = EvaluatorBesideThisProgram(arguments_.cuda_root);
    for (int n = 0; n < arguments_.jobs; ++n) {
      MDH_ASSIGN_OR_RETURN(evaluators.emplace_back(),
                           IsolatedEvaluator::Create(file_.spec, file_.folder, worker));
    }
    ProgressDisplay display(CanRewriteLines(STDERR_FILENO));
    const bool is_time = CostIsTime(file_.spec);
    ProgramTuning tuning(*trials_, std::move(evaluators), LongestTrialNs(file_.program),
                         arguments_.lease_ns, [&](const v1::Study& study, const v1::StudyTrial&) {
                           display.ShowLine(FormatStudyProgress(study, abort, is_time));
                         });
    Status ended;
    {
      const CancelOnInterrupt cancel([&] {
        interrupted_ = true;
        tuning.Interrupt();
      });
      ended = tuning.Run();
    }
    display.Finish();
    return ended;
  }

  std::string HowToResume() const {
    if (trials_->name().empty()) return "";
    return absl::StrCat("; what was found is kept, and mdh tune-program ", arguments_.file,
                        " --resume ", trials_->name(), " goes on");
  }

  Status Report(const Status& ended) {
    if (absl::IsFailedPrecondition(ended)) return CannotRun(ended);
    if (absl::IsUnavailable(ended)) {
      return WithExitCode(ExitCode::kCannotConnect, absl::StrCat(ended.message(), HowToResume()));
    }
    const Result<ProgramReport> report = MakeReport(*trials_, CostIsTime(file_.spec));
    if (!report.ok()) {
      return WithExitCode(ExitCode::kCannotConnect,
                          absl::StrCat(report.status().message(), HowToResume()));
    }
    if (options_.json) {
      std::printf("%s\n", ReportJson(*report).dump(2).c_str());
    } else {
      std::printf("%s", FormatReport(*report).c_str());
    }
    if (!arguments_.output.empty()) {
      MDH_RETURN_IF_ERROR(WriteOutputFile(arguments_.output, ReportJson(*report).dump(2) + "\n"));
    }
    if (absl::IsCancelled(ended)) return Cancelled("interrupted", HowToResume());
    if (!ended.ok()) {
      return WithExitCode(ExitCode::kServerError, absl::StrCat(ended.message(), HowToResume()));
    }
    if (!report->study.has_best()) {
      return WithExitCode(ExitCode::kServerError, report->study.evaluations() == 0
                                                      ? "nothing was evaluated"
                                                      : "all trials failed");
    }
    return absl::OkStatus();
  }

  // Nothing can be evaluated on this machine.
  Status CannotRun(const Status& status) {
    const Result<v1::Study> study = trials_->Get();
    if (study.ok() && study->evaluations() == 0 && arguments_.resume.empty()) trials_->Discard();
    return WithExitCode(ExitCode::kServerError,
                        absl::StrCat("the program cannot be run: ", status.message()));
  }

  const GlobalOptions& options_;
  const TuneProgramArguments& arguments_;
  ProgramFile file_;
  v1::StudySpec spec_;
  std::unique_ptr<TrialSource> trials_;
  std::atomic<bool> interrupted_ = false;
};

// What is searched, and until when.
void AddSearchOptions(CLI::App& command, TuneProgramArguments& arguments) {
  command.add_option("SPEC", arguments.file, "the program's specification, JSON or YAML")
      ->required();
  CLI::Option* resume =
      command.add_option("--resume", arguments.resume, "go on with this study of the daemon");
  command
      .add_option("--budget", arguments.budget,
                  "duration of the search, instead of the specification's abort condition [60s]")
      ->check([&arguments](const std::string& text) {
        return ParseDurationArgument(text, arguments.budget_ns);
      })
      ->excludes(resume);
  command
      .add_option("--trials", arguments.trials,
                  "most configurations to try, instead of the abort condition")
      ->check(CLI::PositiveNumber)
      ->excludes(resume);
  command
      .add_option("--technique", arguments.technique,
                  absl::StrCat("search technique [the specification's]; all: ",
                               absl::StrJoin(SearchTechniqueNames(), ", ")))
      ->excludes(resume);
  command.add_option("--seed", arguments.seed, "seed of the search")->excludes(resume);
  command
      .add_flag("--dry-run", arguments.dry_run,
                "show the size of the space, and what would be run for one configuration")
      ->excludes(resume);
  command.add_flag("--local", arguments.local, "search in this process; nothing is kept")
      ->excludes(resume);
}

// How trials are evaluated, and where the result goes.
void AddEvaluationOptions(CLI::App& command, TuneProgramArguments& arguments) {
  command
      .add_option("--jobs", arguments.jobs,
                  "evaluations at a time; more than one makes times less exact")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--lease", arguments.lease,
                  "how long the daemon keeps a trial for this run, should it be killed [four times "
                  "the slowest trial]")
      ->check([&arguments](const std::string& text) {
        return ParseDurationArgument(text, arguments.lease_ns);
      });
  command.add_option("--output", arguments.output, "write the result to this file, as JSON");
  command.add_option("--cuda-path", arguments.cuda_root, "where the CUDA Toolkit is")
      ->envname("CUDA_PATH");
}

}  // namespace

void AddTuneProgramCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto arguments = std::make_shared<TuneProgramArguments>();
  CLI::App* command = app.add_subcommand(
      "tune-program", "search the best configuration of any program, on this machine");
  AddSearchOptions(*command, *arguments);
  AddEvaluationOptions(*command, *arguments);
  // Owns the arguments, which the options refer to.
  Select(command, selected, [&options, arguments] { return Run(options, *arguments)(); });
}

}  // namespace mdh
