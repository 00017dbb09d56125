// mdh schedule: schedules of records and of TeML programs, and what they leave open.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/admin_client.h"
#include "client/commands/call/command.h"
#include "client/commands/call/expression_arguments.h"
#include "client/commands/call/schedule_arguments.h"
#include "client/commands/lookup_command.h"
#include "client/text/text_table.h"
#include "core/device/system_model.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"

namespace mdh {
namespace {

constexpr const char* kRecords = "records/";

struct ShowArguments {
  LookupArguments lookup = {};
  std::vector<std::string> keep = {};  // words of decisions; none: all
  bool is_complete = false;
};

struct CheckArguments {
  ExpressionArguments expression = {};
  ScheduleArguments schedule = {};
  DeviceArgument device = {};
  v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED;
  std::string vary = {};
};

// ---- show ----

// The words of --keep, and what they keep.
struct KeptKind {
  const char* word;
  std::vector<Decision::Kind> kinds;
};

const std::vector<KeptKind>& KeptKinds() {
  using Kind = Decision::Kind;
  static const auto* kinds =
      new std::vector<KeptKind>{{"tile", {Kind::kTile, Kind::kParts}},
                                {"order", {Kind::kOrder}},
                                {"on", {Kind::kAxis}},
                                {"lanes", {Kind::kAlong, Kind::kLanes}},
                                {"copy",
                                 {Kind::kCopy, Kind::kStrips, Kind::kLayout, Kind::kPadding,
                                  Kind::kWidth, Kind::kStages, Kind::kMode}},
                                {"region", {Kind::kRegions, Kind::kCombine}},
                                {"fuse", {Kind::kFuse, Kind::kSeparate}},
                                {"options", {Kind::kOption}}};
  return *kinds;
}

std::string WordsOfKinds() {
  std::vector<std::string> words;
  for (const KeptKind& kind : KeptKinds()) words.emplace_back(kind.word);
  return absl::StrJoin(words, ", ");
}

bool IsKept(const Decision& decision, const std::vector<std::string>& keep) {
  for (const std::string& word : keep) {
    if (decision.option != nullptr && decision.option->key == word) return true;
    for (const KeptKind& kind : KeptKinds()) {
      if (kind.word == word && absl::c_linear_search(kind.kinds, decision.kind)) return true;
    }
  }
  return keep.empty();
}

Result<v1::TuningRecord> RecordNamed(const GlobalOptions& options, const std::string& name) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  v1::ListRecordsRequest request;
  do {
    MDH_ASSIGN_OR_RETURN(const v1::ListRecordsResponse page, client->ListRecords(request));
    for (const v1::TuningRecord& record : page.records()) {
      if (record.name() == name) return record;
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return WithExitCode(ExitCode::kNotFound, NotFound("there is no record ", name));
}

// The lines of a pipeline: about what is fused and what runs together, and those of steps.
Result<std::string> ScheduleOfPipeline(const v1::TuningRecord& record,
                                       const std::vector<std::string>& keep) {
  if (!keep.empty()) {
    return WithExitCode(ExitCode::kUsage,
                        absl::StrCat("--keep is for expressions, and ", record.name(),
                                     " is of a pipeline: delete lines of what is printed"));
  }
  MDH_ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(record.expression_text()));
  MDH_ASSIGN_OR_RETURN(const PipelineParameters parameters,
                       ParsePipelineParameters(record.parameters()));
  const std::optional<Partition> partition = PartitionWith(pipeline, parameters.edges);
  if (!partition || parameters.steps.empty()) {
    return FailedPrecondition(record.name(), " has no kernel of the whole pipeline");
  }
  MDH_ASSIGN_OR_RETURN(const SystemModel model,
                       SystemModelNamed(parameters.steps.front().system_model));
  return PipelineSchedule::TextOf(pipeline, *partition, parameters, model);
}

Result<std::string> ScheduleOfRecord(const v1::TuningRecord& record,
                                     const std::vector<std::string>& keep) {
  Result<Expression> expression = ParseExpression(record.expression_text());
  if (record.has_pipeline() || !expression.ok()) return ScheduleOfPipeline(record, keep);
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParseTuningParameters(record.parameters()));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parameters.system_model));
  const Schedule whole = Schedule::Of(parameters, *expression, model);
  std::vector<Decision> kept;
  for (const Decision& decision : whole.decisions()) {
    if (IsKept(decision, keep)) kept.push_back(decision);
  }
  return whole.With(std::move(kept)).CanonicalText();
}

// What the loops of a program say of its steps.
void PrintTemlSchedules(const GlobalOptions& options, const ScheduledTeml& scheduled) {
  for (const std::string& notice : scheduled.notices) {
    std::fprintf(stderr, "%s\n", notice.c_str());
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const size_t steps = scheduled.schedules.size();
  for (size_t s = 0; s < steps; ++s) {
    const std::string& step = scheduled.pipeline.steps()[s].expression.name();
    if (options.json) {
      json.push_back({{"step", step}, {"schedule", scheduled.schedules[s]}});
      continue;
    }
    if (steps > 1) std::printf("# %s\n", step.c_str());
    std::printf("%s", scheduled.schedules[s].c_str());
  }
  if (options.json) std::printf("%s\n", json.dump(2).c_str());
}

Status ShowSchedule(const GlobalOptions& options, const ShowArguments& arguments) {
  const std::string& what = arguments.lookup.expression.file;
  const bool is_record = absl::StartsWith(what, kRecords);
  if (!is_record && !IsDigest(what)) {
    MDH_ASSIGN_OR_RETURN(const std::optional<ScheduledTeml> scheduled,
                         LoadTemlSchedules(arguments.lookup.expression,
                                           arguments.is_complete ? ScheduleDetail::kNothingElse
                                                                 : ScheduleDetail::kWhatIsSaid));
    if (scheduled.has_value()) {
      PrintTemlSchedules(options, *scheduled);
      return absl::OkStatus();
    }
  }
  v1::TuningRecord record;
  if (is_record) {
    MDH_ASSIGN_OR_RETURN(record, RecordNamed(options, what));
  } else {
    MDH_ASSIGN_OR_RETURN(const LookupResult result, ConnectAndLookup(options, arguments.lookup));
    record = result.found.record();
  }
  MDH_ASSIGN_OR_RETURN(const std::string text, ScheduleOfRecord(record, arguments.keep));
  if (options.json) {
    const nlohmann::ordered_json json = {{"record", record.name()}, {"schedule", text}};
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    std::printf("%s", text.c_str());
  }
  return absl::OkStatus();
}

// ---- check and count ----

// What a file has, and the schedule that is given or that its loops say.
struct Scheduled {
  Computation computation;
  std::string schedule;
};

// Of several steps, each by its number.
std::string ScheduleOfLoops(const ScheduledTeml& scheduled) {
  if (scheduled.schedules.size() == 1) return scheduled.schedules[0];
  std::string text;
  for (size_t s = 0; s < scheduled.schedules.size(); ++s) {
    if (scheduled.schedules[s].empty()) continue;
    absl::StrAppend(&text, "step ", s + 1, ":\n", scheduled.schedules[s]);
  }
  return text;
}

Result<Scheduled> LoadScheduled(const CheckArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(Computation computation, LoadComputation(arguments.expression));
  MDH_ASSIGN_OR_RETURN(std::string schedule, LoadSchedule(arguments.schedule));
  if (arguments.schedule.file.empty()) {
    MDH_ASSIGN_OR_RETURN(const std::optional<ScheduledTeml> scheduled,
                         LoadTemlSchedules(arguments.expression));
    if (scheduled.has_value()) schedule = ScheduleOfLoops(*scheduled);
  }
  return Scheduled{std::move(computation), std::move(schedule)};
}

Result<v1::CheckScheduleResponse> Check(const GlobalOptions& options,
                                        const CheckArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const Scheduled scheduled, LoadScheduled(arguments));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  Result<v1::CheckScheduleResponse> response =
      client->CheckSchedule(scheduled.computation, scheduled.schedule, arguments.device.selection,
                            arguments.numerics_policy, arguments.vary);
  if (!response.ok()) return InScheduleFile(arguments.schedule, response.status());
  return response;
}

// Whether nobody can tell how many configurations are left, or whether there are any.
bool IsUnknown(const v1::CheckScheduleResponse& response) {
  return response.count() == "0" && !response.is_exact() && response.conflicts().empty();
}

// A schedule that leaves nothing is an error of the one who wrote it.
Status EndOf(const v1::CheckScheduleResponse& response) {
  if (response.count() != "0" || IsUnknown(response)) return absl::OkStatus();
  return WithExitCode(ExitCode::kBadExpression,
                      FailedPrecondition(response.conflicts().empty()
                                             ? std::string("no configuration keeps to the schedule")
                                             : absl::StrJoin(response.conflicts(), "\n")));
}

std::string CountText(const v1::CheckScheduleResponse& checked) {
  if (IsUnknown(checked)) return "an unknown number of";
  return absl::StrCat(checked.is_exact() ? "" : "at most ", checked.count());
}

Status CheckSchedule(const GlobalOptions& options, const CheckArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const v1::CheckScheduleResponse response, Check(options, arguments));
  Show(options, response, [](const v1::CheckScheduleResponse& checked) {
    std::printf("%s%s configurations\n", checked.canonical().c_str(), CountText(checked).c_str());
    if (!checked.example().empty()) std::printf("such as %s\n", checked.example().c_str());
  });
  return EndOf(response);
}

Status CountSchedule(const GlobalOptions& options, const CheckArguments& arguments) {
  MDH_ASSIGN_OR_RETURN(const v1::CheckScheduleResponse response, Check(options, arguments));
  Show(options, response, [&](const v1::CheckScheduleResponse& checked) {
    if (arguments.vary.empty()) {
      std::printf("%s\n", IsUnknown(checked) ? "unknown" : checked.count().c_str());
      return;
    }
    std::vector<std::vector<std::string>> rows;
    for (const v1::ScheduleAlternative& alternative : checked.alternatives()) {
      rows.push_back({alternative.value(), alternative.count()});
    }
    PrintTable(
        {{.heading = "VALUE", .is_number = true}, {.heading = "CONFIGURATIONS", .is_number = true}},
        rows);
  });
  return EndOf(response);
}

std::shared_ptr<CheckArguments> AddCheckArguments(CLI::App& command) {
  auto arguments = std::make_shared<CheckArguments>();
  AddExpressionArguments(command, arguments->expression);
  AddScheduleOption(command, arguments->schedule);
  AddDeviceOption(command, arguments->device);
  AddNumericsOption(command, arguments->numerics_policy);
  return arguments;
}

}  // namespace

void AddScheduleCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* schedule =
      app.add_subcommand("schedule", "schedules: what a kernel keeps to, as text to be edited");
  schedule->require_subcommand(1);

  auto show_arguments = std::make_shared<ShowArguments>();
  CLI::App* show = schedule->add_subcommand(
      "show", "print a record as a schedule, or what the loops of a TeML program say");
  AddExpressionArguments(*show, show_arguments->lookup.expression,
                         "records/ID, an expression that was tuned, or a TeML program (.teml)");
  AddNumericsOption(*show, show_arguments->lookup.numerics_policy);
  AddDeviceOption(*show, show_arguments->lookup.device);
  show->add_option("--keep", show_arguments->keep,
                   absl::StrCat("only these decisions, separated by commas: ", WordsOfKinds(),
                                ", or names of options [all]"))
      ->delimiter(',')
      ->type_name("WORDS");
  show->add_flag("--complete", show_arguments->is_complete,
                 "of a TeML program: pin what it has no words for, too, as loops without more");
  Select(show, selected,
         [&options, show_arguments] { return ShowSchedule(options, *show_arguments); });

  CLI::App* check = schedule->add_subcommand(
      "check", "how many configurations a schedule leaves, and one of them, or why none");
  const std::shared_ptr<CheckArguments> check_arguments = AddCheckArguments(*check);
  Select(check, selected,
         [&options, check_arguments] { return CheckSchedule(options, *check_arguments); });

  CLI::App* count = schedule->add_subcommand(
      "count", "how many configurations a schedule leaves, in all or for each value of a decision");
  const std::shared_ptr<CheckArguments> count_arguments = AddCheckArguments(*count);
  count
      ->add_option("--vary", count_arguments->vary,
                   "decision whose values are counted: tile.LAYER.DIMENSION, "
                   "parts.LAYER.DIMENSION, or an option; of pipelines edge.STEP.STEP, or STEP. in "
                   "front of one of these")
      ->type_name("DECISION");
  Select(count, selected,
         [&options, count_arguments] { return CountSchedule(options, *count_arguments); });
}

}  // namespace mdh
