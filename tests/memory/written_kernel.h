// A kernel in C that a test has written, judged as generated ones are.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "core/text/parser.h"
#include "tests/property/kernel_judge.h"

namespace mdh {

// Copies `a` to `y`, 17 numbers of fp32, after `statements`, which may use `a`, `y`, and `scratch`
// of 128 bytes.
inline Kernel CopyAfter(const std::string& statements) {
  Kernel kernel{
      .entry = "mdh_copy",
      .arguments = {{"a", ScalarType::kFloat32, 17, false}, {"y", ScalarType::kFloat32, 17, true}}};
  kernel.source = absl::Substitute(
      "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
      "int64_t mdh_copy_scratch_bytes(int threads) { return 128; }\n"
      "static volatile int64_t one = 1, large = INT64_MAX;\n"
      "void mdh_copy_body(int stage, int thread, int threads, const float* a, float* y,\n"
      "                   char* scratch) {\n"
      "  if (thread > 0) return;\n"
      "  volatile float seen = 0;\n"
      "  $0\n"
      "  for (int n = 0; n < 17; ++n) y[n] = a[n];\n}\n"
      "int mdh_copy(const float* a, float* y, char* scratch) {\n"
      "  char* own = malloc(mdh_copy_scratch_bytes(1));\n"
      "  mdh_copy_body(0, 0, 1, a, y, own);\n"
      "  free(own);\n  return 0;\n}\n",
      statements);
  kernel.compile_options = {"-O2", "-march=native"};
  return kernel;
}

// What JudgeKernel says of it.
inline std::string Judged(const Kernel& kernel) {
  const auto expression = ParseExpression(
      "copy<| I = 17> := out_view<fp32>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o\n"
      "inp_view<fp32>( a: (i) -> (i) )\nwhere f(a) -> r { r = a }",
      {});
  if (!expression.ok()) return std::string(expression.status().message());
  const TemporaryDirectory directory;
  if (const Status compiled = CompileKernel(kernel, directory.path(), "kernel"); !compiled.ok()) {
    return std::string(compiled.message());
  }
  BufferBytes input(17 * sizeof(float));
  return std::string(
      JudgeKernel(*expression, kernel, directory.path() + "/kernel.so", {input}, {input})
          .message());
}

}  // namespace mdh
