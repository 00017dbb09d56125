// Conversions between fp32 and the bits of types that exist in memory only.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"

namespace mdh {
namespace {

// x86's conversion of fp16, where the processor has it; the text ends where it has not.
std::string HalfInstruction(bool widens, int lanes, const std::string& floats,
                            const std::string& half) {
  const std::string result = widens ? floats : half, feature = "defined(__F16C__)";
  const std::string vector =
      lanes > 1 ? absl::Substitute(" __attribute__((vector_size($0)))", 2 * lanes) : "";
  const auto convert = [&](const char* value, const char* type) {
    return lanes > 1 ? absl::Substitute("__builtin_convertvector($0, $1)", value, type)
                     : absl::Substitute("($1)$0", value, type);
  };
  const std::string clang =
      widens ? absl::Substitute("  memcpy(&h, &a, sizeof h);\n  return $0;\n",
                                convert("h", floats.c_str()))
             : absl::Substitute("  h = $0;\n  $1 r;\n  memcpy(&r, &h, sizeof r);\n  return r;\n",
                                convert("a", "real_half"), half);
  const std::string text = absl::Substitute(
      "#if $0 && defined(__clang__)\n  typedef __fp16 real_half$1;\n  real_half h;\n$2", feature,
      vector, clang);
  std::string gcc;
  if (lanes == 1) {
    gcc = widens ? "  float r;\n"
                   "  __asm__(\"vmovd %1, %0\\n\\tvcvtph2ps %0, %0\" : \"=x\"(r) : "
                   "\"r\"((uint32_t)a));\n"
                   "  return r;\n"
                 : "  float f;\n  uint16_t r;\n"
                   "  __asm__(\"vcvtps2ph $0, %1, %0\" : \"=x\"(f) : \"x\"(a));\n"
                   "  memcpy(&r, &f, sizeof r);\n  return r;\n";
  } else if (lanes == 4 || lanes == 8 || lanes == 16) {
    gcc = absl::Substitute("  $0 r;\n  __asm__(\"$1\" : \"=v\"(r) : \"$2\"(a));\n  return r;\n",
                           result, widens ? "vcvtph2ps %1, %0" : "vcvtps2ph $0, %1, %0",
                           widens ? "vm" : "v");
  }
  if (gcc.empty()) return absl::StrCat(text, "#else\n");
  return absl::StrCat(text, "#elif ", lanes == 16 ? "defined(__AVX512F__)" : feature, "\n", gcc,
                      "#else\n");
}

std::string Hex(uint64_t number) { return absl::StrFormat("0x%x", number); }

// The constants of rounding the bits of an fp32, without its sign, to those of a narrower format,
// as core/scalar/scalar_value.cc does it.
struct Rounding {
  explicit Rounding(ScalarType type)
      : format(Info(type).format),
        dropped(23 - format.fraction_bits),
        sign_shift(31 - format.exponent_bits - format.fraction_bits),
        rebias(static_cast<uint32_t>(127 - ExponentBias(format)) << 23),
        // The addition of a number whose last bit is the last that is kept rounds.
        subnormal_unit(std::bit_cast<float>(rebias + (static_cast<uint32_t>(dropped + 1) << 23))),
        smallest_normal(Bits(SmallestNormal(type))) {
    int exponent = 0;
    const double largest = LargestFinite(type);
    std::frexp(largest, &exponent);
    first_too_large = Bits(largest + std::ldexp(Epsilon(type), exponent - 2));
    behind_largest = Bits(largest + std::ldexp(Epsilon(type), exponent - 1));
  }
  static uint32_t Bits(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

  std::string sign() const { return Hex(uint64_t{1} << (31 - sign_shift)); }
  std::string small_unit() const {
    return CLiteral(ScalarValue::Real(ScalarType::kFloat32, subnormal_unit));
  }
  // An infinity stays one where what is too large does not become one.
  bool keeps_infinity() const { return format.has_infinities && format.saturates; }

  FloatFormat format;
  int dropped;  // bits of the fraction
  int sign_shift;
  uint32_t rebias;
  float subnormal_unit;
  uint32_t smallest_normal, first_too_large, behind_largest;
};

// Vectors of the 8-bit types are widened by way of fp16, for which all targets have an instruction:
// its bits, for those called `bits`, have the value but for a power of two. The nan of a type
// without infinities becomes the number behind the largest one.
std::string BitsOfHalf(const FloatFormat& format, const std::string& bits) {
  const int places = format.exponent_bits + format.fraction_bits;
  return absl::Substitute("($0 & $1) << $2 | ($0 & $3) << $4", bits, Hex(uint64_t{1} << places),
                          15 - places, Hex((uint64_t{1} << places) - 1),
                          Info(ScalarType::kFloat16).format.fraction_bits - format.fraction_bits);
}
std::string ScaleOfHalf(const FloatFormat& format) {  // " * 256.0f"
  const int exponent = ExponentBias(Info(ScalarType::kFloat16).format) - ExponentBias(format);
  if (exponent == 0) return "";
  const ScalarValue scale = ScalarValue::Real(ScalarType::kFloat32, std::ldexp(1.0, exponent));
  return absl::StrCat(" * ", CLiteral(scale));
}

// Body of the function of one fp32 where there are no vectors of C's.
std::string NarrowingBody(const Rounding& rounding, const CDialect& dialect) {
  const FloatFormat& format = rounding.format;
  return absl::StrCat(
      absl::Substitute("  const $0 b = $1(a), m = b & 0x7fffffff;\n"
                       "  const $0 small = $1($2(m) + $3) - $4;\n",
                       CType(ScalarType::kUint32, dialect), dialect.float_bits, dialect.bits_float,
                       rounding.small_unit(), Hex(Rounding::Bits(rounding.subnormal_unit))),
      absl::Substitute("  const $0 normal = (m - $1 + $2 + (m >> $3 & 1)) >> $3;\n",
                       CType(ScalarType::kUint32, dialect), Hex(rounding.rebias),
                       Hex((uint64_t{1} << (rounding.dropped - 1)) - 1), rounding.dropped),
      absl::Substitute("  const $0 finite = m < $1 ? small : m < $2 ? normal : $3;\n",
                       CType(ScalarType::kUint32, dialect), Hex(rounding.smallest_normal),
                       Hex(rounding.first_too_large), Hex(OverflowPattern(format))),
      absl::Substitute(
          "  return (b >> $0 & $1) | (m > 0x7f800000 ? $2 : $3finite);\n", rounding.sign_shift,
          rounding.sign(), Hex(NanPattern(format)),
          rounding.keeps_infinity()
              ? absl::StrCat("m == 0x7f800000 ? ", Hex(LargestExponentPattern(format)), " : ")
              : ""));
}

// Of a type of one byte, by their bits, as fp32.
std::vector<ScalarValue> AllValues(ScalarType type) {
  std::vector<ScalarValue> values;
  for (int bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    values.push_back(
        ScalarValue::Real(ScalarType::kFloat32, ScalarValue::Load(type, &byte).as_double()));
  }
  return values;
}

// Names in the functions for any number of lanes.
struct LaneNames {
  int lanes;
  std::string words, floats, stored;  // types: int32, fp32, and the one that is stored only
  std::string bits, real;             // functions: floats to words, and back
  // mask(m) & a: for masks of all bits or none; C's comparisons of scalars give 0 or 1.
  std::string mask;

  std::string Converted(const std::string& value, const std::string& to) const {
    return lanes > 1 ? absl::StrCat("__builtin_convertvector(", value, ", ", to, ")")
                     : absl::StrCat("(", to, ")(", value, ")");
  }
};

std::string NarrowingToBfloatOfVectors(const LaneNames& names) {
  return absl::Substitute(
      "  const $0 b = $1(a), m = b & 0x7fffffff, odd = (b >> 16) & 1;\n"
      "  const $0 k = $2(m > 0x7f800000);\n"
      "  const $0 r = (k & (b >> 16 | 0x40)) | (~k & ((b + 0x7fff + odd) >> 16));\n"
      "  return $3;\n",
      names.words, names.bits, names.mask, names.Converted("r & 0xffff", names.stored));
}

std::string NarrowingOfVectors(const Rounding& rounding, const LaneNames& names) {
  const FloatFormat& format = rounding.format;
  return absl::StrCat(
      absl::Substitute("  const $0 b = $1(a), sign = (b >> $2) & $3, m = b & 0x7fffffff;\n"
                       "  const $0 small = $1($4(m) + $5) - $6;\n",
                       names.words, names.bits, rounding.sign_shift, rounding.sign(), names.real,
                       rounding.small_unit(), Hex(Rounding::Bits(rounding.subnormal_unit))),
      absl::Substitute("  const $0 normal = (m - $1 + $2 + ((m >> $3) & 1)) >> $3;\n", names.words,
                       Hex(rounding.rebias), Hex((uint64_t{1} << (rounding.dropped - 1)) - 1),
                       rounding.dropped),
      absl::Substitute("  const $0 is_nan = $1(m > 0x7f800000), is_large = $1(m >= $2);\n"
                       "  const $0 is_small = $1(m < $3);\n"
                       "  $0 r = (is_small & small) | (~is_small & normal);\n"
                       "  r = (is_large & $4) | (~is_large & r);\n",
                       names.words, names.mask, Hex(rounding.first_too_large),
                       Hex(rounding.smallest_normal), Hex(OverflowPattern(format))),
      rounding.keeps_infinity()
          ? absl::Substitute("  const $0 is_infinite = $1(m == 0x7f800000);\n"
                             "  r = (is_infinite & $2) | (~is_infinite & r);\n",
                             names.words, names.mask, Hex(LargestExponentPattern(format)))
          : "",
      absl::Substitute("  r = (is_nan & $0) | (~is_nan & r);\n"
                       "  return $1;\n",
                       Hex(NanPattern(format)), names.Converted("sign | r", names.stored)));
}

// `widened`: the operand's bits as words.
std::string WideningOfHalves(const std::string& widened, const LaneNames& names) {
  return absl::Substitute(
      "  const $0 h = $1, sign = (h & 0x8000) << 16, m = h & 0x7fff;\n"
      "  const $0 finite = $2($3(m << 13) * 0x1p112f), special = 0x7f800000 | (m & 0x3ff) << "
      "13;\n"
      "  const $0 k = $4(m >= 0x7c00);\n"
      "  return $3(sign | (k & special) | (~k & finite));\n",
      names.words, widened, names.bits, names.real, names.mask);
}

// `shorts`: the operand's bits as uint16, of type `type`; `of_half`: the function that widens fp16.
std::string WideningByWayOfHalf(const Rounding& rounding, const std::string& type,
                                const std::string& shorts, const std::string& of_half,
                                const LaneNames& names) {
  const FloatFormat& format = rounding.format;
  const std::string value =
      absl::Substitute("  const $0 b = $1, h = $2;\n  const $3 r = $4(h)$5;\n", type, shorts,
                       BitsOfHalf(format, "b"), names.floats, of_half, ScaleOfHalf(format));
  if (format.has_infinities) return absl::StrCat(value, "  return r;\n");
  return absl::StrCat(
      value, absl::Substitute("  const $0 w = $1(r), k = $2((w & 0x7fffffff) == $3);\n"
                              "  return $4(w | (k & 0x7fc00000));\n",
                              names.words, names.bits, names.mask, Hex(rounding.behind_largest),
                              names.real));
}

}  // namespace

void CPrelude::DefineStorageConversion(const std::string& name, LoopValueType type,
                                       LoopValueType operand) {
  if (dialect_.computes_with_vectors) return DefineStorageConversionOfVectors(name, type, operand);
  std::string body;
  if (operand.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.widen_half, "\n");
  } else if (operand.scalar == ScalarType::kBfloat16) {
    body = dialect_.widen_bfloat.empty()
               ? absl::Substitute("  return $0(($1)a << 16);\n", dialect_.bits_float,
                                  CType(ScalarType::kUint32, dialect_))
               : absl::StrCat("  ", dialect_.widen_bfloat, "\n");
  } else if (type.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.narrow_half, "\n");
  } else if (type.scalar == ScalarType::kBfloat16) {
    body = absl::Substitute(
        "  const $0 b = $1(a);\n"
        "  const $0 rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;\n"
        "  return (b & 0x7fffffff) > 0x7f800000 ? b >> 16 | 0x40 : rounded;\n",
        CType(ScalarType::kUint32, dialect_), dialect_.float_bits);
  } else if (IsStorageOnly(type.scalar)) {
    body = NarrowingBody(Rounding(type.scalar), dialect_);
  } else {
    const FloatFormat& format = Info(operand.scalar).format;
    const std::string half = OperationFunction(ScalarOp::kCast, type, {ScalarType::kFloat16, 1});
    const std::string is_nan =
        format.has_infinities
            ? ""
            : absl::Substitute("(a & $0) == $0 ? $1 : ", Hex(NanPattern(format)), dialect_.nan[0]);
    body = absl::Substitute("  return $0$1(($2)($3))$4;\n", is_nan, half,
                            CType(ScalarType::kUint16, dialect_), BitsOfHalf(format, "a"),
                            ScaleOfHalf(format));
  }
  DefineFunction(name, absl::Substitute("$0 $1($2 a) {\n$3}\n", CType(type.scalar, dialect_), name,
                                        CType(operand.scalar, dialect_), body));
}

// In integer arithmetic on the bits, as core/scalar/scalar_value.cc does it; C's vector operators
// make the same text right for any number of lanes.
void CPrelude::DefineStorageConversionOfVectors(const std::string& name, LoopValueType type,
                                                LoopValueType operand) {
  const bool widens = IsStorageOnly(operand.scalar);
  const ScalarType stored = widens ? operand.scalar : type.scalar;
  const int lanes = type.lanes;
  const auto c_type = [&](ScalarType scalar) { return Spelled({scalar, lanes}); };
  const std::string words = c_type(ScalarType::kInt32), floats = c_type(ScalarType::kFloat32);
  const LaneNames names{lanes,
                        words,
                        floats,
                        c_type(stored),
                        absl::StrCat("mdh_bits_", floats),
                        absl::StrCat("mdh_real_", floats),
                        lanes > 1 ? "" : "-"};
  const char* reinterpret =
      "$0 $1($2 x) {\n  $0 r;\n  memcpy(&r, &x, sizeof r);\n"
      "  return r;\n}\n";
  DefineFunction(names.bits, absl::Substitute(reinterpret, words, names.bits, floats));
  DefineFunction(names.real, absl::Substitute(reinterpret, floats, names.real, words));
  // The bits of the operand as integers of that type.
  const auto widened = [&](ScalarType to) {
    const ScalarType from = SizeBytes(stored) == 1 ? ScalarType::kUint8 : ScalarType::kUint16;
    if (lanes == 1) return names.Converted("a", c_type(to));
    return absl::StrCat(OperationFunction(ScalarOp::kCast, {to, lanes}, {from, lanes}), "(a)");
  };
  std::string body;
  if (stored == ScalarType::kFloat16) {
    body = absl::StrCat(HalfInstruction(widens, lanes, floats, names.stored),
                        widens ? WideningOfHalves(widened(ScalarType::kInt32), names)
                               : NarrowingOfVectors(Rounding(stored), names),
                        "#endif\n");
  } else if (stored == ScalarType::kBfloat16) {
    body = widens ? absl::Substitute("  return $0($1 << 16);\n", names.real,
                                     widened(ScalarType::kInt32))
                  : NarrowingToBfloatOfVectors(names);
  } else if (widens && lanes == 1) {
    // One value, which the lanes of others wait for, comes from memory in less time.
    body = absl::Substitute("  return $0(a);\n",
                            TableFunction(AllValues(stored), {ScalarType::kUint8, 1}));
  } else if (widens) {
    body = WideningByWayOfHalf(
        Rounding(stored), c_type(ScalarType::kUint16), widened(ScalarType::kUint16),
        OperationFunction(ScalarOp::kCast, type, {ScalarType::kFloat16, lanes}), names);
  } else {
    body = NarrowingOfVectors(Rounding(stored), names);
  }
  DefineFunction(name, absl::Substitute("$0 $1($2 a) {\n$3}\n", widens ? floats : names.stored,
                                        name, widens ? names.stored : floats, body));
}

// All but the sign of negative values is turned round: as signed integers these are in order,
// between -nan and nan. Then the nan of one sign go on to those of the other.
std::string CPrelude::OrderKeysFunction(LoopValueType to, ScalarType from, bool nan_is_least) {
  const bool is_back = IsStorageOnly(to.scalar);
  const ScalarType half = is_back ? to.scalar : from;
  const std::string result = VectorType(to), operand = VectorType({from, to.lanes});
  const std::string name =
      absl::StrCat("mdh_", is_back ? "halves" : "keys", nan_is_least ? "_nan_least_" : "_",
                   is_back ? result : operand);
  const std::string words = VectorType({ScalarType::kInt16, to.lanes});
  const std::string nan = half == ScalarType::kBfloat16 ? "0x7f81" : "0x7c01";
  const std::string turned = "k ^ ((k >> 15) & 0x7fff)";
  DefineFunction(name, is_back ? absl::Substitute("$0 $1($2 a) {\n  const $3 k = ($3)(a $4 $5);\n"
                                                  "  return ($0)($6);\n}\n",
                                                  result, name, operand, words,
                                                  nan_is_least ? "+" : "-", nan, turned)
                               : absl::Substitute("$0 $1($2 a) {\n  const $3 k = ($3)a;\n"
                                                  "  return ($0)($6) $4 $5;\n}\n",
                                                  result, name, operand, words,
                                                  nan_is_least ? "-" : "+", nan, turned));
  return name;
}

}  // namespace mdh
