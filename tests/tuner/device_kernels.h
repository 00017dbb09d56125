// Kernels for OpenCL and CUDA devices that are written by hand, right and wrong.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"

namespace mdh {

// For AddExpression. `statements` see a, b, out (fp32, n elements), n, the thread's number i, and,
// if there are scratch bytes, scratch (chars); n threads and some more run them.
inline Kernel AddDeviceKernel(bool is_cuda, int64_t n, const std::string& statements,
                              int64_t scratch_bytes = 0) {
  constexpr int64_t kBlock = 64;
  const std::string global = is_cuda ? "" : "__global ";
  Kernel kernel;
  kernel.entry = "mdh_add";
  kernel.language = is_cuda ? Language::kCudaCxx : Language::kOpenClC;
  kernel.source = absl::StrCat(
      is_cuda ? "#define GLOBAL\ntypedef unsigned long long ulong64;\nextern \"C\" __global__ void "
              : "#define GLOBAL __global\ntypedef ulong ulong64;\n__kernel "
                "__attribute__((reqd_work_group_size(64, 1, 1))) "
                "void ",
      "mdh_add_0(", global, "const float* a, ", global, "const float* b, ", global, "float* out",
      scratch_bytes > 0 ? absl::StrCat(", ", global, "char* scratch") : "",
      ") {\n  const long n = ", n, ";\n  const long i = ",
      is_cuda ? "(long)blockIdx.x * blockDim.x + threadIdx.x" : "(long)get_global_id(0)", ";\n",
      statements, "\n}\n");
  kernel.arguments = {{"a", ScalarType::kFloat32, n, false},
                      {"b", ScalarType::kFloat32, n, false},
                      {"out", ScalarType::kFloat32, n, true}};
  kernel.launches = {{"mdh_add_0", {{(n + kBlock - 1) / kBlock, 1, 1}, {kBlock, 1, 1}}}};
  kernel.scratch_bytes = scratch_bytes;
  return kernel;
}

inline constexpr char kRightDeviceAdd[] = "  if (i < n) out[i] = a[i] + b[i];\n";

}  // namespace mdh
