// The OpenMP backend: low-level expression -> loop program -> C.
#include "codegen/backends/backends.h"
#include "codegen/print/c_unit.h"
#include "codegen/program/lane_decision.h"

namespace mdh {
namespace {

std::vector<std::string> CompileOptions(const KernelUnit& unit) {
  const bool may_fuse = Reassociates(unit.numerics);
  // No -ffast-math: it gains nothing here and would switch on flush-to-zero in the host process.
  // No vectorisation of straight-line code: vectors are explicit here, and gcc 12 miscompiles
  // (b == 0 ? 0 : a / b) on lanes of a vector in that pass.
  std::vector<std::string> options = {"-std=gnu11",
                                      "-O2",
                                      "-march=native",
                                      may_fuse ? "-ffp-contract=fast" : "-ffp-contract=off",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fno-tree-slp-vectorize",
                                      "-fwrapv",
                                      "-lm"};
  // gcc would carry what neighbouring iterations load as well in registers that tiles need: most of
  // a convolution's accumulators would be in memory.
  if (unit.compiler == Compiler::kGcc) {
    options.insert(options.end() - 1, "-fno-predictive-commoning");
  }
  if (unit.has_scalar_tiles) options.insert(options.end() - 1, "-fno-tree-vectorize");
  if (unit.threads != 1) options.insert(options.begin() + 3, "-fopenmp");
  return options;
}

}  // namespace

KernelUnit UnitOf(const LowLevelExpression& low_level, const KernelProgram& built) {
  const TuningParameters& parameters = low_level.parameters();
  return {
      .entry = EntryName(low_level.expression().name()),
      .description = DescribeKernel(low_level, built.arguments),
      .numerics = parameters.numerics,
      .early_launches = parameters.early_launches,
      .threads = parameters.threads,
      .compiler = parameters.compiler,
      .has_scalar_tiles = HasScalarTiles(low_level.expression(), low_level.model(), parameters)};
}

Kernel PrintOpenMp(const KernelProgram& built, const KernelUnit& unit) {
  Kernel kernel = PrintCKernel(built.program, {.entry = unit.entry,
                                               .description = unit.description,
                                               .arguments = built.arguments,
                                               .threads = unit.threads,
                                               .numerics = unit.numerics});
  kernel.compiler = unit.compiler;
  kernel.compile_options = CompileOptions(unit);
  return kernel;
}

Result<Kernel> GenerateOpenMp(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const KernelProgram built, BuildProgram(low_level, device));
  return PrintOpenMp(built, UnitOf(low_level, built));
}

}  // namespace mdh
