#include "core/decomposition/dot_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/contraction_form.h"
#include "core/scalar/scalar_type.h"

namespace mdh {
namespace {

Result<DotOperand> OperandOf(const Expression& expression, const ContractionOperand& operand) {
  if (operand.loaded < 0) return InvalidArgument("an operand is computed");
  const Expression::AccessRef ref = expression.input_access(operand.loaded);
  const Buffer& buffer = expression.inputs()[ref.buffer];
  if (buffer.type.is_record()) return InvalidArgument(buffer.name, " has records");
  return DotOperand{operand.loaded, ref.buffer, buffer.type.scalar()};
}

}  // namespace

Result<DotPlan> PlanDot(const Expression& expression, int d) {
  if (expression.is_empty()) return InvalidArgument("there are no points");
  MDH_ASSIGN_OR_RETURN(const ContractionForm form, FindContractionForm(expression));
  if (form.factor.has_value()) return InvalidArgument("sums have a factor");
  if (std::ranges::find(form.k, d) == form.k.end()) {
    return InvalidArgument(
        d < expression.rank() ? absl::string_view(expression.dimensions()[d].name) : "it",
        " is no dimension that both operands have and that is reduced");
  }
  MDH_ASSIGN_OR_RETURN(const DotOperand a, OperandOf(expression, form.a));
  MDH_ASSIGN_OR_RETURN(const DotOperand b, OperandOf(expression, form.b));
  const bool are_halves = a.type == ScalarType::kBfloat16 && b.type == ScalarType::kBfloat16;
  if (!are_halves && !(IsByte(a.type) && IsByte(b.type))) {
    return InvalidArgument("operands are of types ", Name(a.type), " and ", Name(b.type));
  }
  const ScalarType sums = Info(expression.function().results()[0].type).computed;
  const ScalarType accumulator = are_halves ? ScalarType::kFloat32 : ScalarType::kInt32;
  if (sums != accumulator) return InvalidArgument("sums are of type ", Name(sums));
  return DotPlan{d, kWordBytes / SizeBytes(a.type), a, b};
}

std::optional<DotPlan> DotOf(const Expression& expression, const TuningParameters& parameters) {
  if (parameters.dot == 0) return std::nullopt;
  Result<DotPlan> plan = PlanDot(expression, parameters.dot - 1);
  return plan.ok() ? std::optional(*std::move(plan)) : std::nullopt;
}

const MatrixInstruction* DotInstructionFor(const DotPlan& plan, const DeviceDescription& device) {
  const MatrixInstruction* widest = nullptr;
  if (!device.features.dot_products) return widest;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    // Signed by signed bytes are multiplied as unsigned by signed ones.
    const bool is_for = row.unit == MatrixUnit::kVector && row.k == plan.group &&
                        (row.a != ScalarType::kInt8) && HasInstruction(row, device);
    if (is_for && (widest == nullptr || row.n > widest->n)) widest = &row;
  }
  return widest;
}

std::optional<DotSides> SidesOf(const Expression& expression, const DotPlan& plan, int v) {
  const auto depends = [&](const DotOperand& operand) {
    const Expression::AccessRef ref = expression.input_access(operand.parameter);
    const IndexFunction& access = expression.inputs()[ref.buffer].accesses[ref.access];
    return std::ranges::any_of(
        access.indices, [v](const AffineIndex& index) { return index.coefficients[v] != 0; });
  };
  if (v < 0 || depends(plan.a) == depends(plan.b)) return std::nullopt;
  DotSides sides = depends(plan.a) ? DotSides{plan.b, plan.a, false, false}
                                   : DotSides{plan.a, plan.b, false, false};
  sides.vector_is_signed = IsSigned(sides.vector.type);
  sides.flips_broadcast =
      plan.is_bytes() && IsSigned(sides.broadcast.type) == sides.vector_is_signed;
  return sides;
}

bool FlipsSigns(const Expression& expression, const TuningParameters& parameters, int v) {
  const std::optional<DotPlan> plan = DotOf(expression, parameters);
  const auto sides = plan ? SidesOf(expression, *plan, v) : std::nullopt;
  return sides.has_value() && sides->flips_broadcast;
}

int WordDimension(const Expression& expression, const DotPlan& plan, const DotOperand& operand) {
  const Buffer& buffer = expression.inputs()[operand.buffer];
  if (buffer.accesses.size() != 1) return -1;
  int found = -1, uses = 0;
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    if (buffer.accesses[0].indices[x].coefficients[plan.dimension] == 0) continue;
    ++uses;
    if (PlainDimension(buffer, x) == plan.dimension &&
        buffer.accesses[0].indices[x].constant == 0) {
      found = x;
    }
  }
  return uses == 1 ? found : -1;
}

// ---- The choice ----

std::string DotLack(const DeviceDescription& device, absl::Span<const int64_t>) {
  return device.features.dot_products ? "" : "the device has no dot instructions";
}

std::vector<ChoiceValue> OfferDots(const ChoiceTarget& t) {
  std::vector<ChoiceValue> values;
  if (!t.device.features.dot_products) return values;
  for (int d = 0; d < t.expression.rank(); ++d) {
    if (!t.expression.is_reduction(d)) continue;
    const Result<DotPlan> plan = PlanDot(t.expression, d);
    if (plan.ok() && DotInstructionFor(*plan, t.device) != nullptr) values.push_back({d + 1});
  }
  if (!values.empty()) values.insert(values.begin(), {0});
  return values;
}

std::string DotObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  if (!Reassociates(p.numerics)) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  const Result<DotPlan> plan = PlanDot(target.expression, p.dot - 1);
  if (!plan.ok()) return std::string(plan.status().message());
  if (DotInstructionFor(*plan, target.device) != nullptr) return "";
  return absl::StrCat("the device has no dot instructions for ", Name(plan->a.type));
}

}  // namespace mdh
