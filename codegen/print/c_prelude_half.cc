// Conversions between fp32 and the bits of fp16 and bf16.
#include "absl/strings/str_cat.h"
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

}  // namespace

void CPrelude::DefineHalfConversion(const std::string& name, LoopValueType type,
                                    LoopValueType operand) {
  if (dialect_.computes_with_vectors) return DefineHalfConversionOfVectors(name, type, operand);
  std::string body;
  if (operand.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.widen_half, "\n");
  } else if (operand.scalar == ScalarType::kBfloat16) {
    body = absl::Substitute("  return $0(($1)a << 16);\n", dialect_.bits_float,
                            CType(ScalarType::kUint32, dialect_));
  } else if (type.scalar == ScalarType::kFloat16) {
    body = absl::StrCat("  ", dialect_.narrow_half, "\n");
  } else {
    body = absl::Substitute(
        "  const $0 b = $1(a);\n"
        "  const $0 rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;\n"
        "  return (b & 0x7fffffff) > 0x7f800000 ? b >> 16 | 0x40 : rounded;\n",
        CType(ScalarType::kUint32, dialect_), dialect_.float_bits);
  }
  DefineFunction(name, absl::Substitute("$0 $1($2 a) {\n$3}\n", CType(type.scalar, dialect_), name,
                                        CType(operand.scalar, dialect_), body));
}

// In integer arithmetic on the bits, as core/scalar/scalar_value.cc does it; C's vector operators
// make the same text right for any number of lanes.
void CPrelude::DefineHalfConversionOfVectors(const std::string& name, LoopValueType type,
                                             LoopValueType operand) {
  const bool widens = IsHalf(operand.scalar);
  const bool is_bfloat = (widens ? operand.scalar : type.scalar) == ScalarType::kBfloat16;
  const int lanes = type.lanes;
  const auto c_type = [&](ScalarType scalar) { return Spelled({scalar, lanes}); };
  const std::string words = c_type(ScalarType::kInt32), floats = c_type(ScalarType::kFloat32);
  const std::string half = c_type(is_bfloat ? ScalarType::kBfloat16 : ScalarType::kFloat16);
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
  if (widens && is_bfloat) {
    body = absl::Substitute("  return $0($1 << 16);\n", real, widened);
  } else if (widens) {
    body = absl::Substitute(
        "  const $0 h = $1, sign = (h & 0x8000) << 16, m = h & 0x7fff;\n"
        "  const $0 finite = $2($3(m << 13) * 0x1p112f), special = 0x7f800000 | (m & 0x3ff) << "
        "13;\n"
        "  const $0 k = $4(m >= 0x7c00);\n"
        "  return $3(sign | (k & special) | (~k & finite));\n",
        words, widened, bits, real, mask);
  } else if (is_bfloat) {
    body = absl::Substitute(
        "  const $0 b = $1(a), m = b & 0x7fffffff, odd = (b >> 16) & 1;\n"
        "  const $0 k = $2(m > 0x7f800000);\n"
        "  const $0 r = (k & (b >> 16 | 0x40)) | (~k & ((b + 0x7fff + odd) >> 16));\n"
        "  return $3;\n",
        words, bits, mask, convert("r & 0xffff", half));
  } else {
    body = absl::Substitute(
        "  const $0 b = $1(a), sign = (b >> 16) & 0x8000, m = b & 0x7fffffff;\n"
        "  const $0 small = $1($2(m) + 0.5f) - 0x3f000000;\n"
        "  const $0 normal = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;\n"
        "  const $0 is_nan = $3(m > 0x7f800000), is_large = $3(m >= 0x477ff000);\n"
        "  const $0 is_small = $3(m < 0x38800000);\n"
        "  $0 r = (is_small & small) | (~is_small & normal);\n"
        "  r = (is_large & 0x7c00) | (~is_large & r);\n"
        "  r = (is_nan & 0x7e00) | (~is_nan & r);\n"
        "  return $4;\n",
        words, bits, real, mask, convert("sign | r", half));
  }
  if (!is_bfloat)
    body = absl::StrCat(HalfInstruction(widens, lanes, floats, half), body, "#endif\n");
  DefineFunction(name, absl::Substitute("$0 $1($2 a) {\n$3}\n", widens ? floats : half, name,
                                        widens ? half : floats, body));
}

// All but the sign of negative values is turned round: as signed integers these are in order,
// between -nan and nan. Then the nan of one sign go on to those of the other.
std::string CPrelude::OrderKeysFunction(LoopValueType to, ScalarType from, bool nan_is_least) {
  const bool is_back = IsHalf(to.scalar);
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
