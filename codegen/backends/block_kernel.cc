// The backends of targets with blocks of threads: low-level expression -> loop program -> passes ->
// kernel functions.
#include <algorithm>
#include <utility>

#include "codegen/backends/backends.h"
#include "codegen/backends/build_program.h"
#include "codegen/print/c_block_unit.h"
#include "codegen/print/c_unit.h"

namespace mdh {
namespace {

// Whether some index of the program does not fit in 32 bits.
bool NeedsWideIndices(const Expression& expression, const LoopProgram& program) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  int64_t largest = 0;
  const auto add = [&](const Buffer& buffer) {
    for (const ElementType::Field& field : buffer.type.fields()) {
      largest = std::max(largest, buffer.size_bytes() / SizeBytes(field.type));
    }
  };
  for (const Buffer& buffer : expression.passed_inputs()) add(buffer);
  for (const Buffer& buffer : expression.outputs()) add(buffer);
  // Tiles may reach beyond a dimension, by less than its size: indices are computed before guards.
  for (const Dimension& d : expression.dimensions()) largest = std::max(largest, 2 * d.size);
  for (const ScratchBuffer& buffer : program.scratch) largest = std::max(largest, buffer.elements);
  for (const Stage& stage : program.stages) {
    largest = std::max(largest, stage.launch.grid[0] * stage.launch.grid[1] * stage.launch.grid[2] *
                                    stage.launch.threads_per_block());
  }
  return 2 * largest >= kLargest;
}

}  // namespace

Result<Kernel> GenerateBlockKernel(const LowLevelExpression& low_level,
                                   const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(KernelProgram built, BuildProgram(low_level, device));
  const Expression& expression = low_level.expression();
  const TuningParameters& parameters = low_level.parameters();
  BlockUnitOptions options{&DialectOf(device), EntryName(expression),
                           DescribeKernel(low_level, built.arguments), std::move(built.arguments)};
  options.wide_indices = NeedsWideIndices(expression, built.program);
  options.contracts = parameters.numerics == NumericsPolicy::kReassociate;
  options.early_launches = parameters.early_launches;
  return PrintBlockKernel(built.program, options);
}

}  // namespace mdh
