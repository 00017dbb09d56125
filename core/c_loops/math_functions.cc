#include "core/c_loops/math_functions.h"

#include <algorithm>

namespace mdh {
namespace {

struct MathFunction {
  const char* name;  // for double; the one for float has an f at its end
  ScalarOp op;
  int operands;
};

constexpr MathFunction kFunctions[] = {
    {"fabs", ScalarOp::kAbs, 1},          {"sqrt", ScalarOp::kSqrt, 1},
    {"exp", ScalarOp::kExp, 1},           {"exp2", ScalarOp::kExp2, 1},
    {"log", ScalarOp::kLog, 1},           {"log2", ScalarOp::kLog2, 1},
    {"tanh", ScalarOp::kTanh, 1},         {"floor", ScalarOp::kFloor, 1},
    {"ceil", ScalarOp::kCeil, 1},         {"trunc", ScalarOp::kTrunc, 1},
    {"rint", ScalarOp::kRound, 1},        {"nearbyint", ScalarOp::kRound, 1},
    {"roundeven", ScalarOp::kRound, 1},   {"erf", ScalarOp::kErf, 1},
    {"sin", ScalarOp::kSin, 1},           {"cos", ScalarOp::kCos, 1},
    {"pow", ScalarOp::kPow, 2},           {"fmod", ScalarOp::kRem, 2},
    {"fmin", ScalarOp::kFmin, 2},         {"fmax", ScalarOp::kFmax, 2},
    {"log1p", ScalarOp::kLog1p, 1},       {"expm1", ScalarOp::kExpm1, 1},
    {"cbrt", ScalarOp::kCbrt, 1},         {"atan2", ScalarOp::kAtan2, 2},
    {"copysign", ScalarOp::kCopysign, 2},
};

}  // namespace

std::optional<int> BuildMathCall(const std::string& name, const std::vector<int>& arguments,
                                 ScalarBuilder* builder) {
  const bool is_real = !arguments.empty() && std::ranges::all_of(arguments, [&](int argument) {
    return IsFloatingPoint(builder->type(argument));
  });
  if ((name == "abs" || name == "labs" || name == "llabs") && arguments.size() == 1 && !is_real) {
    return builder->Unary(ScalarOp::kAbs, arguments[0]);
  }
  if (!is_real) return std::nullopt;
  std::string base = name;
  if (builder->type(arguments[0]) == ScalarType::kFloat32 && base.back() == 'f') base.pop_back();
  if (base == "fma" && arguments.size() == 3) {
    return builder->Binary(
        ScalarOp::kAdd, builder->Binary(ScalarOp::kMul, arguments[0], arguments[1]), arguments[2]);
  }
  for (const MathFunction& function : kFunctions) {
    if (base != function.name || arguments.size() != static_cast<size_t>(function.operands)) {
      continue;
    }
    return function.operands == 1 ? builder->Unary(function.op, arguments[0])
                                  : builder->Binary(function.op, arguments[0], arguments[1]);
  }
  return std::nullopt;
}

}  // namespace mdh
