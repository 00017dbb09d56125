// What NVIDIA's assembler says that functions take of the device: the lines of `ptxas -v`, which
// NVRTC appends to its log. The machine code says most of it, too, but in attributes that are
// documented nowhere, and not what was spilled: a function's local memory also holds its arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace mdh {

// Of one kernel function. Everything but `shared_bytes` is of one thread.
struct FunctionResources {
  std::string function;
  int registers = 0;
  int64_t stack_bytes = 0;        // local memory: arrays, and room for registers that are spilled
  int64_t spill_store_bytes = 0;  // moved by all instructions that do so, each counted once
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;  // of a block, that the function declares itself

  friend bool operator==(const FunctionResources&, const FunctionResources&) = default;
};

// The kernel functions in `log`, in its order; other lines, also those of functions that kernels
// call, are passed over. Empty if the compiler made no report. Errors: InvalidArgument, quoting the
// line: it begins as one of the report, but is none; or a function has no registers.
Result<std::vector<FunctionResources>> ParseCompilerReport(absl::string_view log);

}  // namespace mdh
