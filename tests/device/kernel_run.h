// A kernel of blocks of threads with its buffers on a device: everything for one run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/interpreter.h"
#include "tuner/device/compute_device.h"

namespace mdh {

struct KernelRunOptions {
  // At least so many bytes before and after every buffer; 0 for tools that look for accesses
  // outside of allocations.
  int64_t guard_bytes = 256;
  // What outputs, scratch memory and guard zones contain before a run.
  std::byte poison{0xA5};
};

// Not thread-safe. Lives no longer than the device.
class KernelRun {
 public:
  // Compiles `kernel`, allocates all buffers and copies the inputs, one for each input of the
  // kernel. Errors: InvalidArgument if number or size of the inputs is wrong, or with the
  // compiler's log; what ComputeDevice says.
  static Result<KernelRun> Create(ComputeDevice& device, const Kernel& kernel,
                                  absl::Span<const BufferBytes> inputs,
                                  const KernelRunOptions& options = {});

  // Fills outputs and scratch memory with poison.
  Status Poison();
  // Runs all stages and waits for their end. Errors: Internal, naming the call that failed.
  Status Run();
  // Contents of the outputs. Errors: Internal, naming buffer and byte, if the kernel wrote to an
  // input or to a guard zone.
  Result<std::vector<BufferBytes>> Outputs() const;

 private:
  KernelRun(ComputeDevice& device, std::vector<KernelArgument> arguments, KernelRunOptions options)
      : device_(&device), arguments_(std::move(arguments)), options_(options) {}
  Status AllocateBuffers(const Kernel& kernel, absl::Span<const BufferBytes> inputs);
  Result<BufferBytes> Contents(size_t buffer) const;
  std::string NameOf(size_t buffer) const;

  ComputeDevice* device_;
  std::vector<KernelArgument> arguments_;
  KernelRunOptions options_;
  std::unique_ptr<DeviceProgram> program_;
  std::vector<std::unique_ptr<DeviceMemory>> buffers_;  // arguments, then scratch memory if any
  std::vector<uint64_t> input_sums_;                    // of the inputs as they were copied
};

// Create, Poison, Run and Outputs.
Result<std::vector<BufferBytes>> RunKernelOnce(ComputeDevice& device, const Kernel& kernel,
                                               absl::Span<const BufferBytes> inputs,
                                               const KernelRunOptions& options = {});

}  // namespace mdh
