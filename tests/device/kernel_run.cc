#include "tests/device/kernel_run.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

uint64_t SumOf(absl::Span<const std::byte> bytes) {
  return std::hash<std::string_view>()(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<KernelRun> KernelRun::Create(ComputeDevice& device, const Kernel& kernel,
                                    absl::Span<const BufferBytes> inputs,
                                    const KernelRunOptions& options) {
  KernelRun run(device, kernel.arguments, options);
  size_t wanted = 0;
  for (const KernelArgument& argument : kernel.arguments) wanted += argument.is_output ? 0 : 1;
  if (inputs.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel has ", wanted, " inputs, ", inputs.size(), " are given"));
  }
  MDH_ASSIGN_OR_RETURN(run.program_, device.Compile(kernel));
  MDH_RETURN_IF_ERROR(run.AllocateBuffers(kernel, inputs));
  return run;
}

Status KernelRun::AllocateBuffers(const Kernel& kernel, absl::Span<const BufferBytes> inputs) {
  for (size_t n = 0; n < arguments_.size(); ++n) {
    const KernelArgument& argument = arguments_[n];
    const int64_t bytes = argument.elements * argument.type.size_bytes();
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                         device_->Allocate(bytes, options_.guard_bytes));
    MDH_RETURN_IF_ERROR(memory->Fill(options_.poison));
    if (!argument.is_output) {
      if (static_cast<int64_t>(inputs[n].size()) != bytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", argument.name, " has ", inputs[n].size(), " bytes, it needs ", bytes));
      }
      MDH_RETURN_IF_ERROR(memory->Write(inputs[n]));
      input_sums_.push_back(SumOf(inputs[n]));
    }
    buffers_.push_back(std::move(memory));
  }
  if (kernel.scratch_bytes > 0) {
    MDH_ASSIGN_OR_RETURN(buffers_.emplace_back(),
                         device_->Allocate(kernel.scratch_bytes, options_.guard_bytes));
  }
  return Poison();
}

Status KernelRun::Poison() {
  for (size_t n = input_sums_.size(); n < buffers_.size(); ++n) {
    MDH_RETURN_IF_ERROR(buffers_[n]->Fill(options_.poison));
  }
  // Kernels that begin early wait for the kernels in front of them only.
  return device_->Finish();
}

Status KernelRun::Run() {
  std::vector<DeviceMemory*> arguments;
  for (const std::unique_ptr<DeviceMemory>& buffer : buffers_) arguments.push_back(buffer.get());
  MDH_RETURN_IF_ERROR(program_->Launch(arguments));
  return device_->Finish();
}

std::string KernelRun::NameOf(size_t buffer) const {
  return buffer < arguments_.size() ? arguments_[buffer].name : "the scratch memory";
}

// Of one buffer, whose guard zones must be intact.
Result<BufferBytes> KernelRun::Contents(size_t buffer) const {
  const DeviceMemory& memory = *buffers_[buffer];
  const int64_t guard = memory.guard_bytes(), end = guard + memory.bytes();
  BufferBytes all(static_cast<size_t>(end + guard));
  MDH_RETURN_IF_ERROR(memory.Read(0, absl::MakeSpan(all)));
  for (int64_t n = 0; n < guard; ++n) {
    const bool before = all[n] == options_.poison, after = all[end + n] == options_.poison;
    if (before && after) continue;
    return absl::InternalError(
        before ? absl::StrCat("wrote ", n, " bytes after the end of ", NameOf(buffer))
               : absl::StrCat("wrote ", guard - n, " bytes before ", NameOf(buffer)));
  }
  return BufferBytes(all.begin() + guard, all.begin() + end);
}

Result<std::vector<BufferBytes>> KernelRun::Outputs() const {
  std::vector<BufferBytes> outputs;
  for (size_t n = 0; n < buffers_.size(); ++n) {
    MDH_ASSIGN_OR_RETURN(BufferBytes contents, Contents(n));
    if (n < input_sums_.size()) {
      if (SumOf(contents) != input_sums_[n]) {
        return absl::InternalError(absl::StrCat("wrote to the input ", NameOf(n)));
      }
    } else if (n < arguments_.size()) {
      outputs.push_back(std::move(contents));
    }
  }
  return outputs;
}

Result<std::vector<BufferBytes>> RunKernelOnce(ComputeDevice& device, const Kernel& kernel,
                                               absl::Span<const BufferBytes> inputs,
                                               const KernelRunOptions& options) {
  MDH_ASSIGN_OR_RETURN(KernelRun run, KernelRun::Create(device, kernel, inputs, options));
  MDH_RETURN_IF_ERROR(run.Run());
  return run.Outputs();
}

}  // namespace mdh
