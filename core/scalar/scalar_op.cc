// Scalar operations: their table, their types and their meaning on values.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/scalar/scalar_function.h"

namespace mdh {
namespace {

// Precedences are those of C.
constexpr ScalarOpInfo kOps[] = {
    {ScalarOp::kParameter, "parameter", 0, false, 0, false, 0},
    {ScalarOp::kConstant, "constant", 0, false, 0, false, 0},
    {ScalarOp::kCast, "cast", 1, false, 0, false, 0},
    {ScalarOp::kSelect, "?:", 3, false, 0, false, 0},
    {ScalarOp::kTable, "table", 1, false, 0, false, 0},
    {ScalarOp::kNeg, "-", 1, false, 0, false, 0},
    {ScalarOp::kNot, "!", 1, false, 0, false, 0},
    {ScalarOp::kAbs, "abs", 1, false, 0, false, 0},
    {ScalarOp::kSqrt, "sqrt", 1, false, 0, false, 1},
    {ScalarOp::kRsqrt, "rsqrt", 1, false, 0, false, 2},
    {ScalarOp::kExp, "exp", 1, false, 0, false, 1},
    {ScalarOp::kLog, "log", 1, false, 0, false, 1},
    {ScalarOp::kLog2, "log2", 1, false, 0, false, 1},
    {ScalarOp::kTanh, "tanh", 1, false, 0, false, 1},
    {ScalarOp::kFloor, "floor", 1, false, 0, false, 0},
    {ScalarOp::kCeil, "ceil", 1, false, 0, false, 0},
    {ScalarOp::kSin, "sin", 1, false, 0, false, 1},
    {ScalarOp::kCos, "cos", 1, false, 0, false, 1},
    {ScalarOp::kRound, "round", 1, false, 0, false, 0},
    {ScalarOp::kTrunc, "trunc", 1, false, 0, false, 0},
    {ScalarOp::kErf, "erf", 1, false, 0, false, 1},
    {ScalarOp::kExp2, "exp2", 1, false, 0, false, 1},
    {ScalarOp::kLog1p, "log1p", 1, false, 0, false, 1},
    {ScalarOp::kExpm1, "expm1", 1, false, 0, false, 1},
    {ScalarOp::kCbrt, "cbrt", 1, false, 0, false, 1},
    {ScalarOp::kAdd, "+", 2, true, 9, true, 1},
    {ScalarOp::kSub, "-", 2, true, 9, false, 1},
    {ScalarOp::kMul, "*", 2, true, 10, true, 1},
    {ScalarOp::kDiv, "/", 2, true, 10, false, 1},
    {ScalarOp::kRem, "%", 2, true, 10, false, 1},
    {ScalarOp::kMin, "min", 2, false, 0, true, 1},
    {ScalarOp::kMax, "max", 2, false, 0, true, 1},
    {ScalarOp::kPow, "pow", 2, false, 0, false, 1},
    {ScalarOp::kBitAnd, "&", 2, true, 6, true, 0},
    {ScalarOp::kBitOr, "|", 2, true, 4, true, 0},
    {ScalarOp::kBitXor, "^", 2, true, 5, true, 0},
    {ScalarOp::kFmin, "fmin", 2, false, 0, true, 1},
    {ScalarOp::kFmax, "fmax", 2, false, 0, true, 1},
    {ScalarOp::kAtan2, "atan2", 2, false, 0, false, 1},
    {ScalarOp::kCopysign, "copysign", 2, false, 0, false, 0},
    {ScalarOp::kAnd, "&&", 2, true, 3, true, 0},
    {ScalarOp::kOr, "||", 2, true, 2, true, 0},
    {ScalarOp::kEq, "==", 2, true, 7, true, 0},
    {ScalarOp::kNe, "!=", 2, true, 7, true, 0},
    {ScalarOp::kLt, "<", 2, true, 8, false, 0},
    {ScalarOp::kLe, "<=", 2, true, 8, false, 0},
    {ScalarOp::kGt, ">", 2, true, 8, false, 0},
    {ScalarOp::kGe, ">=", 2, true, 8, false, 0},
};

bool IsComparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

// Whether a unary or binary arithmetic operation exists on a type.
bool Exists(ScalarOp op, ScalarType type) {
  switch (op) {
    case ScalarOp::kNot:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
      return type == ScalarType::kBool;
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
      return IsInteger(type);
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kRem:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return type != ScalarType::kBool;
    case ScalarOp::kPow:
    case ScalarOp::kFmin:
    case ScalarOp::kFmax:
    case ScalarOp::kAtan2:
    case ScalarOp::kCopysign:
      return IsFloatingPoint(type);
    default:
      return IsComparison(op) || (Info(op).operands == 1 && IsFloatingPoint(type));
  }
}

Status WrongTypes(ScalarOp op, absl::Span<const ScalarType> operands) {
  return InvalidArgument("operation '", Info(op).name, "' does not exist for ",
                         absl::StrJoin(operands, ", ", [](std::string* out, ScalarType t) {
                           absl::StrAppend(out, Name(t));
                         }));
}

// Of two numbers the smaller one; -0 is less than 0.
template <typename T>
T SmallerNumber(T a, T b) {
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

// IEEE 754-2019, minimum and minimumNumber.
template <typename T>
T Minimum(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : SmallerNumber(a, b);
}
template <typename T>
T MinimumNumber(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : SmallerNumber(a, b);
}

template <typename T>
T ApplyReal(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::fabs(a);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kRsqrt:
      return T{1} / std::sqrt(a);
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog2:
      return std::log2(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kTrunc:
      return std::trunc(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kExp2:
      return std::exp2(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kExpm1:
      return std::expm1(a);
    case ScalarOp::kCbrt:
      return std::cbrt(a);
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kRem:
      return std::fmod(a, b);
    case ScalarOp::kMin:
      return Minimum(a, b);
    case ScalarOp::kMax:
      return -Minimum(-a, -b);
    case ScalarOp::kFmin:
      return MinimumNumber(a, b);
    case ScalarOp::kFmax:
      return -MinimumNumber(-a, -b);
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kCopysign:
      return std::copysign(a, b);
    default:
      return std::pow(a, b);
  }
}

// T: int64_t or uint64_t, to which the operands are extended; the caller wraps the result.
template <typename T>
uint64_t ApplyInteger(ScalarOp op, T a, T b) {
  const uint64_t x = static_cast<uint64_t>(a);
  const uint64_t y = static_cast<uint64_t>(b);
  const bool negates = std::is_signed_v<T> && b == static_cast<T>(-1);
  switch (op) {
    case ScalarOp::kNeg:
      return 0 - x;
    case ScalarOp::kAbs:
      return a < 0 ? 0 - x : x;
    case ScalarOp::kAdd:
      return x + y;
    case ScalarOp::kSub:
      return x - y;
    case ScalarOp::kMul:
      return x * y;
    case ScalarOp::kDiv:
      if (b == 0) return 0;
      return negates ? 0 - x : static_cast<uint64_t>(a / b);
    case ScalarOp::kRem:
      return b == 0 || negates ? 0 : static_cast<uint64_t>(a % b);
    case ScalarOp::kMin:
      return a < b ? x : y;
    case ScalarOp::kMax:
      return a > b ? x : y;
    case ScalarOp::kBitAnd:
      return x & y;
    case ScalarOp::kBitOr:
      return x | y;
    default:
      return x ^ y;
  }
}

template <typename T>
bool Compare(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

int64_t SaturateToInteger(ScalarType type, double value) {
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  const int bits = 8 * SizeBytes(type);
  if (!IsSigned(type)) {
    if (truncated <= 0) return 0;
    if (truncated >= std::ldexp(1.0, bits)) return -1;  // all ones, wrapped to the type
    return static_cast<int64_t>(static_cast<uint64_t>(truncated));
  }
  const int64_t largest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  if (truncated >= std::ldexp(1.0, bits - 1)) return largest;
  if (truncated < -std::ldexp(1.0, bits - 1)) return -largest - 1;
  return static_cast<int64_t>(truncated);
}

ScalarValue Cast(ScalarType to, const ScalarValue& value) {
  const bool from_real = IsFloatingPoint(value.type());
  if (to == ScalarType::kBool) {
    return ScalarValue::Bool(from_real ? value.as_double() != 0 : value.as_bool());
  }
  if (IsInteger(to)) {
    return ScalarValue::Integer(
        to, from_real ? SaturateToInteger(to, value.as_double()) : value.as_int64());
  }
  if (from_real || to == ScalarType::kFloat64) return ScalarValue::Real(to, value.as_double());
  // Straight from the integer to fp32: through fp64 it would round twice.
  return ScalarValue::Real(to, value.type() == ScalarType::kUint64
                                   ? static_cast<float>(value.as_uint64())
                                   : static_cast<float>(value.as_int64()));
}

}  // namespace

const ScalarOpInfo& Info(ScalarOp op) {
  for (const ScalarOpInfo& info : kOps) {
    if (info.op == op) return info;
  }
  return kOps[0];
}

absl::Span<const ScalarOpInfo> AllScalarOps() { return kOps; }

Result<ScalarType> ResultType(ScalarOp op, absl::Span<const ScalarType> operands) {
  const ScalarOpInfo& info = Info(op);
  if (static_cast<int>(operands.size()) != info.operands) {
    return InvalidArgument("operation '", info.name, "' takes ", info.operands, " operands, not ",
                           operands.size());
  }
  switch (op) {
    case ScalarOp::kParameter:
    case ScalarOp::kConstant:
    case ScalarOp::kCast:
    case ScalarOp::kTable:
      return InvalidArgument("the type of a ", info.name, " does not follow from its operands");
    case ScalarOp::kSelect:
      if (operands[0] != ScalarType::kBool || operands[1] != operands[2]) {
        return WrongTypes(op, operands);
      }
      return operands[1];
    default:
      break;
  }
  if (operands.size() == 2 && operands[0] != operands[1]) return WrongTypes(op, operands);
  if (!Exists(op, operands[0])) return WrongTypes(op, operands);
  return IsComparison(op) ? ScalarType::kBool : operands[0];
}

ScalarValue Apply(ScalarOp op, ScalarType result_type, absl::Span<const ScalarValue> operands) {
  const ScalarValue& a = operands[0];
  const ScalarValue& b = operands.size() > 1 ? operands[1] : operands[0];
  switch (op) {
    case ScalarOp::kCast:
      return Cast(result_type, a);
    case ScalarOp::kSelect:
      return a.as_bool() ? operands[1] : operands[2];
    case ScalarOp::kNot:
      return ScalarValue::Bool(!a.as_bool());
    case ScalarOp::kAnd:
      return ScalarValue::Bool(a.as_bool() && b.as_bool());
    case ScalarOp::kOr:
      return ScalarValue::Bool(a.as_bool() || b.as_bool());
    default:
      break;
  }
  const ScalarType type = a.type();
  if (IsComparison(op)) {
    if (IsFloatingPoint(type)) return ScalarValue::Bool(Compare(op, a.as_double(), b.as_double()));
    return ScalarValue::Bool(IsSigned(type) ? Compare(op, a.as_int64(), b.as_int64())
                                            : Compare(op, a.as_uint64(), b.as_uint64()));
  }
  if (type == ScalarType::kFloat32 || IsStorageOnly(type)) {
    return ScalarValue::Real(
        type, ApplyReal(op, static_cast<float>(a.as_double()), static_cast<float>(b.as_double())));
  }
  if (type == ScalarType::kFloat64) {
    return ScalarValue::Real(type, ApplyReal(op, a.as_double(), b.as_double()));
  }
  const uint64_t bits = IsSigned(type) ? ApplyInteger(op, a.as_int64(), b.as_int64())
                                       : ApplyInteger(op, a.as_uint64(), b.as_uint64());
  return ScalarValue::Integer(type, static_cast<int64_t>(bits));
}

}  // namespace mdh
