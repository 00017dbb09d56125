// From a low-level expression to the loop program that its backend prints as source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"
#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/device_description.h"

namespace mdh {

struct KernelProgram {
  std::vector<KernelArgument> arguments;  // by the identifiers that the program uses
  LoopProgram program;
};

enum class ProgramForm : uint8_t {
  kLowered,    // before the passes
  kOptimized,  // behind them: what backends print
};

// Expects a low-level expression for a model that has a backend, and its device. Ensures that the
// stages compute what Interpret computes, as codegen/backends/backends.h says.
// Errors: as there.
Result<KernelProgram> BuildProgram(const LowLevelExpression& low_level,
                                   const DeviceDescription& device,
                                   ProgramForm form = ProgramForm::kOptimized);

// What is at the head of its source: expression, index map, configuration, decomposition.
std::string DescribeKernel(const LowLevelExpression& low_level,
                           const std::vector<KernelArgument>& arguments);

}  // namespace mdh
