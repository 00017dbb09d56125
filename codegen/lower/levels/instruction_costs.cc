#include "codegen/lower/levels/instruction_costs.h"

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
      return SizeBytes(instruction.type) > 4 ? kOfSeries : kOfHardware;
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

double CombineInstructions(const Expression& expression) {
  double instructions = 0;
  for (const CombineOperator& combine : expression.combine_operators()) {
    if (combine.is_concat()) continue;
    for (const ScalarInstruction& instruction : combine.function().instructions()) {
      instructions += InstructionsOf(instruction);
    }
    break;
  }
  return std::max(1.0, instructions);
}

int64_t OwnersOf(int64_t results, int64_t threads) {
  int64_t owners = std::min(results, threads);
  while (results % owners != 0) --owners;
  return owners;
}

// A tree costs every thread two loads, a store and the operator per result and step, and a barrier
// per step, which waits as long as some sixteen instructions take.
bool TreeIsShorter(int64_t threads, int64_t results, int64_t own, double combine) {
  constexpr double kBarrier = 16;
  double steps = 0;
  for (int64_t combined = 1; combined < threads; combined *= 2) ++steps;
  const double tree = steps * ((2 + combine) * static_cast<double>(results) + kBarrier);
  return static_cast<double>(own * threads) * combine > tree;
}

}  // namespace mdh
