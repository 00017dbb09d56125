// Commands of a specification, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "core/base/status.h"
#include "mdh/v1/program.pb.h"
#include "tuner/program/text_template.h"
#include "tuner/study/study_spec.h"

namespace mdh {

struct CommandPlan {
  TextTemplate compile;  // empty: none
  TextTemplate run;
  int repetitions = 1;
  std::optional<std::regex> cost_pattern;
  std::string expected_output;  // empty: anything
  int64_t time_limit_ns = 0;
};

// Errors: InvalidArgument, beginning with the field.
Result<CommandPlan> PlanCommand(const v1::CommandProgram& program, const StudyDefinition& study);

// Names that templates may use: parameters, definitions, and those of `more`.
std::vector<std::string> TemplateNames(const StudyDefinition& study,
                                       std::vector<std::string> more = {});

// "kernel.options[2]: " before the message of an error. No effect on OK.
Status InField(const std::string& field, const Status& status);

// A limit in seconds in nanoseconds; 0 stands for 60 s. Errors: InvalidArgument unless it is
// between 0 and a day.
Result<int64_t> TimeLimitNs(double seconds);

// Errors: InvalidArgument unless 0 (which stands for `otherwise`) or 1..1000.
Result<int> Repetitions(int given, int otherwise);

}  // namespace mdh
