#include "codegen/choose/counting/instruction_costs.h"

#include <algorithm>
#include <array>

namespace mdh {

double InstructionsOf(const ScalarInstruction& instruction) {
  constexpr double kOfHardware = 8, kOfSeries = 24;
  switch (instruction.op) {
    case ScalarOp::kParameter:
    case ScalarOp::kConstant:
      return 0;
    case ScalarOp::kExp:
    case ScalarOp::kExp2:
    case ScalarOp::kLog:
    case ScalarOp::kLog2:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kTanh:
      return kOfHardware;
    case ScalarOp::kErf:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
      return kOfSeries;
    case ScalarOp::kDiv:
      return IsFloatingPoint(instruction.type) ? kOfHardware : 1;
    default:
      return 1;
  }
}

bool Branches(const ScalarInstruction& instruction) {
  using enum ScalarOp;
  constexpr std::array kOps = {kDiv, kRem, kSqrt, kRsqrt, kSin, kCos, kPow, kAtan2};
  return IsFloatingPoint(instruction.type) && std::ranges::find(kOps, instruction.op) != kOps.end();
}

}  // namespace mdh
