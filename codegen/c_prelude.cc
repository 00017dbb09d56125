// The definitions that generated C needs in front: vector types and operations that C lacks.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "codegen/c_spelling.h"

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

std::string MathFunction(ScalarOp op, ScalarType type) {
  const std::string suffix = type == ScalarType::kFloat32 ? "f" : "";
  const std::string name(Info(op).name);
  if (op == ScalarOp::kAbs) return absl::StrCat("fabs", suffix);
  if (op == ScalarOp::kRound) return absl::StrCat("nearbyint", suffix);
  return absl::StrCat(name, suffix);
}

// Body of the scalar function for `op`; $0 is the C type of the result.
std::string ScalarBody(ScalarOp op, ScalarType type, ScalarType operand) {
  const std::string c = CType(type);
  switch (op) {
    case ScalarOp::kMin:
      return "return a < b ? a : b;";
    case ScalarOp::kMax:
      return "return a > b ? a : b;";
    case ScalarOp::kSelect:
      return "return m ? a : b;";
    case ScalarOp::kAbs:
      if (IsFloatingPoint(type)) return absl::StrCat("return ", MathFunction(op, type), "(a);");
      return IsSigned(type) ? absl::StrCat("return (", c, ")(a < 0 ? -a : a);") : "return a;";
    case ScalarOp::kRsqrt:
      return absl::StrCat("return 1 / ", MathFunction(ScalarOp::kSqrt, type), "(a);");
    case ScalarOp::kDiv:
      if (IsSigned(type)) {
        return absl::StrCat("return b == 0 ? 0 : b == -1 ? (", c, ")-a : (", c, ")(a / b);");
      }
      return absl::StrCat("return b == 0 ? 0 : (", c, ")(a / b);");
    case ScalarOp::kRem:
      if (IsSigned(type)) {
        return absl::StrCat("return b == 0 || b == -1 ? 0 : (", c, ")(a % b);");
      }
      return absl::StrCat("return b == 0 ? 0 : (", c, ")(a % b);");
    case ScalarOp::kCast: {
      if (type == ScalarType::kBool) return "return a != 0;";
      if (!IsFloatingPoint(operand) || IsFloatingPoint(type)) {
        return absl::StrCat("return (", c, ")a;");
      }
      const int bits = SizeBytes(type) * 8;
      const double above = std::ldexp(1.0, IsSigned(type) ? bits - 1 : bits);
      const std::string low =
          IsSigned(type) ? absl::StrFormat("INT%d_MIN", bits) : std::string("0");
      return absl::StrFormat(
          "return a != a ? 0 : a <= %.1f ? %s : a >= %.1f ? %sINT%d_MAX : (%s)a;",
          IsSigned(type) ? -above : 0.0, low, above, IsSigned(type) ? "" : "U", bits, c);
    }
    default:
      break;
  }
  if (Info(op).operands == 2) return absl::StrCat("return ", MathFunction(op, type), "(a, b);");
  return absl::StrCat("return ", MathFunction(op, type), "(a);");
}

std::string Parameters(ScalarOp op, const std::string& type, const std::string& mask) {
  if (op == ScalarOp::kSelect) return absl::StrCat(mask, " m, ", type, " a, ", type, " b");
  if (Info(op).operands == 2) return absl::StrCat(type, " a, ", type, " b");
  return absl::StrCat(type, " a");
}

uint64_t LargestIndex(ScalarType type) {
  return ~uint64_t{0} >> (64 - 8 * SizeBytes(type) + (IsSigned(type) ? 1 : 0));
}

bool IsComparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

}  // namespace

void CPrelude::Define(const std::string& name, const std::string& text) {
  if (defined_.insert(name).second) functions_ += text;
}

std::string CPrelude::VectorType(ValueType type) {
  const std::string name = CType(type);
  if (type.lanes > 1 && defined_.insert(name).second) {
    const int bytes = SizeBytes(type.scalar) * type.lanes;
    absl::StrAppendFormat(&types_, "typedef %s %s __attribute__((vector_size(%d)));\n",
                          CType(type.scalar), name, bytes);
    absl::StrAppendFormat(&types_,
                          "typedef %s %s_unaligned __attribute__((vector_size(%d), aligned(%d), "
                          "may_alias));\n",
                          CType(type.scalar), name, bytes, SizeBytes(type.scalar));
  }
  return name;
}

std::string CPrelude::SplatFunction(ValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("splat_", vector);
  std::string lanes = "x";
  for (int l = 1; l < type.lanes; ++l) lanes += ", x";
  Define(name, absl::Substitute("static inline $0 $1($2 x) { return ($0){$3}; }\n", vector, name,
                                CType(type.scalar), lanes));
  return name;
}

std::string CPrelude::IndicesFunction(ValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("indices_", vector);
  std::string lanes = "first";
  for (int l = 1; l < type.lanes; ++l) absl::StrAppend(&lanes, ", first + ", l, " * step");
  Define(name, absl::Substitute("static inline $0 $1(int64_t first, int64_t step) {\n  return "
                                "($0){$2};\n}\n",
                                vector, name, lanes));
  return name;
}

std::string CPrelude::ClampedLoadFunction(ValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("mdh_clamped_", vector);
  Define(name, absl::Substitute(
                   "static inline $0 $1(const $2* p, int64_t first, int64_t step, int64_t extent, "
                   "int64_t stride) {\n  $0 r;\n"
                   "  for (int l = 0; l < $3; ++l) r[l] = p[mdh_clamp(first + l * step, extent) * "
                   "stride];\n  return r;\n}\n",
                   vector, name, CType(type.scalar), type.lanes));
  return name;
}

std::string CPrelude::InsideLoadFunction(ValueType type) {
  const std::string vector = VectorType(type);
  const std::string name = absl::StrCat("mdh_inside_", vector);
  Define(name, absl::Substitute(
                   "static inline $0 $1(int condition, const $2* p, int64_t first, int64_t step, "
                   "int64_t extent, int64_t stride, $2 outside) {\n  $0 r;\n"
                   "  for (int l = 0; l < $3; ++l) {\n    const int64_t i = first + l * step;\n"
                   "    r[l] = condition && mdh_inside(i, extent) ? p[i * stride] : outside;\n  }\n"
                   "  return r;\n}\n",
                   vector, name, CType(type.scalar), type.lanes));
  return name;
}

std::string CPrelude::TableFunction(const std::vector<ScalarValue>& table, ValueType index) {
  std::string values;
  for (const ScalarValue& value : table) {
    absl::StrAppend(&values, values.empty() ? "" : ", ", CLiteral(value));
  }
  const ScalarType element = table[0].type();
  const std::string contents = absl::StrCat(CType(element), "|", values);
  std::string& stem = tables_[contents];
  if (stem.empty()) {
    stem = absl::StrCat("mdh_table", tables_.size());
    Define(stem, absl::StrFormat("static const %s %s_values[%d] = {%s};\n", CType(element), stem,
                                 table.size(), values));
  }
  const std::string at = absl::StrCat(stem, "_", ShortName(index.scalar));
  const std::string low = IsSigned(index.scalar) ? "i < 0 ? 0 : " : "";
  Define(at,
         absl::Substitute("static inline $0 $1($2 i) { return $3_values[$4i > $5 ? $5 : i]; }\n",
                          CType(element), at, CType(index.scalar), stem, low,
                          std::min<uint64_t>(table.size() - 1, LargestIndex(index.scalar))));
  if (index.lanes == 1) return at;
  const std::string name = absl::StrCat(at, "x", index.lanes);
  const std::string vector = VectorType({element, index.lanes});
  Define(name, absl::Substitute("static inline $0 $1($2 i) {\n  $0 r;\n  for (int l = 0; l < $3; "
                                "++l) r[l] = $4(i[l]);\n  return r;\n}\n",
                                vector, name, VectorType(index), index.lanes, at));
  return name;
}

// In integer arithmetic on the bits, as core/scalar_value.cc does it; C's vector operators make the
// same text right for any number of lanes.
void CPrelude::DefineHalfConversion(const std::string& name, ValueType type, ValueType operand) {
  const bool widens = IsHalf(operand.scalar);
  const bool is_bfloat = (widens ? operand.scalar : type.scalar) == ScalarType::kBfloat16;
  const int lanes = type.lanes;
  const auto c_type = [&](ScalarType scalar) {
    return lanes > 1 ? VectorType({scalar, lanes}) : CType(scalar);
  };
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
      "static inline $0 $1($2 x) {\n  $0 r;\n  memcpy(&r, &x, sizeof r);\n"
      "  return r;\n}\n";
  Define(bits, absl::Substitute(reinterpret, words, bits, floats));
  Define(real, absl::Substitute(reinterpret, floats, real, words));
  // m ? a : b for masks of all bits or none; C's comparisons of scalars give 0 or 1.
  const std::string mask = lanes > 1 ? "" : "-";
  std::string body;
  if (widens && is_bfloat) {
    body = absl::Substitute("  return $0($1 << 16);\n", real, convert("a", words));
  } else if (widens) {
    body = absl::Substitute(
        "  const $0 h = $1, sign = (h & 0x8000) << 16, m = h & 0x7fff;\n"
        "  const $0 finite = $2($3(m << 13) * 0x1p112f), special = 0x7f800000 | (m & 0x3ff) << "
        "13;\n"
        "  const $0 k = $4(m >= 0x7c00);\n"
        "  return $3(sign | (k & special) | (~k & finite));\n",
        words, convert("a", words), bits, real, mask);
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
  Define(name, absl::Substitute("static inline $0 $1($2 a) {\n$3}\n", widens ? floats : half, name,
                                widens ? half : floats, body));
}

std::string CPrelude::LoadFunction(ValueType type, bool contiguous) {
  const std::string vector = VectorType(type);
  const std::string element = CType(type.scalar);
  const std::string name = absl::StrCat(contiguous ? "load_" : "gather_", vector);
  if (contiguous) {
    Define(name, absl::Substitute(
                     "static inline $0 $1(const $2* p) { return *(const $0_unaligned*)p; }\n",
                     vector, name, element));
  } else {
    std::string lanes = "p[0]";
    for (int l = 1; l < type.lanes; ++l) absl::StrAppend(&lanes, ", p[", l, " * stride]");
    Define(name, absl::Substitute(
                     "static inline $0 $1(const $2* p, int64_t stride) {\n  return ($0){$3};\n}\n",
                     vector, name, element, lanes));
  }
  return name;
}

std::string CPrelude::StoreFunction(ValueType type, bool contiguous) {
  const std::string vector = VectorType(type);
  const std::string element = CType(type.scalar);
  const std::string name = absl::StrCat(contiguous ? "store_" : "scatter_", vector);
  if (contiguous) {
    Define(name, absl::Substitute("static inline void $1($2* p, $0 x) { *($0_unaligned*)p = x; }\n",
                                  vector, name, element));
  } else {
    std::string body;
    for (int l = 0; l < type.lanes; ++l) {
      absl::StrAppend(&body, "  p[", l, " * stride] = x[", l, "];\n");
    }
    Define(name, absl::Substitute("static inline void $1($2* p, int64_t stride, $0 x) {\n$3}\n",
                                  vector, name, element, body));
  }
  return name;
}

std::string CPrelude::KeepMacro(int bytes) {
  const std::string name = absl::StrCat("MDH_KEEP_", bytes);
  const std::string feature = bytes == 64 ? "__AVX512F__" : bytes == 32 ? "__AVX__" : "__SSE2__";
  Define(name, absl::Substitute("// gcc would load a shared operand again for every use.\n"
                                "#if defined($1) && !defined(__clang__)\n"
                                "#define $0(x) __asm__(\"\" : \"+v\"(x))\n"
                                "#else\n"
                                "#define $0(x)\n"
                                "#endif\n",
                                name, feature));
  return name;
}

std::string CPrelude::OperationFunction(ScalarOp op, ValueType type, ValueType operand) {
  std::string stem(Info(op).name);
  switch (op) {
    case ScalarOp::kCast:
      stem = absl::StrCat("to_", ShortName(type.scalar));
      break;
    case ScalarOp::kSelect:
      stem = "select";
      break;
    case ScalarOp::kDiv:
      stem = "div";
      break;
    case ScalarOp::kRem:
      stem = "rem";
      break;
    case ScalarOp::kEq:
      stem = "eq";
      break;
    case ScalarOp::kNe:
      stem = "ne";
      break;
    case ScalarOp::kLt:
      stem = "lt";
      break;
    case ScalarOp::kLe:
      stem = "le";
      break;
    case ScalarOp::kGt:
      stem = "gt";
      break;
    case ScalarOp::kGe:
      stem = "ge";
      break;
    default:
      break;
  }
  const std::string operand_type = operand.lanes > 1 ? VectorType(operand) : CType(operand);
  const std::string result_type = type.lanes > 1 ? VectorType(type) : CType(type);
  const std::string name =
      absl::StrCat("mdh_", stem, "_", ShortName(operand.scalar),
                   operand.lanes > 1 ? absl::StrCat("x", operand.lanes) : std::string());
  if (defined_.contains(name)) return name;
  if (IsHalf(type.scalar) || IsHalf(operand.scalar)) {
    DefineHalfConversion(name, type, operand);
    return name;
  }
  if (type.lanes == 1) {
    Define(name, absl::Substitute("static inline $0 $1($2) { $3 }\n", result_type, name,
                                  Parameters(op, operand_type, "uint8_t"),
                                  ScalarBody(op, type.scalar, operand.scalar)));
    return name;
  }
  const std::string bools = VectorType({ScalarType::kBool, type.lanes});
  const std::string head = absl::Substitute("static inline $0 $1($2) {\n", result_type, name,
                                            Parameters(op, operand_type, bools));
  auto mask_of = [&](ScalarType scalar) { return VectorType({MaskType(scalar), type.lanes}); };
  if (IsComparison(op)) {
    const std::string bytes = VectorType({ScalarType::kInt8, type.lanes});
    Define(name, absl::Substitute("$0  return ($1)(__builtin_convertvector(a $2 b, $3) & 1);\n}\n",
                                  head, bools, Info(op).name, bytes));
  } else if (op == ScalarOp::kMin || op == ScalarOp::kMax) {
    const std::string mask = mask_of(type.scalar);
    Define(name,
           absl::Substitute(
               "$0  const $1 m = ($1)(a $2 b);\n  return ($3)((m & ($1)a) | (~m & ($1)b));\n}\n",
               head, mask, op == ScalarOp::kMin ? "<" : ">", result_type));
  } else if (op == ScalarOp::kSelect) {
    const std::string mask = mask_of(type.scalar);
    Define(name, absl::Substitute("$0  const $1 k = -__builtin_convertvector(m, $1);\n"
                                  "  return ($2)((k & ($1)a) | (~k & ($1)b));\n}\n",
                                  head, mask, result_type));
  } else if (op == ScalarOp::kCast && type.scalar != ScalarType::kBool &&
             (!IsFloatingPoint(operand.scalar) || IsFloatingPoint(type.scalar))) {
    Define(name,
           absl::Substitute("$0  return __builtin_convertvector(a, $1);\n}\n", head, result_type));
  } else {
    const std::string scalar = OperationFunction(op, {type.scalar, 1}, {operand.scalar, 1});
    const std::string arguments = Info(op).operands == 2 ? "a[l], b[l]" : "a[l]";
    Define(name, absl::Substitute(
                     "$0  $1 r;\n  for (int l = 0; l < $2; ++l) r[l] = $3($4);\n  return r;\n}\n",
                     head, result_type, type.lanes, scalar, arguments));
  }
  return name;
}

std::string CPrelude::ToString() const {
  std::string text = types_;
  return text + functions_;
}

}  // namespace mdh
