#include "codegen/print/c_spelling.h"

#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

size_t SizeNumber(ScalarType type) {  // 0 .. 3: 1, 2, 4 or 8 bytes
  return std::bit_width(static_cast<unsigned>(SizeBytes(type))) - 1;
}

}  // namespace

std::string CType(ScalarType type, const CDialect& dialect) {
  if (type == ScalarType::kFloat32) return "float";
  if (type == ScalarType::kFloat64) return "double";
  const bool is_signed = IsSigned(type) && !IsStorageOnly(type);
  return std::string((is_signed ? dialect.signed_types : dialect.unsigned_types)[SizeNumber(type)]);
}

std::string CType(LoopValueType type, const CDialect& dialect) {
  if (type.lanes == 1) return CType(type.scalar, dialect);
  const std::string native = NativeVector(dialect, type);
  return native.empty() ? absl::StrCat(ShortName(type.scalar), "x", type.lanes) : native;
}

std::string CLiteral(const ScalarValue& value, const CDialect& dialect) {
  const ScalarType type = value.type();
  if (type == ScalarType::kBool) return value.as_bool() ? "1" : "0";
  if (IsStorageOnly(type)) {
    uint32_t bits = 0;
    value.Store(&bits);
    return absl::Substitute(dialect.unsigned_literals[SizeNumber(type)],
                            absl::StrFormat("0x%0*x", 2 * SizeBytes(type), bits));
  }
  if (IsFloatingPoint(type)) {
    const double x = value.as_double();
    const bool single = type == ScalarType::kFloat32;
    const size_t number = single ? 0 : 1;
    if (std::isnan(x)) return std::string(dialect.nan[number]);
    if (std::isinf(x)) return absl::StrCat(x < 0 ? "-" : "", dialect.infinity[number]);
    std::string text = single ? absl::StrFormat("%.9g", x) : absl::StrFormat("%.17g", x);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return single ? text + "f" : text;
  }
  const size_t number = SizeNumber(type);
  if (!IsSigned(type)) {
    return absl::Substitute(dialect.unsigned_literals[number], value.as_uint64());
  }
  if (number == 3 && value.as_int64() == INT64_MIN) return std::string(dialect.int64_minimum);
  if (number == 2 && value.as_int64() == INT32_MIN) return std::string(dialect.int32_minimum);
  return absl::Substitute(dialect.signed_literals[number], value.as_int64());
}

bool IsNativeOperator(ScalarOp op, LoopValueType type, LoopValueType operand,
                      const CDialect& dialect) {
  // Without wrapping, signed sums and products go through unsigned integers; so do products of
  // uint16_t, which C computes as int. Sums of narrower integers fit into an int.
  const bool is_integer = IsInteger(type.scalar);
  const bool may_overflow = is_integer && IsSigned(type.scalar) && SizeBytes(type.scalar) >= 4;
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kNeg:
      return dialect.signed_wraps || !may_overflow;
    case ScalarOp::kMul:
      return dialect.signed_wraps || !(may_overflow || type.scalar == ScalarType::kUint16);
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
      return true;
    case ScalarOp::kDiv:
      return IsFloatingPoint(type.scalar);
    case ScalarOp::kNot:
      return true;
    default:
      return op >= ScalarOp::kEq && op <= ScalarOp::kGe && operand.lanes == 1;
  }
}

}  // namespace mdh
