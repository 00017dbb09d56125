// The backends of targets with blocks of threads: low-level expression -> loop program -> passes ->
// kernel functions.
#include "codegen/backends/backends.h"
#include "codegen/backends/build_program.h"
#include "codegen/print/c_block_unit.h"

namespace mdh {

Kernel PrintBlocks(const KernelProgram& built, const KernelUnit& unit,
                   const DeviceDescription& device) {
  BlockUnitOptions options{&DialectOf(device), unit.entry, unit.description, built.arguments};
  options.wide_indices = built.wide_indices;
  options.contracts = Reassociates(unit.numerics);
  options.early_launches = unit.early_launches;
  options.limits = device.blocks;
  return PrintBlockKernel(built.program, options);
}

Result<Kernel> GenerateBlockKernel(const LowLevelExpression& low_level,
                                   const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const KernelProgram built, BuildProgram(low_level, device));
  return PrintBlocks(built, UnitOf(low_level, built), device);
}

}  // namespace mdh
