// A generated kernel: source and everything needed to compile and call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/backends.h"
#include "core/expression/expression.h"

namespace mdh {

struct KernelArgument {
  std::string name;  // C identifier, the buffer's name where that is one
  ElementType type;
  int64_t elements;
  bool is_output;
  // Of the buffer as the expression has it: per dimension, the extent, and the elements from one
  // index to the next. No strides: row-major without gaps.
  std::vector<int64_t> extents = {};
  std::vector<int64_t> strides = {};
};

// What a function takes behind its pointers, by value: a map of an array for the tensor copy engine
// (CUDA's CUtensorMap), which whoever launches it encodes with cuTensorMapEncodeTiled: of unsigned
// integers of `element_bytes`, no interleaving, elements out of bounds are zero, all element
// strides are 1.
struct TensorMap {
  int argument;          // where it begins: number of a pointer among the function's arguments
  int64_t offset_bytes;  // and so many bytes behind, a multiple of 16
  int element_bytes;
  std::vector<int64_t> extents;        // elements of each dimension, the contiguous one first
  std::vector<int64_t> strides_bytes;  // of all dimensions but the first
  std::vector<int64_t> box;            // elements of each dimension that a copy brings
  int swizzle_bytes = 128;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

// How one stage of a kernel is launched.
struct KernelLaunch {
  std::string function;
  LaunchGeometry geometry;
  // Shared memory beyond what the function declares itself: the kernel's dynamic shared memory of
  // CUDA, for which the function's limit must be raised before. Always 0 in OpenCL.
  int64_t dynamic_shared_bytes = 0;
  // May be launched while the launch before it runs, with CUDA's programmatic stream serialization
  // (devices of compute capability 9.0 and later, for which the source must have been compiled): it
  // waits itself for all launches before it. Launching it as usual is right, too. The first launch
  // of a call is of this kind with EarlyLaunches::kCalls only.
  bool starts_early = false;
  // In the order of the arguments. Source with such functions is compiled with kTensorMapsOption by
  // those who pass them.
  std::vector<TensorMap> tensor_maps = {};
};
inline constexpr char kTensorMapsOption[] = "-DMDH_TENSOR_MAPS";

// Generated C for OpenMP. The translation unit defines three functions with C linkage:
//   int64_t <entry>_scratch_bytes(int threads);
//       bytes of scratch memory that a call with that many threads needs; may be 0
//   void <entry>_body(int stage, int thread, int threads, <inputs>, <outputs>, void* scratch);
//       stages 0 .. stages-1 in turn, each by all threads, with a barrier between stages
//   int <entry>(<inputs>, <outputs>, void* scratch);
//       runs all stages in an OpenMP parallel region, or on the calling thread if that is the only
//       one (TuningParameters::threads); scratch: 64-byte aligned, or NULL to allocate
//       and free it within the call. Returns 0, or 1 if that allocation failed.
// Inputs are `const T*`, outputs `T*`, in the order of the expression's views or the pipeline's
// buffers, laid out as these say. fp16 and the like are unsigned integers; records are structs
// called <entry>_<buffer>.
//
// Kernels in other languages define one kernel function per stage (`launches`), called
// <entry>_<stage>; each takes the inputs, the outputs, and, if scratch_bytes > 0, a pointer to
// scratch memory (in OpenCL: a buffer of chars) as its last argument, but for tensor maps of CUDA
// (KernelLaunch). All pointers are aligned to 16 bytes. The stages are launched one after the
// other, in one stream or in-order queue.
struct Kernel {
  std::string entry;  // C identifier, starts with "mdh_"
  Language language = Language::kOpenMpC;
  std::string source;                     // one translation unit
  std::string header;                     // declares the three functions, for C and C++
  std::vector<KernelArgument> arguments;  // inputs, then outputs
  int stages = 1;
  std::vector<KernelLaunch> launches = {};  // of languages with kernel functions: one per stage
  int64_t scratch_bytes = 0;                // idem; need not be initialised
  Compiler compiler = Compiler::kGcc;
  int threads = TuningParameters::kAllThreads;  // of a call at most; of C only
  // Options that the measurement used and that users should use, without -o and input.
  std::vector<std::string> compile_options;
};

// Version of the generator: part of every cache key; raised whenever generated code changes.
inline constexpr int kGeneratorVersion = 30;

}  // namespace mdh
