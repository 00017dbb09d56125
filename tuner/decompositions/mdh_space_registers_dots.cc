// Dot instructions in spaces of register tiles: the constraints of
// core/decomposition/validate_register_tiles.cc on them.
#include "absl/strings/str_cat.h"
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
