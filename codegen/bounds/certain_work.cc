#include "codegen/bounds/certain_work.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "codegen/bounds/distinct_operands.h"
#include "codegen/bounds/point_work.h"
#include "codegen/bounds/product_sum.h"
#include "core/expression/contraction_form.h"
#include "core/expression/touched_elements.h"
#include "core/scalar/needed_instructions.h"

namespace mdh {
namespace {

class WorkCounter {
 public:
  explicit WorkCounter(const Expression& expression)
      : expression_(expression),
        operands_(expression),
        dimensions_(DimensionsOfInstructions(expression)),
        parameters_(ParametersOfInstructions(expression.function())),
        active_(ActiveDimensions(expression)) {}

  CertainWork Count() {
    if (expression_.is_empty()) return work_;
    product_ = FindProductSum(expression_);
    is_contraction_ = FindContractionForm(expression_).ok();
    if (product_) CountProductSum();
    if (product_ || !is_contraction_) CountFunction();
    if (!product_ && !is_contraction_) CountCombinations();
    if (expression_.store() != nullptr) CountStore();
    LeaveOutEqualResults();
    CountBytes();
    return work_;
  }

 private:
  // Sums of products are counted as a whole; what matrix units may compute is set aside.
  void CountProductSum() {
    ArithmeticWork of_sum = WorkOf(*product_, operands_, ReducedDimensions(expression_));
    if (MayCombineNeutrals(expression_)) of_sum.additions = 0;
    if (is_contraction_) {
      work_.contraction = of_sum;
      work_.contracted = KindOf(product_->type);
    } else {
      work_.of(KindOf(product_->type)) = of_sum;
    }
  }

  void CountFunction() {
    const ScalarFunction& f = expression_.function();
    if (f.instructions().size() > kMostCountedInstructions) return;
    const std::vector<bool> needed = NeededInstructions(f, NeededResults(expression_));
    for (size_t n = 0; n < f.instructions().size(); ++n) {
      const ScalarInstruction& instruction = f.instructions()[n];
      if (!needed[n] || !IsFloatingPoint(instruction.type)) continue;
      if (product_ && product_->products.count(static_cast<int>(n)) > 0) continue;
      if (!operands_.ReadsInput(parameters_[n])) continue;
      AddOperation(instruction.op, operands_.Count(operands_.OfParameters(parameters_[n]), active_),
                   work_.of(KindOf(instruction.type)));
    }
  }

  void CountCombinations() {
    const bool combines = expression_.has_reduction() || expression_.has_prefix_sum();
    if (!combines || MayCombineNeutrals(expression_)) return;
    DimensionSet combined = 0;
    for (int d = 0; d < expression_.rank(); ++d) {
      if (!expression_.combine_operators()[d].is_concat()) combined |= DimensionSet{1} << d;
    }
    const ScalarFunction& f = expression_.function();
    const std::vector<PointWiseKind>& kinds = expression_.reduction().kinds();
    const std::vector<bool> needed = NeededResults(expression_);
    for (size_t r = 0; r < f.results().size(); ++r) {
      const ScalarType type = f.results()[r].type;
      if (kinds[r] == PointWiseKind::kCustom || !IsFloatingPoint(type) || !needed[r]) continue;
      const DimensionSet uses = dimensions_[f.result_instructions()[r]];
      const double kept = operands_.Points(uses & ~combined);
      AddOperation(OperationOf(kinds[r]), operands_.Points(uses) - kept, work_.of(KindOf(type)));
    }
  }

  void CountStore() {
    const ScalarFunction& s = expression_.store()->function;
    const std::vector<bool> needed =
        NeededInstructions(s, std::vector<bool>(s.results().size(), true));
    if (s.instructions().size() > kMostCountedInstructions) return;
    const std::vector<std::vector<bool>> parameters = ParametersOfInstructions(s);
    const DimensionSet kept = active_ & ~ReducedDimensions(expression_);
    for (size_t n = 0; n < s.instructions().size(); ++n) {
      const ScalarInstruction& instruction = s.instructions()[n];
      if (!needed[n] || !IsFloatingPoint(instruction.type)) continue;
      Coefficients rows;
      if (!AppendOperands(parameters[n], rows)) continue;
      AddOperation(instruction.op, operands_.Count(rows, kept), work_.of(KindOf(instruction.type)));
    }
  }

  // Whether an input is read for any of these parameters of the store function.
  bool AppendOperands(const std::vector<bool>& parameters, Coefficients& rows) const {
    bool reads = false;
    for (int p = 0; p < std::ssize(parameters); ++p) {
      if (!parameters[p]) continue;
      Coefficients more;
      switch (expression_.store_parameter(p)) {
        case Expression::StoreParameter::kResult: {
          const std::vector<bool>& made_of =
              parameters_[expression_.function().result_instructions()[p]];
          reads = reads || operands_.ReadsInput(made_of);
          more = operands_.OfParameters(made_of);
          break;
        }
        case Expression::StoreParameter::kAccess: {
          const Expression::AccessRef ref = expression_.store_access(p);
          more = DistinctOperands::OfAccess(expression_.store()->inputs[ref.buffer], ref.access);
          reads = true;
          break;
        }
        case Expression::StoreParameter::kIndex:
          more = operands_.OfIndex(expression_.store_index_dimension(p));
      }
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return reads;
  }

  void LeaveOutEqualResults() {
    const double share = ShareOfDistinctResults(expression_);
    for (ArithmeticWork& work : work_.vector) work = share * work;
    work_.contraction = share * work_.contraction;
  }

  void CountBytes() {
    for (int b = 0; b < std::ssize(expression_.passed_inputs()); ++b) {
      work_.read_bytes += static_cast<double>(InputBytes(expression_, b).lower);
    }
    for (int b = 0; b < std::ssize(expression_.outputs()); ++b) {
      work_.written_bytes += static_cast<double>(OutputBytes(expression_, b).lower);
    }
  }

  const Expression& expression_;
  const DistinctOperands operands_;
  const std::vector<DimensionSet> dimensions_;       // of f's instructions
  const std::vector<std::vector<bool>> parameters_;  // idem
  const DimensionSet active_;
  bool is_contraction_ = false;
  std::optional<ProductSum> product_;
  CertainWork work_;
};

}  // namespace

RealKind KindOf(ScalarType type) {
  if (type == ScalarType::kFloat64) return RealKind::kDouble;
  return type == ScalarType::kFloat32 ? RealKind::kSingle : RealKind::kHalf;
}

void AddOperation(ScalarOp op, double count, ArithmeticWork& work) {
  switch (op) {
    case ScalarOp::kMul:
      work.multiplications += count;
      return;
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
      work.additions += count;
      return;
    case ScalarOp::kExp:
    case ScalarOp::kExp2:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
      work.special += count;
      return;
    default:
      if (Info(op).flops > 0) work.others += count;
  }
}

ArithmeticWork operator+(const ArithmeticWork& a, const ArithmeticWork& b) {
  return {a.multiplications + b.multiplications, a.additions + b.additions, a.others + b.others,
          a.special + b.special};
}

ArithmeticWork operator*(double times, const ArithmeticWork& work) {
  return {times * work.multiplications, times * work.additions, times * work.others,
          times * work.special};
}

ArithmeticWork Larger(const ArithmeticWork& a, const ArithmeticWork& b) {
  return {std::max(a.multiplications, b.multiplications), std::max(a.additions, b.additions),
          std::max(a.others, b.others), std::max(a.special, b.special)};
}

double CertainWork::operations() const {
  return std::accumulate(
      vector.begin(), vector.end(), contraction.operations(),
      [](double sum, const ArithmeticWork& one) { return sum + one.operations(); });
}

CertainWork CertainWorkOf(const Expression& expression) { return WorkCounter(expression).Count(); }

}  // namespace mdh
