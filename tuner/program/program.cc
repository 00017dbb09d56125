#include "tuner/program/program.h"

namespace mdh {

Result<TunableProgram> TunableProgram::Create(const v1::ProgramSpec& spec,
                                              const std::string& folder) {
  TunableProgram program;
  program.folder = folder;
  MDH_ASSIGN_OR_RETURN(program.study, ReadStudySpec(spec.study()));
  switch (spec.program_case()) {
    case v1::ProgramSpec::kCommand: {
      MDH_ASSIGN_OR_RETURN(program.plan, PlanCommand(spec.command(), program.study));
      return program;
    }
    case v1::ProgramSpec::kKernel: {
      MDH_ASSIGN_OR_RETURN(program.plan, PlanKernel(spec.kernel(), program.study, folder));
      return program;
    }
    case v1::ProgramSpec::PROGRAM_NOT_SET:
      break;
  }
  return InvalidArgument("'command' or 'kernel' is missing: how to run the program");
}

Result<std::map<std::string, std::string>> PlainValues(const StudyDefinition& study,
                                                       const Configuration& configuration) {
  std::map<std::string, std::string> texts;
  for (const auto& definition : study.definitions) {
    const Result<Value> value = Evaluate(definition.second, study.parameters, configuration);
    MDH_RETURN_IF_ERROR(InField(definition.first, value.status()));
    texts[definition.first] = PlainText(*value);
  }
  for (size_t n = 0; n < study.parameters.size(); ++n) {
    const TuningParameter& parameter = study.parameters[n];
    texts[parameter.name] = PlainText(parameter.range.ValueOf(configuration[n]));
  }
  return texts;
}

}  // namespace mdh
