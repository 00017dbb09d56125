// A C translation unit around a loop program: prelude, functions, stages, entry points, header
// file.
#pragma once

#include <string>

#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// What the printed unit says about itself and is called.
struct CUnitOptions {
  std::string entry;                            // "mdh_matmul"
  std::string description;                      // lines for the comment at its head, without "//"
  std::vector<KernelArgument> arguments;        // inputs, then outputs
  int stages = 1;                               // those of the program
  int threads = TuningParameters::kAllThreads;  // of a call at most
  NumericsPolicy numerics = NumericsPolicy::kExactOrder;
};

// "mdh_" and the name of an expression or a pipeline; with "_" behind it where the prelude has that
// name.
std::string EntryName(const std::string& name);
// Lines that say which element of which array each access means.
std::string DescribeIndexMap(const Expression& expression,
                             const std::vector<KernelArgument>& arguments);

// The whole source, with the three functions that codegen/program/kernel.h promises, and the header
// that declares them; how it is compiled is up to the caller.
Kernel PrintCKernel(const LoopProgram& program, CUnitOptions options);

}  // namespace mdh
