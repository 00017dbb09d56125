#include "tests/random_keyed.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/keyed_form.h"
#include "tests/random_function.h"
#include "tests/random_type.h"
#include "tests/random_view.h"

namespace mdh {
namespace {

constexpr double kKeyBound = 8;
constexpr double kValueBound = 4;

// What a dimension is for.
enum class Use { kElement, kKey, kBatch };

struct Sides {
  std::vector<Dimension> dimensions;
  std::vector<Use> uses;
};

Sides RandomSides(Rng& rng, const RandomExpressionOptions& options) {
  const std::vector<int64_t> sizes = {1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 64, 97, 256};
  std::vector<Use> uses = {Use::kElement, Use::kKey};
  const int64_t more = Below(rng, 3);
  for (int64_t n = 0; n < more; ++n) {
    uses.push_back(AnyOf(rng, std::vector{Use::kElement, Use::kKey, Use::kBatch, Use::kBatch}));
  }
  for (size_t n = uses.size(); n > 1; --n) {
    std::swap(uses[n - 1], uses[Below(rng, static_cast<int64_t>(n))]);
  }
  Sides sides;
  int64_t points = 1;
  for (const Use use : uses) {
    int64_t size = AnyOf(rng, sizes);
    while (points * size > 2 * options.max_points) size = size / 2 + 1 == size ? 1 : size / 2 + 1;
    points *= size;
    sides.dimensions.push_back({absl::StrCat("i", sides.dimensions.size() + 1), size});
    sides.uses.push_back(use);
  }
  return sides;
}

// An input that depends on dimensions of one use, and of batches.
Buffer RandomSideInput(Rng& rng, const RandomExpressionOptions& options, const Sides& sides,
                       Use use, std::string name) {
  Buffer buffer = RandomInput(rng, options, sides.dimensions, std::move(name));
  for (IndexFunction& access : buffer.accesses) {
    for (AffineIndex& index : access.indices) {
      for (size_t d = 0; d < sides.uses.size(); ++d) {
        if (sides.uses[d] != use && sides.uses[d] != Use::kBatch) index.coefficients[d] = 0;
      }
    }
  }
  return buffer;
}

ScalarType RandomKeyType(Rng& rng) {
  return AnyOf(rng, std::vector{ScalarType::kInt32, ScalarType::kInt32, ScalarType::kInt32,
                                ScalarType::kUint32, ScalarType::kUint32, ScalarType::kInt8,
                                ScalarType::kUint16, ScalarType::kInt16, ScalarType::kInt64});
}

// Mostly one that all devices combine atomically.
ScalarType RandomResultType(Rng& rng) {
  if (Below(rng, 8) == 0) return Below(rng, 2) == 0 ? ScalarType::kInt64 : ScalarType::kFloat64;
  return AnyOf(rng, std::vector{ScalarType::kInt32, ScalarType::kInt32, ScalarType::kUint32,
                                ScalarType::kFloat32, ScalarType::kFloat32});
}

PointWiseKind RandomKind(Rng& rng, ScalarType type) {
  using Kind = PointWiseKind;
  if (IsFloatingPoint(type))
    return AnyOf(rng, std::vector{Kind::kAdd, Kind::kMin, Kind::kMax, Kind::kFmin, Kind::kFmax});
  return AnyOf(rng, std::vector{Kind::kAdd, Kind::kAdd, Kind::kMul, Kind::kMin, Kind::kMax,
                                Kind::kBitAnd, Kind::kBitOr, Kind::kBitXor});
}

// Instructions of several functions of the same parameters.
class Joined {
 public:
  explicit Joined(Rng& rng) : rng_(rng) {}

  // Those of `function`, whose parameters are `numbers` of the whole; gives those of its results.
  std::vector<int> Add(const ScalarFunction& function, const std::vector<int>& numbers) {
    const int before = static_cast<int>(instructions_.size());
    for (ScalarInstruction instruction : function.instructions()) {
      for (int& operand : instruction.operands) operand += before;
      if (instruction.op == ScalarOp::kParameter) {
        instruction.parameter = numbers[instruction.parameter];
      }
      instructions_.push_back(std::move(instruction));
    }
    std::vector<int> results = function.result_instructions();
    for (int& result : results) result += before;
    return results;
  }

  // condition ? value : identity, in one of the ways to say it.
  int Choose(int key, int bin, int condition, int value, const ScalarValue& identity) {
    const bool is_negated = Flip();
    const auto [a, b] = Flip() ? std::pair(key, bin) : std::pair(bin, key);
    int chosen = Append({is_negated ? ScalarOp::kNe : ScalarOp::kEq, ScalarType::kBool, {a, b}});
    if (condition >= 0) {
      if (is_negated) condition = Append({ScalarOp::kNot, ScalarType::kBool, {condition}});
      chosen = Append(
          {is_negated ? ScalarOp::kOr : ScalarOp::kAnd, ScalarType::kBool, {condition, chosen}});
    }
    const int other = Append({ScalarOp::kConstant, identity.type(), {}, -1, identity});
    return Append({ScalarOp::kSelect,
                   identity.type(),
                   {chosen, is_negated ? other : value, is_negated ? value : other}});
  }

  std::vector<ScalarInstruction> Take() { return std::move(instructions_); }

 private:
  bool Flip() { return Below(rng_, 2) == 0; }
  int Append(ScalarInstruction instruction) {
    instructions_.push_back(std::move(instruction));
    return static_cast<int>(instructions_.size()) - 1;
  }

  Rng& rng_;
  std::vector<ScalarInstruction> instructions_;
};

// The parameters of all inputs, and which of them belong to elements and to keys.
struct SideParameters {
  std::vector<TypedName> all;
  std::vector<FunctionParameter> elements, keys;
  std::vector<int> element_numbers, key_numbers;
};

SideParameters ParametersOf(const ExpressionSpec& spec, const Sides& sides, size_t element_inputs) {
  SideParameters parameters;
  const auto add = [&](const TypedName& name, double bound, bool is_element) {
    const int number = static_cast<int>(parameters.all.size());
    parameters.all.push_back(name);
    (is_element ? parameters.elements : parameters.keys).push_back({name, bound});
    (is_element ? parameters.element_numbers : parameters.key_numbers).push_back(number);
  };
  int number = 0;
  for (size_t b = 0; b < spec.inputs.size(); ++b) {
    for (size_t a = 0; a < spec.inputs[b].accesses.size(); ++a) {
      for (const TypedName& name : NamesOf(absl::StrCat("x", ++number), spec.inputs[b].type)) {
        add(name, kKeyBound, b < element_inputs);
      }
    }
  }
  for (const int d : spec.index_dimensions) {
    add({spec.dimensions[d].name, ScalarType::kInt64}, static_cast<double>(spec.dimensions[d].size),
        sides.uses[d] == Use::kElement);
  }
  return parameters;
}

std::vector<Buffer> RandomSideInputs(Rng& rng, const RandomExpressionOptions& options,
                                     const Sides& sides, size_t element_inputs, bool has_bins) {
  std::vector<Buffer> inputs;
  for (size_t b = 0; b < element_inputs; ++b) {
    inputs.push_back(
        RandomSideInput(rng, options, sides, Use::kElement, absl::StrCat("in", b + 1)));
  }
  if (has_bins) inputs.push_back(RandomSideInput(rng, options, sides, Use::kKey, "bins"));
  return inputs;
}

// Indices are keys more often than they are of elements.
std::vector<int> RandomIndices(Rng& rng, const Sides& sides) {
  std::vector<int> dimensions;
  for (int d = 0; d < static_cast<int>(sides.uses.size()); ++d) {
    const int64_t one_in = sides.uses[d] == Use::kKey ? 2 : 8;
    if (sides.uses[d] != Use::kBatch && Below(rng, one_in) == 0) dimensions.push_back(d);
  }
  return dimensions;
}

CombineOperator RandomOperator(Rng& rng, int64_t results) {
  std::vector<PointWiseKind> kinds;
  std::vector<ScalarType> types;
  for (int64_t r = 0; r < results; ++r) {
    types.push_back(RandomResultType(rng));
    kinds.push_back(RandomKind(rng, types.back()));
  }
  return *CombineOperator::PointWise(kinds, types);
}

Result<ScalarFunction> RandomChoices(Rng& rng, const RandomExpressionOptions& options,
                                     const SideParameters& parameters,
                                     const CombineOperator& reduction) {
  const FunctionResult key = {{"key", RandomKeyType(rng)}, kKeyBound};
  std::vector<FunctionResult> element = {key, {{"condition", ScalarType::kBool}, 1}};
  std::vector<TypedName> names;
  for (const ScalarValue& identity : *reduction.identity()) {
    names.push_back({absl::StrCat("y", names.size() + 1), identity.type()});
    element.push_back({names.back(), kValueBound});
  }
  Joined joined(rng);
  const std::vector<int> found = joined.Add(
      RandomFunction(rng, options, parameters.elements, element), parameters.element_numbers);
  const int bin =
      joined.Add(RandomFunction(rng, options, parameters.keys, {key}), parameters.key_numbers)[0];
  const int condition = Below(rng, 3) == 0 ? found[1] : -1;
  std::vector<int> chosen;
  for (size_t r = 0; r < names.size(); ++r) {
    chosen.push_back(
        joined.Choose(found[0], bin, condition, found[r + 2], (*reduction.identity())[r]));
  }
  return ScalarFunction::Create("f", parameters.all, names, joined.Take(), chosen);
}

Result<Expression> TryKeyedExpression(Rng& rng, const RandomExpressionOptions& options) {
  const Sides sides = RandomSides(rng, options);
  const std::vector<int> indices = RandomIndices(rng, sides);
  const size_t element_inputs = 1 + static_cast<size_t>(Below(rng, 2));
  const bool has_bins = indices.empty() || Below(rng, 2) == 0;
  const CombineOperator reduction = RandomOperator(rng, Below(rng, 3) == 0 ? 2 : 1);
  ExpressionSpec spec{.name = "random",
                      .dimensions = sides.dimensions,
                      .inputs = RandomSideInputs(rng, options, sides, element_inputs, has_bins),
                      .outputs = {},
                      .function = reduction.function(),  // until there is a better one
                      .combine_operators = {},
                      .index_dimensions = indices};
  for (const Use use : sides.uses) {
    spec.combine_operators.push_back(use == Use::kElement ? reduction : CombineOperator::Concat());
  }
  for (const ScalarValue& identity : *reduction.identity()) {
    Buffer output{absl::StrCat("out", spec.outputs.size() + 1), identity.type(), {}, {}};
    GiveAccesses(rng, spec.dimensions, spec.combine_operators, 1, Reach::kMostly, &output);
    spec.outputs.push_back(std::move(output));
  }
  const SideParameters parameters = ParametersOf(spec, sides, element_inputs);
  if (parameters.elements.empty() || parameters.keys.empty()) {
    return absl::InvalidArgumentError("a side has no parameters");
  }
  MDH_ASSIGN_OR_RETURN(spec.function, RandomChoices(rng, options, parameters, reduction));
  MDH_ASSIGN_OR_RETURN(const Expression expression, Expression::Create(spec));
  RefineInputs(rng, options, expression.inputs(), &spec.inputs);
  RefineOutputs(rng, options, expression.outputs(), Reach::kInPart, &spec.outputs);
  return Expression::Create(std::move(spec));
}

}  // namespace

Expression RandomKeyedExpression(Rng& rng, const RandomExpressionOptions& options) {
  for (;;) {
    Result<Expression> expression = TryKeyedExpression(rng, options);
    if (expression.ok() && FindKeyedForm(*expression).ok()) return *std::move(expression);
  }
}

}  // namespace mdh
