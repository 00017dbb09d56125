// Formulas compiled to one list of operations with shared subexpressions, every operation after its
// operands. Types are decided: what a formula can do is known before any value is.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "tuner/space/constraints/bounds.h"
#include "tuner/space/constraints/parameter_values.h"
#include "tuner/space/formula/formula.h"

namespace mdh {

inline bool IsLeafOfParameter(OperationCode code) {
  return code == OperationCode::kParameter || code == OperationCode::kCode;
}

// Whether an operation can have more than two operands.
bool IsChain(OperationCode code);

class OperationGraph {
 public:
  // Bounds of the parameters' values, by number of parameter.
  explicit OperationGraph(std::vector<Bounds> parameter_bounds)
      : parameter_bounds_(std::move(parameter_bounds)) {}

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<OpaqueCondition>& predicates() const { return predicates_; }
  // What the operations can come to, whatever the parameters' values.
  const std::vector<Bounds>& bounds() const { return bounds_; }

  // The number of an operation; the same for the same operation on the same operands. What is
  // certain becomes a constant. Sums, products, minima, maxima, conjunctions and disjunctions take
  // any number of operands.
  int Add(Operation operation);
  int AddConstant(ValueKind kind, const Bounds& value);
  int AddPredicate(OpaqueCondition condition, std::vector<int> operands);

  // What the operations can come to for bounds of the parameters' values and, where these are no
  // integers, of their codes.
  std::vector<Bounds> Evaluate(absl::Span<const Bounds> values,
                               absl::Span<const Bounds> codes) const;

  // For other bounds of the parameters' values.
  void SetParameterBounds(std::vector<Bounds> parameter_bounds);

 private:
  Bounds BoundsOf(const Operation& operation) const;
  static Bounds BoundsOf(const Operation& operation, const std::vector<Bounds>& operands);

  std::vector<Bounds> parameter_bounds_;
  std::vector<Operation> operations_;
  std::vector<Bounds> bounds_;
  std::vector<OpaqueCondition> predicates_;
  absl::flat_hash_map<std::vector<int64_t>, int> numbers_;
};

// A number that an operation gives.
struct Operand {
  int operation;
  bool is_real;
};

// A condition that every configuration satisfies.
struct RootCondition {
  int operation;
  int constraint;  // that it is, or is a part of
};

// Adds constraints, conjunctions taken apart. Expects what CheckFormula accepts.
std::vector<RootCondition> CompileConstraints(const std::vector<Constraint>& constraints,
                                              const std::vector<TuningParameter>& parameters,
                                              const StringRanks& strings, OperationGraph& graph);

// The operation of a number. Expects what CheckFormula accepts; nullopt: operations cannot express
// it.
std::optional<Operand> CompileNumber(const Formula& formula,
                                     const std::vector<TuningParameter>& parameters,
                                     const StringRanks& strings, OperationGraph& graph);

// The same operations with two operands at most. Chains of sums and products are associated such
// that parameters of earlier levels come together first, so that prefixes are known by one value.
OperationGraph OrderedByLevel(const OperationGraph& graph, std::vector<RootCondition>& roots,
                              const std::vector<int>& level_of_parameter,
                              std::vector<Bounds> parameter_bounds);

// Whether an operation is a root or below one.
std::vector<bool> UsedOperations(const OperationGraph& graph,
                                 const std::vector<RootCondition>& roots);

// For every operation, the parameters below it.
std::vector<std::vector<int>> ParametersOfOperations(const OperationGraph& graph);

}  // namespace mdh
