// Dot instructions in spaces of register tiles: the constraints of
// core/decomposition/validate_register_tiles.cc on them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"
#include "tuner/decompositions/mdh_space_registers.h"

namespace mdh {

void RegisterDecompositions::AddDots() {
  const auto is_offered = [&](int64_t dot) { return dot == 0 || has_registers_; };
  if (AddChoice("dot", is_offered) < 0) return;
  for (int d = 0; d < p_.rank(); ++d) {
    const Result<DotPlan> plan = PlanDot(e_, d);
    const Range& values = builder_.parameters()[static_cast<size_t>(choice("dot"))].range;
    if (plan.ok() && values.PositionOf(d + 1).has_value()) LimitDots(*plan);
  }
}

Formula RegisterDecompositions::IsOnTiles() const {
  return ChoiceCode("dot_unit") == static_cast<int64_t>(DotUnit::kTiles);
}

int64_t RegisterDecompositions::MostRegisterFactor() const {
  return offers_tiles_ ? *std::ranges::max_element(kTileFactors) : kMaxRegisterFactor;
}

void RegisterDecompositions::LimitTiles() {
  if (!offers_tiles_) return;
  builder_.Require("tiles multiply words", !IsOnTiles() || ChoiceCode("dot") != 0);
  builder_.Require("sums are in tiles",
                   !IsOnTiles() || (ChoiceCode("accumulate") == 1 && ChoiceCode("chains") == 0));
  builder_.Require("lanes of tiles", !IsOnTiles() || builder_.At(lanes_) == kTileWords);
  for (int d = 0; d < p_.rank(); ++d) {
    Result<DotPlan> plan = PlanDot(e_, d);
    const Range& values = builder_.parameters()[static_cast<size_t>(choice("dot"))].range;
    if (!plan.ok() || !values.PositionOf(d + 1).has_value()) continue;
    plan->unit = DotUnit::kTiles;
    LimitTiles(*plan);
  }
}

void RegisterDecompositions::LimitTiles(const DotPlan& plan) {
  const int d = plan.dimension;
  const Formula is_off = !IsOnTiles() || ChoiceCode("dot") != d + 1;
  const std::string what = absl::StrCat("tiles of words along ", p_.name(d));
  const Formula tile = RegisterTile(d);
  builder_.Require(absl::StrCat(what, " are whole"),
                   is_off || tile % (kTileWords * plan.group) == 0 || tile >= p_.size(d));
  builder_.Require(absl::StrCat(what, " are few"),
                   is_off || tile <= kMaxRegisterFactor * kTileWords * plan.group);
  for (int q = 0; q < p_.rank(); ++q) {
    // Of points that are unrolled around them, too.
    if (p_.is_reduced(q) && q != d && p_.size(q) > kMaxRegisterFactor) {
      builder_.Require(absl::StrCat(what, " have few of ", p_.name(q)),
                       is_off || RegisterTile(q) <= kMaxRegisterFactor);
    }
  }
  for (int v = 0; v < p_.rank(); ++v) {
    if (!has_lanes_[v] || p_.is_reduced(v) || !SidesOf(e_, plan, v).has_value()) continue;
    const Formula is_other = is_off || builder_.At(vector_dimension_) != v;
    // HaveRoom.
    const Formula rows = RowTiles(plan, v), lanes = LaneTiles(plan, v);
    const Formula of_fewer = If(rows <= lanes, rows, lanes);
    const Formula of_more = If(rows + lanes > 2, 2, 1);
    builder_.Require(absl::StrCat(what, ", lanes along ", p_.name(v), ", have registers"),
                     is_other || rows * lanes + of_fewer + of_more <= kTileRegisters);
    LimitOperandsOfTiles(plan, is_other, v);
  }
}

// As PlanTiles: rows are along the dimension with the most points, the last one of several.
Formula RegisterDecompositions::RowTiles(const DotPlan& plan, int v) const {
  Formula rows = 1, beside = 1;
  for (int q = 0; q < p_.rank(); ++q) {
    const std::optional<DotSides> sides = SidesOf(e_, plan, q);
    const bool is_of_lanes =
        sides && sides->vector.parameter == SidesOf(e_, plan, v)->vector.parameter;
    if (q == v || p_.is_reduced(q) || !sides.has_value() || is_of_lanes) continue;
    const Formula tile = RegisterTile(q);
    beside = std::move(beside) * If(tile >= rows, rows, tile);
    rows = If(tile >= rows, tile, rows);
  }
  return FloorDivide(rows + (kTileRows - 1), kTileRows) * beside;
}

Formula RegisterDecompositions::LaneTiles(const DotPlan& plan, int v) const {
  Formula tiles = FloorDivide(RegisterTile(v) + (kTileWords - 1), kTileWords);
  for (int q = 0; q < p_.rank(); ++q) {
    const std::optional<DotSides> sides = SidesOf(e_, plan, q);
    const bool is_of_lanes =
        sides && sides->vector.parameter == SidesOf(e_, plan, v)->vector.parameter;
    if (q != v && !p_.is_reduced(q) && is_of_lanes) tiles = std::move(tiles) * RegisterTile(q);
  }
  return tiles;
}

// Operands are where tiles load them from, and what both have has one point.
void RegisterDecompositions::LimitOperandsOfTiles(const DotPlan& plan, const Formula& is_other,
                                                  int v) {
  const DotSides sides = *SidesOf(e_, plan, v);
  const std::string what =
      absl::StrCat("tiles of words along ", p_.name(plan.dimension), ", lanes along ", p_.name(v));
  for (int q = 0; q < p_.rank(); ++q) {
    if (p_.is_reduced(q) || p_.size(q) == 1 || SidesOf(e_, plan, q).has_value()) continue;
    builder_.Require(absl::StrCat(what, ", one point of ", p_.name(q)),
                     is_other || RegisterTile(q) == 1);
  }
  const Buffer& of_lanes = e_.inputs()[sides.vector.buffer];
  int strip = -1;
  for (int x = 0; x < std::ssize(of_lanes.extents); ++x) {
    if (PlainDimension(of_lanes, x) == v) strip = x;
  }
  const Staging& lanes = staging_[static_cast<size_t>(sides.vector.buffer)];
  builder_.Require(absl::StrCat(what, ": strips of ", of_lanes.name),
                   is_other || (strip < 0 ? Formula(false) : builder_.At(lanes.strip) == strip));
  const Buffer& of_rows = e_.inputs()[sides.broadcast.buffer];
  const Staging& rows = staging_[static_cast<size_t>(sides.broadcast.buffer)];
  const Formula is_in_place = builder_.At(rows.layer) == InputParameters::kInPlace;
  std::vector<int64_t> layout;
  const int words = WordDimension(e_, plan, sides.broadcast);
  for (int x = 0; x < std::ssize(of_rows.extents); ++x) {
    if (x != words) layout.push_back(x);
  }
  if (words >= 0) layout.push_back(words);
  const Formula is_copied = !is_in_place && builder_.At(rows.strip) == -1 &&
                            (words < 0 ? Formula(false) : rows.layout.Is(builder_, layout));
  builder_.Require(
      absl::StrCat(what, ": rows of ", of_rows.name),
      is_other || is_copied ||
          (HasRowsInPlace(e_, sides.broadcast, plan.dimension) ? is_in_place : Formula(false)));
}

void RegisterDecompositions::LimitDots(const DotPlan& plan) {
  const int d = plan.dimension;
  const Formula is_off = ChoiceCode("dot") != d + 1;
  const std::string what = absl::StrCat("words along ", p_.name(d));
  const Formula tile = RegisterTile(d);
  builder_.Require(absl::StrCat(what, " are whole"),
                   is_off || tile % plan.group == 0 || tile >= p_.size(d));
  for (int v = -1; v < p_.rank(); ++v) {
    if (v >= 0 && !has_lanes_[v]) continue;
    const bool is_possible = v >= 0 && !p_.is_reduced(v) && SidesOf(e_, plan, v).has_value();
    if (is_possible) continue;
    builder_.Require(absl::StrCat(what, " have no lanes along ", v < 0 ? "nothing" : p_.name(v)),
                     is_off || builder_.At(vector_dimension_) != v);
  }
  for (const DotOperand& operand : {plan.a, plan.b}) {
    const Staging& staging = staging_[static_cast<size_t>(operand.buffer)];
    const std::string& name = e_.inputs()[operand.buffer].name;
    const int x = WordDimension(e_, plan, operand);
    if (x < 0) {
      builder_.Require(absl::StrCat(what, ": no copies of ", name),
                       is_off || builder_.At(staging.layer) == InputParameters::kInPlace);
    } else {
      builder_.Require(absl::StrCat(what, ": strips of ", name, " are along another index"),
                       is_off || builder_.At(staging.strip) != x);
    }
    if (plan.a.buffer == plan.b.buffer) break;
  }
}

}  // namespace mdh
