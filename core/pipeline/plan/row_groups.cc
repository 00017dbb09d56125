#include "core/pipeline/plan/row_groups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

class RowChecker {
 public:
  RowChecker(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group), views_(ViewsOf(pipeline, group.first, group.last)) {
    shape_.is_vector.assign(pipeline.buffers().size(), false);
    places_.assign(pipeline.buffers().size(), -1);
  }

  Result<RowShape> Run() {
    if (std::ranges::any_of(group_.part, [](int64_t n) { return n != 1; })) {
      return Obstacle("rows are parts of one point");
    }
    if (HasHalo(pipeline_, group_)) return Obstacle("steps read other rows");
    for (int s = group_.first; s <= group_.last; ++s) {
      if (const std::string wrong = Dimension(s); !wrong.empty()) return Obstacle(wrong);
    }
    if (shape_.length == 0) return Obstacle("no step of the group has more than its common points");
    for (const StepView& use : views_) {
      if (const std::string wrong = View(use); !wrong.empty()) return Obstacle(wrong);
    }
    return std::move(shape_);
  }

 private:
  const Expression& ExpressionOf(int s) const { return pipeline_.steps()[s].expression; }
  int DimensionOf(int s) const { return shape_.dimensions[s - group_.first]; }
  std::string StepText(int s) const {
    return absl::StrCat("step ", s + 1, " (", ExpressionOf(s).name(), ")");
  }

  std::string Dimension(int s) {
    const Expression& e = ExpressionOf(s);
    const std::vector<int>& common = group_.dimensions[s - group_.first];
    shape_.dimensions.push_back(-1);
    for (int d = 0; d < e.rank(); ++d) {
      if (std::ranges::find(common, d) != common.end()) continue;
      if (shape_.dimensions.back() >= 0) {
        return absl::StrCat(StepText(s), " has two dimensions beside the common ones");
      }
      shape_.dimensions.back() = d;
      const int64_t size = e.dimensions()[d].size;
      if (size < 2) return absl::StrCat("rows of ", StepText(s), " have ", size, " points");
      if (shape_.length != 0 && shape_.length != size) {
        return absl::StrCat("rows of ", StepText(s), " have ", size, " points, others ",
                            shape_.length);
      }
      shape_.length = size;
      if (e.is_prefix_sum(d)) return absl::StrCat(StepText(s), " has a prefix sum");
      if (!e.is_reduction(d)) continue;
      if (e.reduction().keeps_order() || !e.reduction().identity()) {
        return absl::StrCat(StepText(s), " combines in an order, or without an identity");
      }
    }
    return "";
  }

  std::string View(const StepView& use) {
    const std::string text =
        absl::StrCat("'", pipeline_.buffers()[use.buffer].name, "' of ", StepText(use.step));
    if (use.view->type.is_record()) return absl::StrCat(text, " has records");
    if (use.view->boundary.kind != Boundary::Kind::kNone) {
      return absl::StrCat(text, " has a boundary");
    }
    if (!IsWithin(views_, use.buffer)) return "";
    const int own = DimensionOf(use.step);
    int place = -1;
    for (int x = 0; own >= 0 && x < std::ssize(use.view->extents); ++x) {
      if (PlainDimensionAt(*use.view, x) == own) place = x;
    }
    if (use.writes) {
      shape_.is_vector[use.buffer] = place >= 0;
      places_[use.buffer] = place;
    }
    const bool is_vector = shape_.is_vector[use.buffer];
    const size_t indices = group_.part.size() + (is_vector ? 1 : 0);
    const bool fits = use.view->extents.size() == indices && place == places_[use.buffer] &&
                      (!is_vector || use.view->extents[place] == shape_.length);
    return fits ? "" : absl::StrCat(text, " is not indexed by rows and points of rows alone");
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const std::vector<StepView> views_;
  RowShape shape_;
  std::vector<int> places_;  // per buffer within the group: where the row's dimension is
};

}  // namespace

Result<RowShape> RowShapeOf(const Pipeline& pipeline, const JointGroup& group) {
  return RowChecker(pipeline, group).Run();
}

}  // namespace mdh
