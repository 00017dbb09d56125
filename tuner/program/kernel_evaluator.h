// Evaluates kernels of OpenCL and CUDA.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/device/compute_device.h"
#include "tuner/program/argument_buffers.h"
#include "tuner/program/evaluator.h"
#include "tuner/program/program.h"

namespace mdh {

struct KernelDevices {
  // Where the CUDA Toolkit is; empty: where it usually is.
  std::string cuda_root;
};

// Not thread-safe.
class KernelEvaluator final : public ProgramEvaluator {
 public:
  // Finds the device. Expects a program with a kernel, which outlives this. Errors: NotFound if
  // there is no such device, naming those that are there.
  static Result<std::unique_ptr<KernelEvaluator>> Create(const TunableProgram& program,
                                                         const KernelDevices& devices = {});

  Result<v1::EvaluateResponse> Evaluate(const v1::NamedConfiguration& configuration) override;
  // False once a kernel failed while it ran: this process cannot use the device any more.
  bool is_usable() const { return is_usable_; }
  const ComputeDevice& device() const { return *device_; }

 private:
  struct Buffer {
    std::unique_ptr<DeviceMemory> memory;
    bool is_guarded = false;  // the zones are as they should be
    bool is_filled = false;   // the contents are those before a run
  };

  KernelEvaluator(const TunableProgram& program, std::unique_ptr<ComputeDevice> device);

  v1::EvaluateResponse EvaluateCodes(const Configuration& configuration);
  Result<std::unique_ptr<DeviceFunction>> Compile(const Configuration& configuration);
  Result<FunctionLaunch> Geometry(const Configuration& configuration) const;
  // Buffers on the device hold `contents` and are between intact zones.
  Status FillBuffers(const ArgumentContents& contents);
  std::vector<FunctionArgument> Arguments(const ArgumentContents& contents) const;
  // Runs once and judges what it did; then buffers that it changed are known.
  v1::EvaluateResponse RunAndJudge(DeviceFunction& function, const FunctionLaunch& launch,
                                   const ArgumentContents& contents,
                                   const Configuration& configuration);
  // Contents of all buffers; notes those that are not as before. Errors: OutOfRange if a zone was
  // written to.
  Result<ArgumentContents> ReadBuffers(const ArgumentContents& contents);
  v1::EvaluateResponse Time(DeviceFunction& function, const FunctionLaunch& launch,
                            const ArgumentContents& contents);
  v1::EvaluateResponse RunFailure(const Status& status);

  const TunableProgram& program_;
  const KernelPlan& plan_;
  std::unique_ptr<ComputeDevice> device_;
  ArgumentMaker maker_;
  ResultJudge judge_;
  std::vector<Buffer> buffers_;  // as many as arguments; without memory for values
  bool is_usable_ = true;
};

}  // namespace mdh
