#include "core/decomposition/unit_plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/unit_use.h"
#include "core/decomposition/validate.h"
#include "core/expression/dependences.h"
#include "core/expression/store_factor.h"

namespace mdh {
namespace {

bool IsHalf(ScalarType type) {
  return type == ScalarType::kFloat16 || type == ScalarType::kBfloat16;
}

bool IsUnitOperand(ScalarType type, Products products) {
  if (IsFp8(type)) return products == Products::kFp8;
  if (type == ScalarType::kFloat32)
    return products != Products::kExact && products != Products::kFp8;
  return IsHalf(type) || IsByte(type) || type == ScalarType::kFloat64;
}

// What the unit adds up in.
ScalarType SumOf(ScalarType element) {
  if (IsHalf(element) || IsFp8(element)) return ScalarType::kFloat32;
  return IsByte(element) ? ScalarType::kInt32 : element;
}

struct OperandTypes {
  ScalarType a, b;
};

// Types of units in which operands are what they are: their own, or one that has all values of
// both.
Result<OperandTypes> HeldTypes(const ContractionForm& form, Products products) {
  const ScalarType a = form.a.type(), b = form.b.type();
  const bool adds_up = !IsByte(a) || IsInteger(form.combined);  // bytes in int32
  const bool are_operands = IsUnitOperand(a, products) && IsUnitOperand(b, products);
  if (are_operands && HaveGpuUnit(a, b) && adds_up) return OperandTypes{a, b};
  for (const ScalarType type :
       {ScalarType::kFloat8E4m3, ScalarType::kFloat8E5m2, ScalarType::kFloat16,
        ScalarType::kBfloat16, ScalarType::kFloat32, ScalarType::kFloat64}) {
    if (!IsUnitOperand(type, products)) continue;
    if (form.product != SumOf(type) && !(IsHalf(type) && IsHalf(form.product))) continue;
    const bool has_all = HasAllValues(type, form.a.function) && HasAllValues(type, form.b.function);
    if (has_all) return OperandTypes{type, type};
  }
  return InvalidArgument("operands are of types ", Name(a), " and ", Name(b),
                         ", and units take fp16, bf16, fp64, int8 and uint8",
                         a == ScalarType::kFloat32 && b == ScalarType::kFloat32
                             ? ", and fp32 with numerics=tf32, bf16x3 and bf16x6"
                             : "");
}

// What is loaded, where it is all there is to it.
bool IsInMemory(const Expression& e, const ContractionOperand& operand, ScalarType held) {
  if (operand.loaded < 0) return false;
  const Buffer& buffer = e.inputs()[e.input_access(operand.loaded).buffer];
  if (buffer.type != ElementType(held)) return false;
  return buffer.boundary.kind == Boundary::Kind::kNone ||
         (buffer.boundary.kind == Boundary::Kind::kConstant &&
          buffer.boundary.values[0].as_double() == 0);
}

// Whether single elements that follow each other in memory do so across k. Units take bytes along
// k.
bool LiesAcross(const Expression& e, Expression::AccessRef access, int own, int k) {
  const Buffer& buffer = e.inputs()[access.buffer];
  if (buffer.type.is_record() || buffer.type.size_bytes() == 1) return false;
  const AffineIndex offset = buffer.Linearized(access.access);
  return std::abs(offset.coefficients[own]) == 1 && std::abs(offset.coefficients[k]) != 1;
}

// By the parameter with the most neighbours along k or across it.
Result<UnitOperandPlan> PlanOperand(const Expression& e, const ContractionForm& form, bool is_a,
                                    ScalarType held) {
  const ContractionOperand& operand = is_a ? form.a : form.b;
  const std::vector<int>& own = is_a ? form.m : form.n;
  UnitOperandPlan plan{.held = held};
  plan.is_made = !IsInMemory(e, operand, held);
  for (const int p : operand.parameters) {
    if (e.is_index(p)) continue;
    const int along_k = UnitLoadWidth(e, p, form.k.back()),
              across = UnitLoadWidth(e, p, own.back());
    const int width = std::max(across, along_k);
    const Expression::AccessRef access = e.input_access(p);
    plan.loaded_bytes += SizeBytes(e.inputs()[access.buffer].type.fields()[access.field].type);
    if (plan.parameter >= 0 && width <= plan.width) continue;
    plan.parameter = p;
    plan.is_across =
        across > along_k || (width == 1 && LiesAcross(e, access, own.back(), form.k.back()));
    plan.width = width;
  }
  if (plan.parameter < 0) {
    return InvalidArgument("operand ", is_a ? "A" : "B", " is made of indices alone");
  }
  const Expression::AccessRef ref = e.input_access(plan.parameter);
  const Buffer& buffer = e.inputs()[ref.buffer];
  const int64_t bytes = buffer.type.size_bytes();
  const auto line = static_cast<int>(std::max<int64_t>(1, kUnitRowBytes / bytes));
  const int along = plan.is_across ? own.back() : form.k.back();
  const int64_t row = std::min<int64_t>(line, e.dimensions()[along].size);
  if (NeighboursAlong(e, buffer.Linearized(ref.access), along, line) < row) plan.row_lines = 2;
  // Fewer bytes are copied one by one.
  if (plan.width * bytes < kFewestCopiedBytes) plan.width = 1;
  return plan;
}

bool IsSquare(const Expression& e, const UnitPlan& plan) {
  const ContractionForm& form = plan.form;
  return form.a.loaded >= 0 && form.b.loaded >= 0 && !plan.has_parts() &&
         plan.a.held == plan.b.held && plan.a.is_across == plan.b.is_across &&
         IsSquareOfOne(e, form, form.a.loaded, form.b.loaded);
}

// Neighbours along dimension d of the output that are stored at once.
int ResultWidth(const Expression& e, int d) {
  if (e.stored().size() != 1) return 1;
  const Expression::AccessRef ref = e.output_access(0);
  const Buffer& output = e.outputs()[ref.buffer];
  if (output.type.is_record()) return 1;
  const int64_t bytes = std::max<int64_t>(kUnitElementBytes, SizeBytes(e.stored_type(0)));
  const auto most = static_cast<int>(kUnitPieceBytes / bytes);
  return NeighboursAlong(e, output.Linearized(ref.access), d, most);
}

constexpr int kMostUnitWarps = 32;
constexpr int64_t kMostUnitRegisters = 200;   // of a thread's sums: some are for all else
constexpr int64_t kRegistersBesideSums = 40;  // idem; fewer where threads copy nothing
constexpr int64_t kRegistersOfWarps = 32;     // that are for all else where operands have some
// That assemblers ask for beside one multiplication's sums, before a producer leaves some.
constexpr int64_t kBesideMultiplication = 26;
constexpr int64_t kRegisterBytes = 4;

// Of a thread that multiplies. Four warps of a multiprocessor have a part of its registers each.
int64_t UnitThreadRegisters(const UnitParameters& unit, const BlockLimits& limits, int resident) {
  if (unit.producer == UnitProducer::kGroup) return UnitGroupRegisters(unit);
  return RegistersPerThread(limits, RoundUp(unit.launched_threads(), kUnitThreads), resident);
}

std::string TypesText(const UnitPlan& plan) {
  const ScalarType a = plan.element_a(), b = plan.element_b();
  return absl::StrCat(Name(a), a == b ? "" : absl::StrCat(" by ", Name(b)));
}

// Of tiles that groups of threads share.
std::string GroupTilesObstacle(const UnitParameters& u, const UnitPlan& plan) {
  if (!GroupInstruction(plan.element_a(), plan.element_b(), kWarpColumns).has_value()) {
    return absl::StrCat("operands are of type ", Name(plan.element_a()),
                        ", and units of groups take fp16, bf16, int8, uint8 and fp8");
  }
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
  return "";
}

// Of tiles that warps share.
std::string WarpTilesObstacle(const UnitParameters& u, const UnitPlan& plan,
                              const DeviceDescription& device) {
  const UnitWarps& warps = u.warps;
  if (u.groups != 1) return absl::StrCat("groups: ", u.groups, " is not 1, and warps multiply");
  if (warps.along_m < 1 || warps.along_n < 1 || warps.along_m > kMostUnitWarps ||
      warps.along_n > kMostUnitWarps / warps.along_m) {
    return absl::StrCat(warps.along_m, " x ", warps.along_n, " warps are not 1..", kMostUnitWarps);
  }
  // All threads copy so many rows at once that swizzles are alike in all of these.
  if (plan.element_bytes() != 8 && warps.along_m * warps.along_n % 2 != 0) {
    return absl::StrCat(warps.along_m, " x ", warps.along_n, " warps are an odd number");
  }
  const MatrixInstruction* instruction = WarpInstruction(plan, warps);
  if (instruction == nullptr || !HasInstruction(*instruction, device)) {
    return absl::StrCat("the device has no instruction of a warp for ", TypesText(plan),
                        ", m = ", warps.m, " and k = ", warps.k);
  }
  if (plan.depth() / warps.k % 2 != 0) {
    return absl::StrCat("k: ", warps.k, " is no even part of the ", plan.depth(),
                        " points of a stage");
  }
  if (u.rows < 1 || u.rows % (warps.m * warps.along_m) != 0) {
    return absl::StrCat("rows: ", u.rows, " is no multiple of ", warps.m, " for each of ",
                        warps.along_m, " warps");
  }
  if (u.columns < 1 || u.columns % (kWarpColumns * warps.along_n) != 0) {
    return absl::StrCat("columns: ", u.columns, " is no multiple of ", kWarpColumns,
                        " for each of ", warps.along_n, " warps");
  }
  return "";
}

// Operands become what the unit takes where they are packed or computed, or in registers of warps.
std::string OperandObstacle(const UnitParameters& u, const UnitPlan& plan, UnitOperands which) {
  const char* name = which == UnitOperands::kA ? "A" : "B";
  const bool is_packed = Has(u.packed, which), is_computed = Has(u.computed, which);
  if (is_packed && is_computed) {
    return absl::StrCat("operand ", name, " is copied from where it is packed, and not computed");
  }
  if (is_packed) return "";
  if (plan.has_parts()) return "packed: parts of bf16 are of operands that are packed both";
  if (is_computed) return "";
  const UnitOperandPlan& in_memory =
      which == UnitOperands::kA ? plan.a_in_memory : plan.b_in_memory;
  if (in_memory.is_made) {
    return absl::StrCat("operand ", name, " is not in memory as ", Name(in_memory.held),
                        ", and neither packed nor computed");
  }
  if (!plan.is_converted() || u.has_warps()) return "";
  return absl::StrCat("units of groups take tf32 of operands that are packed or computed, and ",
                      name, " is neither");
}

std::string UnitCountsObstacle(const UnitParameters& u, const UnitPlan& plan,
                               const DeviceDescription& device) {
  const std::string tiles =
      u.has_warps() ? WarpTilesObstacle(u, plan, device) : GroupTilesObstacle(u, plan);
  if (!tiles.empty()) return tiles;
  for (const UnitOperands which : {UnitOperands::kA, UnitOperands::kB}) {
    if (std::string why = OperandObstacle(u, plan, which); !why.empty()) return why;
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

// Rows across k have as many points as a stage has; of bytes units take rows along k only.
std::string AcrossObstacle(const UnitParameters& u, const UnitPlan& plan) {
  if (plan.element_bytes() == 1 && (plan.a.is_across || plan.b.is_across)) {
    return absl::StrCat("operand ", plan.a.is_across ? "A" : "B", " of type ",
                        Name(plan.a.is_across ? plan.element_a() : plan.element_b()),
                        " is not contiguous along k, and not packed so");
  }
  // Groups have whole ones of A; of B what is behind the tile's columns is there, too.
  if (!plan.a.is_across || u.rows % plan.depth() == 0) return "";
  return absl::StrCat("rows: ", u.rows, " is no multiple of ", plan.depth(),
                      ", and A is contiguous along m");
}

// Of a cluster: each of its blocks stores whole pieces.
std::string UnitClusterObstacle(const UnitParameters& u) {
  if (u.has_warps()) return "parts of units of warps combine as partials";
  if (u.parts == 1) return "there is one part, and nothing to combine";
  if (u.parts > kMaxClusterBlocks) {
    return absl::StrCat("parts: ", u.parts, " blocks share sums, a cluster has at most ",
                        kMaxClusterBlocks);
  }
  if (u.columns % (16 * u.parts) != 0) {
    return absl::StrCat("columns: ", u.columns, " is no multiple of 16 for each of ", u.parts,
                        " blocks of a cluster");
  }
  return "";
}

// Of blocks with several tiles, whose sums each has alone.
std::string TurnsObstacle(const UnitParameters& u, const UnitPlan& plan) {
  if (u.turns == 1) return "";
  if (u.has_warps()) return "turns: units of warps have a block for each tile";
  if (u.parts > 1) {
    return absl::StrCat("turns: k is in ", u.parts, " parts, each of which has a block");
  }
  if (u.turns <= plan.blocks(u) / u.cluster()) return "";
  return absl::StrCat("turns: a block has ", u.turns, " of the ", plan.blocks(u), " tiles");
}

std::string UnitCombinationObstacle(const UnitParameters& u, CombineBlocks combine) {
  if (combine == CombineBlocks::kPartials) return "";
  if (combine == CombineBlocks::kCluster) return UnitClusterObstacle(u);
  return "parts of matrix units combine as partials or in a cluster";
}

// Whether one value of fp32 per point becomes an element of 16 bits.
bool IsStaged(const Expression& e) {
  return e.stored().size() == 1 && IsHalf(e.stored_type(0)) &&
         Info(e.stored()[0].type).computed == ScalarType::kFloat32;
}

// Whether threads have a tile of results as matrices, four each, two along m and along n, which
// have room in shared memory: of warps, in the stages of an operand.
bool HasStaging(const UnitParameters& unit, const UnitPlan& plan) {
  if (!IsHalf(plan.element_a()) && !IsFp8(plan.element_a())) return false;
  if (!unit.has_warps()) return true;
  if (unit.warps.m != 16) return false;
  if (unit.columns / unit.warps.along_n % (2 * kWarpColumns) != 0) return false;
  const int64_t tile = RoundUp(unit.columns, kUnitDepth) * unit.rows;
  return tile <= std::max(unit.rows, unit.columns) * kUnitDepth * unit.stages;
}

// Elements from one packed row to the next: whole lines of 128 bytes, or rows that share one; no
// more than these points where lines would add more than an eighth to what is written and read.
int64_t PackedRow(int64_t points, const UnitPlan& plan) {
  const int64_t line = plan.depth();
  if (points >= line) {
    const int64_t lines = RoundUp(points, line);
    return 8 * (lines - points) <= points ? lines : points;
  }
  int64_t row = plan.piece();
  while (row < points) row *= 2;
  return row;
}

// Results that have room beside all places are some columns of a tile after the others.
int StagedColumns(const UnitParameters& unit) {
  constexpr int kMostStagedBytes = 32 << 10;
  if (!unit.has_producer() || unit.turns == 1) return unit.columns;
  const int of_sixty_four = static_cast<int>(kUnitRowBytes) * unit.rows;
  return std::min(unit.columns, 64 * std::max(1, kMostStagedBytes / of_sixty_four));
}

constexpr int kFewPlaces = 3;  // of stages

// Groups need no place twice, or may still multiply the stage before where the next copies go to:
// then these wait, or there is another place. Of few places all are copied to ahead, unless
// threads would compute what they write there while the unit waits. A producer waits by itself.
void CutStages(const UnitParameters& unit, UnitPlan* plan) {
  plan->places = unit.stages;
  plan->ahead = unit.stages - 1;
  plan->is_behind = false;
  if (unit.has_warps()) return;
  plan->places = std::min<int64_t>(unit.stages, plan->part_stages);
  const bool is_once = plan->places == plan->part_stages;
  const bool is_free = is_once || unit.has_producer();
  plan->is_refilled =
      !is_free && unit.stages <= kFewPlaces && !plan->a.is_computed && !plan->b.is_computed;
  plan->is_behind = is_free || (unit.stages > 2 && !plan->is_refilled);
  plan->ahead = is_free || plan->is_refilled ? plan->places : plan->is_behind ? unit.stages - 2 : 1;
  // Groups wait for every stage whose sums they add up, each by itself.
  if (unit.has_producer() && plan->promoted_stages() == 1) plan->is_behind = false;
}

}  // namespace

int UnitLoadWidth(const Expression& e, int parameter, int d) {
  const Expression::AccessRef ref = e.input_access(parameter);
  const Buffer& buffer = e.inputs()[ref.buffer];
  if (buffer.type.is_record()) return 1;
  const auto most = static_cast<int>(kUnitPieceBytes / buffer.type.size_bytes());
  int width = NeighboursAlong(e, buffer.Linearized(ref.access), d, most);
  if (buffer.boundary.kind == Boundary::Kind::kNone) return width;
  const std::vector<AffineIndex>& indices = buffer.accesses[ref.access].indices;
  for (size_t x = 0; x < indices.size(); ++x) {
    if (indices[x].coefficients[d] == 0) continue;
    width = std::min(width, NeighboursAlong(e, indices[x], d, most));
    while (buffer.extents[x] % width != 0) width /= 2;
  }
  return width;
}

int64_t UnitGroupRegisters(const UnitParameters& unit) {
  constexpr int64_t kOfFourWarps = 512, kMost = 240, kGranularity = 8;
  const int64_t left = (kOfFourWarps - kProducerRegisters) / unit.groups;
  return std::min(kMost, left / kGranularity * kGranularity);
}

int64_t UnitRegisters(const UnitParameters& u, const UnitPlan& plan) {
  const int64_t copies = plan.promoted_stages() > 0 ? 2 : 1;
  int64_t registers = copies * UnitSums(u) * SizeBytes(plan.sum) / kRegisterBytes;
  const auto loaded = [&](const UnitOperandPlan& operand, int64_t points) {
    if (!operand.is_computed) return int64_t{0};
    const int64_t at_once = RoundUp(points * plan.depth(), u.threads() * plan.piece());
    return at_once / u.threads() * operand.loaded_bytes / kRegisterBytes;
  };
  registers += loaded(plan.a, plan.a.rows) + (plan.is_shared ? 0 : loaded(plan.b, plan.b.rows));
  if (!u.has_warps()) return registers;
  const int64_t points = u.rows / u.warps.along_m + u.columns / u.warps.along_n;
  constexpr int64_t kSteps = 2, kLanes = 32;
  return registers + kSteps * points * u.warps.k * plan.element_bytes() / kRegisterBytes / kLanes;
}

Result<UnitPlan> PlanUnit(const Expression& expression, NumericsPolicy numerics) {
  if (expression.is_empty()) return InvalidArgument("there are no points");
  const Products products = ProductsOf(numerics);
  MDH_ASSIGN_OR_RETURN(ContractionForm form, FindContractionForm(expression));
  MDH_ASSIGN_OR_RETURN(const OperandTypes held, HeldTypes(form, products));
  MDH_ASSIGN_OR_RETURN(const UnitOperandPlan a, PlanOperand(expression, form, true, held.a));
  MDH_ASSIGN_OR_RETURN(const UnitOperandPlan b, PlanOperand(expression, form, false, held.b));
  const ScalarType sum = SumOf(held.a);
  const auto is_right = [&](ScalarType type) {
    return type == sum || (IsHalf(held.a) && IsHalf(type));
  };
  // Products of integers have all bits of their sums.
  if (!IsByte(held.a) && !is_right(form.product)) {
    return InvalidArgument("products are of type ", Name(form.product));
  }
  if (!is_right(form.combined)) return InvalidArgument("sums are of type ", Name(form.combined));
  MDH_ASSIGN_OR_RETURN(Expression computed, WithFactorStored(expression, form));
  UnitPlan plan = {
      .form = std::move(form),
      .computed = std::move(computed),
      .sum = sum,
      .products = held.a == ScalarType::kFloat32 || IsFp8(held.a) ? products : Products::kExact,
      .a_in_memory = a,
      .b_in_memory = b,
      .a = a,
      .b = b};
  plan.is_square = IsSquare(expression, plan);
  plan.batches = PointsAlong(expression, plan.form.batch);
  plan.m = PointsAlong(expression, plan.form.m);
  plan.n = PointsAlong(expression, plan.form.n);
  const int64_t points = PointsAlong(expression, plan.form.k);
  plan.section_k = plan.has_parts() ? RoundUp(points, plan.piece()) : points;
  plan.k = plan.section_k * static_cast<int64_t>(ProductsOfParts(plan.products).size());
  return plan;
}

std::string CutForUnit(const UnitParameters& unit, const DeviceDescription& device,
                       const BlockChoices& choices, UnitPlan* plan) {
  const int resident_blocks = choices.resident_blocks;
  if (std::string why = UnitCountsObstacle(unit, *plan, device); !why.empty()) return why;
  if (std::string why = UnitCombinationObstacle(unit, choices.combine_blocks); !why.empty()) {
    return why;
  }
  *plan = CutForUnit(unit, choices.combine_blocks, std::move(*plan));
  if (plan->part_stages * (unit.parts - 1) >= plan->stages_k) {
    return absl::StrCat(unit.parts, " parts of ", plan->stages_k, " stages along k: one is empty");
  }
  if (std::string why = AcrossObstacle(unit, *plan); !why.empty()) return why;
  if (std::string why = TurnsObstacle(unit, *plan); !why.empty()) return why;
  const BlockLimits& limits = device.blocks;
  int64_t registers =
      UnitThreadRegisters(unit, limits, resident_blocks) -
      (unit.has_warps() || unit.has_producer() ? kRegistersOfWarps : kRegistersBesideSums);
  if (unit.producer != UnitProducer::kGroup) registers = std::min(registers, kMostUnitRegisters);
  return FirstExceeded(
      {{"bytes of shared memory of a block",
        UnitSharedBytes(unit, *plan) + (resident_blocks > 1 ? kReservedSharedBytes : 0),
        limits.shared_bytes_per_block / std::max(1, resident_blocks)},
       {unit.has_warps() ? "registers of sums and operands" : "sums of a thread",
        UnitRegisters(unit, *plan), registers},
       {"registers of a multiplication",
        unit.has_warps() ? 0 : unit.columns / 2 + kBesideMultiplication,
        RegistersPerThread(limits, RoundUp(unit.launched_threads(), kUnitThreads),
                           resident_blocks)},
       {"threads of a block", unit.launched_threads(), limits.max_threads_per_block},
       {"blocks of the grid", plan->blocks(unit), limits.max_grid[0]},
       {"bytes of packed operands",
        plan->element_bytes() * (plan->packed_elements(true) + plan->packed_elements(false)),
        kMaxSharedScratchBytes}});
}

UnitPlan CutForUnit(const UnitParameters& unit, CombineBlocks combine, UnitPlan plan) {
  const auto cut = [&](UnitOperandPlan operand, UnitOperands which, int64_t own) {
    operand.is_computed = Has(unit.computed, which);
    operand.is_tensor = Has(unit.tensors, which);
    if (!operand.is_computed && !Has(unit.packed, which)) return operand;
    // Groups take rows of tf32 along k.
    const bool is_tf32 = plan.is_converted() && !plan.has_parts();
    if (plan.element_bytes() == 1 || (is_tf32 && !unit.has_warps())) operand.is_across = false;
    if (operand.is_computed) return operand;
    const int64_t points = RoundUp(operand.is_across ? own : plan.k, plan.piece());
    operand.packed_row = PackedRow(points, plan);
    // Sections follow each other.
    operand.packed_points = plan.has_parts() && !operand.is_across ? points : operand.packed_row;
    operand.width = static_cast<int>(plan.piece());
    operand.row_lines =
        operand.packed_row < plan.depth() || operand.packed_row % plan.depth() == 0 ? 1 : 2;
    return operand;
  };
  plan.a = cut(plan.a_in_memory, UnitOperands::kA, plan.m);
  plan.b = cut(plan.b_in_memory, UnitOperands::kB, plan.n);
  plan.a.rows = unit.rows;
  plan.b.rows = plan.b.is_across ? RoundUp(unit.columns, plan.depth()) : unit.columns;
  plan.tiles_m = RoundUp(CeilDivide(plan.m, unit.rows), unit.cluster_m);
  plan.tiles_n = RoundUp(CeilDivide(plan.n, unit.columns), unit.cluster_n);
  const auto is_alike = [](UnitOperands which) {
    return which == UnitOperands::kNone || which == UnitOperands::kBoth;
  };
  plan.is_packed_once = plan.is_square && unit.packed == UnitOperands::kBoth;
  plan.is_shared = plan.is_square && is_alike(unit.packed) && is_alike(unit.computed) &&
                   is_alike(unit.tensors) && plan.tiles_m == 1 && plan.tiles_n == 1 &&
                   unit.columns <= unit.rows;
  if (plan.is_shared) plan.b.rows = plan.a.rows;
  plan.stages_k = CeilDivide(plan.k, plan.depth());
  plan.part_stages = CeilDivide(plan.stages_k, unit.parts);
  CutStages(unit, &plan);
  plan.sharers = combine == CombineBlocks::kCluster ? unit.parts : 1;
  plan.leaves_parts = unit.parts > plan.sharers;
  plan.is_staged = !plan.leaves_parts && IsStaged(plan.computed) && HasStaging(unit, plan);
  plan.staged_columns = StagedColumns(unit);
  plan.result_width = plan.leaves_parts ? 1 : ResultWidth(plan.computed, plan.form.n.back());
  return plan;
}

}  // namespace mdh
