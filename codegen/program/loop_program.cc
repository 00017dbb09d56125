#include "codegen/program/loop_program.h"

#include <algorithm>

namespace mdh {

LoopValue MakeLiteral(const ScalarValue& value) {
  if (IsStorageOnly(value.type())) {
    return MakeLiteral(ScalarValue::Real(Info(value.type()).computed, value.as_double()));
  }
  return std::make_shared<ValueNode>(ValueNode{{value.type(), 1}, Literal{value}});
}

LoopValue MakeNamed(std::string name, LoopValueType type) {
  return std::make_shared<ValueNode>(ValueNode{type, NamedValue{std::move(name)}});
}

LoopValue MakeLoad(std::string pointer, Index offset, LoopValueType type, int64_t stride, int off) {
  return std::make_shared<ValueNode>(
      ValueNode{type, LoadElements{std::move(pointer), std::move(offset), stride, off}});
}

LoopValue MakeOperation(ScalarOp op, ScalarType type, std::vector<LoopValue> operands) {
  int lanes = 1;
  for (const LoopValue& operand : operands) lanes = std::max(lanes, operand->type.lanes);
  return std::make_shared<ValueNode>(
      ValueNode{{type, lanes}, LoopOperation{op, std::move(operands)}});
}

LoopValue MakeSplat(LoopValue scalar, int lanes) {
  if (lanes == 1) return scalar;
  const LoopValueType type{scalar->type.scalar, lanes};
  return std::make_shared<ValueNode>(ValueNode{type, Splat{std::move(scalar)}});
}

LoopValue MakeLane(LoopValue vector, int lane) {
  const LoopValueType type{vector->type.scalar, 1};
  return std::make_shared<ValueNode>(ValueNode{type, Lane{std::move(vector), lane}});
}

LoopValue MakeGroupHalves(LoopValue vector, int group, bool is_upper) {
  const int lanes = vector->type.lanes;
  if (lanes == 2) return MakeLane(std::move(vector), is_upper ? 1 : 0);
  const LoopValueType type{vector->type.scalar, lanes / 2};
  return std::make_shared<ValueNode>(
      ValueNode{type, GroupHalves{std::move(vector), nullptr, group, lanes, is_upper}});
}

LoopValue MakeGroupHalves(LoopValue first, LoopValue second, int group, int part, bool is_upper) {
  const LoopValueType type = first->type;
  return std::make_shared<ValueNode>(
      ValueNode{type, GroupHalves{std::move(first), std::move(second), group, part, is_upper}});
}

LoopValue MakeJoinLanes(std::vector<LoopValue> scalars) {
  if (scalars.size() == 1) return scalars[0];
  const LoopValueType type{scalars[0]->type.scalar, static_cast<int>(scalars.size())};
  return std::make_shared<ValueNode>(ValueNode{type, JoinLanes{std::move(scalars)}});
}

LoopValue MakeAddProducts(LoopValue sum, LoopValue a, LoopValue b) {
  const LoopValueType type = sum->type;
  return std::make_shared<ValueNode>(
      ValueNode{type, AddProducts{std::move(sum), std::move(a), std::move(b)}});
}

LoopValue MakeLoadWords(std::string pointer, Index offset, int lanes, int64_t stride) {
  return std::make_shared<ValueNode>(
      ValueNode{{ScalarType::kUint32, lanes},
                LoadWords{std::move(pointer), std::move(offset), lanes == 1 ? 1 : stride}});
}

LoopValue MakeAddDots(LoopValue sum, LoopValue a, LoopValue b) {
  const LoopValueType type = sum->type;
  return std::make_shared<ValueNode>(
      ValueNode{type, AddDots{std::move(sum), std::move(a), std::move(b)}});
}

LoopValue MakeOrderKeys(LoopValue halves, bool nan_is_least) {
  const LoopValueType type{ScalarType::kUint16, halves->type.lanes};
  return std::make_shared<ValueNode>(ValueNode{type, OrderKeys{std::move(halves), nan_is_least}});
}

LoopValue MakeOrderedHalves(LoopValue keys, ScalarType half, bool nan_is_least) {
  const LoopValueType type{half, keys->type.lanes};
  return std::make_shared<ValueNode>(ValueNode{type, OrderKeys{std::move(keys), nan_is_least}});
}

LoopValue MakeIndexValue(Index index, int lanes, int64_t lane_step) {
  return std::make_shared<ValueNode>(
      ValueNode{{ScalarType::kInt64, lanes}, IndexValue{std::move(index), lane_step}});
}

LoopValue MakeShuffleDown(LoopValue value, int distance, int width) {
  const LoopValueType type = value->type;
  return std::make_shared<ValueNode>(
      ValueNode{type, ShuffleDown{std::move(value), distance, width}});
}

LoopValue MakeLoadOfBlock(std::string array, Index offset, Index block, ScalarType type) {
  return std::make_shared<ValueNode>(
      ValueNode{{type, 1}, LoadOfBlock{std::move(array), std::move(offset), std::move(block)}});
}

LoopValue MakeShuffleUp(LoopValue value, int distance, int width) {
  const LoopValueType type = value->type;
  return std::make_shared<ValueNode>(ValueNode{type, ShuffleUp{std::move(value), distance, width}});
}

LoopValue MakeShuffleXor(LoopValue value, int bit, int width) {
  const LoopValueType type = value->type;
  return std::make_shared<ValueNode>(ValueNode{type, ShuffleXor{std::move(value), bit, width}});
}

LoopValue MakeTableElement(std::vector<ScalarValue> table, LoopValue index) {
  ScalarType type = table[0].type();
  if (IsStorageOnly(type)) {
    type = Info(type).computed;
    for (ScalarValue& value : table) value = ScalarValue::Real(type, value.as_double());
  }
  const LoopValueType value_type{type, index->type.lanes};
  return std::make_shared<ValueNode>(
      ValueNode{value_type, TableElement{std::move(table), std::move(index)}});
}

Statement When(std::vector<Condition> all_of, Block block) {
  return {If{std::move(all_of), ShareBlock(std::move(block)), nullptr}};
}

Statement ByFirstThread(Block block) {
  return When({IsZero(Index::Variable("thread"))}, std::move(block));
}

std::shared_ptr<const Block> ShareBlock(Block block) {
  return std::make_shared<const Block>(std::move(block));
}

void Append(Block from, Block* to) {
  for (Statement& statement : from) to->push_back(std::move(statement));
}

}  // namespace mdh
