#include "tuner/program/kernel_evaluator.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/cuda/cuda_driver.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/device/opencl/opencl_driver.h"
#include "tuner/program/command_plan.h"
#include "tuner/program/declared_names.h"

namespace mdh {
namespace {

constexpr int64_t kGuardBytes = 4096;  // of one zone
constexpr std::byte kGuard{0xA5};

using Devices = std::vector<std::unique_ptr<ComputeDevice>>;

Result<Devices> FindDevices(v1::KernelLanguage language, const KernelDevices& options) {
  if (language == v1::OPENCL) return FindOpenClDevices();
  CudaLibraries libraries;
  libraries.nvrtc_folders = Nvrtc::ToolkitFolders(options.cuda_root);
  return FindCudaDevices(libraries);
}

std::string Describe(const ComputeDevice& device) {
  return absl::StrCat(device.description().name, " (", device.platform(), ", ", device.driver(),
                      ")");
}

Result<std::unique_ptr<ComputeDevice>> SelectDevice(Devices devices, const std::string& wanted) {
  std::vector<std::string> others;
  for (std::unique_ptr<ComputeDevice>& device : devices) {
    const std::string text = Describe(*device);
    if (absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(wanted))) {
      return std::move(device);
    }
    others.push_back(text);
  }
  return NotFound("no device is called '", wanted, "'; there are ", absl::StrJoin(others, "; "));
}

bool IsIntact(absl::Span<const std::byte> zone) {
  return std::ranges::all_of(zone, [](std::byte b) { return b == kGuard; });
}

std::string Text(const Status& status) { return std::string(status.message()); }

}  // namespace

Result<std::unique_ptr<KernelEvaluator>> KernelEvaluator::Create(const TunableProgram& program,
                                                                 const KernelDevices& devices) {
  const KernelPlan& plan = std::get<KernelPlan>(program.plan);
  Result<Devices> found = FindDevices(plan.language, devices);
  if (!found.ok()) return NotFound(found.status().message());
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<ComputeDevice> device,
                       SelectDevice(*std::move(found), plan.device));
  return std::unique_ptr<KernelEvaluator>(new KernelEvaluator(program, std::move(device)));
}

KernelEvaluator::KernelEvaluator(const TunableProgram& program,
                                 std::unique_ptr<ComputeDevice> device)
    : program_(program),
      plan_(std::get<KernelPlan>(program.plan)),
      device_(std::move(device)),
      maker_(plan_, program_.study, device_->description().blocks.memory_bytes),
      judge_(plan_, program_.study),
      buffers_(plan_.arguments.size()) {}

Result<v1::EvaluateResponse> KernelEvaluator::Evaluate(
    const v1::NamedConfiguration& configuration) {
  if (!is_usable_) return FailedPrecondition("the device is not usable any more");
  MDH_ASSIGN_OR_RETURN(const Configuration codes,
                       ConfigurationFromNamed(configuration, program_.study.parameters));
  try {
    return EvaluateCodes(codes);
  } catch (const std::bad_alloc&) {
    return FailedEvaluation(FailureKind::kLaunchError, "there is not enough memory");
  } catch (const std::length_error&) {
    return FailedEvaluation(FailureKind::kLaunchError, "there is not enough memory");
  }
}

v1::EvaluateResponse KernelEvaluator::EvaluateCodes(const Configuration& configuration) {
  const Result<FunctionLaunch> launch = Geometry(configuration);
  if (!launch.ok()) return FailedEvaluation(FailureKind::kLaunchError, Text(launch.status()));
  const Result<const ArgumentContents*> contents = maker_.Make(configuration);
  if (!contents.ok()) return FailedEvaluation(FailureKind::kLaunchError, Text(contents.status()));
  const Result<std::unique_ptr<DeviceFunction>> function = Compile(configuration);
  if (absl::IsInvalidArgument(function.status())) {
    return FailedEvaluation(FailureKind::kCompileError, Excerpt(Text(function.status())));
  }
  if (!function.ok()) return FailedEvaluation(FailureKind::kLaunchError, Text(function.status()));
  if (const Status filled = FillBuffers(**contents); !filled.ok()) {
    return FailedEvaluation(FailureKind::kLaunchError, Text(filled));
  }
  const v1::EvaluateResponse judged = RunAndJudge(**function, *launch, **contents, configuration);
  if (!judged.failure().empty()) return judged;
  return Time(**function, *launch, **contents);
}

Result<std::unique_ptr<DeviceFunction>> KernelEvaluator::Compile(
    const Configuration& configuration) {
  MDH_ASSIGN_OR_RETURN(auto texts, PlainValues(program_.study, configuration));
  FunctionSource source = {.source = "", .function = plan_.function, .options = {}};
  // As definitions in the source, which need no quoting, unlike options.
  for (const auto& text : texts) {
    // A definition is there for formulas, too, where it may be called as a variable of the kernel.
    const bool is_definition = program_.study.definitions.count(text.first) > 0;
    if (is_definition && DeclaresVariable(plan_.source, text.first)) continue;
    absl::StrAppend(&source.source, "#define ", text.first, " ", text.second, "\n");
  }
  absl::StrAppend(&source.source, "#line 1\n", plan_.source);
  texts["spec"] = program_.folder;
  for (const TextTemplate& option : plan_.options) source.options.push_back(option.Fill(texts));
  return device_->CompileFunction(source);
}

Result<FunctionLaunch> KernelEvaluator::Geometry(const Configuration& configuration) const {
  FunctionLaunch launch;
  launch.dimensions = static_cast<int>(plan_.global_size.size());
  if (plan_.local_size.empty()) launch.threads = std::nullopt;
  for (size_t axis = 0; axis < plan_.global_size.size(); ++axis) {
    const Result<int64_t> global =
        PositiveInteger(plan_.global_size[axis], program_.study, configuration);
    MDH_RETURN_IF_ERROR(InField(absl::StrCat("global_size[", axis, "]"), global.status()));
    launch.blocks[axis] = *global;
    if (!launch.threads) continue;
    const Result<int64_t> local =
        PositiveInteger(plan_.local_size[axis], program_.study, configuration);
    MDH_RETURN_IF_ERROR(InField(absl::StrCat("local_size[", axis, "]"), local.status()));
    (*launch.threads)[axis] = *local;
    if (plan_.language != v1::OPENCL) continue;
    if (*global % *local != 0) {
      return InvalidArgument("local_size[", axis, "] = ", *local, " does not divide global_size[",
                             axis, "] = ", *global);
    }
    launch.blocks[axis] = *global / *local;
  }
  if (plan_.shared_bytes) {
    MDH_ASSIGN_OR_RETURN(
        const Value bytes,
        mdh::Evaluate(*plan_.shared_bytes, program_.study.parameters, configuration));
    std::byte stored[sizeof(uint32_t)] = {};
    MDH_RETURN_IF_ERROR(InField("shared_bytes", StoreNumber(bytes, ArgumentType::kUint32, stored)));
    launch.dynamic_shared_bytes = *LoadInteger(ArgumentType::kUint32, stored);
  }
  MDH_RETURN_IF_ERROR(CheckLaunch(plan_.function, launch, device_->description()));
  return launch;
}

Status KernelEvaluator::FillBuffers(const ArgumentContents& contents) {
  for (size_t n = 0; n < buffers_.size(); ++n) {
    if (!plan_.arguments[n].is_buffer()) continue;
    Buffer& buffer = buffers_[n];
    const auto bytes = static_cast<int64_t>(contents[n].size());
    if (buffer.memory == nullptr || buffer.memory->bytes() != bytes) {
      buffer = {};
      MDH_ASSIGN_OR_RETURN(buffer.memory, device_->Allocate(bytes, kGuardBytes));
    }
    if (!buffer.is_guarded) MDH_RETURN_IF_ERROR(buffer.memory->Fill(kGuard));
    if (!buffer.is_guarded || !buffer.is_filled) {
      MDH_RETURN_IF_ERROR(buffer.memory->Write(contents[n]));
    }
    buffer.is_guarded = buffer.is_filled = true;
  }
  return absl::OkStatus();
}

std::vector<FunctionArgument> KernelEvaluator::Arguments(const ArgumentContents& contents) const {
  std::vector<FunctionArgument> arguments;
  for (size_t n = 0; n < buffers_.size(); ++n) {
    arguments.push_back(plan_.arguments[n].is_buffer()
                            ? FunctionArgument{buffers_[n].memory.get(), {}}
                            : FunctionArgument{nullptr, contents[n]});
  }
  return arguments;
}

v1::EvaluateResponse KernelEvaluator::RunFailure(const Status& status) {
  if (!absl::IsAborted(status)) return FailedEvaluation(FailureKind::kLaunchError, Text(status));
  is_usable_ = false;
  return FailedEvaluation(FailureKind::kCrash, Text(status));
}

v1::EvaluateResponse KernelEvaluator::RunAndJudge(DeviceFunction& function,
                                                  const FunctionLaunch& launch,
                                                  const ArgumentContents& contents,
                                                  const Configuration& configuration) {
  const Result<double> time_ns = function.Run(Arguments(contents), launch);
  if (!time_ns.ok()) return RunFailure(time_ns.status());
  const Result<ArgumentContents> results = ReadBuffers(contents);
  if (absl::IsOutOfRange(results.status())) {
    return FailedEvaluation(FailureKind::kWrongResult, Text(results.status()));
  }
  if (!results.ok()) return RunFailure(results.status());
  const Result<std::string> judged = judge_.Judge(configuration, contents, *results);
  if (!judged.ok()) return FailedEvaluation(FailureKind::kWrongResult, Text(judged.status()));
  if (!judged->empty()) return FailedEvaluation(FailureKind::kWrongResult, *judged);
  return {};
}

Result<ArgumentContents> KernelEvaluator::ReadBuffers(const ArgumentContents& contents) {
  ArgumentContents results(buffers_.size());
  Status damage;
  for (size_t n = 0; n < buffers_.size(); ++n) {
    Buffer& buffer = buffers_[n];
    if (buffer.memory == nullptr) continue;
    const auto guard = static_cast<size_t>(buffer.memory->guard_bytes());
    const size_t bytes = contents[n].size();
    ArgumentBytes all(bytes + 2 * guard);
    MDH_RETURN_IF_ERROR(buffer.memory->Read(0, absl::MakeSpan(all)));
    const absl::Span<const std::byte> zones = all;
    const bool before = IsIntact(zones.first(guard));
    buffer.is_guarded = before && IsIntact(zones.last(guard));
    if (!buffer.is_guarded) {
      damage = OutOfRange("it writes ", before ? "behind the end of" : "before the beginning of",
                          " ", plan_.arguments[n].name);
    }
    results[n].assign(all.begin() + static_cast<ptrdiff_t>(guard),
                      all.end() - static_cast<ptrdiff_t>(guard));
    buffer.is_filled = results[n] == contents[n];
  }
  MDH_RETURN_IF_ERROR(damage);
  return results;
}

v1::EvaluateResponse KernelEvaluator::Time(DeviceFunction& function, const FunctionLaunch& launch,
                                           const ArgumentContents& contents) {
  std::vector<bool> is_changed;
  for (const Buffer& buffer : buffers_) is_changed.push_back(!buffer.is_filled);
  std::vector<double> times_ns;
  for (int n = 0; n < plan_.repetitions; ++n) {
    if (const Status filled = FillBuffers(contents); !filled.ok()) {
      return FailedEvaluation(FailureKind::kLaunchError, Text(filled));
    }
    const Result<double> time_ns = function.Run(Arguments(contents), launch);
    if (!time_ns.ok()) return RunFailure(time_ns.status());
    times_ns.push_back(*time_ns);
    for (size_t b = 0; b < buffers_.size(); ++b) buffers_[b].is_filled = !is_changed[b];
  }
  std::ranges::sort(times_ns);
  const size_t middle = times_ns.size() / 2;
  return Evaluated(times_ns.size() % 2 == 1 ? times_ns[middle]
                                            : (times_ns[middle - 1] + times_ns[middle]) / 2);
}

}  // namespace mdh
