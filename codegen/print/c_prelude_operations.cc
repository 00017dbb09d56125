// Scalar operations in the prelude. What they mean on every target is said in
// core/scalar/scalar_function.h.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

ScalarType MaskType(ScalarType type) {  // of the lanes of a vector comparison
  switch (SizeBytes(type)) {
    case 1:
      return ScalarType::kInt8;
    case 2:
      return ScalarType::kInt16;
    case 4:
      return ScalarType::kInt32;
    default:
      return ScalarType::kInt64;
  }
}

std::string MathFunction(ScalarOp op, ScalarType type, const CDialect& dialect) {
  const absl::string_view suffix = type == ScalarType::kFloat32 ? dialect.float_suffix : "";
  const std::string name(Info(op).name);
  if (op == ScalarOp::kAbs) return absl::StrCat("fabs", suffix);
  if (op == ScalarOp::kRound) return absl::StrCat(dialect.round_function, suffix);
  if (op == ScalarOp::kRem) return absl::StrCat("fmod", suffix);
  return absl::StrCat(name, suffix);
}

ScalarType Unsigned(ScalarType type) {
  switch (SizeBytes(type)) {
    case 1:
      return ScalarType::kUint8;
    case 2:
      return ScalarType::kUint16;
    case 4:
      return ScalarType::kUint32;
    default:
      return ScalarType::kUint64;
  }
}

// Integers in arithmetic of unsigned ones, which wraps, where that of the type itself may overflow.
// $0 the type, $1 the unsigned one.
absl::string_view WrappingBody(ScalarOp op, ScalarType type) {
  switch (op) {
    case ScalarOp::kAdd:
      return "return ($0)(($1)a + ($1)b);";
    case ScalarOp::kSub:
      return "return ($0)(($1)a - ($1)b);";
    case ScalarOp::kMul:
      return "return ($0)(($1)a * ($1)b);";
    case ScalarOp::kNeg:
      return "return ($0)(0 - ($1)a);";
    case ScalarOp::kAbs:
      return IsSigned(type) ? "return ($0)(a < 0 ? 0 - ($1)a : ($1)a);" : "return a;";
    case ScalarOp::kDiv:
      return IsSigned(type) ? "return b == 0 ? 0 : b == -1 ? ($0)(0 - ($1)a) : ($0)(a / b);"
                            : "return b == 0 ? 0 : ($0)(a / b);";
    default:
      return "";
  }
}

// The same where arithmetic of signed integers wraps.
absl::string_view IntegerBody(ScalarOp op, ScalarType type) {
  switch (op) {
    case ScalarOp::kAbs:
      return IsSigned(type) ? "return ($0)(a < 0 ? -a : a);" : "return a;";
    case ScalarOp::kDiv:
      return IsSigned(type) ? "return b == 0 ? 0 : b == -1 ? ($0)-a : ($0)(a / b);"
                            : "return b == 0 ? 0 : ($0)(a / b);";
    default:
      return "";
  }
}

// Declares x, the bits of a, an fp32 of which the assembler does not see where it comes from.
std::string HiddenBits(const CDialect& dialect) {
  return absl::Substitute("  unsigned int x = $0(a);\n  $1\n", dialect.float_bits,
                          absl::Substitute(dialect.hide_origin, "x"));
}

// Of fp32, where comparisons are functions: CPrinter::AsTestForNan.
std::string HiddenComparison(ScalarOp op, const CDialect& dialect) {
  return absl::Substitute("$0  return $1(x) $2 b;\n", HiddenBits(dialect), dialect.bits_float,
                          Info(op).name);
}

// Truncates and saturates; nan becomes 0.
std::string FloatToInteger(ScalarType type, ScalarType operand, const CDialect& dialect) {
  const int bits = SizeBytes(type) * 8;
  const bool is_signed = IsSigned(type);
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (dialect.signed_wraps) {
    const std::string low = is_signed ? absl::StrFormat("INT%d_MIN", bits) : std::string("0");
    return absl::StrFormat("return a != a ? 0 : a <= %.1f ? %s : a >= %.1f ? %sINT%d_MAX : (%s)a;",
                           is_signed ? -above : 0.0, low, above, is_signed ? "" : "U", bits,
                           CType(type, dialect));
  }
  // All powers of two, so exact in fp32 too, which must not become fp64 here.
  const int64_t lowest = is_signed ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  const int64_t largest = is_signed ? ~lowest : static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
  const char* suffix = operand == ScalarType::kFloat32 ? "f" : "";
  const bool is_hidden = operand == ScalarType::kFloat32 && !dialect.hide_origin.empty();
  const std::string hidden =
      is_hidden ? absl::StrCat(HiddenBits(dialect), "  a = ", dialect.bits_float, "(x);\n  ") : "";
  return absl::StrFormat("%sreturn a != a ? 0 : a <= %.1f%s ? %s : a >= %.1f%s ? %s : (%s)a;%s",
                         hidden, is_signed ? -above : 0.0, suffix,
                         CLiteral(ScalarValue::Integer(type, lowest), dialect), above, suffix,
                         CLiteral(ScalarValue::Integer(type, largest), dialect),
                         CType(type, dialect), is_hidden ? "\n" : "");
}

// The same of signed integers of fewer bits, in an int. NVVM of CUDA 13.0 divides bytes that it has
// loaded as part of a word by powers of two without extending their signs.
std::string NarrowDivision(ScalarOp op, absl::string_view c, absl::string_view keep_wide) {
  const char* const body = op == ScalarOp::kDiv
                               ? "b == 0 ? 0 : b == -1 ? ($0)-wide : ($0)(wide / b);"
                               : "b == 0 || b == -1 ? 0 : ($0)(wide % b);";
  return absl::StrCat("int wide = a;\n  ", absl::Substitute(keep_wide, "wide"), "\n  return ",
                      absl::Substitute(body, c));
}

// The smaller or larger one of integers of at most 32 bits, as int. ptxas 13.0 packs comparisons of
// 16-bit integers in pairs, and mixes them up; and of several negated integers it finds a wrong
// one.
std::string IntMinMax(ScalarOp op, absl::string_view c, absl::string_view hide_origin) {
  const char* const function = op == ScalarOp::kMin ? "min" : "max";
  if (hide_origin.empty()) return absl::Substitute("return ($0)$1((int)a, (int)b);", c, function);
  return absl::Substitute("int x = a, y = b;\n  $0\n  $1\n  return ($2)$3(x, y);",
                          absl::Substitute(hide_origin, "x"), absl::Substitute(hide_origin, "y"), c,
                          function);
}

// Integers of which ptxas 13.0 may find another minimum or maximum than that which is computed.
bool HidesExtremes(ScalarType type, const CDialect& dialect) {
  return IsInteger(type) && !dialect.hide_origin.empty() &&
         (SizeBytes(type) < 4 || type == ScalarType::kInt32);
}

// Body of the scalar function for `op`.
std::string ScalarBody(ScalarOp op, ScalarType type, ScalarType operand, const CDialect& dialect) {
  const std::string c = CType(type, dialect);
  if (op >= ScalarOp::kEq && op <= ScalarOp::kGe) return HiddenComparison(op, dialect);
  if (IsInteger(type) && IsSigned(type) && SizeBytes(type) < 4 && !dialect.keep_wide.empty() &&
      (op == ScalarOp::kDiv || op == ScalarOp::kRem)) {
    return NarrowDivision(op, c, dialect.keep_wide);
  }
  if (IsInteger(type) && op != ScalarOp::kCast) {
    // Narrower integers are computed as int, from which their results are converted.
    const bool wraps = dialect.signed_wraps || (SizeBytes(type) < 4 && op != ScalarOp::kMul);
    const ScalarType wide = SizeBytes(type) < 4 ? ScalarType::kUint32 : Unsigned(type);
    const absl::string_view body = wraps ? IntegerBody(op, type) : WrappingBody(op, type);
    if (!body.empty()) return absl::Substitute(body, c, CType(wide, dialect));
  }
  switch (op) {
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      if (dialect.has_blocks() && (SizeBytes(type) < 4 || HidesExtremes(type, dialect))) {
        return IntMinMax(op, c, dialect.hide_origin);
      }
      return op == ScalarOp::kMin ? "return a < b ? a : b;" : "return a > b ? a : b;";
    case ScalarOp::kSelect:
      // What is selected by comparing it is a minimum or a maximum, too, as compilers see it.
      if (!HidesExtremes(type, dialect)) return "return m ? a : b;";
      return absl::Substitute("int x = a;\n  $0\n  return m ? ($1)x : b;",
                              absl::Substitute(dialect.hide_origin, "x"), c);
    case ScalarOp::kRsqrt:
      return absl::StrCat("return 1 / ", MathFunction(ScalarOp::kSqrt, type, dialect), "(a);");
    case ScalarOp::kRem:
      if (IsFloatingPoint(type)) break;
      return absl::StrCat("return b == 0", IsSigned(type) ? " || b == -1" : "", " ? 0 : (", c,
                          ")(a % b);");
    case ScalarOp::kCast:
      if (type == ScalarType::kBool) return "return a != 0;";
      if (!IsFloatingPoint(operand) || IsFloatingPoint(type)) {
        return absl::StrCat("return (", c, ")a;");
      }
      return FloatToInteger(type, operand, dialect);
    default:
      break;
  }
  return absl::StrCat("return ", MathFunction(op, type, dialect),
                      Info(op).operands == 2 ? "(a, b);" : "(a);");
}

std::string Parameters(ScalarOp op, const std::string& type, const std::string& mask) {
  if (op == ScalarOp::kSelect) return absl::StrCat(mask, " m, ", type, " a, ", type, " b");
  if (Info(op).operands == 2) return absl::StrCat(type, " a, ", type, " b");
  return absl::StrCat(type, " a");
}

// What the function for `op` is called, without its operand.
std::string Stem(ScalarOp op, ScalarType type) {
  switch (op) {
    case ScalarOp::kCast:
      return absl::StrCat("to_", ShortName(type));
    case ScalarOp::kSelect:
      return "select";
    case ScalarOp::kNeg:
      return "neg";
    case ScalarOp::kAdd:
      return "add";
    case ScalarOp::kSub:
      return "sub";
    case ScalarOp::kMul:
      return "mul";
    case ScalarOp::kDiv:
      return "div";
    case ScalarOp::kRem:
      return "rem";
    case ScalarOp::kEq:
      return "eq";
    case ScalarOp::kNe:
      return "ne";
    case ScalarOp::kLt:
      return "lt";
    case ScalarOp::kLe:
      return "le";
    case ScalarOp::kGt:
      return "gt";
    case ScalarOp::kGe:
      return "ge";
    default:
      return std::string(Info(op).name);
  }
}

bool IsComparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

// In the names of x86's instructions on integers of that size.
const char* LetterOf(int bytes) {
  return bytes == 1 ? "b" : bytes == 2 ? "w" : bytes == 4 ? "d" : "q";
}

// Of vectors of 64 bytes gcc makes a comparison and a choice by its mask.
std::string IntegerExtreme(ScalarOp op, LoopValueType type, const std::string& vector,
                           const std::string& choice) {
  const int element = SizeBytes(type.scalar);
  if (element * type.lanes != 64) return choice;
  return absl::Substitute(
      "#if defined($0) && !defined(__clang__)\n  $1 r;\n"
      "  __asm__(\"vp$2$3$4 %2, %1, %0\" : \"=v\"(r) : \"v\"(a), \"vm\"(b));\n"
      "  return r;\n#else\n$5#endif\n",
      element <= 2 ? "__AVX512BW__" : "__AVX512F__", vector, op == ScalarOp::kMin ? "min" : "max",
      IsSigned(type.scalar) ? "s" : "u", LetterOf(element), choice);
}

// Whether it is one of CPrelude::ExtremeBody.
bool IsExtreme(ScalarOp op, ScalarType type) {
  return IsFloatingPoint(type) && (op == ScalarOp::kMin || op == ScalarOp::kMax ||
                                   op == ScalarOp::kFmin || op == ScalarOp::kFmax);
}

}  // namespace

bool CPrelude::CanSelectBy(ScalarOp comparison, LoopValueType compared, LoopValueType selected) {
  return IsComparison(comparison) && selected.lanes > 1 && !IsStorageOnly(compared.scalar) &&
         !IsStorageOnly(selected.scalar);
}

std::string CPrelude::SelectByFunction(ScalarOp comparison, LoopValueType compared,
                                       LoopValueType selected) {
  const std::string lanes = absl::StrCat("x", selected.lanes);
  const std::string name =
      absl::StrCat("mdh_select_", Stem(comparison, compared.scalar), "_",
                   ShortName(compared.scalar), lanes, "_", ShortName(selected.scalar), lanes);
  const std::string mask = VectorType({MaskType(selected.scalar), selected.lanes});
  DefineFunction(name, absl::Substitute("$0 $1($2 a, $2 b, $0 x, $0 y) {\n"
                                        "  const $3 k = __builtin_convertvector(a $4 b, $3);\n"
                                        "  return ($0)((k & ($3)x) | (~k & ($3)y));\n}\n",
                                        Spelled(selected), name, Spelled(compared), mask,
                                        Info(comparison).name));
  return name;
}

bool CPrelude::CanSelectByLanes(LoopValueType selected) {
  return SizeBytes(selected.scalar) == 4 && selected.lanes >= 4;
}

std::string CPrelude::SelectByLanesFunction(ScalarOp comparison, LoopValueType selected) {
  const int half = selected.lanes / 2;
  const auto numbers = [](int begin, int end) {
    std::string text;
    for (int l = begin; l < end; ++l) absl::StrAppend(&text, l == begin ? "" : ", ", l);
    return text;
  };
  const auto elements = [&](absl::string_view vector) {
    std::string text;
    for (int l = 0; l < half; ++l) absl::StrAppend(&text, l == 0 ? "" : ", ", vector, "[", l, "]");
    return text;
  };
  const std::string vector = Spelled(selected);
  const std::string name = absl::StrCat("mdh_select_", Stem(comparison, ScalarType::kInt64),
                                        "_lanes_", ShortName(selected.scalar), "x", selected.lanes);
  const std::string mask = VectorType({ScalarType::kInt32, selected.lanes});
  const std::string of_half = VectorType({ScalarType::kInt32, half});
  const auto compared = [&](absl::string_view lanes) {
    return absl::Substitute("__builtin_convertvector($0 * a_step + a $1 $0 * b_step + b, $2)",
                            lanes, Info(comparison).name, of_half);
  };
  DefineFunction(
      name,
      absl::StrCat(
          absl::Substitute(
              "$0 $1(int64_t a, int64_t a_step, int64_t b, int64_t b_step, $0 x, $0 y) "
              "{\n  const $2 lower = {$3}, upper = {$4};\n",
              vector, name, VectorType({ScalarType::kInt64, half}), numbers(0, half),
              numbers(half, selected.lanes)),
          absl::Substitute("  const $0 first = $1;\n  const $0 second = $2;\n", of_half,
                           compared("lower"), compared("upper")),
          absl::Substitute("#if defined(__clang__) || __GNUC__ >= 12\n"
                           "  const $0 k = __builtin_shufflevector(first, second, $1);\n#else\n"
                           "  const $0 k = {$2, $3};\n#endif\n"
                           "  return ($4)((k & ($0)x) | (~k & ($0)y));\n}\n",
                           mask, numbers(0, selected.lanes), elements("first"), elements("second"),
                           vector)));
  return name;
}

std::string CPrelude::OperationFunction(ScalarOp op, LoopValueType type, LoopValueType operand) {
  const std::string operand_type = Spelled(operand), result_type = Spelled(type);
  const std::string name =
      absl::StrCat("mdh_", Stem(op, type.scalar), "_", ShortName(operand.scalar),
                   operand.lanes > 1 ? absl::StrCat("x", operand.lanes) : std::string());
  if (defined_.contains(name)) return name;
  if (IsStorageOnly(type.scalar) || IsStorageOnly(operand.scalar)) {
    DefineStorageConversion(name, type, operand);
    return name;
  }
  if (type.lanes == 1) {
    const std::string body = IsExtreme(op, type.scalar)
                                 ? ExtremeBody(op, type.scalar)
                                 : ScalarBody(op, type.scalar, operand.scalar, dialect_);
    DefineFunction(
        name,
        absl::Substitute(
            body.find('\n') == std::string::npos ? "$0 $1($2) { $3 }\n" : "$0 $1($2) {\n$3}\n",
            result_type, name, Parameters(op, operand_type, CType(ScalarType::kBool, dialect_)),
            body));
    return name;
  }
  DefineOperationOnVectors(name, op, type, operand);
  return name;
}

// Returns `a` converted. gcc takes integers that become longer apart, lane by lane where they
// become more than twice as long; there is an instruction for each pair of lengths.
std::string CPrelude::ConvertedVector(LoopValueType type, LoopValueType operand) {
  const int from = SizeBytes(operand.scalar), to = SizeBytes(type.scalar);
  const std::string result = VectorType(type);
  if (IsFloatingPoint(operand.scalar) || from >= to) {
    return absl::Substitute("  return __builtin_convertvector(a, $0);\n", result);
  }
  if (IsFloatingPoint(type.scalar)) {
    const LoopValueType words{ScalarType::kInt32, type.lanes};
    if (from >= SizeBytes(words.scalar)) {
      return absl::Substitute("  return __builtin_convertvector(a, $0);\n", result);
    }
    return absl::Substitute("  return __builtin_convertvector($0(a), $1);\n",
                            OperationFunction(ScalarOp::kCast, words, operand), result);
  }
  std::string steps = "a";
  for (int bytes = 2 * from; bytes < to; bytes *= 2) {
    const ScalarType between = bytes == 2 ? ScalarType::kUint16 : ScalarType::kUint32;
    const ScalarType signed_one = bytes == 2 ? ScalarType::kInt16 : ScalarType::kInt32;
    steps =
        absl::Substitute("__builtin_convertvector($0, $1)", steps,
                         VectorType({IsSigned(operand.scalar) ? signed_one : between, type.lanes}));
  }
  const std::string portable =
      absl::Substitute("  return __builtin_convertvector($0, $1);\n", steps, result);
  const int bytes = to * type.lanes;
  if (bytes < 16 || bytes > 64 || from * type.lanes < 8) return portable;
  const std::string feature = bytes == 16            ? "__AVX__"
                              : bytes == 32          ? "__AVX2__"
                              : from == 1 && to == 2 ? "__AVX512BW__"
                                                     : "__AVX512F__";
  return absl::Substitute(
      "#if defined($0) && !defined(__clang__)\n  $1 r;\n"
      "  __asm__(\"vpmov$2x$3$4 %1, %0\" : \"=v\"(r) : \"vm\"(a));\n"
      "  return r;\n#else\n$5#endif\n",
      feature, result, IsSigned(operand.scalar) ? "s" : "z", LetterOf(from), LetterOf(to),
      portable);
}

void CPrelude::DefineOperationOnVectors(const std::string& name, ScalarOp op, LoopValueType type,
                                        LoopValueType operand) {
  const std::string operand_type = Spelled(operand), result_type = Spelled(type);
  const std::string bools = VectorType({ScalarType::kBool, type.lanes});
  const std::string head =
      absl::Substitute("$0 $1($2) {\n", result_type, name, Parameters(op, operand_type, bools));
  auto mask_of = [&](ScalarType scalar) { return VectorType({MaskType(scalar), type.lanes}); };
  if (IsComparison(op)) {
    const std::string bytes = VectorType({ScalarType::kInt8, type.lanes});
    DefineFunction(
        name, absl::Substitute("$0  return ($1)(__builtin_convertvector(a $2 b, $3) & 1);\n}\n",
                               head, bools, Info(op).name, bytes));
  } else if (IsExtreme(op, type.scalar)) {
    DefineExtremeOnVectors(name, op, type);
  } else if (op == ScalarOp::kMin || op == ScalarOp::kMax) {
    const std::string mask = mask_of(type.scalar);
    const std::string choice = absl::Substitute(
        "  const $0 m = ($0)(a $1 b);\n  return ($2)((m & ($0)a) | (~m & ($0)b));\n", mask,
        op == ScalarOp::kMin ? "<" : ">", result_type);
    DefineFunction(name, absl::StrCat(head, IntegerExtreme(op, type, result_type, choice), "}\n"));
  } else if (op == ScalarOp::kSelect) {
    // gcc would take lanes of bytes apart that it has to widen before they are negated.
    const std::string mask = mask_of(type.scalar);
    DefineFunction(name, absl::Substitute("$0  const $1 k = __builtin_convertvector(-($3)m, $1);\n"
                                          "  return ($2)((k & ($1)a) | (~k & ($1)b));\n}\n",
                                          head, mask, result_type,
                                          VectorType({ScalarType::kInt8, type.lanes})));
  } else if (op == ScalarOp::kCast && type.scalar != ScalarType::kBool &&
             (!IsFloatingPoint(operand.scalar) || IsFloatingPoint(type.scalar))) {
    DefineFunction(name, absl::StrCat(head, ConvertedVector(type, operand), "}\n"));
  } else {
    const std::string scalar = OperationFunction(op, {type.scalar, 1}, {operand.scalar, 1});
    const std::string arguments = Info(op).operands == 2 ? "a[l], b[l]" : "a[l]";
    const std::string one_by_one =
        absl::Substitute("  $0 r;\n  for (int l = 0; l < $1; ++l) r[l] = $2($3);\n  return r;\n",
                         result_type, type.lanes, scalar, arguments);
    DefineFunction(name, absl::StrCat(head, AllLanesAtOnce(op, type, one_by_one), "}\n"));
  }
}

}  // namespace mdh
