#include "tuner/program/command_plan.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr double kDefaultTimeLimitSeconds = 60;
constexpr double kLongestTimeLimitSeconds = 24 * 60 * 60;
constexpr int kMostRepetitions = 1000;

Result<std::regex> ParseCostPattern(const std::string& pattern) {
  try {
    std::regex parsed(pattern, std::regex::ECMAScript);
    if (parsed.mark_count() == 0) {
      return InvalidArgument("has no group: the part that is the cost must be in parentheses");
    }
    return parsed;
  } catch (const std::regex_error& error) {
    return InvalidArgument("is no regular expression (ECMAScript): ", error.what());
  }
}

}  // namespace

Status InField(const std::string& field, const Status& status) {
  if (status.ok()) return status;
  return Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

Result<int64_t> TimeLimitNs(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kLongestTimeLimitSeconds) {
    return InvalidArgument("must be more than 0 and at most 86400 seconds");
  }
  return static_cast<int64_t>((seconds == 0 ? kDefaultTimeLimitSeconds : seconds) * 1e9);
}

Result<int> Repetitions(int given, int otherwise) {
  if (given < 0 || given > kMostRepetitions) {
    return InvalidArgument("must be 1..", kMostRepetitions);
  }
  return given == 0 ? otherwise : given;
}

std::vector<std::string> TemplateNames(const StudyDefinition& study,
                                       std::vector<std::string> more) {
  for (const TuningParameter& parameter : study.parameters) more.push_back(parameter.name);
  for (const auto& definition : study.definitions) more.push_back(definition.first);
  return more;
}

Result<CommandPlan> PlanCommand(const v1::CommandProgram& program, const StudyDefinition& study) {
  CommandPlan plan;
  if (program.run().empty()) return InvalidArgument("command.run: is missing");
  const std::vector<std::string> names = TemplateNames(study, {"work", "spec"});
  Result<TextTemplate> compile = TextTemplate::Parse(program.compile(), names);
  MDH_RETURN_IF_ERROR(InField("command.compile", compile.status()));
  Result<TextTemplate> run = TextTemplate::Parse(program.run(), names);
  MDH_RETURN_IF_ERROR(InField("command.run", run.status()));
  const Result<int> repetitions = Repetitions(program.repetitions(), 1);
  MDH_RETURN_IF_ERROR(InField("command.repetitions", repetitions.status()));
  const Result<int64_t> limit = TimeLimitNs(program.time_limit_seconds());
  MDH_RETURN_IF_ERROR(InField("command.time_limit_seconds", limit.status()));
  if (!program.cost_pattern().empty()) {
    Result<std::regex> pattern = ParseCostPattern(program.cost_pattern());
    MDH_RETURN_IF_ERROR(InField("command.cost_pattern", pattern.status()));
    plan.cost_pattern = *std::move(pattern);
  }
  plan.compile = *std::move(compile);
  plan.run = *std::move(run);
  plan.repetitions = *repetitions;
  plan.expected_output = program.expected_output();
  plan.time_limit_ns = *limit;
  return plan;
}

}  // namespace mdh
