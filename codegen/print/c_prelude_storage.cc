// Conversions between fp32 and the bits of types that exist in memory only.
#include <bit>
#include <cmath>

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
  uint32_t smallest_normal, first_too_large;
};

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

}  // namespace

void CPrelude::DefineStorageConversion(const std::string& name, LoopValueType type,
                                       LoopValueType operand) {
  if (dialect_.computes_with_vectors) {
    return DefineStorageConversionOfVectors(name, type, operand);
  }
  std::string body;
  if (operand.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.widen_half, "\n");
  } else if (operand.scalar == ScalarType::kBfloat16) {
    body = absl::Substitute("  return $0(($1)a << 16);\n", dialect_.bits_float,
                            CType(ScalarType::kUint32, dialect_));
  } else if (type.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.narrow_half, "\n");
  } else if (type.scalar == ScalarType::kBfloat16) {
    body = absl::Substitute(
        "  const $0 b = $1(a);\n"
        "  const $0 rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;\n"
        "  return (b & 0x7fffffff) > 0x7f800000 ? b >> 16 | 0x40 : rounded;\n",
        CType(ScalarType::kUint32, dialect_), dialect_.float_bits);
  } else {
    body = NarrowingBody(Rounding(type.scalar), dialect_);
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
  const Rounding rounding(stored);
  const FloatFormat& format = rounding.format;
  const int lanes = type.lanes;
  const auto c_type = [&](ScalarType scalar) { return Spelled({scalar, lanes}); };
  const std::string words = c_type(ScalarType::kInt32), floats = c_type(ScalarType::kFloat32);
  const std::string half = c_type(stored);
  const auto convert = [&](const std::string& value, const std::string& to) {
    return lanes > 1 ? absl::StrCat("__builtin_convertvector(", value, ", ", to, ")")
                     : absl::StrCat("(", to, ")(", value, ")");
  };
  // The bits of a float as integers, and back.
  const std::string bits = absl::StrCat("mdh_bits_", floats),
                    real = absl::StrCat("mdh_real_", floats);
  const char* reinterpret =
      "$0 $1($2 x) {\n  $0 r;\n  memcpy(&r, &x, sizeof r);\n"
      "  return r;\n}\n";
  DefineFunction(bits, absl::Substitute(reinterpret, words, bits, floats));
  DefineFunction(real, absl::Substitute(reinterpret, floats, real, words));
  const std::string widened =
      lanes > 1 && widens
          ? absl::StrCat(OperationFunction(ScalarOp::kCast, {ScalarType::kInt32, lanes},
                                           {ScalarType::kUint16, lanes}),
                         "(a)")
          : convert("a", words);
  // m ? a : b for masks of all bits or none; C's comparisons of scalars give 0 or 1.
  const std::string mask = lanes > 1 ? "" : "-";
  std::string body;
  if (stored == ScalarType::kBfloat16 && widens) {
    body = absl::Substitute("  return $0($1 << 16);\n", real, widened);
  } else if (stored == ScalarType::kBfloat16) {
    body = absl::Substitute(
        "  const $0 b = $1(a), m = b & 0x7fffffff, odd = (b >> 16) & 1;\n"
        "  const $0 k = $2(m > 0x7f800000);\n"
        "  const $0 r = (k & (b >> 16 | 0x40)) | (~k & ((b + 0x7fff + odd) >> 16));\n"
        "  return $3;\n",
        words, bits, mask, convert("r & 0xffff", half));
  } else if (widens) {
    body = absl::Substitute(
        "  const $0 h = $1, sign = (h & 0x8000) << 16, m = h & 0x7fff;\n"
        "  const $0 finite = $2($3(m << 13) * 0x1p112f), special = 0x7f800000 | (m & 0x3ff) << "
        "13;\n"
        "  const $0 k = $4(m >= 0x7c00);\n"
        "  return $3(sign | (k & special) | (~k & finite));\n",
        words, widened, bits, real, mask);
  } else {
    body = absl::StrCat(
        absl::Substitute("  const $0 b = $1(a), sign = (b >> $2) & $3, m = b & 0x7fffffff;\n"
                         "  const $0 small = $1($4(m) + $5) - $6;\n",
                         words, bits, rounding.sign_shift, rounding.sign(), real,
                         rounding.small_unit(), Hex(Rounding::Bits(rounding.subnormal_unit))),
        absl::Substitute("  const $0 normal = (m - $1 + $2 + ((m >> $3) & 1)) >> $3;\n", words,
                         Hex(rounding.rebias), Hex((uint64_t{1} << (rounding.dropped - 1)) - 1),
                         rounding.dropped),
        absl::Substitute("  const $0 is_nan = $1(m > 0x7f800000), is_large = $1(m >= $2);\n"
                         "  const $0 is_small = $1(m < $3);\n"
                         "  $0 r = (is_small & small) | (~is_small & normal);\n"
                         "  r = (is_large & $4) | (~is_large & r);\n",
                         words, mask, Hex(rounding.first_too_large), Hex(rounding.smallest_normal),
                         Hex(OverflowPattern(format))),
        rounding.keeps_infinity()
            ? absl::Substitute("  const $0 is_infinite = $1(m == 0x7f800000);\n"
                               "  r = (is_infinite & $2) | (~is_infinite & r);\n",
                               words, mask, Hex(LargestExponentPattern(format)))
            : "",
        absl::Substitute("  r = (is_nan & $0) | (~is_nan & r);\n"
                         "  return $1;\n",
                         Hex(NanPattern(format)), convert("sign | r", half)));
  }
  if (stored == ScalarType::kFloat16) {
    body = absl::StrCat(HalfInstruction(widens, lanes, floats, half), body, "#endif\n");
  }
  DefineFunction(name, absl::Substitute("$0 $1($2 a) {\n$3}\n", widens ? floats : half, name,
                                        widens ? half : floats, body));
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
