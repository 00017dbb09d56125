// Building and evaluating scalar functions.
#include "core/scalar/scalar_function.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/identifier.h"
#include "core/scalar/scalar_canonical.h"

namespace mdh {
namespace {

template <typename... Parts>
Status InInstruction(absl::string_view function, size_t number, const Parts&... what) {
  return InvalidArgument("function '", function, "', instruction ", number, ": ", what...);
}

Status CheckInstruction(absl::string_view function, absl::Span<const TypedName> parameters,
                        absl::Span<const ScalarInstruction> instructions, size_t number) {
  const ScalarInstruction& instruction = instructions[number];
  const ScalarOpInfo& info = Info(instruction.op);
  if (static_cast<int>(instruction.operands.size()) != info.operands) {
    return InInstruction(function, number, "operation '", info.name, "' takes ", info.operands,
                         " operands, not ", instruction.operands.size());
  }
  std::vector<ScalarType> types;
  for (int operand : instruction.operands) {
    if (operand < 0 || static_cast<size_t>(operand) >= number) {
      return InInstruction(function, number, "operand ", operand, " is no earlier instruction");
    }
    types.push_back(instructions[operand].type);
  }
  ScalarType type = instruction.type;  // a cast has any type
  if (instruction.op == ScalarOp::kParameter) {
    if (instruction.parameter < 0 ||
        static_cast<size_t>(instruction.parameter) >= parameters.size()) {
      return InInstruction(function, number, "there is no parameter ", instruction.parameter);
    }
    type = parameters[instruction.parameter].type;
  } else if (instruction.op == ScalarOp::kConstant) {
    type = instruction.constant.type();
  } else if (instruction.op == ScalarOp::kTable) {
    if (!IsInteger(types[0])) {
      return InInstruction(function, number, "a table has an integer index, not ", Name(types[0]));
    }
    if (instruction.table.empty()) return InInstruction(function, number, "the table is empty");
    type = instruction.table[0].type();
    for (const ScalarValue& value : instruction.table) {
      if (value.type() == type) continue;
      return InInstruction(function, number, "the table has values of types ", Name(type), " and ",
                           Name(value.type()));
    }
  } else if (instruction.op != ScalarOp::kCast) {
    Result<ScalarType> result_type = ResultType(instruction.op, types);
    if (!result_type.ok()) return InInstruction(function, number, result_type.status().message());
    type = *result_type;
  }
  if (type != instruction.type) {
    return InInstruction(function, number, "'", info.name, "' has type ", Name(type), ", not ",
                         Name(instruction.type));
  }
  return absl::OkStatus();
}

Status CheckLength(absl::string_view function, size_t length, size_t limit) {
  if (length <= limit) return absl::OkStatus();
  return InvalidArgument("function '", function, "' has ", length, " instructions; at most ", limit,
                         " are allowed");
}

Status CheckNames(absl::string_view function, absl::Span<const TypedName> parameters,
                  absl::Span<const TypedName> results) {
  std::set<absl::string_view> names;
  for (absl::Span<const TypedName> group : {parameters, results}) {
    for (const TypedName& name : group) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(name.name, absl::MaxSplits('.', 1));
      const bool has_field = name.name.find('.') != std::string::npos;
      if (!IsIdentifier(parts.first) || (has_field && !IsIdentifier(parts.second))) {
        return InvalidArgument("function '", function, "': '", name.name,
                               "' is no name for a parameter or result");
      }
      if (!names.insert(name.name).second) {
        return InvalidArgument("function '", function, "' has two parameters or results called '",
                               name.name, "'");
      }
    }
  }
  return absl::OkStatus();
}

Status CheckResults(absl::string_view function, absl::Span<const TypedName> results,
                    absl::Span<const ScalarInstruction> instructions,
                    absl::Span<const int> result_instructions) {
  if (results.empty()) return InvalidArgument("function '", function, "' has no result");
  if (results.size() != result_instructions.size()) {
    return InvalidArgument("function '", function, "' has ", results.size(),
                           " results but computes ", result_instructions.size());
  }
  for (size_t r = 0; r < results.size(); ++r) {
    const int instruction = result_instructions[r];
    if (instruction < 0 || static_cast<size_t>(instruction) >= instructions.size()) {
      return InvalidArgument("function '", function, "': result '", results[r].name,
                             "' is computed by instruction ", instruction,
                             ", which does not exist");
    }
    if (instructions[instruction].type != results[r].type) {
      return InvalidArgument("function '", function, "': result '", results[r].name, "' has type ",
                             Name(results[r].type), " but its value has type ",
                             Name(instructions[instruction].type));
    }
  }
  return absl::OkStatus();
}

// Marks what the results need.
std::vector<bool> Live(absl::Span<const ScalarInstruction> instructions,
                       absl::Span<const int> result_instructions) {
  std::vector<bool> live(instructions.size(), false);
  for (int result : result_instructions) live[result] = true;
  for (size_t n = instructions.size(); n-- > 0;) {
    if (!live[n]) continue;
    for (int operand : instructions[n].operands) live[operand] = true;
  }
  return live;
}

// The bytes of the constants in an instruction.
std::string ConstantBytes(const ScalarInstruction& instruction) {
  std::string bytes;
  const auto append = [&](const ScalarValue& value) {
    std::array<char, 8> stored{};
    value.Store(stored.data());
    bytes.append(stored.data(), stored.size());
  };
  if (instruction.op == ScalarOp::kConstant) append(instruction.constant);
  for (const ScalarValue& value : instruction.table) append(value);
  return bytes;
}

Status CheckTables(absl::string_view function, absl::Span<const ScalarInstruction> instructions) {
  size_t values = 0;
  for (const ScalarInstruction& instruction : instructions) values += instruction.table.size();
  if (values <= ScalarFunction::kMaxTableValues) return absl::OkStatus();
  return InvalidArgument("the tables of function '", function, "' have ", values,
                         " values; at most ", ScalarFunction::kMaxTableValues, " are allowed");
}

// Drops dead instructions and conversions to the same type, and shares equal instructions. The
// order of the remaining ones is kept.
void Simplify(std::vector<ScalarInstruction>* instructions, std::vector<int>* result_instructions) {
  using Key = std::tuple<ScalarOp, ScalarType, int, std::string, std::vector<int>>;
  const std::vector<bool> live = Live(*instructions, *result_instructions);
  std::map<Key, int> numbers;
  std::vector<int> renumbered(instructions->size(), -1);
  std::vector<ScalarInstruction> kept;
  for (size_t n = 0; n < instructions->size(); ++n) {
    if (!live[n]) continue;
    ScalarInstruction instruction = std::move((*instructions)[n]);
    for (int& operand : instruction.operands) operand = renumbered[operand];
    const std::string constants = ConstantBytes(instruction);
    if (instruction.op == ScalarOp::kCast &&
        kept[instruction.operands[0]].type == instruction.type) {
      renumbered[n] = instruction.operands[0];
      continue;
    }
    std::vector<int> operands = instruction.operands;
    if (operands.size() == 2 && operands[0] > operands[1] && Info(instruction.op).is_commutative) {
      std::swap(operands[0], operands[1]);
    }
    const auto [entry, is_new] =
        numbers.try_emplace(Key(instruction.op, instruction.type, instruction.parameter, constants,
                                std::move(operands)),
                            static_cast<int>(kept.size()));
    renumbered[n] = entry->second;
    if (is_new) kept.push_back(std::move(instruction));
  }
  for (int& result : *result_instructions) result = renumbered[result];
  *instructions = std::move(kept);
}

const ScalarValue& Element(const std::vector<ScalarValue>& table, const ScalarValue& index) {
  if (index.type() == ScalarType::kUint64) {
    return table[std::min<uint64_t>(index.as_uint64(), table.size() - 1)];
  }
  return table[std::clamp<int64_t>(index.as_int64(), 0, static_cast<int64_t>(table.size()) - 1)];
}

}  // namespace

Result<ScalarFunction> ScalarFunction::Create(std::string name, std::vector<TypedName> parameters,
                                              std::vector<TypedName> results,
                                              std::vector<ScalarInstruction> instructions,
                                              std::vector<int> result_instructions) {
  MDH_RETURN_IF_ERROR(CheckNames(name, parameters, results));
  // Before equal instructions are shared there may be more, but not without bound.
  MDH_RETURN_IF_ERROR(CheckLength(name, instructions.size(), 16 * kMaxInstructions));
  for (size_t n = 0; n < instructions.size(); ++n) {
    MDH_RETURN_IF_ERROR(CheckInstruction(name, parameters, instructions, n));
    // Fields that mean nothing for the operation must not tell equal instructions apart.
    ScalarInstruction& instruction = instructions[n];
    if (instruction.op != ScalarOp::kParameter) instruction.parameter = -1;
    if (instruction.op != ScalarOp::kConstant) instruction.constant = ScalarValue::Bool(false);
    if (instruction.op != ScalarOp::kTable) instruction.table.clear();
  }
  MDH_RETURN_IF_ERROR(CheckTables(name, instructions));
  MDH_RETURN_IF_ERROR(CheckResults(name, results, instructions, result_instructions));
  Simplify(&instructions, &result_instructions);
  MDH_RETURN_IF_ERROR(CheckLength(name, instructions.size(), kMaxInstructions));
  ScalarFunction function;
  function.name_ = std::move(name);
  function.parameters_ = std::move(parameters);
  function.results_ = std::move(results);
  function.instructions_ = std::move(instructions);
  function.result_instructions_ = std::move(result_instructions);
  return function;
}

void ScalarFunction::EvaluateInto(absl::Span<const ScalarValue> arguments,
                                  std::vector<ScalarValue>* values) const {
  values->clear();
  values->reserve(instructions_.size());
  for (const ScalarInstruction& instruction : instructions_) {
    if (instruction.op == ScalarOp::kParameter) {
      values->push_back(arguments[instruction.parameter]);
    } else if (instruction.op == ScalarOp::kConstant) {
      values->push_back(instruction.constant);
    } else if (instruction.op == ScalarOp::kTable) {
      values->push_back(Element(instruction.table, (*values)[instruction.operands[0]]));
    } else {
      std::array<ScalarValue, 3> operands = {instruction.constant, instruction.constant,
                                             instruction.constant};
      for (size_t o = 0; o < instruction.operands.size(); ++o) {
        operands[o] = (*values)[instruction.operands[o]];
      }
      values->push_back(Apply(instruction.op, instruction.type,
                              absl::MakeConstSpan(operands.data(), instruction.operands.size())));
    }
  }
}

std::vector<ScalarValue> ScalarFunction::Evaluate(absl::Span<const ScalarValue> arguments) const {
  std::vector<ScalarValue> values;
  EvaluateInto(arguments, &values);
  std::vector<ScalarValue> results;
  results.reserve(result_instructions_.size());
  for (int instruction : result_instructions_) results.push_back(values[instruction]);
  return results;
}

ScalarFunction ScalarFunction::Widened() const {
  const auto widen = [](ScalarType type) {
    return IsFloatingPoint(type) ? ScalarType::kFloat64 : type;
  };
  const auto widen_value = [&](ScalarValue& value) {
    if (IsFloatingPoint(value.type())) {
      value = ScalarValue::Real(ScalarType::kFloat64, value.as_double());
    }
  };
  ScalarFunction wide = *this;
  for (TypedName& name : wide.parameters_) name.type = widen(name.type);
  for (TypedName& name : wide.results_) name.type = widen(name.type);
  for (ScalarInstruction& instruction : wide.instructions_) {
    instruction.type = widen(instruction.type);
    widen_value(instruction.constant);
    for (ScalarValue& value : instruction.table) widen_value(value);
  }
  return wide;
}

int64_t ScalarFunction::FloatingPointOperations() const {
  int64_t flops = 0;
  for (const ScalarInstruction& instruction : instructions_) {
    if (IsFloatingPoint(instruction.type)) flops += Info(instruction.op).flops;
  }
  return flops;
}

bool ScalarFunction::EquivalentTo(const ScalarFunction& other) const {
  return CanonicalForm(*this) == CanonicalForm(other);
}

}  // namespace mdh
