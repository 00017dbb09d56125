// Arrays of a caller, described so that a kernel can see whether it may have them as arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/scalar/scalar_type.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// Memory of the CPU, which the caller keeps.
struct BufferView {
  void* data = nullptr;
  ScalarType type = ScalarType::kFloat32;
  std::vector<int64_t> extents = {};
  // Elements from one index of each dimension to the next; empty: row-major without gaps.
  std::vector<int64_t> strides = {};
  int64_t record_bytes = 0;  // not 0: the elements are records of so many bytes, of no scalar type
  bool is_read_only = false;
};

// Whether a kernel called `kernel` can have `buffers` as its `arguments`: number, types, extents,
// strides, alignment to the type, outputs that may be written and share memory with nothing else.
// Kernels that an earlier version stored say no extents: of theirs the number of elements is
// compared. Errors: InvalidArgument, naming kernel and argument, with what it is and what is
// expected.
Status CheckArguments(const std::string& kernel, absl::Span<const v1::KernelArgument> arguments,
                      absl::Span<const BufferView> buffers);

}  // namespace mdh
