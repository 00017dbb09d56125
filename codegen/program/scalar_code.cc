#include "codegen/program/scalar_code.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/shared_alternatives.h"
#include "core/base/status.h"

namespace mdh {
namespace {

bool IsAtom(const LoopValue& value) {
  return std::holds_alternative<NamedValue>(value->form) ||
         std::holds_alternative<Literal>(value->form);
}

// Whether the operation gives a value of its type for operands of its type without rounding.
bool IsExact(ScalarOp op) {
  switch (op) {
    case ScalarOp::kSelect:
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
    case ScalarOp::kFmin:
    case ScalarOp::kFmax:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
      return true;
    default:
      return false;
  }
}

// The value after a round trip through a narrower type in memory.
LoopValue Rounded(LoopValue value, ScalarType type) {
  const ScalarType computed = RegisterType(type);
  return MakeOperation(ScalarOp::kCast, computed,
                       {MakeOperation(ScalarOp::kCast, type, {std::move(value)})});
}

// One operation, in register types.
LoopValue EmitOperation(const ScalarInstruction& instruction, std::vector<LoopValue> operands) {
  const ScalarType type = RegisterType(instruction.type);
  if (instruction.op == ScalarOp::kTable) return MakeTableElement(instruction.table, operands[0]);
  if (instruction.op == ScalarOp::kCast && operands[0]->type.scalar == type) {
    return IsStorageOnly(instruction.type) ? Rounded(operands[0], instruction.type) : operands[0];
  }
  LoopValue value = MakeOperation(instruction.op, type, std::move(operands));
  return IsStorageOnly(instruction.type) && !IsExact(instruction.op)
             ? Rounded(std::move(value), instruction.type)
             : value;
}

}  // namespace

ScalarType RegisterType(ScalarType type) { return Info(type).computed; }

LoopValue AsComputed(LoopValue loaded) {
  const ScalarType computed = RegisterType(loaded->type.scalar);
  if (loaded->type.scalar == computed) return loaded;
  return MakeOperation(ScalarOp::kCast, computed, {std::move(loaded)});
}

LoopValue LoadValue(std::string pointer, Index offset, LoopValueType stored, int64_t stride,
                    int off) {
  return AsComputed(MakeLoad(std::move(pointer), std::move(offset), stored, stride, off));
}

LoopValue LoadInsideElement(const Buffer& buffer, const std::string& pointer, int field,
                            const std::vector<Index>& indices,
                            const std::vector<int64_t>& lane_steps, int lanes,
                            const std::vector<bool>& inside) {
  const ElementType::Field& at = buffer.type.fields()[field];
  const int64_t scale = buffer.type.size_bytes() / SizeBytes(at.type);
  const std::vector<int64_t> strides = buffer.strides();
  LoadInside load{pointer, {}, at.offset_bytes / SizeBytes(at.type), std::nullopt};
  if (buffer.boundary.kind == Boundary::Kind::kConstant) {
    load.outside = buffer.boundary.values[field];
  }
  for (size_t x = 0; x < indices.size(); ++x) {
    const int64_t step = lane_steps.empty() ? 0 : lane_steps[x];
    load.dimensions.push_back(
        {indices[x], step, buffer.extents[x], strides[x] * scale, !inside.empty() && inside[x]});
  }
  return std::make_shared<ValueNode>(ValueNode{{at.type, lanes}, std::move(load)});
}

LoopValue LoadInsideValue(const Buffer& buffer, const std::string& pointer, int field,
                          const std::vector<Index>& indices, const std::vector<int64_t>& lane_steps,
                          int lanes, const std::vector<bool>& inside) {
  return AsComputed(LoadInsideElement(buffer, pointer, field, indices, lane_steps, lanes, inside));
}

LoopValue StoredValue(LoopValue value, ScalarType stored) {
  if (value->type.scalar == stored) return value;
  const ScalarType computed = RegisterType(stored);
  if (value->type.scalar != computed) {
    value = MakeOperation(ScalarOp::kCast, computed, {std::move(value)});
  }
  return stored == computed ? value : MakeOperation(ScalarOp::kCast, stored, {std::move(value)});
}

std::string NameAllocator::Unique(const std::string& name) {
  if (!taken_.contains(name)) {
    taken_[name] = 0;
    return name;
  }
  std::string candidate;
  do {
    candidate = absl::StrCat(name, "_", ++taken_[name]);
  } while (taken_.contains(candidate));
  taken_[candidate] = 0;
  return candidate;
}

void ReserveNamesIn(const Block& block, NameAllocator& names) {
  std::set<std::string> all;
  CollectDeclaredNames(block, all);
  CollectUsedNames(block, all);
  for (const std::string& name : all) names.Reserve(name);
}

LoopValue NamedInBlock(LoopValue value, NameAllocator& names, Block& block) {
  if (std::holds_alternative<NamedValue>(value->form)) return value;
  const std::string name = names.Unique("t");
  const LoopValueType type = value->type;
  block.push_back({DeclareValue{name, std::move(value)}});
  return MakeNamed(name, type);
}

std::vector<LoopValue> EmitFunction(const ScalarFunction& function,
                                    const std::function<LoopValue(int)>& argument,
                                    NameAllocator& names, Block& block) {
  const std::vector<ScalarInstruction>& instructions = function.instructions();
  std::vector<int> uses(instructions.size(), 0);
  for (const ScalarInstruction& instruction : instructions) {
    for (const int operand : instruction.operands) ++uses[operand];
  }
  for (const int result : function.result_instructions()) ++uses[result];

  std::vector<LoopValue> values;
  for (size_t n = 0; n < instructions.size(); ++n) {
    const ScalarInstruction& instruction = instructions[n];
    LoopValue value;
    if (instruction.op == ScalarOp::kParameter) {
      value = argument(instruction.parameter);
    } else if (instruction.op == ScalarOp::kConstant) {
      value = MakeLiteral(instruction.constant);
    } else {
      std::vector<LoopValue> operands;
      for (const int operand : instruction.operands) operands.push_back(values[operand]);
      value = EmitOperation(instruction, std::move(operands));
    }
    if (uses[n] > 1 && !IsAtom(value)) {
      const std::string name = names.Unique("t");
      block.push_back({DeclareValue{name, value}});
      value = MakeNamed(name, value->type);
    }
    values.push_back(std::move(value));
  }
  std::vector<LoopValue> results;
  for (const int result : function.result_instructions()) results.push_back(values[result]);
  return results;
}

std::vector<LoopValue> EmitCombination(const CombineOperator& combine,
                                       const std::vector<LoopValue>& left,
                                       const std::vector<LoopValue>& right, NameAllocator& names,
                                       Block& block) {
  const int results = static_cast<int>(left.size());
  return EmitFunction(
      ShareAlternatives(combine.function()),
      [&](int p) { return p < results ? left[p] : right[p - results]; }, names, block);
}

}  // namespace mdh
