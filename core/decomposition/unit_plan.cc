#include "core/decomposition/unit_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/dependences.h"
#include "core/expression/numerics.h"
#include "core/pipeline/rewrites/store_factor.h"

namespace mdh {
namespace {

template <typename... Parts>
Status NotForUnits(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool IsHalf(ScalarType type) {
  return type == ScalarType::kFloat16 || type == ScalarType::kBfloat16;
}

// Of an input with a boundary, neighbours are all inside or all outside.
int InputWidth(const Expression& e, const Buffer& buffer, int access, int d) {
  int width = UnitNeighbours(e, buffer.Linearized(access), d, kUnitPiece);
  if (buffer.boundary.kind == Boundary::Kind::kNone) return width;
  const std::vector<AffineIndex>& indices = buffer.accesses[access].indices;
  for (size_t x = 0; x < indices.size(); ++x) {
    if (indices[x].coefficients[d] == 0) continue;
    width = std::min(width, UnitNeighbours(e, indices[x], d, kUnitPiece));
    while (buffer.extents[x] % width != 0) width /= 2;
  }
  return width;
}

Result<UnitOperandPlan> PlanOperand(const Expression& e, const ContractionForm& form, bool is_a) {
  const ContractionOperand& operand = is_a ? form.a : form.b;
  const char* name = is_a ? "A" : "B";
  if (operand.loaded < 0) {
    return NotForUnits("operand ", name, " is computed, and units take what is loaded");
  }
  const Expression::AccessRef ref = e.input_access(operand.loaded);
  const Buffer& buffer = e.inputs()[ref.buffer];
  if (buffer.type.is_record() || !IsHalf(buffer.type.scalar())) {
    return NotForUnits("operand ", name, " is of type ", buffer.type.ToString(),
                       ", and units take fp16 and bf16");
  }
  const bool is_bounded = buffer.boundary.kind != Boundary::Kind::kNone;
  const bool is_zero = buffer.boundary.kind == Boundary::Kind::kConstant &&
                       buffer.boundary.values[0].as_double() == 0;
  if (is_bounded && !is_zero) {
    return NotForUnits("operand ", name, " has a boundary that is not 0");
  }
  UnitOperandPlan plan{operand.loaded, false, 1};
  const std::vector<int>& own = is_a ? form.m : form.n;
  const int along_k = InputWidth(e, buffer, ref.access, form.k.back());
  const int across = InputWidth(e, buffer, ref.access, own.back());
  plan.is_across = across > along_k;
  plan.width = std::max(across, along_k);
  return plan;
}

// Neighbours along dimension d of the output that are stored at once.
int ResultWidth(const Expression& e, int d) {
  if (e.stored().size() != 1) return 1;
  const Expression::AccessRef ref = e.output_access(0);
  const Buffer& output = e.outputs()[ref.buffer];
  if (output.type.is_record()) return 1;
  const int most = std::min<int>(16 / SizeBytes(e.stored_type(0)), kUnitPiece);
  return UnitNeighbours(e, output.Linearized(ref.access), d, most);
}

constexpr int64_t kMostUnitSums = 200;        // of a thread: some registers are for all else
constexpr int64_t kRegistersBesideSums = 40;  // idem

std::string UnitCountsObstacle(const UnitParameters& u) {
  if (u.groups < 1 || u.groups > kMostUnitGroups) {
    return absl::StrCat("groups: ", u.groups, " is not in 1..", kMostUnitGroups);
  }
  if (u.rows < 1 || u.rows % (kUnitRows * u.groups) != 0) {
    return absl::StrCat("rows: ", u.rows, " is no multiple of ", kUnitRows, " for each of ",
                        u.groups, " groups");
  }
  if (u.columns < 16 || u.columns > kUnitMostColumns || u.columns % 16 != 0) {
    return absl::StrCat("columns: ", u.columns, " is no multiple of 16 in 16..", kUnitMostColumns);
  }
  if (u.stages < kFewestUnitStages || u.stages > kMostUnitStages) {
    return absl::StrCat("stages: ", u.stages, " is not in ", kFewestUnitStages, "..",
                        kMostUnitStages);
  }
  if (u.parts < 1 || u.parts > kMostUnitParts) {
    return absl::StrCat("parts: ", u.parts, " is not in 1..", kMostUnitParts);
  }
  return "";
}

// Of a cluster: each of its blocks stores whole pieces, and shows the others the sums of its tile
// in the place of one operand.
std::string UnitClusterObstacle(const UnitParameters& u) {
  constexpr int kShownOfStage = kUnitDepth * kUnitElementBytes / 4;  // rows or columns of fp32
  if (u.parts == 1) return "there is one part, and nothing to combine";
  if (u.parts > kMaxClusterBlocks) {
    return absl::StrCat("parts: ", u.parts, " blocks share sums, a cluster has at most ",
                        kMaxClusterBlocks);
  }
  if (u.columns % (16 * u.parts) != 0) {
    return absl::StrCat("columns: ", u.columns, " is no multiple of 16 for each of ", u.parts,
                        " blocks of a cluster");
  }
  if (std::min(u.rows, u.columns) > kShownOfStage * u.stages) {
    return absl::StrCat("stages: the sums of ", u.rows, " rows of ", u.columns,
                        " columns do not fit in the place of ", u.stages, " of one operand");
  }
  return "";
}

std::string UnitCombinationObstacle(const UnitParameters& u, CombineBlocks combine) {
  switch (combine) {
    case CombineBlocks::kPartials:
      return "";
    case CombineBlocks::kCluster:
      return UnitClusterObstacle(u);
    case CombineBlocks::kAtomics:
    case CombineBlocks::kLastBlock:
      return "parts of matrix units combine as partials or in a cluster";
  }
  return "";
}

// Whether one value of fp32 per point becomes an element of 16 bits.
bool IsStaged(const Expression& e) {
  return e.stored().size() == 1 && IsHalf(e.stored_type(0)) &&
         Info(e.stored()[0].type).computed == ScalarType::kFloat32;
}

}  // namespace

int UnitNeighbours(const Expression& e, const AffineIndex& offset, int d, int most) {
  if (offset.coefficients[d] != 1) return 1;
  const auto fits = [&](int64_t width) {
    if (e.dimensions()[d].size % width != 0 || offset.constant % width != 0) return false;
    for (int x = 0; x < e.rank(); ++x) {
      if (x != d && e.dimensions()[x].size > 1 && offset.coefficients[x] % width != 0) return false;
    }
    return true;
  };
  int width = most;
  while (!fits(width)) width /= 2;
  return width;
}

int64_t UnitSharedBytes(const UnitParameters& unit) {
  return int64_t{unit.stages} * (unit.rows + unit.columns) * kUnitDepth * kUnitElementBytes;
}

int64_t UnitSums(const UnitParameters& unit) {
  return int64_t{unit.rows} * unit.columns / (kUnitThreads * unit.groups);
}

Result<UnitPlan> PlanUnit(const Expression& expression) {
  if (expression.is_empty()) return NotForUnits("there are no points");
  MDH_ASSIGN_OR_RETURN(ContractionForm form, FindContractionForm(expression));
  if (form.product != ScalarType::kFloat32 && !IsHalf(form.product)) {
    return NotForUnits("products are of type ", Name(form.product));
  }
  if (form.combined != ScalarType::kFloat32 && !IsHalf(form.combined)) {
    return NotForUnits("sums are of type ", Name(form.combined));
  }
  MDH_ASSIGN_OR_RETURN(const UnitOperandPlan a, PlanOperand(expression, form, true));
  MDH_ASSIGN_OR_RETURN(const UnitOperandPlan b, PlanOperand(expression, form, false));
  if (form.a.type() != form.b.type()) {
    return NotForUnits("operands are of types ", Name(form.a.type()), " and ", Name(form.b.type()));
  }
  MDH_ASSIGN_OR_RETURN(Expression computed, WithFactorStored(expression, form));
  UnitPlan plan = {.form = std::move(form),
                   .computed = std::move(computed),
                   .a_in_memory = a,
                   .b_in_memory = b,
                   .a = a,
                   .b = b};
  plan.batches = PointsAlong(expression, plan.form.batch);
  plan.m = PointsAlong(expression, plan.form.m);
  plan.n = PointsAlong(expression, plan.form.n);
  plan.k = PointsAlong(expression, plan.form.k);
  return plan;
}

std::string CutForUnit(const UnitParameters& unit, const DeviceDescription& device,
                       const BlockChoices& choices, UnitPlan* plan) {
  const int resident_blocks = choices.resident_blocks;
  if (std::string why = UnitCountsObstacle(unit); !why.empty()) return why;
  if (std::string why = UnitCombinationObstacle(unit, choices.combine_blocks); !why.empty()) {
    return why;
  }
  *plan = CutForUnit(unit, choices.combine_blocks, std::move(*plan));
  if (plan->part_stages * (unit.parts - 1) >= plan->stages_k) {
    return absl::StrCat(unit.parts, " parts of ", plan->stages_k, " stages along k: one is empty");
  }
  if (plan->b.is_across && unit.columns % kUnitRows != 0) {
    return absl::StrCat("columns: ", unit.columns,
                        " is no multiple of 64, and B is contiguous along n");
  }
  const BlockLimits& limits = device.blocks;
  const int64_t threads = kUnitThreads * unit.groups;
  const int64_t registers = RegistersPerThread(limits, threads, resident_blocks);
  return FirstExceeded(
      {{"bytes of shared memory of a block",
        UnitSharedBytes(unit) + (resident_blocks > 1 ? kReservedSharedBytes : 0),
        limits.shared_bytes_per_block / std::max(1, resident_blocks)},
       {"sums of a thread", UnitSums(unit),
        std::min(kMostUnitSums, registers - kRegistersBesideSums)},
       {"threads of a block", threads, limits.max_threads_per_block},
       {"blocks of the grid", plan->blocks(unit), limits.max_grid[0]},
       {"bytes of packed operands",
        kUnitElementBytes * (plan->packed_elements(true) + plan->packed_elements(false)),
        kMaxSharedScratchBytes}});
}

UnitPlan CutForUnit(const UnitParameters& unit, CombineBlocks combine, UnitPlan plan) {
  const auto packed = [&](UnitOperandPlan operand, PackedOperands which, int64_t own) {
    if ((static_cast<int>(unit.packed) & static_cast<int>(which)) == 0) return operand;
    operand.packed_row = RoundUp(operand.is_across ? own : plan.k, kUnitPiece);
    operand.width = kUnitPiece;
    return operand;
  };
  plan.a = packed(plan.a_in_memory, PackedOperands::kA, plan.m);
  plan.b = packed(plan.b_in_memory, PackedOperands::kB, plan.n);
  plan.tiles_m = CeilDivide(plan.m, unit.rows);
  plan.tiles_n = CeilDivide(plan.n, unit.columns);
  plan.stages_k = CeilDivide(plan.k, kUnitDepth);
  plan.part_stages = CeilDivide(plan.stages_k, unit.parts);
  plan.sharers = combine == CombineBlocks::kCluster ? unit.parts : 1;
  plan.leaves_parts = unit.parts > plan.sharers;
  plan.is_staged = !plan.leaves_parts && IsStaged(plan.computed);
  plan.result_width = plan.leaves_parts ? 1 : ResultWidth(plan.computed, plan.form.n.back());
  return plan;
}

// ---- Validate ----

std::string UnitObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  if (p.numerics != NumericsPolicy::kReassociate) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  if (p.scan.threads > 0 || p.keyed.threads > 0) return "scan and keyed compute without units";
  Result<UnitPlan> plan = PlanUnit(target.expression);
  if (!plan.ok()) return std::string(plan.status().message());
  return CutForUnit(p.unit, target.device, p, &*plan);
}

}  // namespace mdh
