// An expression and kernels for it that are written by hand, right and wrong.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "core/expression/expression.h"

namespace mdh {

// out[i] = a[i] + b[i]; || for bool.
inline Expression AddExpression(int64_t size, ScalarType type = ScalarType::kFloat32) {
  const IndexFunction i = {{{{1}, 0}}};
  const ScalarInstruction a{ScalarOp::kParameter, type, {}, 0};
  const ScalarInstruction b{ScalarOp::kParameter, type, {}, 1};
  const ScalarInstruction sum{
      type == ScalarType::kBool ? ScalarOp::kOr : ScalarOp::kAdd, type, {0, 1}};
  ScalarFunction f =
      *ScalarFunction::Create("f", {{"x", type}, {"y", type}}, {{"z", type}}, {a, b, sum}, {2});
  ExpressionSpec spec{"add",
                      {{"i", size}},
                      {{"a", type, {}, {i}}, {"b", type, {}, {i}}},
                      {{"out", type, {}, {i}}},
                      std::move(f),
                      {CombineOperator::Concat()}};
  return *Expression::Create(std::move(spec));
}

// `statements` see a, b, out (fp32, n elements), scratch and n.
inline Kernel AddKernel(int64_t n, const std::string& statements, int64_t scratch_bytes = 0) {
  Kernel kernel;
  kernel.entry = "mdh_add";
  kernel.source = absl::StrCat(
      "#include <math.h>\n#include <signal.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
      "#include <string.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
      "int64_t mdh_add_scratch_bytes(int threads) { (void)threads; return ",
      scratch_bytes,
      "; }\n"
      "int mdh_add(const float* a, const float* b, float* out, void* scratch) {\n"
      "  const int64_t n = ",
      n, ";\n  (void)scratch;\n", statements, "\n  return 0;\n}\n");
  kernel.arguments = {{"a", ScalarType::kFloat32, n, false},
                      {"b", ScalarType::kFloat32, n, false},
                      {"out", ScalarType::kFloat32, n, true}};
  kernel.stages = 0;  // the entry function alone
  kernel.compile_options = {"-O1"};
  return kernel;
}

inline constexpr char kRightAdd[] = "  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];\n";

inline Kernel RightAddKernel(int64_t n) { return AddKernel(n, kRightAdd); }

}  // namespace mdh
