#include "client/commands/program/program_dry_run.h"

#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/format/study_format.h"
#include "client/commands/program/program_report.h"
#include "tuner/program/command_evaluator.h"

namespace mdh {
namespace {

// Folders of trials are made when they are needed.
constexpr const char* kWork = "TRIAL_FOLDER";

void AddLine(const std::string& name, const std::string& what, std::string& text) {
  if (!what.empty()) absl::StrAppend(&text, absl::StrFormat("  %-10s ", name), what, "\n");
}

Status AddCommands(const v1::NamedConfiguration& configuration, const TunableProgram& program,
                   std::string& text) {
  MDH_ASSIGN_OR_RETURN(const FilledCommands commands, FillCommands(program, configuration, kWork));
  AddLine("compile", commands.compile, text);
  AddLine("run", commands.run, text);
  AddLine("with", absl::StrJoin(commands.environment, " "), text);
  const auto& plan = std::get<CommandPlan>(program.plan);
  AddLine("cost", plan.cost_pattern ? "what it prints, by cost_pattern" : "the time of the run",
          text);
  return absl::OkStatus();
}

Result<std::string> Sizes(const std::vector<Formula>& formulas, const TunableProgram& program,
                          const Configuration& codes) {
  std::vector<std::string> sizes;
  for (const Formula& formula : formulas) {
    MDH_ASSIGN_OR_RETURN(const Value value, Evaluate(formula, program.study.parameters, codes));
    sizes.push_back(PlainText(value));
  }
  return absl::StrJoin(sizes, " x ");
}

Status AddKernel(const v1::NamedConfiguration& configuration, const TunableProgram& program,
                 std::string& text) {
  const auto& plan = std::get<KernelPlan>(program.plan);
  MDH_ASSIGN_OR_RETURN(const Configuration codes,
                       ConfigurationFromNamed(configuration, program.study.parameters));
  MDH_ASSIGN_OR_RETURN(auto texts, PlainValues(program.study, codes));
  texts["spec"] = program.folder;
  std::vector<std::string> options;
  for (const TextTemplate& option : plan.options) options.push_back(option.Fill(texts));
  MDH_ASSIGN_OR_RETURN(const std::string global, Sizes(plan.global_size, program, codes));
  MDH_ASSIGN_OR_RETURN(const std::string local, Sizes(plan.local_size, program, codes));
  AddLine("kernel", absl::StrCat(plan.function, ", ", v1::KernelLanguage_Name(plan.language)),
          text);
  AddLine("options", absl::StrJoin(options, " "), text);
  AddLine(plan.language == v1::OPENCL ? "items" : "blocks", global, text);
  AddLine(plan.language == v1::OPENCL ? "group" : "threads", local, text);
  AddLine("cost", "the median time of the kernel", text);
  return absl::OkStatus();
}

}  // namespace

Result<std::string> FormatDryRun(const v1::Study& study,
                                 const v1::NamedConfiguration& configuration,
                                 const TunableProgram& program) {
  const v1::StudySpec& spec = study.spec();
  std::string text =
      absl::StrCat(spec.display_name().empty() ? "program" : spec.display_name(), "\n");
  AddLine("space", SpaceText(study), text);
  AddLine("search",
          absl::StrCat(spec.technique(), ", seed ", spec.seed(), ", until ", spec.abort()), text);
  AddLine("first", FormatConfiguration(configuration, NamesOfParameters(spec)), text);
  const bool is_kernel = std::holds_alternative<KernelPlan>(program.plan);
  MDH_RETURN_IF_ERROR(is_kernel ? AddKernel(configuration, program, text)
                                : AddCommands(configuration, program, text));
  for (const std::string& notice : study.notices()) AddLine("note", notice, text);
  return text;
}

}  // namespace mdh
