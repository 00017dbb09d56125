// mdh-lower: one expression or pipeline through the stages of code generation, each printed; needs
// no device and no daemon.
#include <getopt.h>

#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/backends/build_program.h"
#include "codegen/backends/loop_nest.h"
#include "codegen/choose/block_candidates.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/unit_variants.h"
#include "codegen/describe_pipeline.h"
#include "codegen/generate_kernel.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "codegen/lower/levels/nest_plan.h"
#include "codegen/print/c_unit_parts.h"
#include "codegen/program/kernel.h"
#include "codegen/program/loop_program_text.h"
#include "codegen/said_pipeline.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/broken_rule.h"
#include "core/schedule/complete_parameters.h"
#include "core/schedule/schedule.h"
#include "core/teml/teml.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

constexpr char kPrints[] =
    "parameters, schedule, table, plan, lowered, program, source, header, nest, launches or "
    "candidates";
constexpr char kPrintsOfPipelines[] =
    "pipeline, partitions, groups, parameters, schedule, lowered, program, source, header or "
    "launches";

struct LowerOptions {
  std::string expression_file;
  std::map<std::string, std::string> bindings;
  std::string model = "OpenMP+SIMD+RM";
  std::string device = "host";
  std::string parameters;  // a file, or the parameters themselves; empty: the default
  std::string schedule;    // a file; empty: none
  std::string print = "source";
  std::optional<int> partition;   // number among those of PlanPartitions
  bool joint = false;             // steps run together in the groups of DefaultJointGroups
  std::optional<RowLayout> rows;  // of those of them that are rows
  std::optional<int> candidate;   // number among those of JointCandidates
};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return NotFound("cannot read ", path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "host", or "sm_90" for a GPU with that compute capability under CUDA or OpenCL.
Result<DeviceDescription> DeviceNamed(const std::string& name, const SystemModel& model) {
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "sm_")) {
    if (name != "host") {
      return InvalidArgument("there is no device '", name, "'; expected host or sm_NN");
    }
    return DescribeHostCpu();
  }
  int capability = 0;
  if (!absl::SimpleAtoi(digits, &capability)) return InvalidArgument("'", name, "' is not sm_NN");
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeCudaArchitecture(capability));
  if (model.kind == DeviceKind::kOpenCl) {
    device.kind = model.kind;
    device.features = FeaturesOf(device);
  }
  return device;
}

Status CheckFit(const LowerOptions& options, const SystemModel& model,
                const DeviceDescription& device) {
  if (device.kind == model.kind) return absl::OkStatus();
  return InvalidArgument("model ", model.name, " does not fit device ", options.device);
}

Result<std::string> TextOfParameters(const LowerOptions& options) {
  if (absl::StrContains(options.parameters, '=')) return options.parameters;
  return ReadFile(options.parameters);
}

// Those that the schedule says completely, or those of rules that it allows.
Result<TuningParameters> ScheduledParameters(const LowerOptions& options,
                                             const Expression& expression, const SystemModel& model,
                                             const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.schedule));
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       Schedule::Parse(text, expression, model, options.schedule));
  if (auto complete = CompleteParameters(schedule, device)) return *std::move(complete);
  for (TuningParameters& p : StartingParameters(expression, model, device)) {
    if (schedule.Allows(p).ok()) return std::move(p);
  }
  if (const auto broken = FindBrokenRule(schedule, device)) {
    return InvalidArgument(ToText(*broken, schedule));
  }
  return FailedPrecondition(options.schedule,
                            ": no parameters of rules are in the schedule, and it leaves "
                            "something to a search, which 'mdh tune --schedule' does");
}

Result<TuningParameters> ParametersFor(const LowerOptions& options, const Expression& expression,
                                       const SystemModel& model, const DeviceDescription& device) {
  MDH_RETURN_IF_ERROR(CheckFit(options, model, device));
  if (!options.schedule.empty()) return ScheduledParameters(options, expression, model, device);
  if (options.parameters.empty()) return DefaultParameters(expression, model, device);
  MDH_ASSIGN_OR_RETURN(const std::string text, TextOfParameters(options));
  return ParseTuningParameters(text, expression);
}

// One line per step.
Result<std::vector<TuningParameters>> ParametersFor(const LowerOptions& options,
                                                    const Pipeline& pipeline,
                                                    absl::Span<const JointGroup> groups,
                                                    const SystemModel& model,
                                                    const DeviceDescription& device) {
  MDH_RETURN_IF_ERROR(CheckFit(options, model, device));
  MDH_ASSIGN_OR_RETURN(const std::vector<Expression> expressions,
                       ComputedExpressions(pipeline, groups));
  if (options.parameters.empty()) return DefaultParameters(pipeline, groups, model, device);
  MDH_ASSIGN_OR_RETURN(const std::string text, TextOfParameters(options));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.size() != pipeline.steps().size()) {
    return InvalidArgument("the pipeline has ", pipeline.steps().size(),
                           " steps, but there are parameters of ", lines.size(), ", one line each");
  }
  std::vector<TuningParameters> parameters;
  for (size_t s = 0; s < lines.size(); ++s) {
    MDH_ASSIGN_OR_RETURN(parameters.emplace_back(),
                         ParseTuningParameters(lines[s], expressions[s]));
  }
  return parameters;
}

std::string DescribeLaunches(const Kernel& kernel) {
  std::string text;
  for (const KernelLaunch& launch : kernel.launches) {
    const auto& [grid, block] = launch.geometry;
    absl::StrAppend(&text, launch.function, ": grid ", grid[0], " x ", grid[1], " x ", grid[2],
                    ", block ", block[0], " x ", block[1], " x ", block[2], ", ",
                    launch.dynamic_shared_bytes, " bytes of dynamic shared memory",
                    launch.starts_early ? ", may start early\n" : "\n");
    for (const TensorMap& map : launch.tensor_maps) {
      absl::StrAppend(&text, "  ", DescribeTensorMap(map), "\n");
    }
  }
  absl::StrAppend(&text, "scratch: ", kernel.scratch_bytes, " bytes\n");
  for (const KernelArgument& a : kernel.arguments) {
    absl::StrAppend(&text, a.is_output ? "output " : "input ", a.name, ": ", a.elements,
                    " elements of ", a.type.ToString(), "\n");
  }
  return text;
}

// Design, estimated cost and parameters of what tuning would try first, best first.
std::string DescribeCandidates(const Expression& expression, const SystemModel& model,
                               const DeviceDescription& device) {
  constexpr int kMost = 200;
  std::string text;
  const TuningParameters usual = DefaultParameters(expression, model, device);
  const Result<UnitPlan> plan = PlanUnit(expression, usual.numerics);
  for (const TuningParameters& p : UnitVariants(expression, model, device, usual, kMost)) {
    const UnitPlan cut = CutForUnit(p.unit, p.combine_blocks, *plan);
    absl::StrAppendFormat(&text, "matrix unit\n  %.0f cycles\n  %s\n", UnitCycles(cut, p, device),
                          ToText(p));
  }
  for (const BlockCandidate& candidate :
       BlockCandidates(expression, model, device, {.count = kMost})) {
    absl::StrAppend(&text, ToString(expression, candidate.design), "\n  ", ToString(candidate.cost),
                    "\n  ", ToText(candidate.parameters), "\n");
  }
  return text;
}

Result<std::string> PrintedKernel(const LowerOptions& options, const Kernel& kernel,
                                  absl::string_view prints) {
  if (options.print == "source") return kernel.source;
  if (options.print == "header") return kernel.header;
  if (options.print == "launches") return DescribeLaunches(kernel);
  return InvalidArgument("cannot print '", options.print, "'; expected ", prints);
}

ProgramForm FormToPrint(const LowerOptions& options) {
  return options.print == "lowered" ? ProgramForm::kLowered : ProgramForm::kOptimized;
}

// The pipeline itself unless a partition is asked for.
Result<Partition> Partitioned(const LowerOptions& options, const Pipeline& pipeline) {
  if (!options.partition.has_value()) return Partition{EdgesOf(pipeline), pipeline, 0, 0};
  std::vector<Partition> partitions = PlanPartitions(pipeline);
  const size_t number = static_cast<size_t>(*options.partition);
  if (number < partitions.size()) return std::move(partitions[number]);
  return InvalidArgument("there is no partition ", number, ": ", pipeline.name(), " has ",
                         partitions.size(), ", the first is 0");
}

// What tuning tries of steps that run together, by its number.
Result<PipelineParameters> CandidateOf(const Pipeline& pipeline, int number,
                                       const SystemModel& model, const DeviceDescription& device) {
  std::vector<PipelineParameters> candidates = JointCandidates({{}, pipeline, 0, 0}, model, device);
  if (number < std::ssize(candidates)) return std::move(candidates[number]);
  return InvalidArgument("there is no candidate ", number,
                         " of steps that run together: ", pipeline.name(), " has ",
                         candidates.size(), ", the first is 0");
}

// What the schedule says, and its partition.
Result<PipelineParameters> ScheduledPipeline(const LowerOptions& options, const Pipeline& pipeline,
                                             const SystemModel& model,
                                             const DeviceDescription& device,
                                             Partition* partition) {
  MDH_RETURN_IF_ERROR(CheckFit(options, model, device));
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.schedule));
  MDH_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                       PipelineSchedule::Parse(text, pipeline, model, options.schedule));
  MDH_ASSIGN_OR_RETURN(PipelineParameters parameters, SaidOrRules(schedule, device));
  *partition = *PartitionWith(pipeline, parameters.edges);
  return parameters;
}

Result<std::string> RunPipeline(const LowerOptions& options, const Pipeline& given,
                                const SystemModel& model, const DeviceDescription& device) {
  if (options.print == "partitions") return DescribePartitions(given);
  MDH_ASSIGN_OR_RETURN(Partition partition, Partitioned(options, given));
  std::vector<JointGroup> groups;
  std::vector<TuningParameters> parameters;
  if (!options.schedule.empty()) {
    MDH_ASSIGN_OR_RETURN(PipelineParameters said,
                         ScheduledPipeline(options, given, model, device, &partition));
    groups = std::move(said.groups);
    parameters = std::move(said.steps);
  }
  const Pipeline& pipeline = partition.pipeline;
  if (options.print == "pipeline") return ToText(pipeline);
  if (options.joint) groups = DefaultJointGroups(pipeline, device);
  if (options.candidate) {
    MDH_ASSIGN_OR_RETURN(PipelineParameters candidate,
                         CandidateOf(pipeline, *options.candidate, model, device));
    groups = std::move(candidate.groups);
    parameters = std::move(candidate.steps);
  }
  for (JointGroup& group : groups) {
    if (group.rows && options.rows) group.rows = options.rows;
  }
  if (options.joint && groups.empty()) {
    return FailedPrecondition("no steps of ", pipeline.name(),
                              " have a dimension in common by which they "
                              "could run together");
  }
  if (options.print == "groups") return DescribeGroups(pipeline, groups);
  if (parameters.empty()) {
    MDH_ASSIGN_OR_RETURN(parameters, ParametersFor(options, pipeline, groups, model, device));
  }
  if (options.print == "parameters") {
    return absl::StrJoin(parameters, "", [](std::string* out, const TuningParameters& p) {
      absl::StrAppend(out, ToText(p), "\n");
    });
  }
  if (options.print == "schedule") {
    return PipelineSchedule::TextOf(given, partition, {partition.edges, groups, parameters}, model);
  }
  if (options.print == "lowered" || options.print == "program") {
    MDH_ASSIGN_OR_RETURN(
        const KernelProgram built,
        PipelineProgramOf(pipeline, model, device, parameters, FormToPrint(options), groups));
    return ToText(built.program);
  }
  MDH_ASSIGN_OR_RETURN(
      const Kernel kernel,
      GeneratePipelineKernel(
          pipeline, model, device, parameters, groups,
          options.schedule.empty() ? "" : PipelineSchedule::LinesOf(given, partition, groups)));
  return PrintedKernel(options, kernel, kPrintsOfPipelines);
}

// Whether the text had no more than one definition, so that buffers are called as it calls them.
bool IsExpression(const Pipeline& pipeline) {
  return pipeline.steps().size() == 1 &&
         ToText(pipeline) == ToText(Pipeline::Of(pipeline.steps()[0].expression));
}

Result<std::string> Run(const LowerOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.expression_file));
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline,
                       IsTeml(text, options.expression_file)
                           ? ParseTemlPipeline(text, options.bindings, options.expression_file)
                           : ParsePipeline(text, options.bindings, options.expression_file));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(options.model));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, DeviceNamed(options.device, model));
  const bool is_pipeline = !IsExpression(pipeline);
  if (is_pipeline || options.partition.has_value() || options.joint ||
      options.candidate.has_value()) {
    return RunPipeline(options, pipeline, model, device);
  }
  const Expression& expression = pipeline.steps()[0].expression;
  if (options.print == "nest") return GenerateLoopNest(expression).source;
  if (expression.is_empty() && (options.print == "candidates" || options.print == "plan")) {
    return FailedPrecondition("an empty dimension leaves no ", options.print, " of ",
                              expression.name());
  }
  if (options.print == "candidates") return DescribeCandidates(expression, model, device);
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParametersFor(options, expression, model, device));
  if (options.print == "parameters") return ToText(parameters) + "\n";
  if (options.print == "schedule") {
    return Schedule::Of(parameters, expression, model).CanonicalText();
  }
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low, Lower(expression, model, device, parameters));
  if (options.print == "table") return low.ToTable();
  if (options.print == "plan") {
    if (parameters.lowering == Lowering::kLevels) return OptimizedNestPlan(low).ToString(low);
    return FailedPrecondition(
        "register tiles have no nest plan; --print lowered shows the loops of ", expression.name());
  }
  if (options.print == "lowered" || options.print == "program") {
    MDH_ASSIGN_OR_RETURN(const KernelProgram built,
                         BuildProgram(low, device, FormToPrint(options)));
    return ToText(built.program);
  }
  MDH_ASSIGN_OR_RETURN(const Kernel kernel, GenerateKernel(low, device));
  return PrintedKernel(options, kernel, kPrints);
}

constexpr char kHelp[] =
    "Usage: mdh-lower [OPTION...] EXPRESSION.mdh|PROGRAM.teml\n"
    "Prints what code generation makes of an expression or a pipeline.\n"
    "  --set NAME=VALUE      a size or type of the expression\n"
    "  --model NAME          system model (OpenMP+SIMD+RM): CUDA, CUDA+WRP, OpenCL, OpenMP, ...\n"
    "  --device NAME         host, or sm_NN\n"
    "  --parameters TEXT     tuning parameters, or a file with them, of a pipeline one line for\n"
    "                        every step; else those of rules\n"
    "  --schedule FILE       a schedule that says them, or allows some of rules\n"
    "  --partition N         of a pipeline: its steps fused as in the partition of this number,\n"
    "                        the cheapest is 0; else as they are\n"
    "  --joint               of a pipeline: steps with dimensions in common run together, part\n"
    "                        after part, as rules say\n"
    "  --rows LAYOUT         the same on rows, of targets with blocks: threads of a row, rows of "
    "a\n"
    "                        block, elements of a vector, and where rows are kept: registers,\n"
    "                        shared or nothing, as '256,1,4 registers'\n"
    "  --candidate N         the same as number N of what tuning tries, from 0\n"
    "  --print WHAT          parameters, schedule: the one that says them, table, plan (but for\n"
    "                        register tiles), lowered: the loop program before passes, program:\n"
    "                        behind them, source, header, nest: the plain loop nest, launches, or\n"
    "                        for devices with blocks candidates: what tuning tries first; of\n"
    "                        pipelines also pipeline: as text, partitions: how steps can be "
    "fused,\n"
    "                        and groups: those that --joint runs together, but no table, plan,\n"
    "                        nest and candidates\n";

// Errors: InvalidArgument, saying what is wrong with the command line.
Result<LowerOptions> ParseArguments(int argc, char** argv) {
  LowerOptions options;
  const option long_options[] = {{"set", required_argument, nullptr, 's'},
                                 {"model", required_argument, nullptr, 'm'},
                                 {"device", required_argument, nullptr, 'd'},
                                 {"parameters", required_argument, nullptr, 'p'},
                                 {"print", required_argument, nullptr, 'w'},
                                 {"partition", required_argument, nullptr, 'n'},
                                 {"joint", no_argument, nullptr, 'j'},
                                 {"candidate", required_argument, nullptr, 'c'},
                                 {"rows", required_argument, nullptr, 'r'},
                                 {"schedule", required_argument, nullptr, 'e'},
                                 {nullptr, 0, nullptr, 0}};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":", long_options, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    const size_t equals = value.find('=');
    if (c == 's' && equals == std::string::npos) {
      return InvalidArgument("--set needs NAME=VALUE, not '", value, "'");
    }
    switch (c) {
      case 's':
        options.bindings[value.substr(0, equals)] = value.substr(equals + 1);
        break;
      case 'm':
        options.model = value;
        break;
      case 'd':
        options.device = value;
        break;
      case 'p':
        options.parameters = value;
        break;
      case 'e':
        options.schedule = value;
        break;
      case 'w':
        options.print = value;
        break;
      case 'j':
        options.joint = true;
        break;
      case 'r':
        options.joint = true;
        options.rows = ParseRowLayout(value);
        if (options.rows) break;
        return InvalidArgument(
            "--rows needs threads of a row, rows of a block, elements of a vector and "
            "where rows are kept, as '256,1,4 registers', not '",
            value, "'");
      case 'c':
      case 'n':
        if (int number = -1; absl::SimpleAtoi(value, &number) && number >= 0) {
          (c == 'c' ? options.candidate : options.partition) = number;
          break;
        }
        return InvalidArgument(c == 'c' ? "--candidate" : "--partition",
                               " needs a number, the first is 0, not '", value, "'");
      default:
        return InvalidArgument("unknown option, or one without its value: '", argv[optind - 1],
                               "'");
    }
  }
  if (argc - optind != 1) return InvalidArgument("one expression is needed");
  if (!options.schedule.empty() && !options.parameters.empty()) {
    return InvalidArgument("--schedule and --parameters exclude each other");
  }
  if (!options.schedule.empty() &&
      (options.partition.has_value() || options.joint || options.candidate.has_value())) {
    return InvalidArgument(
        "--schedule says what is fused and what runs together: --partition, --joint, --rows and "
        "--candidate are not for it");
  }
  options.expression_file = argv[optind];
  return options;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::cout << mdh::kHelp;
    return 0;
  }
  const mdh::Result<mdh::LowerOptions> options = mdh::ParseArguments(argc, argv);
  if (!options.ok()) {
    std::cerr << "mdh-lower: error: " << options.status().message() << "\n";
    return 2;
  }
  const mdh::Result<std::string> printed = mdh::Run(*options);
  if (!printed.ok()) {
    std::cerr << "mdh-lower: error: " << printed.status().message() << "\n";
    return 1;
  }
  std::cout << *printed;
  return 0;
}
