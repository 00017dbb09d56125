#include "core/pipeline/plan/joint_halo.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/base/round.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_uses.h"

namespace mdh {
namespace {

// Extents of parts that are tried along a dimension: all of it, and so many that are no more than
// a part of that many points, the longest ones.
constexpr size_t kMostExtents = 9;
constexpr int64_t kLongestExtent = 256;

class WindowFinder {
 public:
  WindowFinder(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group), views_(ViewsOf(pipeline, group.first, group.last)) {}

  std::vector<std::vector<StepWindow>> Run() {
    const size_t steps = static_cast<size_t>(group_.last - group_.first) + 1;
    windows_.assign(steps, std::vector<StepWindow>(group_.part.size()));
    for (int s = group_.last; s >= group_.first; --s) {
      for (size_t k = 0; k < group_.part.size(); ++k) {
        windows_[static_cast<size_t>(s - group_.first)][k] = Window(s, k);
      }
    }
    return std::move(windows_);
  }

 private:
  // All later steps have theirs.
  StepWindow Window(int s, size_t k) const {
    StepWindow window;
    const auto add = [&](int64_t first, int64_t points) {
      if (window.points == 0) window.first = first;
      const int64_t end = std::max(window.first + window.points, first + points);
      window.first = std::min(window.first, first);
      window.points = end - window.first;
    };
    for (const int buffer : pipeline_.steps()[s].outputs) {
      if (!IsOfPart(pipeline_, group_, buffer)) add(0, group_.part[k]);
      const int place = CommonPlace(views_, group_, buffer, k);
      for (const StepView& use : views_) {
        if (use.buffer != buffer || use.writes || place < 0) continue;
        const StepWindow& reader = windows_[static_cast<size_t>(use.step - group_.first)][k];
        for (const IndexFunction& access : use.view->accesses) {
          add(reader.first + access.indices[static_cast<size_t>(place)].constant, reader.points);
        }
      }
    }
    return window;
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const std::vector<StepView> views_;
  std::vector<std::vector<StepWindow>> windows_;
};

std::vector<int64_t> ExtentsOfParts(int64_t n) {
  std::vector<int64_t> extents = {n};
  for (int64_t d = std::min(n - 1, kLongestExtent); d >= 1; --d) {
    if (n % d == 0 && extents.size() <= kMostExtents) extents.push_back(d);
  }
  return extents;
}

double PointsOf(const std::vector<StepWindow>& windows) {
  double points = 1;
  for (const StepWindow& window : windows) points *= static_cast<double>(window.points);
  return points;
}

}  // namespace

std::vector<std::vector<StepWindow>> WindowsOf(const Pipeline& pipeline, const JointGroup& group) {
  return WindowFinder(pipeline, group).Run();
}

bool HasHalo(const Pipeline& pipeline, const JointGroup& group) {
  for (const std::vector<StepWindow>& windows : WindowsOf(pipeline, group)) {
    for (size_t k = 0; k < windows.size(); ++k) {
      if (!(windows[k] == StepWindow{0, group.part[k]})) return true;
    }
  }
  return false;
}

double WorkRepeated(const Pipeline& pipeline, const JointGroup& group, int64_t lanes) {
  const auto windows = WindowsOf(pipeline, group);
  double points = 0, part = static_cast<double>(windows.size());
  for (const int64_t extent : group.part) part *= static_cast<double>(extent);
  for (std::vector<StepWindow> of_step : windows) {
    of_step.back().points = RoundUp(of_step.back().points, lanes);
    points += PointsOf(of_step);
  }
  return points / part;
}

double BytesOfPart(const Pipeline& pipeline, const JointGroup& group) {
  const auto windows = WindowsOf(pipeline, group);
  double bytes = 0;
  for (int s = group.first; s <= group.last; ++s) {
    const size_t n = static_cast<size_t>(s - group.first);
    const Expression& e = pipeline.steps()[s].expression;
    double whole = 1;
    for (const int d : group.dimensions[n]) whole *= static_cast<double>(e.dimensions()[d].size);
    for (const int buffer : pipeline.steps()[s].outputs) {
      if (!IsOfPart(pipeline, group, buffer)) continue;
      const auto size = static_cast<double>(pipeline.buffers()[buffer].size_bytes());
      bytes += size / whole * PointsOf(windows[n]);
    }
  }
  return bytes;
}

JointGroup WithLeastHalo(const Pipeline& pipeline, JointGroup group, const HaloLimits& limits) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  JointGroup best = WithPart(pipeline, group, 1);
  double least_work = -1;
  const std::function<void(size_t)> choose = [&](size_t k) {
    if (k == extents.size()) {
      if (PartsOf(pipeline, group) < limits.least_parts) return;
      if (BytesOfPart(pipeline, group) > limits.most_bytes) return;
      const double work = WorkRepeated(pipeline, group, limits.lanes);
      const bool is_better = least_work < 0 || std::tuple(work, -group.part.back()) <
                                                   std::tuple(least_work, -best.part.back());
      if (!is_better) return;
      least_work = work;
      best = group;
      return;
    }
    for (const int64_t points : ExtentsOfParts(extents[k])) {
      group.part[k] = points;
      choose(k + 1);
    }
  };
  choose(0);
  return best;
}

}  // namespace mdh
