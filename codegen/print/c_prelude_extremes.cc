// min, max, fmin and fmax of floating-point values in the prelude: minimum, maximum, minimumNumber
// and maximumNumber of IEEE 754-2019, which order zeros, and of which the first two give nan where
// an operand is nan. No language has all of them.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"

namespace mdh {
namespace {

bool IsMinimum(ScalarOp op) { return op == ScalarOp::kMin || op == ScalarOp::kFmin; }
bool IgnoresNan(ScalarOp op) { return op == ScalarOp::kFmin || op == ScalarOp::kFmax; }

// What gcc calls the instruction of x86 that gives the second operand unless the first is smaller
// ($0 "min") or larger; it does not find it by itself. For vectors of 16, 32 or 64 bytes.
struct Instruction {
  absl::string_view feature, call;
};
Instruction InstructionFor(LoopValueType type) {
  const bool is_single = type.scalar == ScalarType::kFloat32;
  switch (SizeBytes(type.scalar) * type.lanes) {
    case 16:
      return {"__SSE2__", is_single ? "__builtin_ia32_$0ps(a, b)" : "__builtin_ia32_$0pd(a, b)"};
    case 32:
      return {"__AVX__",
              is_single ? "__builtin_ia32_$0ps256(a, b)" : "__builtin_ia32_$0pd256(a, b)"};
    case 64:
      return {"__AVX512F__", is_single
                                 ? "__builtin_ia32_$0ps512_mask(a, b, a, (unsigned short)-1, 4)"
                                 : "__builtin_ia32_$0pd512_mask(a, b, a, (unsigned char)-1, 4)"};
    default:
      return {"", ""};
  }
}

}  // namespace

// Zeros of both signs add up to 0, and -0 - 0 is -0.
std::string CPrelude::ExtremeBody(ScalarOp op, ScalarType type) {
  const absl::string_view name = IsMinimum(op) ? "min" : "max";
  const std::string numbers = absl::Substitute(
      dialect_.extreme_of_numbers, name, type == ScalarType::kFloat32 ? dialect_.float_suffix : "");
  if (IgnoresNan(op) && !numbers.empty()) return absl::StrCat("return ", numbers, ";");
  if (!IgnoresNan(op) && type == ScalarType::kFloat32 && !dialect_.extreme.empty()) {
    uses_ptx_ |= dialect_.takes_ptx();
    return absl::Substitute(dialect_.extreme, name);
  }
  if (!numbers.empty()) return absl::StrCat("return a != a || b != b ? a + b : ", numbers, ";");
  // Kernels of blocks may have it in hundreds of places: without branches, which compilers of
  // OpenCL C would see before they simplify them.
  const char* const form = dialect_.has_blocks()
                               ? "  $5 r = $4;\n  r = (a $1 b)$3 ? b : r;\n"
                                 "  return (a $0 b)$2 | ((a == b) & (a != 0)) ? a : r;\n"
                               : "return a $0 b$2 || (a == b && a != 0) ? a : a $1 b$3 ? b : $4;";
  const std::string b_is_nan = dialect_.has_blocks() ? " | (b != b)" : " || b != b";
  const std::string a_is_nan = dialect_.has_blocks() ? " | (a != a)" : " || a != a";
  return absl::Substitute(form, IsMinimum(op) ? "<" : ">", IsMinimum(op) ? ">" : "<",
                          IgnoresNan(op) ? b_is_nan : "", IgnoresNan(op) ? a_is_nan : "",
                          IsMinimum(op) ? "-(-a - b)" : "a + b", CType(type, dialect_));
}

// (a, b): a where it is smaller or larger, else b.
std::string CPrelude::ChoiceFunction(bool is_minimum, LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string function = absl::StrCat(is_minimum ? "mdh_smaller_" : "mdh_larger_", vector);
  const std::string choice = absl::Substitute(
      "  const $0 m = ($0)(a $1 b);\n  return ($2)((m & ($0)a) | (~m & ($0)b));\n",
      VectorType(
          {SizeBytes(type.scalar) == 4 ? ScalarType::kInt32 : ScalarType::kInt64, type.lanes}),
      is_minimum ? "<" : ">", vector);
  const Instruction instruction = InstructionFor(type);
  const std::string body =
      instruction.call.empty()
          ? choice
          : absl::StrCat("#if defined(", instruction.feature, ") && !defined(__clang__)\n  return ",
                         absl::Substitute(instruction.call, is_minimum ? "min" : "max"),
                         ";\n#else\n", choice, "#endif\n");
  DefineFunction(function, absl::Substitute("$0 $1($0 a, $0 b) {\n$2}\n", vector, function, body));
  return function;
}

// Both orders of the operands give the same, or zeros of both signs, or one of them nan. The bits
// that one of them has are those of the minimum, nan and the negative zero included; of a maximum,
// which is negative only if both are, all but the sign.
std::string CPrelude::ExtremeOfVectors(bool is_minimum, LoopValueType type,
                                       const std::string& bits) {
  const bool is_single = type.scalar == ScalarType::kFloat32;
  const std::string vector = VectorType(type);
  const std::string both = absl::Substitute("  const $0 x = ($0)$1(a, b), y = ($0)$1(b, a);\n",
                                            bits, ChoiceFunction(is_minimum, type));
  if (is_minimum) return absl::StrCat(both, "  return (", vector, ")(x | y);\n");
  const std::string choice = absl::Substitute("  return ($0)((x & y) | ((x | y) & $1));\n", vector,
                                              is_single ? "INT32_MAX" : "INT64_MAX");
  if (SizeBytes(type.scalar) * type.lanes != 64) return absl::StrCat(both, choice);
  // The majority of three bits is one instruction, which compilers do not find.
  return absl::StrCat(
      both, "#if defined(__AVX512F__)\n",
      absl::Substitute("  typedef $0 words __attribute__((vector_size(64)));\n"
                       "  const words magnitude = (words){} + $1;\n"
                       "  return ($2)__builtin_ia32_pternlog$3512_mask((words)x, (words)y, "
                       "magnitude, 0xe8, (unsigned $4)-1);\n",
                       is_single ? "int" : "long long", is_single ? "INT32_MAX" : "INT64_MAX",
                       vector, is_single ? "d" : "q", is_single ? "short" : "char"),
      "#else\n", choice, "#endif\n");
}

// The operands without nan, unless both are nan.
std::string CPrelude::ExtremeOfNumbers(bool is_minimum, LoopValueType type,
                                       const std::string& bits) {
  const std::string vector = VectorType(type);
  const std::string choice = absl::Substitute(
      "  const $0 m = ($0)(a != a), k = ($0)(b != b);\n"
      "  return $1(($2)((m & ($0)b) | (~m & ($0)a)), ($2)((k & ($0)a) | (~k & ($0)b)));\n",
      bits, OperationFunction(is_minimum ? ScalarOp::kMin : ScalarOp::kMax, type, type), vector);
  if (SizeBytes(type.scalar) * type.lanes != 64) return choice;
  const bool is_single = type.scalar == ScalarType::kFloat32;
  return absl::StrCat(
      "#if defined(__AVX512DQ__)\n",
      absl::Substitute("  return __builtin_ia32_range$0512_mask(a, b, $1, a, "
                       "(unsigned $2)-1, 4);\n",
                       is_single ? "ps" : "pd", is_minimum ? 4 : 5, is_single ? "short" : "char"),
      "#else\n", choice, "#endif\n");
}

void CPrelude::DefineExtremeOnVectors(const std::string& name, ScalarOp op, LoopValueType type) {
  const std::string bits = VectorType(
      {SizeBytes(type.scalar) == 4 ? ScalarType::kInt32 : ScalarType::kInt64, type.lanes});
  const std::string body = IgnoresNan(op) ? ExtremeOfNumbers(IsMinimum(op), type, bits)
                                          : ExtremeOfVectors(IsMinimum(op), type, bits);
  DefineFunction(name,
                 absl::Substitute("$0 $1($0 a, $0 b) {\n$2}\n", VectorType(type), name, body));
}

}  // namespace mdh
