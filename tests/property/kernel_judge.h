// Compiles generated kernels and holds them against the reference interpreter.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "tests/property/output_judge.h"

namespace mdh {

// A directory under the system's temporary one; removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Whether clang is installed and can link OpenMP programs.
bool ClangWorks(const std::string& directory);

// Compiles `kernel` with its own compiler and options, and CallSource behind it, to a shared
// object; with HasKernelSanitizers by gcc, for these, and WithScratchGaps. Errors: Internal with
// the compiler's output.
Status CompileKernel(const Kernel& kernel, const std::string& directory, const std::string& name);

// Runs a compiled kernel in a process of its own and compares every output element, bit by bit (but
// for the sign of zeros), with `expected`; elements that no index function reaches must be zero, or
// untouched where they are kept. Nothing may be read or written before or behind inputs, outputs
// and scratch memory, and inputs not be written (GuardedBytes). Runs it through its OpenMP entry,
// through CallSource, also by two threads at once and, after it was unloaded, in a parallel region,
// and through its body with 1, 3 and 7 threads. `units`: see DifferenceOf. Errors: Internal, saying
// what differs, or with the sanitizers' report.
Status JudgeKernel(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
                   const std::string& library, const std::vector<BufferBytes>& inputs,
                   const std::vector<BufferBytes>& expected, int units = 0);
inline Status JudgeKernel(const Expression& expression, const Kernel& kernel,
                          const std::string& library, const std::vector<BufferBytes>& inputs,
                          const std::vector<BufferBytes>& expected, int units = 0) {
  return JudgeKernel(OutputsOf(expression), kernel, library, inputs, expected, units);
}

}  // namespace mdh
