#include "tests/cases/case_check.h"

#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/choose/default_block_parameters.h"
#include "codegen/choose/default_parameters.h"
#include "core/kernel/kernel_call.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/device/kernel_run.h"
#include "tests/property/worker_pool.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/results/random_inputs.h"
#include "tuner/measure/trial/candidate_run.h"

namespace mdh {
namespace {

constexpr int64_t kMostInterpretedPoints = 100'000;
constexpr std::byte kPoison{0xA5};  // as KernelRunOptions

struct Figure {
  const char* file;
  Backend backend;
  const char* i;
  const char* j;
  const char* k;
};

// Sizes as in tests/core/decomposition/figures_test.cc.
constexpr Figure kFigures[] = {{"tvm_cuda", Backend::kCuda, "16", "1000", "2048"},
                               {"ppcg_cuda", Backend::kCuda, "16", "1000", "1181"},
                               {"ppcg_cuda_resnet", Backend::kCuda, "16", "1000", "2048"},
                               {"tvm_opencl", Backend::kOpenCl, "16", "1000", "2048"},
                               {"pluto_openmp", Backend::kOpenMp, "16", "962", "1962"},
                               {"pluto_openmp_resnet", Backend::kOpenMp, "16", "1000", "2048"}};

// Halves the largest size until there are few enough points.
Result<Expression> ParseReduced(const std::string& text, Bindings bindings, int64_t max_points) {
  while (true) {
    MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text, bindings));
    if (max_points == 0 || expression.points() <= max_points) return expression;
    std::string* largest = nullptr;
    int64_t most = 1;
    for (auto& [name, value] : bindings) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(value, &size) || size <= most) continue;
      most = size;
      largest = &value;
    }
    if (largest == nullptr) return expression;
    *largest = absl::StrCat((most + 1) / 2);
  }
}

std::vector<BufferBytes> DrawInputs(const Expression& expression) {
  std::vector<BufferBytes> inputs;
  for (size_t b = 0; b < expression.inputs().size(); ++b) {
    const Buffer& buffer = expression.inputs()[b];
    BufferBytes bytes(static_cast<size_t>(buffer.size_bytes()));
    for (const ElementType::Field& field : buffer.type.fields()) {
      FillRandom(InputDistribution::kQuarters, field.type,
                 {bytes.data() + field.offset_bytes, buffer.elements(), buffer.type.size_bytes()},
                 ReductionLength(expression), 1000003 + b + 7919 * field.offset_bytes);
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

// ---- Running ----

Result<std::vector<BufferBytes>> RunOnCpu(const Kernel& kernel,
                                          const std::vector<BufferBytes>& inputs) {
  const TemporaryDirectory directory;
  MDH_RETURN_IF_ERROR(CompileKernel(kernel, directory.path(), "kernel"));
  void* const library = dlopen((directory.path() + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::InternalError(dlerror());
  MDH_RETURN_IF_ERROR(ConnectOpenMp(library));
  const auto call = reinterpret_cast<int (*)(void* const*)>(dlsym(library, "mdh_call"));
  std::vector<BufferBytes> outputs;
  std::vector<void*> arguments;
  for (const BufferBytes& input : inputs) {
    arguments.push_back(const_cast<std::byte*>(input.data()));
  }
  for (const KernelArgument& argument : kernel.arguments) {
    if (!argument.is_output) continue;
    outputs.emplace_back(argument.elements * argument.type.size_bytes(), kPoison);
    arguments.push_back(outputs.back().data());
  }
  const int status = call(arguments.data());
  if (status != 0) return absl::InternalError(absl::StrCat("the entry returned ", status));
  return outputs;
}

struct Target {
  SystemModel model;
  DeviceDescription device;
};

Result<Target> TargetOf(JudgedBackend& backend, const CheckedCase& checked) {
  if (backend.device() != nullptr) {
    const bool is_cuda = backend.device()->description().kind == DeviceKind::kCuda;
    return Target{is_cuda ? CudaModel() : OpenClModel(), backend.device()->description()};
  }
  MDH_ASSIGN_OR_RETURN(DeviceDescription cpu, DescribeHostCpu());
  cpu.compiler = "gcc";
  return Target{checked.figure_parameters.empty() ? OpenMpSimdRegistersModel() : OpenMpModel(),
                std::move(cpu)};
}

Result<TuningParameters> ParametersOf(const CheckedCase& checked, const Expression& expression,
                                      const Target& target) {
  if (!checked.figure_parameters.empty()) {
    return ParseTuningParameters(checked.figure_parameters, expression);
  }
  return target.model.memory == MemoryKind::kExplicit
             ? DefaultBlockParameters(expression, target.model, target.device)
             : DefaultParameters(expression, target.model, target.device);
}

Result<std::vector<BufferBytes>> RunCase(JudgedBackend& backend, const CheckedCase& checked,
                                         const Expression& expression,
                                         const std::vector<BufferBytes>& inputs,
                                         std::string* reproduction) {
  MDH_ASSIGN_OR_RETURN(const Target target, TargetOf(backend, checked));
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParametersOf(checked, expression, target));
  *reproduction = absl::StrCat("\n", ToText(expression), "\n", ToText(parameters), "\n",
                               target.device.Fingerprint(), "\n");
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low,
                       Lower(expression, target.model, target.device, parameters));
  MDH_ASSIGN_OR_RETURN(const Kernel kernel, backend.Generate(low, target.device));
  *reproduction += kernel.source;
  return backend.device() == nullptr ? RunOnCpu(kernel, inputs)
                                     : RunKernelOnce(*backend.device(), kernel, inputs);
}

// ---- Comparing ----

std::string AllDifferences(const Expression& expression, const std::vector<BufferBytes>& inputs,
                           const std::vector<BufferBytes>& outputs) {
  Result<std::vector<BufferBytes>> expected = Interpret(expression, inputs);
  if (!expected.ok()) return std::string(expected.status().message());
  for (size_t b = 0; b < outputs.size(); ++b) {
    const ReferenceBuffer reference =
        MakeReference(expression, static_cast<int>(b), std::move((*expected)[b]));
    const std::optional<Mismatch> mismatch = FirstMismatch(reference, outputs[b].data(), kPoison);
    if (!mismatch) continue;
    return absl::StrCat(reference.name, "[", mismatch->element, "] ", mismatch->field, " is ",
                        mismatch->got, ", expected ", mismatch->expected);
  }
  return "";
}

std::string SampledDifferences(const Expression& expression, const std::vector<BufferBytes>& inputs,
                               std::vector<BufferBytes> outputs, int samples) {
  // The outputs are the references here, and samples of them must agree with the interpreter.
  std::vector<ReferenceBuffer> references;
  for (size_t b = 0; b < outputs.size(); ++b) {
    references.push_back(MakeReference(expression, static_cast<int>(b), std::move(outputs[b])));
  }
  std::vector<const std::byte*> pointers;
  for (const BufferBytes& input : inputs) pointers.push_back(input.data());
  // One result may be combined from many points.
  constexpr int64_t kMostEvaluations = 50'000'000;
  const int64_t points =
      std::clamp<int64_t>(kMostEvaluations / ReductionLength(expression), 1, samples);
  std::mt19937_64 rng(1);
  for (int64_t p = 0; p < points; ++p) {
    std::vector<int64_t> index;
    for (const Dimension& dimension : expression.dimensions()) {
      const auto size = static_cast<uint64_t>(dimension.size);
      index.push_back(static_cast<int64_t>(p == 0 ? 0 : p == 1 ? size - 1 : rng() % size));
    }
    const std::vector<ScalarValue> expected = InterpretAt(expression, pointers, index);
    for (size_t r = 0; r < expected.size(); ++r) {
      const Expression::AccessRef at = expression.output_access(static_cast<int>(r));
      const int64_t element = expression.outputs()[at.buffer].ElementAt(at.access, index);
      const std::optional<Mismatch> mismatch =
          ElementMismatch(references[at.buffer], element, at.field, expected[r]);
      if (!mismatch) continue;
      return absl::StrCat(references[at.buffer].name, "[", element, "] ", mismatch->field, " is ",
                          mismatch->got, ", expected ", mismatch->expected);
    }
  }
  return "";
}

}  // namespace

Result<std::vector<CheckedCase>> LoadCheckedCases(const std::string& folder, Backend backend,
                                                  const std::string& pattern) {
  std::vector<CheckedCase> checked;
  MDH_ASSIGN_OR_RETURN(std::vector<BenchmarkCase> cases,
                       LoadCases(folder + "/tests/cases/cases.json", "*"));
  for (BenchmarkCase& one : cases) {
    std::string id = one.id;
    checked.push_back({std::move(id), std::move(one), ""});
  }
  for (const Figure& figure : kFigures) {
    if (figure.backend != backend) continue;
    MDH_ASSIGN_OR_RETURN(std::string parameters,
                         ReadTextFile(absl::StrCat(folder, "/tests/core/decomposition/figures/",
                                                   figure.file, ".txt")));
    BenchmarkCase problem;
    problem.expression = "matmul.mdh";
    problem.bindings = {{"I", figure.i}, {"J", figure.j}, {"K", figure.k}};
    checked.push_back({absl::StrCat("figure_", figure.file), problem, std::move(parameters)});
  }
  std::erase_if(checked, [&](const CheckedCase& one) {
    return fnmatch(pattern.c_str(), one.id.c_str(), 0) != 0;
  });
  if (!checked.empty()) return checked;
  return absl::NotFoundError(absl::StrCat("no case matches '", pattern, "'"));
}

std::string CheckCase(JudgedBackend& backend, const CheckedCase& checked,
                      const CaseOptions& options) {
  const auto text = ReadTextFile(
      absl::StrCat(options.folder, "/client/expressions/", checked.problem.expression));
  if (!text.ok()) return std::string(text.status().message());
  const int64_t max_points = checked.figure_parameters.empty() ? options.max_points : 0;
  const Result<Expression> expression = ParseReduced(*text, checked.problem.bindings, max_points);
  if (!expression.ok()) return std::string(expression.status().message());
  const std::vector<BufferBytes> inputs = DrawInputs(*expression);
  std::string reproduction;
  Result<std::vector<BufferBytes>> outputs =
      RunCase(backend, checked, *expression, inputs, &reproduction);
  if (!outputs.ok()) return absl::StrCat(outputs.status().message(), reproduction);
  const std::string wrong =
      expression->points() <= kMostInterpretedPoints
          ? AllDifferences(*expression, inputs, *outputs)
          : SampledDifferences(*expression, inputs, *std::move(outputs), options.samples);
  return wrong.empty() ? "" : wrong + reproduction;
}

Status CheckCases(const BackendOptions& backend, const std::vector<CheckedCase>& cases,
                  const CaseOptions& options, int processes,
                  const std::function<void(const CheckedCase&, const std::string&)>& on_end) {
  const MakeJob make_job = [&]() -> Job {
    auto opened =
        std::make_shared<Result<std::unique_ptr<JudgedBackend>>>(JudgedBackend::Open(backend));
    return [opened, &cases, &options](int job) {
      return opened->ok() ? CheckCase(***opened, cases[job], options)
                          : std::string(opened->status().message());
    };
  };
  return RunInWorkers(
      {.count = static_cast<int>(cases.size()), .processes = processes, .patience_s = 600},
      make_job, [&](const JobEnd& end) {
        on_end(cases[end.job], end.has_answer ? end.text : "it ended: " + end.text);
      });
}

}  // namespace mdh
