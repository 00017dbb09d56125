// Random valid expressions.
#include "tests/random_expression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/random_combine.h"
#include "tests/random_function.h"
#include "tests/random_type.h"
#include "tests/random_view.h"

namespace mdh {
namespace {

using Dimensions = std::vector<Dimension>;

// Of the values in input buffers and of constants around them.
constexpr double kInputBound = 8;

Dimensions RandomDimensions(Rng& rng, const RandomExpressionOptions& options) {
  const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 23, 31, 32};
  Dimensions dimensions;
  // Mostly those of a given buffer come first, so that a view can be all of it.
  std::vector<int64_t> wanted;
  if (!options.given_inputs.empty() && Below(rng, 8) != 0) {
    wanted = AnyOf(rng, options.given_inputs).extents;
    wanted.resize(std::min<size_t>(wanted.size(), options.max_rank));
  }
  const int rank =
      std::max(1 + static_cast<int>(Below(rng, options.max_rank)), static_cast<int>(wanted.size()));
  int64_t points = 1;
  for (int d = 0; d < rank; ++d) {
    int64_t size = d < static_cast<int>(wanted.size()) ? wanted[d] : AnyOf(rng, sizes);
    while (points * size > options.max_points) size = (size + 1) / 2 == size ? 1 : (size + 1) / 2;
    points *= size;
    dimensions.push_back({absl::StrCat("i", d + 1), size});
  }
  if (options.empty_one_in > 0 && Below(rng, options.empty_one_in) == 0) {
    dimensions[Below(rng, rank)].size = 0;
  }
  return dimensions;
}

bool IsSmall(const std::vector<Buffer>& buffers, int64_t max_elements) {
  return std::all_of(buffers.begin(), buffers.end(),
                     [&](const Buffer& buffer) { return buffer.elements() <= max_elements; });
}

// Which dimensions are combined, and how.
struct Combination {
  enum class Kind { kConcat, kReduction, kPrefixSum };
  std::vector<Kind> kinds;  // one per dimension
  int64_t points = 1;       // that are combined with each other at most
  bool is_one_prefix_sum = false;
};

Combination RandomCombination(Rng& rng, const RandomExpressionOptions& options,
                              const Dimensions& dimensions) {
  using Kind = Combination::Kind;
  const bool sums = options.prefix_sums && Below(rng, 3) == 0;
  const int64_t alone = sums ? Below(rng, 2 * static_cast<int64_t>(dimensions.size())) : -1;
  Combination combination;
  int combined = 0, prefix_sums = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(dimensions.size()); ++d) {
    Kind kind = Below(rng, 5) < 2 ? Kind::kReduction : Kind::kConcat;
    if (sums && Below(rng, 5) < 2) kind = Kind::kPrefixSum;
    if (alone >= 0 && alone < static_cast<int64_t>(dimensions.size())) {
      kind = d == alone ? Kind::kPrefixSum : Kind::kConcat;
    }
    combination.kinds.push_back(kind);
    if (kind == Kind::kConcat) continue;
    ++combined;
    if (kind == Kind::kPrefixSum) ++prefix_sums;
    combination.points *= std::max<int64_t>(dimensions[d].size, 1);
  }
  combination.is_one_prefix_sum = combined == 1 && prefix_sums == 1;
  return combination;
}

// A result of f and where it goes.
struct PlannedResult {
  FunctionResult computed;
  CombinedResult combined;
};

ScalarType RandomCombinedType(Rng& rng, const RandomExpressionOptions& options, ScalarType stored) {
  if (!options.result_types || stored == ScalarType::kBool || Below(rng, 6) != 0) return stored;
  if (IsStorageOnly(stored) && Below(rng, 2) == 0) return ScalarType::kFloat32;
  const ScalarType type = RandomScalarType(rng, options);
  return type == ScalarType::kBool ? stored : type;
}

// Bounds that keep all sums of `points` values exact, in the type in which they are combined, and
// after conversion to floating point.
PlannedResult PlanResult(const TypedName& name, ScalarType stored, int64_t points) {
  double limit = std::numeric_limits<double>::infinity();
  if (IsFloatingPoint(name.type)) limit = LargestExact(name.type);
  if (IsFloatingPoint(stored) && name.type != stored) {
    limit = std::min({limit, LargestFinite(stored) / 4, double{1 << 24}});
  }
  // A quarter leaves room for the operator's own additions.
  const double if_added = limit / 4 / static_cast<double>(points);
  const bool may_add_up = if_added >= 2;
  return {{name, may_add_up ? if_added : limit / 4}, {name.type, limit, may_add_up}};
}

// Buffers with their types and the number of their accesses; index functions follow.
struct PlannedOutput {
  Buffer buffer;
  int accesses;
};

std::vector<PlannedOutput> PlanOutputs(Rng& rng, const RandomExpressionOptions& options,
                                       const std::vector<Buffer>& inputs) {
  std::vector<PlannedOutput> outputs;
  const int count = Below(rng, 2) == 0 ? 1 : 1 + static_cast<int>(Below(rng, 3));
  for (int n = 0; n < count; ++n) {
    const bool as_input = !inputs.empty() && Below(rng, 4) != 0;
    ElementType type = as_input ? inputs[0].type : RandomElementType(rng, options);
    const int accesses = Below(rng, 6) == 0 ? 2 : 1;
    outputs.push_back({{absl::StrCat("out", n + 1), std::move(type), {}, {}}, accesses});
  }
  return outputs;
}

std::vector<PlannedResult> PlanResults(Rng& rng, const RandomExpressionOptions& options,
                                       const std::vector<PlannedOutput>& outputs, int64_t points) {
  std::vector<PlannedResult> results;
  int number = 0;
  for (const PlannedOutput& output : outputs) {
    for (int a = 0; a < output.accesses; ++a) {
      for (TypedName name : NamesOf(absl::StrCat("y", ++number), output.buffer.type)) {
        const ScalarType stored = name.type;
        name.type = RandomCombinedType(rng, options, stored);
        results.push_back(PlanResult(name, stored, points));
      }
    }
  }
  return results;
}

// Of values that another expression has computed.
double ComputedBound(ScalarType type) {
  if (IsFloatingPoint(type)) return std::max(LargestExact(type), LargestFinite(type) / 4);
  return std::ldexp(1.0, 8 * SizeBytes(type));
}

// `is_computed`: which of the inputs have what another expression has computed.
void AppendParameters(const std::vector<Buffer>& inputs, const std::vector<bool>& is_computed,
                      const std::vector<int>& index_dimensions, const Dimensions& dimensions,
                      std::vector<FunctionParameter>* parameters) {
  int number = 0;
  for (size_t b = 0; b < inputs.size(); ++b) {
    const Buffer& buffer = inputs[b];
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      for (TypedName& name : NamesOf(absl::StrCat("x", ++number), buffer.type)) {
        const double bound = is_computed[b] ? ComputedBound(name.type) : kInputBound;
        parameters->push_back({std::move(name), bound});
      }
    }
  }
  for (const int d : index_dimensions) {
    const Dimension& dimension = dimensions[d];
    parameters->push_back(
        {{dimension.name, ScalarType::kInt64}, static_cast<double>(dimension.size)});
  }
}

// Results that a store function takes: of any types, as a whole or as a record.
std::vector<PlannedResult> PlanResultsToFinish(Rng& rng, const RandomExpressionOptions& options,
                                               int64_t points) {
  std::vector<PlannedResult> results;
  const int64_t count = 1 + Below(rng, 2);
  for (int64_t n = 0; n < count; ++n) {
    for (const TypedName& name :
         NamesOf(absl::StrCat("r", n + 1), RandomElementType(rng, options))) {
      results.push_back(PlanResult(name, name.type, points));
    }
  }
  return results;
}

void ForgetReduced(const std::vector<CombineOperator>& operators, Buffer* buffer) {
  for (IndexFunction& access : buffer->accesses) {
    for (AffineIndex& index : access.indices) {
      for (size_t d = 0; d < operators.size(); ++d) {
        if (operators[d].is_point_wise()) index.coefficients[d] = 0;
      }
    }
  }
}

// Reads inputs of its own, or one of f's.
StoreFunction RandomStore(Rng& rng, const RandomExpressionOptions& options,
                          const ExpressionSpec& spec, const std::vector<PlannedResult>& results,
                          const std::vector<FunctionResult>& stored) {
  StoreFunction store{.function = spec.function};
  const int64_t own = Below(rng, 3);
  for (int64_t b = 0; b < own; ++b) {
    store.inputs.push_back(RandomInput(rng, options, spec.dimensions, absl::StrCat("read", b + 1)));
  }
  const bool is_plain =
      !spec.inputs.empty() && spec.inputs[0].boundary.kind == Boundary::Kind::kNone;
  if (is_plain && Below(rng, 3) == 0) {
    store.inputs.push_back({spec.inputs[0].name, spec.inputs[0].type, {}, spec.inputs[0].accesses});
  }
  for (Buffer& buffer : store.inputs) ForgetReduced(spec.combine_operators, &buffer);
  for (int d = 0; options.indices && d < static_cast<int>(spec.dimensions.size()); ++d) {
    const bool is_kept = !spec.combine_operators[d].is_point_wise();
    if (is_kept && Below(rng, 8) == 0) store.index_dimensions.push_back(d);
  }
  std::vector<FunctionParameter> parameters;
  for (const PlannedResult& result : results) {
    // Integers may have wrapped.
    const double bound = IsInteger(result.combined.type) ? LargestFinite(ScalarType::kFloat32)
                                                         : result.combined.limit;
    parameters.push_back({result.computed.name, bound});
  }
  std::vector<bool> is_computed(store.inputs.size(), false);
  if (std::ssize(store.inputs) > own) is_computed.back() = !options.given_inputs.empty();
  AppendParameters(store.inputs, is_computed, store.index_dimensions, spec.dimensions, &parameters);
  store.function = RandomFunction(rng, options, parameters, stored);
  return store;
}

std::vector<CombineOperator> CombineOperators(Rng& rng, const RandomExpressionOptions& options,
                                              const Combination& combination,
                                              const std::vector<PlannedResult>& results) {
  std::vector<CombinedResult> combined;
  for (const PlannedResult& result : results) combined.push_back(result.combined);
  const CombineOperator reduction = combination.is_one_prefix_sum && Below(rng, 2) == 0
                                        ? RandomScan(rng, combined)
                                        : RandomReduction(rng, options, combined);
  std::vector<CombineOperator> operators;
  for (const Combination::Kind kind : combination.kinds) {
    operators.push_back(kind == Combination::Kind::kConcat      ? CombineOperator::Concat()
                        : kind == Combination::Kind::kReduction ? reduction
                                                                : reduction.AsPrefixSum());
  }
  return operators;
}

std::vector<int> RandomIndexDimensions(Rng& rng, const RandomExpressionOptions& options, int rank) {
  std::vector<int> dimensions;
  if (!options.indices || Below(rng, 8) != 0) return dimensions;
  for (int d = 0; d < rank; ++d) {
    if (Below(rng, 2) == 0) dimensions.push_back(d);
  }
  return dimensions;
}

// A function of a valid type, until there is a better one.
ScalarFunction AnyFunction() {
  return *ScalarFunction::Create("f", {{"x", ScalarType::kBool}}, {{"y", ScalarType::kBool}},
                                 {{ScalarOp::kParameter, ScalarType::kBool, {}, 0}}, {0});
}

Result<Expression> TryExpression(Rng& rng, const RandomExpressionOptions& options) {
  ExpressionSpec spec{.name = "random",
                      .dimensions = RandomDimensions(rng, options),
                      .inputs = {},
                      .outputs = {},
                      .function = AnyFunction(),
                      .combine_operators = {},
                      .index_dimensions = {}};
  spec.index_dimensions =
      RandomIndexDimensions(rng, options, static_cast<int>(spec.dimensions.size()));
  const bool has_inputs = spec.index_dimensions.empty() || Below(rng, 4) != 0;
  const int inputs = has_inputs ? 1 + static_cast<int>(Below(rng, 3)) : 0;
  const int given = static_cast<int>(options.given_inputs.size());
  for (int b = 0; b < given; ++b) {
    spec.inputs.push_back(
        GivenInput(rng, spec.dimensions, options.given_inputs[b], absl::StrCat("in", b + 1)));
  }
  for (int b = given; b < inputs; ++b) {
    spec.inputs.push_back(RandomInput(rng, options, spec.dimensions, absl::StrCat("in", b + 1)));
  }
  const Combination combination = RandomCombination(rng, options, spec.dimensions);
  std::vector<PlannedOutput> outputs = PlanOutputs(rng, options, spec.inputs);
  const bool has_store = options.store_one_in > 0 && Below(rng, options.store_one_in) == 0;
  const std::vector<PlannedResult> results =
      has_store ? PlanResultsToFinish(rng, options, combination.points)
                : PlanResults(rng, options, outputs, combination.points);
  std::vector<FunctionResult> stored;
  for (const PlannedResult& result :
       PlanResults(rng, options, has_store ? outputs : std::vector<PlannedOutput>(), 1)) {
    stored.push_back(result.computed);
  }
  spec.combine_operators = CombineOperators(rng, options, combination, results);
  const Reach reach = options.unreached_one_in > 0 && Below(rng, options.unreached_one_in) == 0
                          ? Reach::kInPart
                          : Reach::kMostly;
  for (PlannedOutput& output : outputs) {
    GiveAccesses(rng, spec.dimensions, spec.combine_operators, output.accesses, reach,
                 &output.buffer);
    spec.outputs.push_back(std::move(output.buffer));
  }
  std::vector<FunctionResult> computed;
  for (const PlannedResult& result : results) computed.push_back(result.computed);
  std::vector<FunctionParameter> parameters;
  std::vector<bool> is_computed(spec.inputs.size(), false);
  std::fill_n(is_computed.begin(), given, true);
  AppendParameters(spec.inputs, is_computed, spec.index_dimensions, spec.dimensions, &parameters);
  spec.function = RandomFunction(rng, options, parameters, computed);
  if (has_store) spec.store = RandomStore(rng, options, spec, results, stored);
  MDH_ASSIGN_OR_RETURN(const Expression expression, Expression::Create(spec));
  RefineInputs(rng, options, expression.inputs(), &spec.inputs);
  RefineOutputs(rng, options, expression.outputs(), reach, &spec.outputs);
  MDH_ASSIGN_OR_RETURN(Expression result, Expression::Create(std::move(spec)));
  if (!IsSmall(result.passed_inputs(), options.max_buffer_elements) ||
      !IsSmall(result.outputs(), options.max_buffer_elements)) {
    return absl::OutOfRangeError("a buffer is too large");
  }
  return result;
}

ScalarValue RandomInputValue(Rng& rng, ScalarType type) {
  const int64_t number = Below(rng, 9);
  if (type == ScalarType::kBool) return ScalarValue::Bool(number % 2 == 0);
  return NumberOf(type, IsSigned(type) ? number - 4 : number);
}

// The smallest and largest numbers of a type, and one between 0 and the smallest normal one.
std::vector<double> Limits(ScalarType type) {
  const double normal = SmallestNormal(type);
  return {normal * Epsilon(type), normal, 0x1.8p-2 * normal, LargestFinite(type)};
}

ScalarValue SpecialValue(Rng& rng, ScalarType type, bool with_limits) {
  std::vector<double> values = {std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(), 0.0};
  if (with_limits) {
    for (const double limit : Limits(type)) values.push_back(limit);
  }
  const double value = AnyOf(rng, values);
  return ScalarValue::Real(type, Below(rng, 2) == 0 ? value : -value);
}

// One in four of floating-point types is special.
ScalarValue SpecialOrSmallValue(Rng& rng, ScalarType type, bool keeps_values) {
  return IsFloatingPoint(type) && Below(rng, 4) == 0 ? SpecialValue(rng, type, keeps_values)
                                                     : RandomInputValue(rng, type);
}

bool ConvertsAndSelects(const ScalarFunction& function) {
  const std::vector<ScalarInstruction>& all = function.instructions();
  const auto is_zero = [&](int n) {
    return all[n].op == ScalarOp::kConstant && all[n].constant.as_double() == 0;
  };
  return std::all_of(all.begin(), all.end(), [&](const ScalarInstruction& one) {
    if (!IsFloatingPoint(one.type)) return true;
    switch (one.op) {
      case ScalarOp::kParameter:
      case ScalarOp::kConstant:
      case ScalarOp::kCast:
      case ScalarOp::kSelect:
      case ScalarOp::kTable:
      case ScalarOp::kNeg:
      case ScalarOp::kAbs:
      case ScalarOp::kMin:
      case ScalarOp::kMax:
      case ScalarOp::kFmin:
      case ScalarOp::kFmax:
        return true;
      case ScalarOp::kAdd:
        return is_zero(one.operands[0]) || is_zero(one.operands[1]);
      default:
        return false;
    }
  });
}

template <typename Draw>
BufferBytes Contents(const ElementType& type, int64_t elements, const Draw& draw) {
  BufferBytes bytes(elements * type.size_bytes());
  for (int64_t e = 0; e < elements; ++e) {
    for (const ElementType::Field& field : type.fields()) {
      draw(field.type).Store(bytes.data() + e * type.size_bytes() + field.offset_bytes);
    }
  }
  return bytes;
}

template <typename Draw>
std::vector<BufferBytes> Inputs(const Expression& expression, const Draw& draw) {
  std::vector<BufferBytes> inputs;
  for (const Buffer& buffer : expression.passed_inputs()) {
    inputs.push_back(Contents(buffer.type, buffer.elements(), draw));
  }
  return inputs;
}

}  // namespace

int64_t Below(Rng& rng, int64_t bound) {
  return static_cast<int64_t>(rng() % static_cast<uint64_t>(bound));
}

Expression RandomExpression(Rng& rng, const RandomExpressionOptions& options) {
  for (;;) {
    Result<Expression> expression = TryExpression(rng, options);
    if (expression.ok()) return *std::move(expression);
  }
}

std::vector<BufferBytes> RandomInputs(Rng& rng, const Expression& expression) {
  return Inputs(expression, [&](ScalarType type) { return RandomInputValue(rng, type); });
}

BufferBytes RandomContents(Rng& rng, const ElementType& type, int64_t elements) {
  return Contents(type, elements, [&](ScalarType field) { return RandomInputValue(rng, field); });
}

std::vector<BufferBytes> RandomSpecialInputs(Rng& rng, const Expression& expression) {
  const bool keeps_values = KeepsValues(expression);
  return Inputs(expression,
                [&](ScalarType type) { return SpecialOrSmallValue(rng, type, keeps_values); });
}

BufferBytes RandomSpecialContents(Rng& rng, const ElementType& type, int64_t elements,
                                  bool keeps_values) {
  return Contents(type, elements,
                  [&](ScalarType field) { return SpecialOrSmallValue(rng, field, keeps_values); });
}

bool KeepsValues(const Expression& expression) {
  const bool combines = expression.has_reduction() || expression.has_prefix_sum();
  if (expression.store() != nullptr && !ConvertsAndSelects(expression.store()->function))
    return false;
  return ConvertsAndSelects(expression.function()) &&
         (!combines || ConvertsAndSelects(expression.reduction().function()));
}

}  // namespace mdh
