// The targets: each gives a kernel in the language of the device for a low-level expression.
#pragma once

#include <string>

#include "codegen/backends/build_program.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"

namespace mdh {

// What is the same for all of a kernel's source, whatever computations it has.
struct KernelUnit {
  std::string entry;        // "mdh_matmul"
  std::string description;  // lines for the comment at its head, without "//"
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  EarlyLaunches early_launches = EarlyLaunches::kStages;
  int threads = TuningParameters::kAllThreads;  // of C: of a call at most
  Compiler compiler = Compiler::kGcc;           // of C
  // Of C: tiles have no lanes, and compilers make no vectors of them either
  // (codegen/program/lane_decision.h).
  bool has_scalar_tiles = false;
};
// Of a kernel that computes this alone.
KernelUnit UnitOf(const LowLevelExpression& low_level, const KernelProgram& built);

// The kernel of a program that was built for CPUs, or for such a device with blocks of threads.
Kernel PrintOpenMp(const KernelProgram& built, const KernelUnit& unit);
Kernel PrintBlocks(const KernelProgram& built, const KernelUnit& unit,
                   const DeviceDescription& device);

// Expect a low-level expression for a model of the target: OpenMP with or without caches and SIMD;
// a model of devices with blocks of threads. Ensure that the kernel computes what Interpret
// computes, up to re-association of the combine operators as its numerics policy allows. Errors:
// Unimplemented where parts are on several devices, ResourceExhausted if MDAs between phases that
// are set apart are too large, Internal.
Result<Kernel> GenerateOpenMp(const LowLevelExpression& low_level, const DeviceDescription& device);
Result<Kernel> GenerateBlockKernel(const LowLevelExpression& low_level,
                                   const DeviceDescription& device);

}  // namespace mdh
