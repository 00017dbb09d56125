// A program with tuning parameters, checked: what can be known before its first run is known.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "core/base/status.h"
#include "mdh/v1/program.pb.h"
#include "tuner/program/command_plan.h"
#include "tuner/program/kernel_plan.h"
#include "tuner/study/study_spec.h"

namespace mdh {

struct TunableProgram {
  // Reads the files that the specification names, relative to `folder`. Errors: InvalidArgument,
  // beginning with the field, e.g. "kernel.global_size[0]: ...".
  static Result<TunableProgram> Create(const v1::ProgramSpec& spec, const std::string& folder);

  std::string folder;
  StudyDefinition study;
  std::variant<CommandPlan, KernelPlan> plan;
};

// Values of all parameters and definitions for one configuration, as command lines and macros have
// them, by name. Errors: InvalidArgument for a definition that divides by zero; OutOfRange for one
// that overflows.
Result<std::map<std::string, std::string>> PlainValues(const StudyDefinition& study,
                                                       const Configuration& configuration);

}  // namespace mdh
