// Evaluates programs that commands compile and run.
#pragma once

#include <string>
#include <vector>

#include "tuner/program/evaluator.h"
#include "tuner/program/program.h"
#include "tuner/program/shell_command.h"

namespace mdh {

// What the shell is given for one configuration, and where.
struct FilledCommands {
  std::string compile;  // empty: nothing is compiled
  std::string run;
  std::vector<std::string> environment;  // "X=3": every parameter
};

// Of a program of commands; `work`: the trial's folder. Errors: as PlainValues; InvalidArgument if
// this is no configuration of the program's parameters.
Result<FilledCommands> FillCommands(const TunableProgram& program,
                                    const v1::NamedConfiguration& configuration,
                                    const std::string& work);

// Not thread-safe; expects to be alone in starting processes in this process (shell_command.h).
class CommandEvaluator final : public ProgramEvaluator {
 public:
  // Expects a program of commands, which outlives this. Folders of trials are made in `folder`,
  // which exists, and removed.
  CommandEvaluator(const TunableProgram& program, std::string folder)
      : program_(program), plan_(std::get<CommandPlan>(program.plan)), folder_(std::move(folder)) {}

  Result<v1::EvaluateResponse> Evaluate(const v1::NamedConfiguration& configuration) override;

 private:
  // Of all runs.
  v1::EvaluateResponse CompileAndRun(FilledCommands commands, const std::string& work) const;
  v1::EvaluateResponse RunOnce(const ShellCommand& command) const;

  const TunableProgram& program_;
  const CommandPlan& plan_;
  const std::string folder_;
};

}  // namespace mdh
