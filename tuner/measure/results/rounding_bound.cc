#include "tuner/measure/results/rounding_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "codegen/program/contraction_units.h"
#include "tuner/measure/results/comparison.h"

namespace mdh {
namespace {

// Of a type without few values: its mantissas.
double MostOf(ScalarType type) {
  if (type == ScalarType::kBool) return 2;
  if (IsFloatingPoint(type)) return 2 / Epsilon(type);
  return std::ldexp(1.0, 8 * static_cast<int>(SizeBytes(type)));
}

// What is known of a value of a function.
struct Terms {
  double values = 1;     // different ones
  uint64_t inputs = 0;   // a bit per input that they come from, modulo 64
  bool is_zero = false;  // always
};

Terms FewerOf(const Terms& a, const Terms& b) {
  const uint64_t inputs = a.inputs | b.inputs;
  if (a.is_zero) return {b.values, inputs, b.is_zero};
  if (b.is_zero) return {a.values, inputs};
  return {std::min(a.values, b.values), inputs};
}

Terms Together(const Terms& a, const Terms& b) {
  const bool are_independent = (a.inputs & b.inputs) == 0;
  return {are_independent ? a.values * b.values : std::max(a.values, b.values),
          a.inputs | b.inputs};
}

// Of floor and the like for values that are drawn.
constexpr double kWholeNumbers = 4;

// How many of so many integers an operation with a constant of the bits `bits`, not 0, leaves.
double LeftOf(double integers, ScalarOp op, int64_t bits) {
  const double size = std::fabs(static_cast<double>(bits));
  switch (op) {
    case ScalarOp::kRem:
      return std::min(integers, size);
    case ScalarOp::kDiv:
      return std::max(1.0, integers / size);
    case ScalarOp::kBitAnd:
      return std::min(integers, std::exp2(std::popcount(static_cast<uint64_t>(bits))));
    default:
      return integers;
  }
}

Terms TermsOf(absl::Span<const ScalarInstruction> all, const std::vector<Terms>& before) {
  const ScalarInstruction& one = all[before.size()];
  const auto source = [&](size_t n) -> const ScalarInstruction& {
    return all[static_cast<size_t>(one.operands[n])];
  };
  const auto operand = [&](size_t n) { return before[static_cast<size_t>(one.operands[n])]; };
  Terms terms;
  switch (one.op) {
    case ScalarOp::kConstant:
      return {1, 0, one.constant == ScalarValue::Zero(one.type)};
    case ScalarOp::kSelect:
      terms = FewerOf(operand(1), operand(2));
      break;
    case ScalarOp::kMin:
    case ScalarOp::kMax:
    case ScalarOp::kFmin:
    case ScalarOp::kFmax:
      terms = FewerOf(operand(0), operand(1));
      break;
    case ScalarOp::kTable:
      terms = operand(0);
      terms.values = std::min(terms.values, static_cast<double>(one.table.size()));
      break;
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
      terms = operand(0);
      terms.values = std::min(terms.values, kWholeNumbers);
      break;
    case ScalarOp::kCast:
      terms = operand(0);
      if (IsFloatingPoint(source(0).type) && !IsFloatingPoint(one.type)) {
        terms.values = std::min(terms.values, kWholeNumbers);
      }
      break;
    default:
      terms = operand(0);
      for (size_t n = 1; n < one.operands.size(); ++n) terms = Together(terms, operand(n));
      if (IsFloatingPoint(one.type)) break;
      for (size_t n = 0; n < one.operands.size(); ++n) {
        // The divisor, or either side of a mask.
        if (n == 0 && one.op != ScalarOp::kBitAnd) continue;
        if (source(n).op != ScalarOp::kConstant || source(n).constant.as_int64() == 0) continue;
        terms.values = LeftOf(terms.values, one.op, source(n).constant.as_int64());
      }
  }
  terms.is_zero = false;
  terms.values = std::min(terms.values, MostOf(one.type));
  return terms;
}

std::vector<Terms> ResultsOf(const ScalarFunction& function,
                             const std::function<Terms(int)>& parameter) {
  std::vector<Terms> values;
  for (const ScalarInstruction& one : function.instructions()) {
    const bool is_parameter = one.op == ScalarOp::kParameter;
    values.push_back(is_parameter ? parameter(one.parameter)
                                  : TermsOf(function.instructions(), values));
  }
  std::vector<Terms> results;
  for (const int n : function.result_instructions()) {
    results.push_back(values[static_cast<size_t>(n)]);
  }
  return results;
}

// Of the results of f, along dimensions for which `counts` is true.
std::vector<Terms> TermsOfResults(const Expression& e, absl::Span<const double> inputs,
                                  const std::function<bool(int)>& counts) {
  const auto varies = [&](const AffineIndex& index) {
    for (int d = 0; d < e.rank(); ++d) {
      if (counts(d) && e.dimensions()[d].size > 1 && index.coefficients[d] == 0) return false;
    }
    return true;
  };
  return ResultsOf(e.function(), [&](int p) -> Terms {
    if (e.is_index(p)) return {};
    const Expression::AccessRef at = e.input_access(p);
    if (!varies(e.inputs()[at.buffer].Linearized(at.access))) return {};
    return {inputs[static_cast<size_t>(at.buffer)], uint64_t{1} << (at.buffer % 63)};
  });
}

// By how many units in the last place of the result sums of `length` products may be too small, as
// units cut partial sums off (kLeastTruncated).
double Truncations(double length, Products products) {
  // Of kFp8 sums are added up with rounding, and what is cut off before is SumError.
  if (products == Products::kFp8) return length / kKeptProducts;
  if (products != Products::kBf16x6) return length / kLeastTruncated;
  // Sums of 512 products of the largest parts are added up with rounding (UnitPlan): 512 / 16 cuts,
  // of partial sums that are sqrt(512 / length) of the result as those of random signs are. The
  // other products are a part of 2^-8 of these.
  constexpr double kPromoted = 512, kAtOnce = 16, kOthers = 5, kSmaller = 256;
  const double promoted = std::min(length, kPromoted) / kAtOnce;
  return promoted * std::max(1.0, std::sqrt(length / kPromoted)) +
         kOthers * length / kAtOnce / kSmaller;
}

}  // namespace

double DistinctValues(InputDistribution distribution, ScalarType type) {
  const double most = MostOf(type);
  const bool is_real = IsFloatingPoint(type);
  switch (distribution) {
    case InputDistribution::kQuarters:
      return std::min(most, is_real || IsSigned(type) ? 17.0 : 9.0);
    case InputDistribution::kFine:
      if (is_real && type != ScalarType::kBfloat16)
        return std::min(most, 4 / std::sqrt(Epsilon(type)));
      return std::min(most, is_real || IsSigned(type) ? 17.0 : 9.0);
    case InputDistribution::kUnits:
      return is_real ? 6 : most / 2;
    case InputDistribution::kSparse:
      return is_real ? most / 2 : std::min(most, 8.0);
    case InputDistribution::kPositive:
      return most;
    case InputDistribution::kSigned:
      return is_real || type == ScalarType::kBool ? most : std::min(most, 17.0);
  }
  return 1;
}

double DistinctValues(InputDistribution distribution, const ElementType& type) {
  double fewest = DistinctValues(distribution, type.fields()[0].type);
  for (const ElementType::Field& field : type.fields()) {
    fewest = std::min(fewest, DistinctValues(distribution, field.type));
  }
  return fewest;
}

std::vector<double> DistinctValues(InputDistribution distribution, const Expression& expression) {
  std::vector<double> values;
  for (const Buffer& input : expression.passed_inputs()) {
    values.push_back(DistinctValues(distribution, input.type));
  }
  return values;
}

std::vector<double> DistinctResults(const Expression& e, absl::Span<const double> inputs) {
  std::vector<Terms> results = TermsOfResults(e, inputs, [](int) { return true; });
  if (e.store() != nullptr) {
    results = ResultsOf(e.store()->function, [&](int p) -> Terms {
      switch (e.store_parameter(p)) {
        case Expression::StoreParameter::kResult:
          return results[static_cast<size_t>(p)];
        case Expression::StoreParameter::kAccess: {
          const int passed = e.passed_store_input(e.store_access(p).buffer);
          return {inputs[static_cast<size_t>(passed)], uint64_t{1} << (passed % 63)};
        }
        case Expression::StoreParameter::kIndex:
          break;
      }
      return {};
    });
  }
  std::vector<double> values(e.outputs().size(), 0);
  for (int n = 0; n < std::ssize(results); ++n) {
    double& of_output = values[static_cast<size_t>(e.output_access(n).buffer)];
    const double own = std::min(results[static_cast<size_t>(n)].values, MostOf(e.stored_type(n)));
    of_output = of_output == 0 ? own : std::min(of_output, own);
  }
  return values;
}

double RoundingBound(const Expression& e, int n, absl::Span<const double> inputs) {
  const std::vector<Terms> results =
      TermsOfResults(e, inputs, [&](int d) { return !e.combine_operators()[d].is_concat(); });
  double fewest = results[0].values;
  for (const Terms& terms : results) fewest = std::min(fewest, terms.values);
  // A store function may use all of them.
  if (e.store() == nullptr) fewest = results[static_cast<size_t>(n)].values;
  const auto combined = static_cast<double>(ReductionLength(e));
  const double alike = combined <= 1 ? 0 : std::min(combined, 4 * combined / std::sqrt(fewest));
  return 16 + 2 * std::sqrt(combined) + alike;
}

// The coarsest floating-point type that value number n of what is stored is computed in; its own if
// there is none.
ScalarType CoarsestOf(const Expression& expression, int n) {
  ScalarType coarsest = expression.stored()[n].type;
  const auto consider = [&](ScalarType type) {
    if (!IsFloatingPoint(type)) return;
    if (!IsFloatingPoint(coarsest) || Epsilon(type) > Epsilon(coarsest)) coarsest = type;
  };
  if (expression.store() == nullptr) return coarsest;
  for (const TypedName& result : expression.function().results()) consider(result.type);
  for (const ScalarInstruction& one : expression.store()->function.instructions()) {
    consider(one.type);
  }
  return coarsest;
}

double ResultTolerance(const Expression& expression, int n, absl::Span<const double> inputs,
                       NumericsPolicy numerics) {
  const ScalarType combined = CoarsestOf(expression, n);
  if (!IsFloatingPoint(combined)) return 0;
  const std::vector<double> of_random = DistinctValues(InputDistribution::kPositive, expression);
  if (inputs.empty()) inputs = of_random;
  const Products products = ProductsOf(PolicyFor(expression, numerics));
  const auto length = static_cast<double>(ReductionLength(expression));
  const bool may_truncate = MayTruncate(expression) || products != Products::kExact;
  const double of_units =
      (may_truncate ? Epsilon(ScalarType::kFloat32) * Truncations(length, products) : 0) +
      kProductDeviations * ProductError(products) + SumError(products);
  return Epsilon(combined) * RoundingBound(expression, n, inputs) + of_units;
}

}  // namespace mdh
