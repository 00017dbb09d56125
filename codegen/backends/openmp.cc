// The OpenMP backend: low-level expression -> loop program -> C.
#include "codegen/backends/backends.h"
#include "codegen/backends/build_program.h"
#include "codegen/print/c_unit.h"

namespace mdh {
namespace {

std::vector<std::string> CompileOptions(const TuningParameters& parameters) {
  const bool may_fuse = parameters.numerics == NumericsPolicy::kReassociate;
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
  if (parameters.compiler == Compiler::kGcc) {
    options.insert(options.end() - 1, "-fno-predictive-commoning");
  }
  if (parameters.threads != 1) options.insert(options.begin() + 3, "-fopenmp");
  return options;
}

}  // namespace

Result<Kernel> GenerateOpenMp(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(KernelProgram built, BuildProgram(low_level, device));
  const TuningParameters& parameters = low_level.parameters();
  Kernel kernel =
      PrintCKernel(built.program, {.entry = EntryName(low_level.expression()),
                                   .description = DescribeKernel(low_level, built.arguments),
                                   .arguments = built.arguments,
                                   .threads = parameters.threads,
                                   .numerics = parameters.numerics});
  kernel.compiler = parameters.compiler;
  kernel.compile_options = CompileOptions(parameters);
  return kernel;
}

}  // namespace mdh
