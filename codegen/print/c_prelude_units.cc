// Functions for matrix units: PTX of wgmma and of what belongs to it, and of mma.sync. They are
// inlined whatever they cost: sums are in registers.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"

namespace mdh {
namespace {

constexpr absl::string_view kInlined = "static __device__ __forceinline__ ";

// Registers of a fragment: their type, and their class in PTX.
struct RegisterKind {
  absl::string_view type, constraint;
};
RegisterKind KindOf(ScalarType element) {
  switch (element) {
    case ScalarType::kFloat64:
      return {"double", "d"};
    case ScalarType::kFloat32:
      return {"float", "f"};
    case ScalarType::kInt32:
      return {"int", "r"};
    default:
      return {"unsigned int", "r"};
  }
}

// Operands of PTX from number `first` on: "%4,%5", and what they are: "\"d\"(a[0]), \"d\"(a[1])".
struct PtxOperands {
  std::string numbers, values;
};
PtxOperands OperandsOf(absl::string_view array, absl::string_view constraint, int64_t first,
                       int64_t count, absl::string_view as = "") {
  PtxOperands operands;
  for (int64_t n = 0; n < count; ++n) {
    absl::StrAppend(&operands.numbers, n == 0 ? "" : ",", "%", first + n);
    absl::StrAppend(&operands.values, n == 0 ? "" : ", ", "\"", constraint, "\"(", as,
                    as.empty() ? "" : "(", array, "[", n, as.empty() ? "])" : "]))");
  }
  return operands;
}

}  // namespace

std::string CPrelude::UnitInstructionFunction(const std::string& instruction) {
  uses_units_ = true;
  const std::string name = absl::StrCat(
      "mdh_",
      absl::StrReplaceAll(
          instruction, {{".sync.aligned", ""}, {"::", "_"}, {".", "_"}, {", ", "_"}, {" ", "_"}}));
  Define(name, absl::Substitute("$0void $1() { asm volatile(\"$2;\" ::: \"memory\"); }\n", kInlined,
                                name, instruction));
  return name;
}

// Of the address, 18 bits: in clusters the block's number is above them. 1 << 62: rows of 128 bytes
// are swizzled.
std::string CPrelude::UnitOperandFunction() {
  uses_units_ = true;
  const std::string name = "mdh_operand";
  Define(name, absl::Substitute(
                   "$0unsigned long long $1(const void* p, int leading_bytes, int stride_bytes) {\n"
                   "  const unsigned int at = (unsigned int)__cvta_generic_to_shared(p);\n"
                   "  return (unsigned long long)((at & 0x3ffffu) >> 4) |\n"
                   "         (unsigned long long)(leading_bytes >> 4) << 16 |\n"
                   "         (unsigned long long)(stride_bytes >> 4) << 32 | 1ull << 62;\n"
                   "}\n",
                   kInlined, name));
  return name;
}

std::string CPrelude::GroupMultiplyFunction(const MatrixInstruction& instruction, bool a_is_across,
                                            bool b_is_across) {
  uses_units_ = true;
  const int64_t sums = instruction.c_layout.Count(DigitPlace::kRegister);
  const RegisterKind sum = KindOf(instruction.accumulator);
  // Negated operands, of floating point; rows of elements of 16 bits may be across k.
  std::string modes = IsFloatingPoint(instruction.a) ? ", 1, 1" : "";
  if (instruction.takes_transposed) {
    absl::StrAppend(&modes, ", ", a_is_across ? 1 : 0, ", ", b_is_across ? 1 : 0);
  }
  const std::string shape_and_types = instruction.name.substr(instruction.name.find('.') + 1);
  const std::string name =
      absl::StrCat("mdh_multiply_", absl::StrReplaceAll(shape_and_types, {{".", "_"}}),
                   a_is_across ? "_a_across" : "", b_is_across ? "_b_across" : "");
  std::string registers, operands;
  for (int64_t n = 0; n < sums; ++n) {
    absl::StrAppend(&registers, n == 0 ? "" : n % 16 == 0 ? ",\"\n      \"" : ",", "%", n);
    absl::StrAppend(&operands,
                    n == 0       ? ""
                    : n % 8 == 0 ? ",\n        "
                                 : ", ",
                    "\"+", sum.constraint, "\"(d[", n, "])");
  }
  Define(name, absl::Substitute("$0void $1($2* d, unsigned long long a, unsigned long long b,\n"
                                "    int keeps) {\n"
                                "  asm volatile(\n"
                                "      \"{.reg .pred p; setp.ne.b32 p, %$3, 0; \"\n"
                                "      \"$4 {\"\n"
                                "      \"$5\"\n"
                                "      \"}, %$6, %$7, p$8;}\"\n",
                                kInlined, name, sum.type, sums + 2, AssemblyName(instruction),
                                registers, sums, sums + 1, modes) +
                   absl::StrCat("      : ", operands,
                                "\n      : \"l\"(a), \"l\"(b), \"r\"(keeps));\n}\n"));
  return name;
}

std::string CPrelude::StoreMatricesFunction(ScalarType type) {
  const std::string element = type == ScalarType::kBfloat16 ? "bf16" : "f16";
  const std::string pack = absl::StrCat("mdh_pack_", element);
  Define(pack, absl::Substitute("$0unsigned int $1(float low, float high) {\n"
                                "  unsigned int r;\n"
                                "  asm(\"cvt.rn.$2x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(high), "
                                "\"f\"(low));\n"
                                "  return r;\n"
                                "}\n",
                                kInlined, pack, element));
  const std::string name = absl::StrCat("mdh_store_matrices_", element);
  Define(name,
         absl::Substitute(
             "$0void $1(void* to, float a, float b, float c, float d, float e, float f, float g,\n"
             "    float h) {\n"
             "#if __CUDA_ARCH__ >= 900\n"
             "  asm volatile(\"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\"\n"
             "               ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), "
             "\"r\"($2(a, b)), \"r\"($2(c, d)),\n"
             "               \"r\"($2(e, f)), \"r\"($2(g, h)) : \"memory\");\n"
             "#else\n"
             "  const unsigned int pairs[4] = {$2(a, b), $2(c, d), $2(e, f), $2(g, h)};\n"
             "  const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);\n"
             "  const unsigned int lane = threadIdx.x & 31;\n"
             "  #pragma unroll\n"
             "  for (unsigned int n = 0; n < 4; n++) {\n"
             "    const unsigned int row = __shfl_sync(0xffffffff, at, 8 * n + lane / 4);\n"
             "    asm volatile(\"st.shared.b32 [%0], %1;\" ::\"r\"(row + lane % 4 * 4), "
             "\"r\"(pairs[n]) : \"memory\");\n"
             "  }\n"
             "#endif\n"
             "}\n",
             kInlined, name, pack));
  return name;
}

std::string CPrelude::LoadMatricesFunction(ScalarType type, int matrices, bool is_transposed) {
  const bool is_fp32 = type == ScalarType::kFloat32;
  const std::string name = absl::StrCat("mdh_load_matrices_x", matrices,
                                        is_transposed ? "_transposed" : "", is_fp32 ? "_f32" : "");
  const PtxOperands to = OperandsOf("r", is_fp32 ? "=f" : "=r", 0, matrices);
  Define(name, absl::Substitute(
                   "$0void $1($6* r, const void* from) {\n"
                   "  asm volatile(\n"
                   "      \"ldmatrix.sync.aligned.m8n8.x$2$3.shared.b16 {$4}, [%$2];\"\n"
                   "      : $5\n"
                   "      : \"r\"((unsigned int)__cvta_generic_to_shared(from)) : \"memory\");\n"
                   "}\n",
                   kInlined, name, matrices, is_transposed ? ".trans" : "", to.numbers, to.values,
                   is_fp32 ? "float" : "unsigned int"));
  return name;
}

std::string CPrelude::RoundToTf32Function(int64_t count) {
  const std::string name = absl::StrCat("mdh_round_to_tf32_x", count);
  capability_for_warps_ = std::max(capability_for_warps_, 80);
  Define(name, absl::Substitute("$0void $1(float* x) {\n"
                                "  #pragma unroll\n"
                                "  for (int n = 0; n < $2; n++) {\n"
                                "    unsigned int bits;\n"
                                "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(bits) : "
                                "\"f\"(x[n]));\n"
                                "    x[n] = __uint_as_float(bits);\n"
                                "  }\n"
                                "}\n",
                                kInlined, name, count));
  return name;
}

// What needs a bit of every sum, and does next to nothing, if ever: an event for profilers.
std::string CPrelude::AwaitSumsFunction(int64_t tiles, int64_t of_tile) {
  const std::string name = absl::StrCat("mdh_await_sums_", tiles, "x", of_tile);
  Define(name,
         absl::Substitute(
             "$0void $1(const double* c) {\n"
             "  unsigned int bits = 0;\n"
             "  #pragma unroll\n"
             "  for (int n = 0; n < $2; n++) bits ^= __double2hiint(c[n * $3]);\n"
             "  asm volatile(\"{.reg .pred p; setp.eq.u32 p, %0, 0x7ff12345; @p pmevent 7;}\"\n"
             "               ::\"r\"(bits));\n"
             "}\n",
             kInlined, name, tiles, of_tile));
  return name;
}

std::string CPrelude::WarpMultiplyFunction(const MatrixInstruction& instruction) {
  const int capability = instruction.rates.front().from;
  capability_for_warps_ = std::max(capability_for_warps_, capability);
  const std::string name =
      absl::StrCat("mdh_", absl::StrReplaceAll(instruction.name, {{".", "_"}}));
  const auto count = [](const FragmentLayout& layout) {
    return layout.Count(DigitPlace::kRegister);
  };
  const RegisterKind kind = KindOf(instruction.a), sum = KindOf(instruction.accumulator);
  const int64_t sums = count(instruction.c_layout), of_a = count(instruction.a_layout);
  const bool is_tf32 = instruction.a == ScalarType::kFloat32;
  const absl::string_view constraint = is_tf32 ? "r" : kind.constraint;
  const absl::string_view as = is_tf32 ? "__float_as_uint" : "";
  const PtxOperands c = OperandsOf("c", absl::StrCat("+", sum.constraint), 0, sums),
                    a = OperandsOf("a", constraint, sums, of_a, as),
                    b = OperandsOf("b", constraint, sums + of_a, count(instruction.b_layout), as);
  Define(name,
         absl::Substitute("$0void $1($2* c, const $3* a, const $3* b) {\n"
                          "  asm volatile(\n"
                          "      \"$4 \"\n"
                          "      \"{$5}, {$6}, {$7}, {$5};\"\n",
                          kInlined, name, sum.type, kind.type, AssemblyName(instruction), c.numbers,
                          a.numbers, b.numbers) +
             absl::StrCat("      : ", c.values, "\n      : ", a.values, ", ", b.values, ");\n}\n"));
  return name;
}

}  // namespace mdh
