#include "core/pipeline/product_form.h"

#include <map>
#include <utility>

#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// For every instruction the access that it depends on: its number in order of (buffer, access),
// kNone, or kSeveral.
constexpr int kNone = -1, kSeveral = -2;

std::vector<int> AccessesOf(const Expression& expression) {
  std::vector<int> number_of_parameter;
  int number = -1;
  for (int p = 0; p < static_cast<int>(expression.function().parameters().size()); ++p) {
    if (expression.is_index(p)) {
      number_of_parameter.push_back(kSeveral);
      continue;
    }
    if (expression.input_access(p).field == 0) ++number;
    number_of_parameter.push_back(number);
  }
  std::vector<int> access;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    int one =
        instruction.op == ScalarOp::kParameter ? number_of_parameter[instruction.parameter] : kNone;
    for (const int operand : instruction.operands) {
      const int other = access[operand];
      if (other == kNone) continue;
      one = one == kNone || one == other ? other : kSeveral;
    }
    access.push_back(one);
  }
  return access;
}

}  // namespace

bool ProductFactor::is_plain() const {
  return function.instructions().size() == 1 &&
         function.instructions()[0].op == ScalarOp::kParameter;
}

Result<std::vector<ProductFactor>> ProductForm(const Expression& expression) {
  const ScalarFunction& f = expression.function();
  const std::string& name = expression.name();
  if (f.results().size() != 1 || f.results()[0].type == ScalarType::kBool) {
    return Obstacle("'", name, "' has no single number as its result");
  }
  if (expression.has_prefix_sum() ||
      (expression.has_reduction() && expression.reduction().kind() != PointWiseKind::kAdd)) {
    return Obstacle("'", name, "' combines by something else than +");
  }
  if (expression.store() != nullptr) return Obstacle("'", name, "' has a store function");
  // From the result down through products; what is no product is part of a factor.
  const std::vector<int> access = AccessesOf(expression);
  std::map<int, std::vector<int>> parts;  // of every access, and kNone
  std::vector<int> open = f.result_instructions();
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if (access[n] != kSeveral) {
      parts[access[n]].push_back(n);
    } else if (f.instructions()[n].op == ScalarOp::kMul && parts.size() < 64) {
      open.insert(open.end(), f.instructions()[n].operands.begin(),
                  f.instructions()[n].operands.end());
    } else {
      return Obstacle("the function of '", name, "' is no product of what it reads");
    }
  }
  std::vector<int> constants = std::move(parts[kNone]);
  parts.erase(kNone);
  std::vector<ProductFactor> factors;
  int number = -1;
  for (int b = 0; b < static_cast<int>(expression.inputs().size()); ++b) {
    for (int a = 0; a < static_cast<int>(expression.inputs()[b].accesses.size()); ++a) {
      const auto part = parts.find(++number);
      if (part == parts.end()) {
        return Obstacle("not all that '", name, "' reads is a factor of its result");
      }
      std::vector<ScalarInstruction> instructions = f.instructions();
      std::vector<int> values = part->second;
      values.insert(values.end(), constants.begin(), constants.end());
      constants.clear();
      int product = values[0];
      for (size_t n = 1; n < values.size(); ++n) {
        instructions.push_back({ScalarOp::kMul, f.results()[0].type, {product, values[n]}});
        product = static_cast<int>(instructions.size()) - 1;
      }
      Result<ScalarFunction> function = ScalarFunction::Create(
          "factor", f.parameters(), f.results(), std::move(instructions), {product});
      if (!function.ok()) return Obstacle(function.status().message());
      factors.push_back({b, a, *std::move(function)});
    }
  }
  if (factors.empty()) return Obstacle("'", name, "' reads nothing");
  return factors;
}

}  // namespace mdh
