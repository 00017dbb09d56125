#include "codegen/bounds/point_work.h"

#include <algorithm>

#include "codegen/bounds/distinct_operands.h"
#include "core/decomposition/keyed_form.h"
#include "core/expression/contraction_form.h"
#include "core/pipeline/factor_order.h"
#include "core/scalar/needed_instructions.h"

namespace mdh {
namespace {

class PointCounter {
 public:
  explicit PointCounter(const Expression& expression)
      : expression_(expression),
        operands_(expression),
        all_(ActiveDimensions(expression)),
        parameters_(ParametersOfInstructions(expression.function())),
        multiplies_(ReorderedProducts(expression)) {}

  PointWork Count() {
    const ScalarFunction& f = expression_.function();
    const bool is_whole = operands_.Points(all_) == static_cast<double>(expression_.points());
    if (expression_.is_empty() || expression_.has_prefix_sum() || !is_whole) return work_;
    if (f.instructions().size() > kMostCountedInstructions || FindKeyedForm(expression_).ok())
      return work_;
    work_.is_contraction = FindContractionForm(expression_).ok();
    const std::vector<bool> needed = NeededInstructions(f, NeededResults(expression_));
    std::vector<bool> read(f.parameters().size(), false);
    bool has_product = false;
    for (size_t n = 0; n < f.instructions().size(); ++n) {
      const ScalarInstruction& instruction = f.instructions()[n];
      if (!needed[n] || !IsFloatingPoint(instruction.type)) continue;
      if (!IsDifferentEverywhere(parameters_[n])) continue;
      const bool is_shared = multiplies_[n] && has_product;
      if (!is_shared) AddOperation(instruction.op, 1, of(work_.function, instruction.type));
      has_product = has_product || multiplies_[n];
      for (size_t p = 0; p < read.size(); ++p) read[p] = read[p] || parameters_[n][p];
    }
    CountCombinations();
    CountReads(read);
    return work_;
  }

 private:
  static ArithmeticWork& of(std::array<ArithmeticWork, 3>& work, ScalarType type) {
    return work[static_cast<size_t>(KindOf(type))];
  }

  // Counts are products of sizes, of which one at least is missing where they are less.
  bool HasAll(const Coefficients& rows, DimensionSet within) const {
    return operands_.Count(rows, within) > 0.75 * operands_.Points(within);
  }

  bool IsDifferentEverywhere(const std::vector<bool>& parameters) const {
    return operands_.ReadsInput(parameters) && HasAll(operands_.OfParameters(parameters), all_);
  }

  void CountCombinations() {
    if (!expression_.has_reduction() || MayCombineNeutrals(expression_)) return;
    const ScalarFunction& f = expression_.function();
    const std::vector<PointWiseKind>& kinds = expression_.reduction().kinds();
    const std::vector<bool> needed = NeededResults(expression_);
    for (size_t r = 0; r < f.results().size(); ++r) {
      const ScalarType type = f.results()[r].type;
      if (kinds[r] == PointWiseKind::kCustom || !IsFloatingPoint(type) || !needed[r]) continue;
      if (!IsDifferentEverywhere(parameters_[f.result_instructions()[r]])) continue;
      AddOperation(OperationOf(kinds[r]), 1, of(work_.combining, type));
    }
  }

  void CountReads(const std::vector<bool>& read) {
    std::vector<bool> is_counted(expression_.inputs().size(), false);
    for (int p = 0; p < std::ssize(read); ++p) {
      if (!read[p] || expression_.is_index(p)) continue;
      const Expression::AccessRef ref = expression_.input_access(p);
      if (is_counted[ref.buffer]) continue;
      is_counted[ref.buffer] = true;
      const Buffer& buffer = expression_.inputs()[ref.buffer];
      const Coefficients rows = DistinctOperands::OfAccess(buffer, ref.access);
      DimensionSet distinct = 0;
      for (const int d : Members(all_)) {
        const DimensionSet more = distinct | DimensionSet{1} << d;
        if (HasAll(rows, more)) distinct = more;
      }
      DimensionSet depends = 0;
      for (const int d : Members(all_)) {
        if (buffer.DependsOn(d)) depends |= DimensionSet{1} << d;
      }
      work_.reads.push_back(
          {.distinct = distinct,
           .depends = depends,
           .input = ref.buffer,
           .element_bytes = SizeBytes(expression_.function().parameters()[p].type)});
    }
  }

  const Expression& expression_;
  const DistinctOperands operands_;
  const DimensionSet all_;
  const std::vector<std::vector<bool>> parameters_;  // of f's instructions
  const std::vector<bool> multiplies_;               // idem: several factors, in any order
  PointWork work_;
};

}  // namespace

bool MayCombineNeutrals(const Expression& expression) {
  const std::vector<ScalarInstruction>& all = expression.function().instructions();
  return std::ranges::any_of(all, [](const ScalarInstruction& instruction) {
    return instruction.op == ScalarOp::kSelect || instruction.op == ScalarOp::kTable;
  });
}

PointWork PointWorkOf(const Expression& expression) { return PointCounter(expression).Count(); }

}  // namespace mdh
