// A generated kernel: source and everything needed to compile and call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/low_level_expression.h"
#include "core/status.h"

namespace mdh {

struct KernelArgument {
  std::string name;  // C identifier, the buffer's name where that is one
  ElementType type;
  int64_t elements;
  bool is_output;
};

// Generated C for OpenMP. The translation unit defines three functions with C linkage:
//   int64_t <entry>_scratch_bytes(int threads);
//       bytes of scratch memory that a call with that many threads needs; may be 0
//   void <entry>_body(int stage, int thread, int threads, <inputs>, <outputs>, void* scratch);
//       stages 0 .. stages-1 in turn, each by all threads, with a barrier between stages
//   int <entry>(<inputs>, <outputs>, void* scratch);
//       runs all stages in an OpenMP parallel region; scratch: 64-byte aligned, or NULL to allocate
//       and free it within the call. Returns 0, or 1 if that allocation failed.
// Inputs are `const T*`, outputs `T*`, in the order of the expression's views, laid out as its
// buffers say. fp16 and bf16 are uint16_t; records are structs called <entry>_<buffer>.
struct Kernel {
  std::string entry;  // C identifier, starts with "mdh_"
  std::string language = "OpenMP C";
  std::string source;                     // one translation unit
  std::string header;                     // declares the three functions, for C and C++
  std::vector<KernelArgument> arguments;  // inputs, then outputs
  int stages = 1;
  Compiler compiler = Compiler::kGcc;
  // Options that the measurement used and that users should use, without -o and input.
  std::vector<std::string> compile_options;
};

// Version of the generator: part of every cache key; raised whenever generated code changes.
inline constexpr int kGeneratorVersion = 2;

// Expects a low-level expression for an OpenMP model; ensures that the kernel computes what
// Interpret computes, up to re-association of the combine operators.
// Errors: Unimplemented (never for what Validate accepts), Internal.
Result<Kernel> GenerateOpenMp(const LowLevelExpression& low_level, const DeviceDescription& device);

// The plain loop nest that a user would write: no tiles, no vectors, no threads. The baseline that
// `untuned` figures refer to, and the trusted kernel that computes references for large sizes.
Kernel GenerateLoopNest(const Expression& expression);

}  // namespace mdh
