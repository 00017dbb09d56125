#include "core/decomposition/dot_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
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

bool Depends(const Expression& expression, const DotOperand& operand, int d) {
  const Expression::AccessRef ref = expression.input_access(operand.parameter);
  const IndexFunction& access = expression.inputs()[ref.buffer].accesses[ref.access];
  return std::ranges::any_of(access.indices,
                             [d](const AffineIndex& index) { return index.coefficients[d] != 0; });
}

bool HasTiles(const DeviceDescription& device) {
  return device.features.dot_products &&
         std::ranges::any_of(MatrixInstructions(), [&](const MatrixInstruction& row) {
           return row.unit == MatrixUnit::kTile && HasInstruction(row, device);
         });
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
  if (!plan.ok()) return std::nullopt;
  plan->unit = parameters.dot_unit;
  return *std::move(plan);
}

const MatrixInstruction* DotInstructionFor(const DotPlan& plan, const DeviceDescription& device) {
  const MatrixInstruction* widest = nullptr;
  if (!device.features.dot_products) return widest;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    // Vectors multiply signed by signed bytes as unsigned by signed ones, tiles all as they are.
    const bool is_on_tiles =
        row.unit == MatrixUnit::kTile && row.a == plan.a.type && row.b == plan.b.type;
    const bool is_on_vectors =
        row.unit == MatrixUnit::kVector && row.k == plan.group && row.a != ScalarType::kInt8;
    const bool is_for =
        (plan.on_tiles() ? is_on_tiles : is_on_vectors) && HasInstruction(row, device);
    if (is_for && (widest == nullptr || row.n > widest->n)) widest = &row;
  }
  return widest;
}

int64_t DotTiles::RowTiles(const std::vector<int64_t>& points) const {
  int64_t tiles = rows < 0 ? 1 : CeilDivide(points[rows], kTileRows);
  for (const int d : beside_rows) tiles *= points[d];
  return tiles;
}

int64_t DotTiles::LaneTiles(const std::vector<int64_t>& points, int v) const {
  int64_t tiles = CeilDivide(points[v], kTileWords);
  for (const int d : beside_lanes) tiles *= points[d];
  return tiles;
}

const MatrixInstruction* TileInstruction(ScalarType rows, ScalarType lanes) {
  for (const MatrixInstruction& row : MatrixInstructions()) {
    if (row.unit == MatrixUnit::kTile && row.a == rows && row.b == lanes) return &row;
  }
  return nullptr;
}

bool HasRowsInPlace(const Expression& expression, const DotOperand& operand, int d) {
  const Buffer& buffer = expression.inputs()[operand.buffer];
  const Expression::AccessRef ref = expression.input_access(operand.parameter);
  return buffer.boundary.kind == Boundary::Kind::kNone &&
         buffer.Linearized(ref.access).coefficients[d] == 1;
}

Result<DotTiles> PlanTiles(const Expression& expression, const DotPlan& plan, int v,
                           const std::vector<int64_t>& tile) {
  const std::optional<DotSides> sides = SidesOf(expression, plan, v);
  if (!sides.has_value()) return InvalidArgument("lanes are along no dimension of one operand");
  const int64_t k = expression.dimensions()[plan.dimension].size;
  DotTiles tiles{
      -1, {}, {}, static_cast<int>(std::min<int64_t>(kTileWords, CeilDivide(k, plan.group)))};
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d) || d == v || tile[d] == 1) continue;
    const bool has_rows = Depends(expression, sides->broadcast, d);
    const bool has_lanes = Depends(expression, sides->vector, d);
    if (has_rows == has_lanes) {
      return InvalidArgument("tiles have one point along ", expression.dimensions()[d].name,
                             ", which both operands have");
    }
    if (has_lanes) {
      tiles.beside_lanes.push_back(d);
    } else if (tiles.rows < 0 || tile[d] >= tile[tiles.rows]) {
      if (tiles.rows >= 0) tiles.beside_rows.push_back(tiles.rows);
      tiles.rows = d;
    } else {
      tiles.beside_rows.push_back(d);
    }
  }
  const int64_t of_rows = tiles.RowTiles(tile), of_lanes = tiles.LaneTiles(tile, v);
  if (HaveRoom(of_rows, of_lanes)) return tiles;
  return InvalidArgument(of_rows, " by ", of_lanes, " tiles of sums leave too few of ",
                         kTileRegisters, " tile registers for operands");
}

std::optional<DotSides> SidesOf(const Expression& expression, const DotPlan& plan, int v) {
  const auto depends = [&](const DotOperand& operand) { return Depends(expression, operand, v); };
  if (v < 0 || depends(plan.a) == depends(plan.b)) return std::nullopt;
  DotSides sides = depends(plan.a) ? DotSides{plan.b, plan.a, false, false}
                                   : DotSides{plan.a, plan.b, false, false};
  sides.vector_is_signed = IsSigned(sides.vector.type);
  sides.flips_broadcast = plan.is_bytes() && !plan.on_tiles() &&
                          IsSigned(sides.broadcast.type) == sides.vector_is_signed;
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

bool HasWords(const Expression& e, const TuningParameters&) {
  for (int d = 0; d < e.rank(); ++d) {
    if (e.is_reduction(d) && PlanDot(e, d).ok()) return true;
  }
  return false;
}

std::string DotUnitLack(const DeviceDescription& device, absl::Span<const int64_t> value) {
  const bool is_lacking = static_cast<DotUnit>(value[0]) == DotUnit::kTiles && !HasTiles(device);
  return is_lacking ? "the device has no tile registers" : "";
}

std::string DotUnitObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  const std::optional<DotPlan> plan = DotOf(target.expression, p);
  if (!plan.has_value() || DotInstructionFor(*plan, target.device) != nullptr) return "";
  return absl::StrCat("the device has no tile registers for ", Name(plan->a.type));
}

std::vector<ChoiceValue> OfferDotUnits(const ChoiceTarget& target) {
  const std::vector<ChoiceValue> dots = OfferDots(target);
  for (const ChoiceValue& dot : dots) {
    if (dot[0] == 0) continue;
    Result<DotPlan> plan = PlanDot(target.expression, static_cast<int>(dot[0]) - 1);
    plan->unit = DotUnit::kTiles;
    if (DotInstructionFor(*plan, target.device) != nullptr) return {{1}, {2}};
  }
  return {};
}

}  // namespace mdh
