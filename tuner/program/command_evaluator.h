// Evaluates programs that commands compile and run.
#pragma once

#include <map>
#include <string>

#include "tuner/program/evaluator.h"
#include "tuner/program/program.h"
#include "tuner/program/shell_command.h"

namespace mdh {

// Not thread-safe; expects to be alone in starting processes in this process (shell_command.h).
class CommandEvaluator final : public ProgramEvaluator {
 public:
  // Expects a program of commands, which outlives this. Folders of trials are made in `folder`,
  // which exists, and removed.
  CommandEvaluator(const TunableProgram& program, std::string folder)
      : program_(program), plan_(std::get<CommandPlan>(program.plan)), folder_(std::move(folder)) {}

  Result<v1::EvaluateResponse> Evaluate(const v1::NamedConfiguration& configuration) override;

 private:
  // Of all runs; the texts have {work} and {spec}.
  v1::EvaluateResponse CompileAndRun(const std::map<std::string, std::string>& texts) const;
  v1::EvaluateResponse RunOnce(const ShellCommand& command) const;

  const TunableProgram& program_;
  const CommandPlan& plan_;
  const std::string folder_;
};

}  // namespace mdh
