#include "core/scalar/needed_instructions.h"

#include <utility>

namespace mdh {
namespace {

// How many operands, from the first one on, an operation asks for in any case.
size_t AskedOperands(const ScalarInstruction& instruction) {
  switch (instruction.op) {
    case ScalarOp::kSelect:
      return 1;
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
      return 0;
    default:
      return instruction.operands.size();
  }
}

}  // namespace

std::vector<bool> NeededInstructions(const ScalarFunction& f, const std::vector<bool>& results) {
  const std::vector<ScalarInstruction>& instructions = f.instructions();
  std::vector<bool> needed(instructions.size(), false);
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r]) needed[f.result_instructions()[r]] = true;
  }
  for (size_t n = instructions.size(); n-- > 0;) {
    if (!needed[n]) continue;
    for (size_t o = 0; o < AskedOperands(instructions[n]); ++o) {
      needed[instructions[n].operands[o]] = true;
    }
  }
  return needed;
}

std::vector<bool> NeededParameters(const ScalarFunction& f, const std::vector<bool>& results) {
  const std::vector<bool> needed = NeededInstructions(f, results);
  std::vector<bool> parameters(f.parameters().size(), false);
  for (size_t n = 0; n < needed.size(); ++n) {
    const ScalarInstruction& instruction = f.instructions()[n];
    if (needed[n] && instruction.op == ScalarOp::kParameter) {
      parameters[instruction.parameter] = true;
    }
  }
  return parameters;
}

std::vector<std::vector<bool>> ParametersOfInstructions(const ScalarFunction& f) {
  std::vector<std::vector<bool>> uses;
  for (const ScalarInstruction& instruction : f.instructions()) {
    std::vector<bool> of_this(f.parameters().size(), false);
    if (instruction.op == ScalarOp::kParameter) of_this[instruction.parameter] = true;
    for (const int operand : instruction.operands) {
      for (size_t p = 0; p < of_this.size(); ++p) of_this[p] = of_this[p] || uses[operand][p];
    }
    uses.push_back(std::move(of_this));
  }
  return uses;
}

}  // namespace mdh
