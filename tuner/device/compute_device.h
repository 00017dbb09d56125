// A device that runs kernels of blocks of threads: what the CUDA driver and OpenCL have in common.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tuner/device/compiler_report.h"

namespace mdh {

struct Kernel;  // codegen/program/kernel.h

// Memory of a device between two guard zones, which a correct kernel leaves as they are.
class DeviceMemory {
 public:
  DeviceMemory(int64_t bytes, int64_t guard_bytes) : bytes_(bytes), guard_bytes_(guard_bytes) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  int64_t bytes() const { return bytes_; }
  int64_t guard_bytes() const { return guard_bytes_; }  // of one zone

  // These wait until all work on the device is done. Errors: Internal, naming the call.
  virtual Status Fill(std::byte value) = 0;                        // zones included
  virtual Status Write(absl::Span<const std::byte> contents) = 0;  // bytes() of them
  // `offset` counts from the start of the first zone.
  virtual Status WriteAt(int64_t offset, absl::Span<const std::byte> contents) = 0;
  // `count` bytes from `offset`, which counts from the start of the first zone.
  virtual Status Read(int64_t offset, absl::Span<std::byte> to) const = 0;

 private:
  int64_t bytes_, guard_bytes_;
};

// What a compiled kernel takes of the device, the most of all stages; 0: not known.
struct KernelResources {
  int registers_per_thread = 0;
  int64_t local_bytes_per_thread = 0;  // memory for registers that are spilled, and for arrays
  int64_t shared_bytes_per_block = 0;
};

// Of one call: inputs, outputs, and scratch memory if the kernel has any.
using DeviceArguments = std::vector<DeviceMemory*>;

// A compiled kernel with all its stages. Lives no longer than its device.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Starts all stages, one after the other. Errors: Internal, naming the call and the stage.
  virtual Status Launch(const DeviceArguments& arguments) = 0;
  // Calls the kernel `calls` times without a pause, with the arguments in `sets` in turn, from the
  // first one on; waits for the end, and gives the nanoseconds that the device took for all of
  // them, by its own clock. Where the device can (CUDA), many calls are submitted to it as a whole,
  // so that short kernels do not wait for the host; to do so again with the same sets costs less
  // than the first time. Errors: Aborted if a stage failed while
  // it ran: then the device may be unusable for this process; ResourceExhausted or Internal, naming
  // the call, if it could not be started.
  virtual Result<double> Time(absl::Span<const DeviceArguments> sets, int64_t calls) = 0;
  virtual KernelResources resources() const = 0;
};

// A kernel function of anybody's source.
struct FunctionSource {
  std::string source;
  std::string function;  // CUDA: also an instance of a template
  std::vector<std::string> options;
};

// How many blocks of how many threads; of OpenCL: work-groups of work-items.
struct FunctionLaunch {
  int dimensions = 1;
  std::array<int64_t, 3> blocks = {1, 1, 1};
  // nullopt, of OpenCL only: as the device likes; then `blocks` are threads.
  std::optional<std::array<int64_t, 3>> threads = std::array<int64_t, 3>{1, 1, 1};
  int64_t dynamic_shared_bytes = 0;  // CUDA
};

// One of the two: memory, or the bytes of a value.
struct FunctionArgument {
  DeviceMemory* memory = nullptr;
  absl::Span<const std::byte> value = {};
};

// Lives no longer than its device.
class DeviceFunction {
 public:
  virtual ~DeviceFunction() = default;
  // Runs it once, waits for its end, and gives the nanoseconds that the device took for it. Errors:
  // Aborted if it failed while it ran: then the device may be unusable for this process; others,
  // naming the call, if it could not be started.
  virtual Result<double> Run(absl::Span<const FunctionArgument> arguments,
                             const FunctionLaunch& launch) = 0;
};

// Not thread-safe. A kernel that failed may leave the device unusable for this process.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  virtual const DeviceDescription& description() const = 0;
  virtual std::string platform() const = 0;  // "CUDA", or OpenCL's name of the platform
  virtual std::string driver() const = 0;    // version
  // Errors: ResourceExhausted if there is not enough memory, else Internal.
  virtual Result<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t guard_bytes) = 0;
  // Errors: InvalidArgument with the compiler's log, or if the kernel is in another language;
  // ResourceExhausted if a launch exceeds what the device allows; Internal, naming the call.
  virtual Result<std::unique_ptr<DeviceProgram>> Compile(const Kernel& kernel) = 0;
  // Compile in two steps, of which another process may do the first: a binary for this device and
  // driver, and what can be launched. Errors: as Compile; Internal if the driver refuses the
  // binary.
  virtual Result<std::string> CompileToBinary(const Kernel& kernel) = 0;
  virtual Result<std::unique_ptr<DeviceProgram>> LoadBinary(const Kernel& kernel,
                                                            const std::string& binary) = 0;
  // Errors: InvalidArgument with the compiler's log; Internal, naming the call.
  virtual Result<std::unique_ptr<DeviceFunction>> CompileFunction(const FunctionSource& source) = 0;
  // Waits until all that was started has ended. Errors: Internal: a kernel failed.
  virtual Status Finish() = 0;
  // Whether it is slower now than otherwise, for heat or want of power, as far as one can know.
  virtual bool IsHeldBack() const { return false; }
};

// Whether every launch of `kernel` stays within the device's limits. Errors: ResourceExhausted,
// naming the launch and the limit.
Status CheckLaunches(const Kernel& kernel, const DeviceDescription& device);
// The same for what compiled functions take of the device, of which `functions` says as much as the
// compiler does, in units in which NVIDIA's devices give it away. Errors: ResourceExhausted, naming
// the launch, what it takes and the limit.
Status CheckResources(const Kernel& kernel, absl::Span<const FunctionResources> functions,
                      const DeviceDescription& device);
// As CheckLaunches, for one launch of a function.
Status CheckLaunch(const std::string& function, const FunctionLaunch& launch,
                   const DeviceDescription& device);

}  // namespace mdh
