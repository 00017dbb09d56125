#include "core/scalar/value_builder.h"

namespace mdh {

int ValueBuilder::Constant(const ScalarValue& value) {
  return Append({ScalarOp::kConstant, value.type(), {}, -1, value});
}

int ValueBuilder::Converted(int value, ScalarType type) {
  return instructions_[value].type == type ? value : Append({ScalarOp::kCast, type, {value}});
}

std::vector<int> ValueBuilder::Apply(const ScalarFunction& f, absl::Span<const int> arguments) {
  std::vector<int> number;  // of each instruction of f
  for (ScalarInstruction instruction : f.instructions()) {
    if (instruction.op == ScalarOp::kParameter) {
      number.push_back(arguments[instruction.parameter]);
      continue;
    }
    for (int& operand : instruction.operands) operand = number[operand];
    number.push_back(Append(std::move(instruction)));
  }
  std::vector<int> results;
  for (const int result : f.result_instructions()) results.push_back(number[result]);
  return results;
}

}  // namespace mdh
