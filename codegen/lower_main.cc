// mdh-lower: one expression through the stages of code generation, each printed; needs no device
// and no daemon.
#include <getopt.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "codegen/backends/build_program.h"
#include "codegen/backends/loop_nest.h"
#include "codegen/choose/block_candidates.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "codegen/lower/levels/nest_plan.h"
#include "codegen/program/kernel.h"
#include "codegen/program/loop_program_text.h"
#include "core/text/parser.h"

namespace mdh {
namespace {

constexpr char kPrints[] =
    "parameters, table, plan, lowered, program, source, header, nest, launches or candidates";

struct LowerOptions {
  std::string expression_file;
  std::map<std::string, std::string> bindings;
  std::string model = "OpenMP+SIMD+RM";
  std::string device = "host";
  std::string parameters;  // a file, or the parameters themselves; empty: the default
  std::string print = "source";
};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "host", or "sm_90" for a GPU with that compute capability under CUDA or OpenCL.
Result<DeviceDescription> DeviceNamed(const std::string& name, const SystemModel& model) {
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "sm_")) {
    if (name != "host") {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no device '", name, "'; expected host or sm_NN"));
    }
    return DescribeHostCpu();
  }
  int capability = 0;
  if (!absl::SimpleAtoi(digits, &capability)) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not sm_NN"));
  }
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeCudaArchitecture(capability));
  if (model.kind == DeviceKind::kOpenCl) {
    device.kind = model.kind;
    device.features = FeaturesOf(device);
  }
  return device;
}

Result<TuningParameters> ParametersFor(const LowerOptions& options, const Expression& expression,
                                       const SystemModel& model, const DeviceDescription& device) {
  if (device.kind != model.kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", model.name, " does not fit device ", options.device));
  }
  if (options.parameters.empty()) {
    return DefaultParameters(expression, model, device);
  }
  if (absl::StrContains(options.parameters, '=')) {
    return ParseTuningParameters(options.parameters, expression);
  }
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.parameters));
  return ParseTuningParameters(text, expression);
}

std::string DescribeLaunches(const Kernel& kernel) {
  std::string text;
  for (const KernelLaunch& launch : kernel.launches) {
    const auto& [grid, block] = launch.geometry;
    absl::StrAppend(&text, launch.function, ": grid ", grid[0], " x ", grid[1], " x ", grid[2],
                    ", block ", block[0], " x ", block[1], " x ", block[2], ", ",
                    launch.dynamic_shared_bytes, " bytes of dynamic shared memory",
                    launch.starts_early ? ", may start early\n" : "\n");
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
  for (const BlockCandidate& candidate :
       BlockCandidates(expression, model, device, {.count = kMost, .async_copies = true})) {
    absl::StrAppend(&text, ToString(expression, candidate.design), "\n  ", ToString(candidate.cost),
                    "\n  ", ToText(candidate.parameters), "\n");
  }
  return text;
}

Result<std::string> Run(const LowerOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.expression_file));
  MDH_ASSIGN_OR_RETURN(const Expression expression,
                       ParseExpression(text, options.bindings, options.expression_file));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(options.model));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, DeviceNamed(options.device, model));
  if (options.print == "nest") return GenerateLoopNest(expression).source;
  if (expression.is_empty() && (options.print == "candidates" || options.print == "plan")) {
    return absl::FailedPreconditionError(
        absl::StrCat("an empty dimension leaves no ", options.print, " of ", expression.name()));
  }
  if (options.print == "candidates") return DescribeCandidates(expression, model, device);
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParametersFor(options, expression, model, device));
  if (options.print == "parameters") return ToText(parameters) + "\n";
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low, Lower(expression, model, device, parameters));
  if (options.print == "table") return low.ToTable();
  if (options.print == "plan") {
    if (parameters.lowering == Lowering::kLevels) return OptimizedNestPlan(low).ToString(low);
    return absl::FailedPreconditionError(
        absl::StrCat("register tiles have no nest plan; --print lowered shows the loops of ",
                     expression.name()));
  }
  if (options.print == "lowered" || options.print == "program") {
    const ProgramForm form =
        options.print == "lowered" ? ProgramForm::kLowered : ProgramForm::kOptimized;
    MDH_ASSIGN_OR_RETURN(const KernelProgram built, BuildProgram(low, device, form));
    return ToText(built.program);
  }
  MDH_ASSIGN_OR_RETURN(const Kernel kernel, GenerateKernel(low, device));
  if (options.print == "source") return kernel.source;
  if (options.print == "header") return kernel.header;
  if (options.print == "launches") return DescribeLaunches(kernel);
  return absl::InvalidArgumentError(
      absl::StrCat("cannot print '", options.print, "'; expected ", kPrints));
}

constexpr char kHelp[] =
    "Usage: mdh-lower [OPTION...] EXPRESSION.mdh\n"
    "Prints what code generation makes of an expression.\n"
    "  --set NAME=VALUE      a size or type of the expression\n"
    "  --model NAME          system model (OpenMP+SIMD+RM): CUDA, CUDA+WRP, OpenCL, OpenMP, ...\n"
    "  --device NAME         host, or sm_NN\n"
    "  --parameters TEXT     tuning parameters, or a file with them; else those of rules\n"
    "  --print WHAT          parameters, table, plan (but for register tiles), lowered: the loop\n"
    "                        program before passes, program: behind them, source, header, nest:\n"
    "                        the plain loop nest, launches, or for devices with blocks "
    "candidates:\n"
    "                        what tuning tries first\n";

// Errors: InvalidArgument, saying what is wrong with the command line.
Result<LowerOptions> ParseArguments(int argc, char** argv) {
  LowerOptions options;
  const option long_options[] = {
      {"set", required_argument, nullptr, 's'},    {"model", required_argument, nullptr, 'm'},
      {"device", required_argument, nullptr, 'd'}, {"parameters", required_argument, nullptr, 'p'},
      {"print", required_argument, nullptr, 'w'},  {nullptr, 0, nullptr, 0}};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":", long_options, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    const size_t equals = value.find('=');
    if (c == 's' && equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("--set needs NAME=VALUE, not '", value, "'"));
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
      case 'w':
        options.print = value;
        break;
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("unknown option, or one without its value: '", argv[optind - 1], "'"));
    }
  }
  if (argc - optind != 1) return absl::InvalidArgumentError("one expression is needed");
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
