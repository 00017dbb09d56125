// A translation unit of kernel functions around a loop program: OpenCL C, CUDA C++, HIP C++.
#pragma once

#include <string>
#include <vector>

#include "codegen/print/c_dialect.h"
#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"
#include "core/device/device_description.h"

namespace mdh {

struct BlockUnitOptions {
  const CDialect* dialect;                // one with blocks of threads
  std::string entry;                      // "mdh_matmul"
  std::string description;                // lines for the comment at its head, without "//"
  std::vector<KernelArgument> arguments;  // inputs, then outputs, by the names in the program
  bool wide_indices = true;               // whether an index might not fit into an int
  bool contracts = false;                 // whether multiply-adds may be fused
  EarlyLaunches early_launches = EarlyLaunches::kStages;  // where the language has them
  BlockLimits limits = {};                                // of the device, as far as known
};

// One kernel function per stage, as codegen/program/kernel.h promises. Where scratch memory is one
// piece per thread, it is for as many threads as the largest stage has.
Kernel PrintBlockKernel(const LoopProgram& program, const BlockUnitOptions& options);

}  // namespace mdh
