// Value numbering and the removal of C's promotions.
#include "core/c_loops/scalar_builder.h"

#include <array>
#include <utility>

namespace mdh {
namespace {

std::string Bytes(const ScalarValue& value) {
  std::array<char, 8> bytes{};
  value.Store(bytes.data());
  return std::string(bytes.data(), bytes.size());
}

bool IsComparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

// Their low bits depend on the operands' low bits only.
bool IsModular(ScalarOp op) {
  return op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul ||
         op == ScalarOp::kNeg || op == ScalarOp::kBitAnd || op == ScalarOp::kBitOr ||
         op == ScalarOp::kBitXor;
}

// On truth values.
bool ToLogical(ScalarOp* op) {
  if (*op == ScalarOp::kBitAnd) *op = ScalarOp::kAnd;
  if (*op == ScalarOp::kBitOr) *op = ScalarOp::kOr;
  if (*op == ScalarOp::kBitXor) *op = ScalarOp::kNe;
  return *op == ScalarOp::kAnd || *op == ScalarOp::kOr || *op == ScalarOp::kNe;
}

}  // namespace

int ScalarBuilder::Add(ScalarInstruction instruction) {
  std::string bytes =
      instruction.op == ScalarOp::kConstant ? Bytes(instruction.constant) : std::string();
  for (const ScalarValue& value : instruction.table) bytes += Bytes(value);
  const auto [entry, is_new] =
      numbers_.try_emplace(Key(instruction.op, instruction.type, instruction.parameter,
                               std::move(bytes), instruction.operands),
                           static_cast<int>(instructions_.size()));
  if (is_new) instructions_.push_back(std::move(instruction));
  return entry->second;
}

int ScalarBuilder::Parameter(ScalarType type, int parameter) {
  return Add({.op = ScalarOp::kParameter, .type = type, .operands = {}, .parameter = parameter});
}

int ScalarBuilder::Constant(const ScalarValue& value) {
  ScalarInstruction instruction{ScalarOp::kConstant, value.type(), {}};
  instruction.constant = value;
  return Add(std::move(instruction));
}

int ScalarBuilder::Index(int parameter, ScalarType type) {
  const int index = Parameter(ScalarType::kInt64, parameter);
  if (type == ScalarType::kInt64) return index;
  const int cast = Add({ScalarOp::kCast, type, {index}});
  index_casts_.insert(cast);
  return cast;
}

int ScalarBuilder::Table(std::vector<ScalarValue> values, int index) {
  ScalarInstruction instruction{ScalarOp::kTable, values[0].type(), {index}};
  instruction.table = std::move(values);
  return Add(std::move(instruction));
}

int ScalarBuilder::Unwidened(int n, ScalarType to) {
  const ScalarInstruction& instruction = instructions_[n];
  if (instruction.type == to) return n;
  if (instruction.op == ScalarOp::kConstant) {
    const ScalarValue value = Apply(ScalarOp::kCast, to, {instruction.constant});
    const ScalarValue back = Apply(ScalarOp::kCast, instruction.type, {value});
    return back == instruction.constant ? Constant(value) : -1;
  }
  if (instruction.op != ScalarOp::kCast) return -1;
  const int inner = instruction.operands[0];
  return type(inner) == to && HoldsAllValues(instruction.type, to) ? inner : -1;
}

int ScalarBuilder::Narrowed(ScalarType type, int n) {
  const ScalarInstruction instruction = instructions_[n];
  const std::vector<int>& operands = instruction.operands;
  if (instruction.op == ScalarOp::kSelect) {
    const int then = Unwidened(operands[1], type), otherwise = Unwidened(operands[2], type);
    return then < 0 || otherwise < 0 ? -1 : Select(operands[0], then, otherwise);
  }
  if (!IsModular(instruction.op) || !IsInteger(instruction.type)) return -1;
  ScalarOp op = instruction.op;
  if (type == ScalarType::kBool) {
    if (!ToLogical(&op)) return -1;
  } else if (!IsInteger(type) || SizeBytes(type) >= SizeBytes(instruction.type)) {
    return -1;
  }
  std::vector<int> narrow;
  for (const int operand : operands) {
    // Modular operations need low bits only, so that a longer chain can be narrowed, too.
    int value = Unwidened(operand, type);
    if (value < 0) value = Narrowed(type, operand);
    if (value < 0) return -1;
    narrow.push_back(value);
  }
  return narrow.size() == 1 ? Unary(op, narrow[0]) : Binary(op, narrow[0], narrow[1]);
}

int ScalarBuilder::Cast(ScalarType type, int n) {
  const ScalarInstruction instruction = instructions_[n];
  if (instruction.type == type) return n;
  if (instruction.op == ScalarOp::kConstant) {
    return Constant(Apply(ScalarOp::kCast, type, {instruction.constant}));
  }
  if (instruction.op == ScalarOp::kCast) {
    const int inner = instruction.operands[0];
    const bool keeps = HoldsAllValues(instruction.type, this->type(inner));
    if (keeps || index_casts_.count(n) > 0) return Cast(type, inner);
  }
  if (const int narrow = Narrowed(type, n); narrow >= 0) return narrow;
  return Add({ScalarOp::kCast, type, {n}});
}

int ScalarBuilder::Select(int condition, int then, int otherwise) {
  const ScalarInstruction& test = instructions_[condition];
  if (test.op == ScalarOp::kConstant) return test.constant.as_bool() ? then : otherwise;
  if (then == otherwise) return then;
  return Add({ScalarOp::kSelect, type(then), {condition, then, otherwise}});
}

int ScalarBuilder::Unary(ScalarOp op, int n) {
  const ScalarType type = this->type(n);
  if (op == ScalarOp::kNeg && at(n).op == ScalarOp::kConstant) {
    return Constant(Apply(op, type, {at(n).constant}));
  }
  return Add({op, type, {n}});
}

int ScalarBuilder::Binary(ScalarOp op, int a, int b) {
  if (!IsComparison(op)) return Add({op, type(a), {a, b}});
  for (const int side : {a, b}) {
    if (at(side).op != ScalarOp::kCast) continue;
    const ScalarType narrow = type(at(side).operands[0]);
    if (!HoldsAllValues(type(side), narrow)) continue;
    const int x = Unwidened(a, narrow), y = Unwidened(b, narrow);
    if (x >= 0 && y >= 0) return Binary(op, x, y);
  }
  return Add({op, ScalarType::kBool, {a, b}});
}

std::vector<bool> ScalarBuilder::Live(const std::vector<int>& results) const {
  std::vector<bool> live(instructions_.size(), false);
  for (const int result : results) live[result] = true;
  for (size_t n = live.size(); n-- > 0;) {
    if (!live[n]) continue;
    for (const int operand : instructions_[n].operands) live[operand] = true;
  }
  return live;
}

std::set<int> ScalarBuilder::UsedParameters(const std::vector<int>& results) const {
  std::set<int> used;
  const std::vector<bool> live = Live(results);
  for (size_t n = 0; n < live.size(); ++n) {
    if (live[n] && instructions_[n].op == ScalarOp::kParameter) {
      used.insert(instructions_[n].parameter);
    }
  }
  return used;
}

Result<ScalarFunction> ScalarBuilder::Finish(std::string name, std::vector<TypedName> parameters,
                                             std::vector<TypedName> results,
                                             const std::vector<int>& values,
                                             const std::map<int, int>& positions) const {
  const std::vector<bool> live = Live(values);
  std::vector<int> numbers(live.size(), -1);
  std::vector<ScalarInstruction> kept;
  for (size_t n = 0; n < live.size(); ++n) {
    if (!live[n]) continue;
    ScalarInstruction instruction = instructions_[n];
    for (int& operand : instruction.operands) operand = numbers[operand];
    if (instruction.op == ScalarOp::kParameter) {
      instruction.parameter = positions.at(instruction.parameter);
    }
    numbers[n] = static_cast<int>(kept.size());
    kept.push_back(std::move(instruction));
  }
  std::vector<int> result_instructions;
  for (const int value : values) result_instructions.push_back(numbers[value]);
  return ScalarFunction::Create(std::move(name), std::move(parameters), std::move(results),
                                std::move(kept), std::move(result_instructions));
}

}  // namespace mdh
