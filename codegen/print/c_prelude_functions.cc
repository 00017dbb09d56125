// exp and the like of vectors, for the prelude, where values may be rounded otherwise than by the
// functions of scalars.
#include <iterator>

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

// Of erf(k / 4 + t), 0 <= t < 1 / 4, by powers of t, for k from 0 on: the polynomials of fifth
// degree of the least relative error, 3.4e-8 at most.
constexpr int kErfLanes = 16;
constexpr float kErf[6][kErfLanes] = {
    {0.0f, 0.276326388f, 0.520499885f, 0.711155653f, 0.842700779f, 0.92290014f, 0.966105163f,
     0.986671686f, 0.995322287f, 0.998537302f, 0.999593019f, 0.999899387f, 0.999977887f,
     0.999995708f, 0.999999285f, 0.999999881f},
    {1.12837911f, 1.06001282f, 0.878781319f, 0.642930686f, 0.415107995f, 0.23652187f, 0.118930787f,
     0.0527751446f, 0.0206669271f, 0.00714221271f, 0.00217820611f, 0.000586237176f, 0.000139236989f,
     2.91837787e-05f, 5.39799748e-06f, 8.81103006e-07f},
    {7.00095279e-06f, -0.264936417f, -0.439328432f, -0.482179612f, -0.415130109f, -0.295686394f,
     -0.178419217f, -0.092363596f, -0.0413314104f, -0.0160652567f, -0.00544202002f, -0.00161035301f,
     -0.000416989409f, -9.46115324e-05f, -1.88287868e-05f, -3.28936108e-06f},
    {-0.376332313f, -0.31037122f, -0.147584304f, 0.0264369771f, 0.138741225f, 0.168136299f,
     0.139168099f, 0.0902909338f, 0.0481826849f, 0.021639891f, 0.00828605704f, 0.00272692973f,
     0.000775508001f, 0.00019131563f, 4.10576322e-05f, 7.68159134e-06f},
    {0.00202449108f, 0.13649343f, 0.192108244f, 0.153767258f, 0.0665017143f, -0.0108073298f,
     -0.0479207821f, -0.0492304713f, -0.0341760851f, -0.0184316374f, -0.00811637845f,
     -0.0029896528f, -0.000934041513f, -0.000249707315f, -5.74688675e-05f, -1.14354079e-05f},
    {0.105946779f, 0.046277646f, -0.0265821777f, -0.0665819943f, -0.0610668287f, -0.0306809936f,
     -0.00233679498f, 0.0113077629f, 0.0124371294f, 0.00836112816f, 0.00423911028f, 0.00172978675f,
     0.000585311616f, 0.000166983329f, 4.05844294e-05f, 8.46235343e-06f}};

}  // namespace

// exp in single precision, off by about one unit in the last place at most: libmvec's takes twice
// as long, and computes lane by lane what becomes subnormal or zero, as what attention leaves out
// does. With n = round(x / log(2)), exp(x) = 2^n * exp(r), r = x - n * log(2) at most log(2) / 2:
// 1 + r + r * r * q(r) with the polynomial q of fourth degree of the least relative error, 3.1e-9.
// Sums with 1.5 * 2^23 are rounded to integers, which are their lowest bits; the first part of
// log(2) has zeros where products with n have bits; and x is taken from a range behind whose ends
// the result is zero or infinite. 2^n may be no number, unlike both halves of it. One instruction
// scales by it, but takes a hundred cycles where the result is subnormal or rounded to zero: it
// leaves out lanes that become zero, so that these need no range either.
std::string CPrelude::ExponentialOfVectors(LoopValueType type) {
  const std::string vector = VectorType(type);
  const std::string bits = VectorType({ScalarType::kInt32, type.lanes});
  const std::string at_most =
      absl::Substitute("$1(($0){} + 89.0f, ", vector, ChoiceFunction(/*is_minimum=*/true, type));
  const std::string in_range =
      absl::Substitute("  const $0 x = $1$2(($0){} + -104.0f, a));\n", vector, at_most,
                       ChoiceFunction(/*is_minimum=*/false, type));
  const std::string powers = absl::Substitute(
      "  const $1 k = ($1)sum - 0x4b400000, half = k >> 1;\n"
      "  return p * ($0)((half + 127) << 23) * ($0)((k - half + 127) << 23);\n",
      vector, bits);
  const auto with_scale = [&](absl::string_view one, absl::string_view otherwise) {
    if (SizeBytes(type.scalar) * type.lanes != 64) return std::string(otherwise);
    return absl::StrCat("#if defined(__AVX512F__)\n", one, "#else\n", otherwise, "#endif\n");
  };
  const std::string counts = absl::Substitute(
      "  const unsigned short counts =\n"
      "    __builtin_ia32_cmpps512_mask(a, ($0){} + -103.972084f, 5, (unsigned short)-1, 4);\n"
      "  const $0 x = $1a);\n",
      vector, at_most);
  const std::string scaled = absl::Substitute(
      "  return __builtin_ia32_scalefps512_mask(p, n, ($0){}, counts, 4);\n", vector);
  return absl::Substitute(
      "$1"
      "  const $0 sum = x * 1.44269504f + 12582912.0f, n = sum - 12582912.0f;\n"
      "  const $0 r = x - n * 0.693145752f - n * 1.42860677e-06f;\n"
      "  const $0 q = (((0.00138145948f * r + 0.0083687168f) * r + 0.0416683881f) * r +\n"
      "    0.166665206f) * r + 0.499999934f;\n"
      "  const $0 p = (q * r + 1.0f) * r + 1.0f;\n$2",
      vector, with_scale(counts, in_range), with_scale(scaled, powers));
}

// erf of 16 lanes in single precision, off by less than three units in the last place, by
// polynomials whose coefficients one instruction finds for all lanes: libmvec's takes twice as
// long. `elsewhere`: the body without such instructions. Behind 4 results are 1, and of nan nan.
std::string CPrelude::ErrorFunctionOfVectors(LoopValueType type, const std::string& elsewhere) {
  const std::string vector = VectorType(type);
  const std::string bits = VectorType({ScalarType::kInt32, type.lanes});
  std::string rows, sum;
  for (int power = static_cast<int>(std::size(kErf)) - 1; power >= 0; --power) {
    const std::string element = absl::StrCat("mdh_erf_coefficients(n, ", power, ")");
    sum = sum.empty() ? element : absl::StrCat("(", sum, ") * t + ", element);
  }
  for (const auto& row : kErf) {
    std::string values;
    for (const float value : row) {
      absl::StrAppend(&values, values.empty() ? "" : ", ",
                      CLiteral(ScalarValue::Real(ScalarType::kFloat32, value), dialect_));
    }
    absl::StrAppend(&rows, rows.empty() ? "" : ",\n", "  {", values, "}");
  }
  const char* const feature = "#if defined(__AVX512F__)\n";
  Define(
      "mdh_erf_coefficients",
      absl::Substitute("$0static const float mdh_erf_values[][16] __attribute__((aligned(64))) = "
                       "{\n$1};\n$2 $3 mdh_erf_coefficients($4 n, int power) {\n  $3 r;\n"
                       "  __asm__(\"vpermps %1, %2, %0\" : \"=v\"(r) : "
                       "\"m\"(*(const $3*)mdh_erf_values[power]), \"v\"(n));\n  return r;\n}\n"
                       "#endif\n",
                       feature, rows, dialect_.function_qualifier, vector, bits));
  return absl::StrCat(
      feature,
      absl::Substitute("  const $0 x = $2(($0){} + 3.99999976f, ($0)(($1)a & INT32_MAX));\n"
                       "  const $1 n = __builtin_convertvector(x * 4.0f, $1);\n"
                       "  const $0 t = x - __builtin_convertvector(n, $0) * 0.25f;\n"
                       "  const $0 r = $3;\n"
                       "  return ($0)(($1)r | (($1)a & INT32_MIN));\n",
                       vector, bits, ChoiceFunction(/*is_minimum=*/true, type), sum),
      "#else\n", elsewhere, "#endif\n");
}

// Whether the prelude computes a function of vectors itself.
bool CPrelude::IsInPlace(ScalarOp op, LoopValueType type) const {
  if (!may_round_otherwise_ || type.scalar != ScalarType::kFloat32 || type.lanes == 1) return false;
  return op == ScalarOp::kExp || (op == ScalarOp::kErf && type.lanes == kErfLanes);
}

// Of every lane of a vector: where one function computes all of them it, else `one_by_one`.
std::string CPrelude::AllLanesAtOnce(ScalarOp op, LoopValueType type,
                                     const std::string& one_by_one) {
  if (!IsInPlace(op, type)) return CallOfLibrary(op, type, one_by_one);
  if (op == ScalarOp::kExp) return ExponentialOfVectors(type);
  return ErrorFunctionOfVectors(type, CallOfLibrary(op, type, one_by_one));
}

std::string CPrelude::OperationFunctionApart(ScalarOp op, LoopValueType type,
                                             LoopValueType operand) {
  const std::string in_place = OperationFunction(op, type, operand);
  if (!IsInPlace(op, type)) return in_place;
  const std::string name = absl::StrCat(in_place, "_apart"), vector = Spelled(type);
  Define(name, absl::Substitute("static __attribute__((noinline)) $0 $1($0 a) { return $2(a); }\n",
                                vector, name, in_place));
  return name;
}

// By the names of libmvec's functions, which compilers use only with -ffast-math. The linker finds
// them behind -lm.
std::string CPrelude::CallOfLibrary(ScalarOp op, LoopValueType type,
                                    const std::string& one_by_one) {
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
