// Kernels written by hand: microbenchmarks of a device, and one that shows whether it works at all.
#pragma once

#include <cstdint>

#include "codegen/program/kernel.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"
#include "core/scalar/scalar_type.h"

namespace mdh {

// Reads `in` (fp32) and writes `out`: out[i] = in[i] + in[n - 1 - i], with kCanaryElements each.
inline constexpr int64_t kCanaryElements = 1024;
Kernel CanaryKernel(DeviceKind kind);

// Compares two buffers of any equal size: sets the second 64-bit word of `answer` to 1 if they
// differ in the bytes of which the first word has the number. Arguments: the two, and `answer`.
Kernel EqualityKernel(const DeviceDescription& device);

// What one call of a microbenchmark does. All have one output of kPeakOutputs fp32 values and
// nothing else but scratch memory.
inline constexpr int64_t kPeakOutputs = 64;
struct PeakKernel {
  Kernel kernel;
  double work = 0;  // floating-point operations, or bytes moved
};

// Independent chains of fused multiply-adds in registers.
PeakKernel ArithmeticPeakKernel(const DeviceDescription& device, ScalarType type);
// Multiplications of a matrix unit, of operands that are there.
PeakKernel UnitPeakKernel(const DeviceDescription& device, const MatrixInstruction& instruction);
// Reads about `bytes` of scratch memory; or copies half of them to the other half, counting both.
PeakKernel ReadPeakKernel(const DeviceDescription& device, int64_t bytes);
PeakKernel CopyPeakKernel(const DeviceDescription& device, int64_t bytes);
// Does nothing, with one block of one thread.
PeakKernel EmptyKernel(const DeviceDescription& device);

}  // namespace mdh
