#include "codegen/choose/unit_moves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/types/span.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/unit_plan.h"
#include "core/decomposition/unit_use.h"

namespace mdh {
namespace {

constexpr std::array<int, 6> kRowSteps = {64, 128, 192, 256, 384, 512};
constexpr std::array<int, 16> kColumnSteps = {16,  32,  48,  64,  80,  96,  112, 128,
                                              144, 160, 176, 192, 208, 224, 240, 256};
constexpr std::array<int, 17> kPartSteps = {1,  2,  3,  4,  5,  6,  8,   10, 12,
                                            16, 24, 32, 48, 64, 96, 128, 192};
constexpr std::array<int, 3> kClusterSteps = {1, 2, 4};
constexpr std::array<int, 10> kTurnSteps = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

// The numbers of the ladder next to `value`, those below it first.
std::vector<int> NextTo(absl::Span<const int> ladder, int value) {
  std::vector<int> next;
  const auto above = std::upper_bound(ladder.begin(), ladder.end(), value);
  const auto from = std::lower_bound(ladder.begin(), ladder.end(), value);
  if (from != ladder.begin()) next.push_back(*(from - 1));
  if (above != ladder.end()) next.push_back(*above);
  return next;
}

class UnitWalk {
 public:
  explicit UnitWalk(const TuningParameters& p) : p_(p) {}

  std::vector<TuningParameters> Run() {
    ShowTiles();
    ShowGroups(p_.unit);
    ShowWarps();
    for (const int step : {-1, 1}) {
      UnitParameters unit = p_.unit;
      unit.stages += step;
      Show(unit);
    }
    for (const int parts : NextTo(kPartSteps, p_.unit.parts)) {
      UnitParameters unit = p_.unit;
      unit.parts = parts;
      Show(unit);
    }
    for (const int turns : NextTo(kTurnSteps, p_.unit.turns)) {
      UnitParameters unit = p_.unit;
      unit.turns = turns;
      if (unit.parts == 1) Show(unit);
    }
    ShowOperands();
    ShowChoices();
    return std::move(neighbours_);
  }

 private:
  void Show(const UnitParameters& unit) {
    if (unit == p_.unit) return;
    neighbours_.push_back(p_);
    neighbours_.back().unit = unit;
    // Of one part there is nothing to combine, and blocks of several have one tile each.
    if (unit.parts == 1) neighbours_.back().combine_blocks = CombineBlocks::kPartials;
    if (unit.parts > 1) neighbours_.back().unit.turns = 1;
    LeaveOutProducer();
  }

  // Which brings all operands, or none; and what blocks have in common.
  void LeaveOutProducer() {
    UnitParameters& unit = neighbours_.back().unit;
    if (unit.tensors != UnitOperands::kBoth) unit.producer = UnitProducer::kNone;
    if (!unit.has_producer()) unit.cluster_m = unit.cluster_n = 1;
  }

  // A tile with stages for which there is room: those of the largest tiles are few.
  void ShowTile(int rows, int columns) {
    UnitParameters unit = p_.unit;
    unit.rows = rows;
    unit.columns = columns;
    const int of_block = p_.unit.rows * p_.unit.columns * unit.turns;
    if (unit.turns > 1) unit.turns = std::max(1, of_block / (rows * columns));
    const int64_t have = UnitStageBytes(p_.unit) * unit.stages, of_stage = UnitStageBytes(unit);
    unit.stages = static_cast<int>(std::max<int64_t>(have / of_stage, kFewestUnitStages));
    unit.stages = std::min(unit.stages, kMostUnitStages);
    if (rows % (kUnitRows * unit.groups) == 0) Show(unit);
    ShowGroups(unit);
  }

  void ShowTiles() {
    const int rows = p_.unit.rows, columns = p_.unit.columns;
    const std::vector<int> next_rows = NextTo(kRowSteps, rows),
                           next_columns = NextTo(kColumnSteps, columns);
    for (const int r : next_rows) ShowTile(r, columns);
    for (const int c : next_columns) ShowTile(rows, c);
    for (const int r : next_rows) {
      for (const int c : next_columns) {
        if ((r < rows) != (c < columns)) ShowTile(r, c);
      }
    }
    if (columns >= 64) ShowTile(rows, 2 * columns), ShowTile(rows, columns / 2);
  }

  void ShowGroups(UnitParameters unit) {
    if (unit.has_warps()) return;
    const int before = unit.groups;
    for (int groups = 1; groups <= kMostUnitGroups; ++groups) {
      if (groups == before || unit.rows % (kUnitRows * groups) != 0) continue;
      unit.groups = groups;
      Show(unit);
    }
  }

  // Twice or half as many warps one way or both ways, and an instruction for another depth.
  void ShowWarps() {
    if (!p_.unit.has_warps()) return;
    const auto show = [&](int UnitWarps::*number, bool doubles, UnitParameters unit) {
      int& value = unit.warps.*number;
      if (!doubles && value % 2 != 0) return unit;
      value = doubles ? 2 * value : value / 2;
      Show(unit);
      return unit;
    };
    for (const bool doubles : {true, false}) {
      show(&UnitWarps::k, doubles, p_.unit);
      show(&UnitWarps::along_n, !doubles, show(&UnitWarps::along_m, doubles, p_.unit));
      show(&UnitWarps::along_n, doubles, p_.unit);
    }
  }

  // Each operand as it is, packed, or computed; and copied by threads, or by the engine, for one
  // block or several.
  void ShowOperands() {
    for (int tensors = 0; tensors < 4 && !p_.unit.has_warps(); ++tensors) {
      UnitParameters unit = p_.unit;
      unit.tensors = static_cast<UnitOperands>(tensors);
      Show(unit);
    }
    for (const UnitProducer producer :
         {UnitProducer::kNone, UnitProducer::kWarp, UnitProducer::kGroup}) {
      UnitParameters unit = p_.unit;
      unit.producer = producer;
      if (unit.tensors == UnitOperands::kBoth) Show(unit);
    }
    for (int UnitParameters::*const along :
         {&UnitParameters::cluster_m, &UnitParameters::cluster_n}) {
      for (const int blocks : NextTo(kClusterSteps, p_.unit.*along)) {
        UnitParameters unit = p_.unit;
        unit.*along = blocks;
        if (unit.has_producer()) Show(unit);
      }
    }
    for (int packed = 0; packed < 4; ++packed) {
      for (int computed = 0; computed < 4; ++computed) {
        UnitParameters unit = p_.unit;
        unit.packed = static_cast<UnitOperands>(packed);
        unit.computed = static_cast<UnitOperands>(computed);
        unit.tensors = static_cast<UnitOperands>(static_cast<int>(unit.tensors) & ~computed);
        if ((packed & computed) == 0) Show(unit);
      }
    }
  }

  // Of the search among designs: any other word, or a neighbouring number.
  void ShowChoices() {
    for (const Choice& choice : Choices()) {
      if (choice.steps.empty()) continue;
      const int64_t here = choice.get_of_blocks(p_);
      const auto at = std::ranges::find(choice.steps, here);
      for (const int64_t& value : choice.steps) {
        const bool is_near = at != choice.steps.end() && std::abs(&value - &*at) <= 1;
        if (value == here || (choice.is_number() && !is_near)) continue;
        neighbours_.push_back(p_);
        choice.set_of_blocks(value, &neighbours_.back());
        // All threads of a cluster meet.
        const bool is_cluster = neighbours_.back().combine_blocks == CombineBlocks::kCluster;
        if (is_cluster) neighbours_.back().unit.producer = UnitProducer::kNone;
        LeaveOutProducer();
      }
    }
  }

  const TuningParameters& p_;
  std::vector<TuningParameters> neighbours_;
};

}  // namespace

std::vector<TuningParameters> UnitMoves(const TuningParameters& parameters) {
  return UnitWalk(parameters).Run();
}

}  // namespace mdh
