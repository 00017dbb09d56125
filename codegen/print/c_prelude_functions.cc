// exp and the like of vectors, for the prelude, where values may be rounded otherwise than by the
// functions of scalars.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"

namespace mdh {
namespace {

// The function of glibc's libmvec for every lane at once, which differs from the scalar one by a
// few units in the last place. "" if it has none. `since`: glibc 2.`since` has it on x86.
struct VectorFunction {
  absl::string_view name;
  int since;
};
VectorFunction VectorFunctionFor(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp:
      return {"exp", 22};
    case ScalarOp::kLog:
      return {"log", 22};
    case ScalarOp::kSin:
      return {"sin", 22};
    case ScalarOp::kCos:
      return {"cos", 22};
    case ScalarOp::kPow:
      return {"pow", 22};
    case ScalarOp::kExp2:
      return {"exp2", 35};
    case ScalarOp::kExpm1:
      return {"expm1", 35};
    case ScalarOp::kLog2:
      return {"log2", 35};
    case ScalarOp::kLog1p:
      return {"log1p", 35};
    case ScalarOp::kTanh:
      return {"tanh", 35};
    case ScalarOp::kErf:
      return {"erf", 35};
    case ScalarOp::kCbrt:
      return {"cbrt", 35};
    case ScalarOp::kAtan2:
      return {"atan2", 35};
    default:
      return {"", 0};
  }
}

}  // namespace

// exp in single precision, off by about one unit in the last place at most: libmvec's takes twice
// as long, and computes lane by lane what becomes subnormal or zero, as what attention leaves out
// does. With n = round(x / log(2)), exp(x) = 2^n * exp(r), r = x - n * log(2) at most log(2) / 2:
// 1 + r + r * r * q(r) with the polynomial q of fourth degree of the least relative error, 3.1e-9.
// Sums with 1.5 * 2^23 are rounded to integers, which are their lowest bits; the first part of
// log(2) has zeros where products with n have bits; and x is taken from a range behind whose ends
// the result is zero or infinite. 2^n may be no number, unlike both halves of it.
std::string CPrelude::ExponentialOfVectors(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string bits = VectorType({ScalarType::kInt32, type.lanes});
  const std::string in_range = absl::Substitute(
      "$1($0{} + 89.0f, $2($0{} + -104.0f, a))", absl::StrCat("(", vector, ")"),
      ChoiceFunction(/*is_minimum=*/true, type), ChoiceFunction(/*is_minimum=*/false, type));
  const std::string powers = absl::Substitute(
      "  const $1 k = ($1)sum - 0x4b400000, half = k >> 1;\n"
      "  return p * ($0)((half + 127) << 23) * ($0)((k - half + 127) << 23);\n",
      vector, bits);
  const std::string scaled =
      SizeBytes(type.scalar) * type.lanes != 64
          ? powers
          : absl::StrCat(
                "#if defined(__AVX512F__)\n  return __builtin_ia32_scalefps512_mask(p, n, "
                "p, (unsigned short)-1, 4);\n#else\n",
                powers, "#endif\n");
  return absl::Substitute(
      "  const $0 x = $1;\n"
      "  const $0 sum = x * 1.44269504f + 12582912.0f, n = sum - 12582912.0f;\n"
      "  const $0 r = x - n * 0.693145752f - n * 1.42860677e-06f;\n"
      "  const $0 q = (((0.00138145948f * r + 0.0083687168f) * r + 0.0416683881f) * r +\n"
      "    0.166665206f) * r + 0.499999934f;\n"
      "  const $0 p = (q * r + 1.0f) * r + 1.0f;\n$2",
      vector, in_range, scaled);
}

// Of every lane of a vector: where one function computes all of them it, else `one_by_one`. By the
// names of libmvec's, which compilers use only with -ffast-math. The linker finds them behind -lm.
std::string CPrelude::AllLanesAtOnce(ScalarOp op, LoopValueType type,
                                     const std::string& one_by_one) {
  if (may_round_otherwise_ && op == ScalarOp::kExp && type.scalar == ScalarType::kFloat32) {
    return ExponentialOfVectors(type);
  }
  const VectorFunction function = VectorFunctionFor(op);
  const int bytes = SizeBytes(type.scalar) * type.lanes;
  const bool is_known = bytes == 16 || bytes == 32 || bytes == 64;
  if (!may_round_otherwise_ || function.name.empty() || !IsFloatingPoint(type.scalar) ||
      !is_known) {
    return one_by_one;
  }
  const absl::string_view isa = bytes == 64 ? "e" : bytes == 32 ? "d" : "b";
  const absl::string_view feature = bytes == 64   ? "__AVX512F__"
                                    : bytes == 32 ? "__AVX2__"
                                                  : "__SSE4_1__";
  const bool has_two = Info(op).operands == 2;
  const std::string name =
      absl::StrCat("_ZGV", isa, "N", type.lanes, has_two ? "vv_" : "v_", function.name,
                   type.scalar == ScalarType::kFloat32 ? "f" : "");
  const std::string vector = VectorType(type);
  return absl::Substitute(
      "#if defined(__x86_64__) && defined($0) && __GLIBC__ == 2 && __GLIBC_MINOR__ >= $1\n"
      "  extern $2 $3($2$4);\n  return $3($5);\n#else\n$6#endif\n",
      feature, function.since, vector, name, has_two ? absl::StrCat(", ", vector) : "",
      has_two ? "a, b" : "a", one_by_one);
}

}  // namespace mdh
