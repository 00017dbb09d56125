// mdh tune, mdh watch.
#include "client/commands/tune_command.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/commands/call/cancel_on_interrupt.h"
#include "client/commands/call/device_argument.h"
#include "client/commands/call/duration_argument.h"
#include "client/commands/call/job_name.h"
#include "client/commands/call/restriction_arguments.h"
#include "client/commands/format/progress_display.h"
#include "client/commands/lookup_command.h"
#include "client/commands/pipeline_tuning.h"
#include "client/text/formatting.h"
#include "client/text/terminal.h"
#include "client/text/text_table.h"
#include "client/wait_for_job.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {
namespace {

struct TuneArguments {
  ExpressionArguments expression = {};
  TuneOptions options = {};
  ScheduleArguments schedule = {};
  RestrictionArguments restrictions = {};
  // Of a TeML program.
  bool ignores_loops = false;
  ScheduleDetail loops = ScheduleDetail::kWhatIsSaid;
  bool detach = false;
  RecordDetail detail = RecordDetail::kShort;
};

// What finds a job's result.
LookupArguments LookupOf(const ExpressionArguments& expression, const v1::TuningJob& job,
                         const ScheduleArguments& schedule = {}) {
  LookupArguments lookup{.expression = expression, .schedule = schedule};
  const v1::NumericsPolicy policy = job.options().numerics_policy();
  if (policy != v1::NUMERICS_POLICY_REASSOCIATE) lookup.numerics_policy = policy;
  const std::string device =
      job.devices().empty() ? "" : std::string(absl::StripPrefix(job.devices(0), "devices/"));
  if (device != "cpu") lookup.device.text = device;
  return lookup;
}

// "5%" or "0.05", at least 0 and less than 1.
std::optional<double> ParseShare(absl::string_view text) {
  const bool is_percentage = absl::ConsumeSuffix(&text, "%");
  double share = 0;
  if (!absl::SimpleAtod(text, &share)) return std::nullopt;
  if (is_percentage) share /= 100;
  if (!(share >= 0 && share < 1)) return std::nullopt;
  return share;
}

// Prints how a job ended.
Status ReportEnd(const GlobalOptions& options, const TuneArguments& arguments,
                 const v1::GetTuningJobResponse& ended) {
  const v1::TuningJob& job = ended.job();
  if (options.json) {
    PrintJson(ended);
  } else if (ended.has_record()) {
    PrintRecord(ended.record(), arguments.detail,
                LookupOf(arguments.expression, job, arguments.schedule), job.name());
  }
  // Its record may be of another search, and faster.
  if (!options.json && !job.options().restrictions().empty() && job.progress().best_time_ns() > 0) {
    std::printf("the best of what was decided: %s with %s\n",
                FormatTime(job.progress().best_time_ns()).c_str(),
                Printable(job.progress().best_parameters()).c_str());
  }
  if (job.state() == v1::TUNING_JOB_STATE_CANCELLED) {
    return Cancelled(
        job.name(), " was cancelled",
        job.record().empty() ? " before there was a result" : "; the best so far is stored");
  }
  if (job.state() == v1::TUNING_JOB_STATE_FAILED) {
    return WithExitCode(ExitCode::kServerError,
                        absl::StrCat(job.name(), " failed: ", job.error().message()));
  }
  return absl::OkStatus();
}

Status WatchToEnd(const GlobalOptions& options, const TuneArguments& arguments, Client& client,
                  const std::string& job) {
  ProgressDisplay display(CanRewriteLines(STDERR_FILENO));
  WaitOptions wait;
  wait.on_silence = [&] {
    display.ShowLine(absl::StrCat("the daemon does not answer; ", job, " goes on with the next"));
  };
  const Result<v1::GetTuningJobResponse> ended =
      WaitForJob(client, job, wait, [&](const v1::TuningProgress& step) { display.Show(step); });
  display.Finish();
  if (ended.ok()) return ReportEnd(options, arguments, *ended);
  if (!IsOfConnection(ended.status())) return ended.status();
  return WithExitCode(ExitCode::kCannotConnect,
                      absl::StrCat(ended.status().message(), "; mdh watch ", job, " waits on"));
}

// A job that others asked for first is theirs: then Ctrl-C only stops watching.
Status WaitForOwn(const GlobalOptions& options, const TuneArguments& arguments, Client& client,
                  const v1::CreateTuningJobResponse& created) {
  const std::string& job = created.job().name();
  std::optional<CancelOnInterrupt> cancel;
  if (!created.joined()) {
    cancel.emplace([&] { (void)client.Cancel(job); });
  }
  return WatchToEnd(options, arguments, client, job);
}

// A TeML program whose loops say something of its steps.
Status TuneScheduled(const GlobalOptions& options, const TuneArguments& arguments,
                     const ScheduledTeml& scheduled) {
  for (const std::string& notice : scheduled.notices) {
    std::fprintf(stderr, "%s\n", notice.c_str());
  }
  std::vector<ScheduledStep> steps;
  for (size_t s = 0; s < scheduled.schedules.size(); ++s) {
    steps.push_back({scheduled.pipeline.steps()[s].expression, scheduled.schedules[s]});
  }
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  return TuneSteps(options, *client, arguments.options, steps,
                   arguments.detach ? JobsAre::kLeftAlone : JobsAre::kWaitedFor);
}

Status Tune(const GlobalOptions& options, TuneArguments arguments) {
  MDH_ASSIGN_OR_RETURN(arguments.options.restrictions, RestrictionsOf(arguments.restrictions));
  MDH_ASSIGN_OR_RETURN(const Computation computation, LoadComputation(arguments.expression));
  MDH_ASSIGN_OR_RETURN(arguments.options.schedule, LoadSchedule(arguments.schedule));
  if (arguments.schedule.file.empty() && !arguments.ignores_loops) {
    MDH_ASSIGN_OR_RETURN(const std::optional<ScheduledTeml> scheduled,
                         LoadTemlSchedules(arguments.expression, arguments.loops));
    if (scheduled.has_value() && scheduled->schedules.size() > 1 &&
        arguments.options.restrictions.empty()) {
      return TuneScheduled(options, arguments, *scheduled);
    }
    if (scheduled.has_value()) {
      for (const std::string& notice : scheduled->notices) {
        std::fprintf(stderr, "%s\n", notice.c_str());
      }
      arguments.options.schedule = scheduled->schedules[0];
    }
  }
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  const Result<v1::CreateTuningJobResponse> answer =
      client->CreateJob(computation, arguments.options);
  if (!answer.ok()) return InScheduleFile(arguments.schedule, answer.status());
  const v1::CreateTuningJobResponse& created = *answer;
  if (!created.note().empty()) std::fprintf(stderr, "%s\n", created.note().c_str());
  if (arguments.options.validate_only || arguments.detach) {
    Show(options, created, [&](const v1::CreateTuningJobResponse& response) {
      if (arguments.options.validate_only) std::printf("the daemon would take it\n");
      if (arguments.options.validate_only) return;
      for (const std::string& job : JobsOf(response)) std::printf("%s\n", job.c_str());
    });
    return absl::OkStatus();
  }
  const auto* const expression = std::get_if<Expression>(&computation);
  // The daemon searches some expressions in steps.
  if (expression == nullptr || created.has_whole_job()) {
    return WaitForPipeline(
        options, *client,
        {.pipeline =
             expression == nullptr ? std::get<Pipeline>(computation) : Pipeline::Of(*expression),
         .options = arguments.options,
         .created = created,
         .kernel_command = KernelCommand(
             LookupOf(arguments.expression, created.whole_job().job(), arguments.schedule))});
  }
  return WaitForOwn(options, arguments, *client, created);
}

// Of a job that may be another's its digest is known, no file.
Status Watch(const GlobalOptions& options, const std::string& job, RecordDetail detail) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  const TuneArguments arguments{.expression = {.file = "-"}, .detail = detail};
  return WatchToEnd(options, arguments, *client, JobNameFromArgument(job));
}

}  // namespace

Status TuneExpression(const GlobalOptions& options, Client& client, const TunedExpression& tuned,
                      const TuneOptions& tune) {
  const TuneArguments arguments{
      .expression = tuned.arguments, .options = tune, .schedule = tuned.schedule};
  MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created,
                       client.CreateJob(tuned.expression, tune));
  if (!created.note().empty()) std::fprintf(stderr, "%s\n", created.note().c_str());
  return WaitForOwn(options, arguments, client, created);
}

void AddTuneCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto tune_arguments = std::make_shared<TuneArguments>();
  CLI::App* tune = app.add_subcommand(
      "tune", "search the best kernel for an expression, or for the steps of a pipeline");
  AddExpressionArguments(*tune, tune_arguments->expression);
  tune->add_option_function<std::string>(
          "--budget",
          [tune_arguments](const std::string& text) {
            const std::string wrong =
                ParseDurationArgument(text, tune_arguments->options.budget_ns);
            if (!wrong.empty()) throw CLI::ValidationError("--budget", wrong);
          },
          "time of the search, that behind the result that there is included; of a pipeline for "
          "all "
          "steps together [any result will do; if there is none, 60s]")
      ->type_name("DURATION");
  tune->add_option("--trials", tune_arguments->options.max_trials, "most configurations to try")
      ->check(CLI::PositiveNumber);
  tune->add_option("--seed", tune_arguments->options.seed, "seed of the search [1]");
  tune->add_option("--technique", tune_arguments->options.technique,
                   absl::StrCat("search technique [auc_bandit]; all: ",
                                absl::StrJoin(SearchTechniqueNames(), ", ")));
  AddScheduleOption(*tune, tune_arguments->schedule);
  AddRestrictionOptions(*tune, tune_arguments->restrictions);
  tune->add_flag("--no-schedule", tune_arguments->ignores_loops,
                 "of a TeML program: search freely, whatever its loops are");
  tune->add_flag_callback(
      "--replay", [tune_arguments] { tune_arguments->loops = ScheduleDetail::kNothingElse; },
      "of a TeML program: its loops as they stand, and nothing else; only vectors are searched");
  AddNumericsOption(*tune, tune_arguments->options.numerics_policy);
  tune->add_option("--tolerance", tune_arguments->options.tolerance,
                   "largest relative error of results [from the policy and the types]")
      ->check(CLI::Range(0.0, 1.0));
  tune->add_option("--caches", tune_arguments->options.cache_state,
                   "in which state of the caches candidates are timed: warm (as the call before "
                   "left them) or cold (without the data) [warm; a result of any state will do]")
      ->transform(CLI::Transformer(std::map<std::string, v1::CacheState>{
          {"warm", v1::CACHE_STATE_WARM}, {"cold", v1::CACHE_STATE_COLD}}))
      ->type_name("STATE");
  tune->add_option_function<std::string>(
          "--gap",
          [tune_arguments](const std::string& text) {
            const std::optional<double> gap = ParseShare(text);
            if (!gap.has_value()) {
              throw CLI::ValidationError(
                  "--gap", absl::StrCat("'", text, "' is no share below 100%, such as 5%"));
            }
            tune_arguments->options.gap = *gap;
          },
          "end the search once its best is proven to be within this share of the best possible, "
          "e.g. 5%, and leave out what cannot be faster by more [0%]")
      ->type_name("SHARE");
  tune->add_flag("--no-cut", tune_arguments->options.without_cut,
                 "try also what a bound shows to be slower than the best so far");
  tune->add_flag("--force", tune_arguments->options.force,
                 "search again even if there is a result, starting from it");
  tune->add_option_function<std::vector<std::string>>(
          "--device",
          [tune_arguments](const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              tune_arguments->options.devices.push_back(DeviceNameFromArgument(name));
            }
          },
          "attached device, e.g. cuda0, or all of a kind, e.g. cuda; several may be given if they "
          "are equal [cpu]")
      ->type_name("DEVICE");
  tune->add_option("--source", tune_arguments->options.source,
                   "who asks: jobs of different sources take turns [this machine]");
  tune->add_option("--priority", tune_arguments->options.priority,
                   "among the jobs of the source, from -10 to 10 [0]")
      ->check(CLI::Range(-10, 10));
  tune->add_option_function<std::string>(
          "--device-time",
          [tune_arguments](const std::string& text) {
            const std::string wrong =
                ParseDurationArgument(text, tune_arguments->options.max_device_time_ns);
            if (!wrong.empty()) throw CLI::ValidationError("--device-time", wrong);
          },
          "most time that devices are held, summed over them [no limit but the budget]")
      ->type_name("DURATION");
  tune->add_flag("--check", tune_arguments->options.validate_only,
                 "only check whether the daemon would take the job");
  tune->add_option("--request-id", tune_arguments->options.request_id,
                   "the same id gives the same job");
  AddTableOption(*tune, tune_arguments->detail);
  tune->add_flag("--detach", tune_arguments->detach, "print the names of the jobs and do not wait");
  Select(tune, selected, [&options, tune_arguments] { return Tune(options, *tune_arguments); });

  auto detail = std::make_shared<RecordDetail>(RecordDetail::kShort);
  CLI::App* watch = AddCommandOn(
      app, selected, "watch", "wait for the end of a job", "JOB", "number or name",
      [&options, detail](const std::string& job) { return Watch(options, job, *detail); });
  AddTableOption(*watch, *detail);
}

}  // namespace mdh
