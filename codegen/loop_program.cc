#include "codegen/loop_program.h"

#include <algorithm>

namespace mdh {

Value MakeLiteral(const ScalarValue& value) {
  if (IsHalf(value.type())) {
    return MakeLiteral(ScalarValue::Real(ScalarType::kFloat32, value.as_double()));
  }
  return std::make_shared<ValueNode>(ValueNode{{value.type(), 1}, Literal{value}});
}

Value MakeNamed(std::string name, ValueType type) {
  return std::make_shared<ValueNode>(ValueNode{type, NamedValue{std::move(name)}});
}

Value MakeLoad(std::string pointer, Index offset, ValueType type, int64_t stride) {
  return std::make_shared<ValueNode>(
      ValueNode{type, LoadElements{std::move(pointer), std::move(offset), stride}});
}

Value MakeOperation(ScalarOp op, ScalarType type, std::vector<Value> operands) {
  int lanes = 1;
  for (const Value& operand : operands) lanes = std::max(lanes, operand->type.lanes);
  return std::make_shared<ValueNode>(ValueNode{{type, lanes}, Operation{op, std::move(operands)}});
}

Value MakeSplat(Value scalar, int lanes) {
  if (lanes == 1) return scalar;
  const ValueType type{scalar->type.scalar, lanes};
  return std::make_shared<ValueNode>(ValueNode{type, Splat{std::move(scalar)}});
}

Value MakeLane(Value vector, int lane) {
  const ValueType type{vector->type.scalar, 1};
  return std::make_shared<ValueNode>(ValueNode{type, Lane{std::move(vector), lane}});
}

Value MakeIndexValue(Index index, int lanes, int64_t lane_step) {
  return std::make_shared<ValueNode>(
      ValueNode{{ScalarType::kInt64, lanes}, IndexValue{std::move(index), lane_step}});
}

Value MakeShuffleDown(Value value, int distance, int width) {
  const ValueType type = value->type;
  return std::make_shared<ValueNode>(
      ValueNode{type, ShuffleDown{std::move(value), distance, width}});
}

Value MakeTableElement(std::vector<ScalarValue> table, Value index) {
  ScalarType type = table[0].type();
  if (IsHalf(type)) {
    type = ScalarType::kFloat32;
    for (ScalarValue& value : table) value = ScalarValue::Real(type, value.as_double());
  }
  const ValueType value_type{type, index->type.lanes};
  return std::make_shared<ValueNode>(
      ValueNode{value_type, TableElement{std::move(table), std::move(index)}});
}

}  // namespace mdh
