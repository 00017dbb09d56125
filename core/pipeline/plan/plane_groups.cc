#include "core/pipeline/plan/plane_groups.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// Beyond that nothing is gained any more.
constexpr int64_t kMostPlanes = 16;

class PlaneFinder {
 public:
  PlaneFinder(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group), views_(ViewsOf(pipeline, group.first, group.last)) {}

  Result<PlaneShape> Run() {
    if (const size_t common = group_.part.size(); common < 2 || common > 3) {
      return Obstacle("planes have one or two dimensions, beside the one that they follow along");
    }
    for (const StepView& use : views_) {
      if (const std::string wrong = View(use); !wrong.empty()) return Obstacle(wrong);
    }
    for (int s = group_.first; s <= group_.last; ++s) {
      const Expression& e = pipeline_.steps()[s].expression;
      if (e.rank() != std::ssize(group_.part)) {
        return Obstacle("step ", s + 1, " (", e.name(), ") has other dimensions than common ones");
      }
    }
    shape_.steps.resize(static_cast<size_t>(group_.last - group_.first) + 1);
    for (int b = 0; b < std::ssize(pipeline_.buffers()); ++b) {
      FindKept(b);
      const bool is_missing = IsWithin(views_, b) && shape_.KeptOf(b) == nullptr;
      if (is_missing) {
        return Obstacle("'", pipeline_.buffers()[b].name, "' is indexed by more than points");
      }
    }
    PlaceAll();
    if (std::ranges::none_of(shape_.kept, &PlaneShape::Kept::is_shared)) {
      return Obstacle("no step reads what lies beside its points");
    }
    if (shape_.planes > kMostPlanes) {
      return Obstacle("steps read ", shape_.planes, " planes of what others write, more than ",
                      kMostPlanes);
    }
    return std::move(shape_);
  }

 private:
  PlaneShape::Grid& GridOf(int s) { return shape_.steps[static_cast<size_t>(s - group_.first)]; }
  size_t common() const { return group_.part.size(); }

  std::string View(const StepView& use) const {
    const std::string text =
        absl::StrCat("'", pipeline_.buffers()[use.buffer].name, "' of step ", use.step + 1);
    if (use.view->type.is_record()) return absl::StrCat(text, " has records");
    if (use.view->boundary.kind != Boundary::Kind::kNone) {
      return absl::StrCat(text, " has a boundary");
    }
    const bool fits =
        !IsWithin(views_, use.buffer) || use.view->extents.size() == group_.part.size();
    return fits ? "" : absl::StrCat(text, " has other indices than common dimensions");
  }

  // Per common dimension the buffer's index that it is, for all views; empty: some view has others.
  std::vector<int> PlacesOf(int buffer) const {
    std::vector<int> places(common(), -1);
    for (const StepView& use : views_) {
      if (use.buffer != buffer) continue;
      if (use.view->extents.size() != common()) return {};
      for (size_t k = 0; k < common(); ++k) {
        const int d = group_.dimensions[use.step - group_.first][k];
        int own = -1;
        for (int x = 0; x < std::ssize(use.view->extents); ++x) {
          if (ShiftedDimensionAt(*use.view, x) == d) own = x;
        }
        if (own < 0 || (places[k] >= 0 && places[k] != own)) return {};
        places[k] = own;
      }
    }
    return places;
  }

  void FindKept(int buffer) {
    int64_t reads = 0;
    for (const StepView& use : views_) {
      if (use.buffer == buffer && !use.writes) reads += std::ssize(use.view->accesses);
    }
    PlaneShape::Kept kept{.buffer = buffer, .is_within = IsWithin(views_, buffer)};
    if (reads < (kept.is_within ? 1 : 2)) return;
    kept.place_of = PlacesOf(buffer);
    if (kept.place_of.empty()) return;
    shape_.kept.push_back(std::move(kept));
  }

  // Steps lie in the middle of where they are read first, the last ones as the part does; inputs
  // likewise.
  void PlaceAll() {
    for (int s = group_.last; s >= group_.first; --s) {
      GridOf(s).base.assign(common(), 0);
      const auto own = std::ranges::find_if(
          shape_.kept, [&](const PlaneShape::Kept& kept) { return WriterOf(kept) == s; });
      if (own != shape_.kept.end()) GridOf(s).base = AroundFirstReader(*own);
    }
    for (PlaneShape::Kept& kept : shape_.kept) {
      kept.grid.base = kept.is_within ? GridOf(WriterOf(kept)).base : AroundFirstReader(kept);
    }
    SetWindows();
    SetLags();
    SetPlanes();
  }

  // Of the group; -1: none of it.
  int WriterOf(const PlaneShape::Kept& kept) const {
    return kept.is_within ? pipeline_.writer(kept.buffer) : -1;
  }

  template <typename Work>
  void ForReads(const PlaneShape::Kept& kept, const Work& work) const {
    for (const StepView& use : views_) {
      if (use.buffer != kept.buffer || use.writes) continue;
      for (int a = 0; a < std::ssize(use.view->accesses); ++a) work(use, a);
    }
  }

  std::vector<int64_t> AroundFirstReader(const PlaneShape::Kept& kept) {
    std::vector<int64_t> low, high;
    int reader = -1;
    ForReads(kept, [&](const StepView& use, int a) {
      if (reader < 0) reader = use.step;
      if (use.step != reader) return;
      const IndexFunction& access = use.view->accesses[a];
      low.resize(common(), std::numeric_limits<int64_t>::max());
      high.resize(common(), std::numeric_limits<int64_t>::min());
      for (size_t k = 0; k < common(); ++k) {
        const int64_t constant = access.indices[kept.place_of[k]].constant;
        low[k] = std::min(low[k], constant);
        high[k] = std::max(high[k], constant);
      }
    });
    std::vector<int64_t> base = GridOf(reader).base;
    for (size_t k = 0; k < common(); ++k) base[k] += low[k] + (high[k] - low[k]) / 2;
    return base;
  }

  // Windows, first in indices; then from where the first of all begins.
  void SetWindows() {
    const std::vector<std::vector<StepWindow>> windows = WindowsOf(pipeline_, group_);
    for (int s = group_.first; s <= group_.last; ++s) {
      GridOf(s).window = windows[static_cast<size_t>(s - group_.first)];
    }
    std::vector<PlaneShape::Grid*> grids;
    for (PlaneShape::Grid& grid : shape_.steps) grids.push_back(&grid);
    for (PlaneShape::Kept& kept : shape_.kept) {
      kept.grid.window.assign(common(), {});
      ForReads(kept, [&](const StepView& use, int a) { Widen(kept, use, a); });
      if (kept.is_within) kept.grid.window = GridOf(WriterOf(kept)).window;
      grids.push_back(&kept.grid);
    }
    for (size_t k = 0; k < common(); ++k) {
      int64_t first = std::numeric_limits<int64_t>::max(), end = 0;
      for (const PlaneShape::Grid* grid : grids) {
        first = std::min(first, grid->window[k].first - grid->base[k]);
      }
      for (PlaneShape::Grid* grid : grids) {
        grid->base[k] += first;
        grid->window[k].first -= grid->base[k];
        end = std::max(end, grid->window[k].first + grid->window[k].points);
      }
      shape_.places.push_back(end);
    }
  }

  void Widen(PlaneShape::Kept& kept, const StepView& use, int a) {
    for (size_t k = 0; k < common(); ++k) {
      StepWindow& window = kept.grid.window[k];
      const StepWindow& reader = GridOf(use.step).window[k];
      const int64_t first = reader.first + use.view->accesses[a].indices[kept.place_of[k]].constant;
      if (window.points == 0) window.first = first;
      const int64_t end = std::max(window.first + window.points, first + reader.points);
      window.first = std::min(window.first, first);
      window.points = end - window.first;
    }
  }

  // What lies on other places of a plane is there from the next turn on.
  void SetLags() {
    shape_.places[0] = 0;
    for (int s = group_.first; s <= group_.last; ++s) {
      PlaneShape::Grid& grid = GridOf(s);
      for (const PlaneShape::Kept& kept : shape_.kept) {
        ForReads(kept, [&](const StepView& use, int a) {
          if (use.step != s) return;
          const auto distances = DistancesOf(group_, shape_, s, kept, *use.view, a);
          grid.lag =
              std::max(grid.lag, kept.grid.lag + distances[0] + (IsBeside(distances) ? 1 : 0));
        });
      }
      for (PlaneShape::Kept& kept : shape_.kept) {
        if (WriterOf(kept) == s) kept.grid.lag = grid.lag;
      }
      shape_.places[0] =
          std::max(shape_.places[0], grid.window[0].first + grid.window[0].points + grid.lag);
    }
  }

  void SetPlanes() {
    shape_.planes = 1;
    for (PlaneShape::Kept& kept : shape_.kept) {
      ForReads(kept, [&](const StepView& use, int a) {
        const auto distances = DistancesOf(group_, shape_, use.step, kept, *use.view, a);
        kept.is_shared |= IsBeside(distances);
        shape_.planes =
            std::max(shape_.planes, GridOf(use.step).lag - distances[0] - kept.grid.lag + 1);
      });
    }
  }

  static bool IsBeside(const std::vector<int64_t>& distances) {
    return std::any_of(distances.begin() + 1, distances.end(), [](int64_t n) { return n != 0; });
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const std::vector<StepView> views_;
  PlaneShape shape_;
};

}  // namespace

const PlaneShape::Kept* PlaneShape::KeptOf(int buffer) const {
  const auto found = std::ranges::find(kept, buffer, &Kept::buffer);
  return found == kept.end() ? nullptr : &*found;
}

std::vector<int64_t> DistancesOf(const JointGroup& group, const PlaneShape& shape, int step,
                                 const PlaneShape::Kept& kept, const Buffer& view, int access) {
  const PlaneShape::Grid& own = shape.steps[static_cast<size_t>(step - group.first)];
  std::vector<int64_t> distances;
  for (size_t k = 0; k < own.base.size(); ++k) {
    const int64_t constant = view.accesses[access].indices[kept.place_of[k]].constant;
    distances.push_back(own.base[k] + constant - kept.grid.base[k]);
  }
  return distances;
}

Result<PlaneShape> PlaneShapeOf(const Pipeline& pipeline, const JointGroup& group) {
  return PlaneFinder(pipeline, group).Run();
}

}  // namespace mdh
