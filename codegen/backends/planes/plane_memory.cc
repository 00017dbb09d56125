#include "codegen/backends/planes/plane_memory.h"

#include <algorithm>

#include "core/base/round.h"
#include "core/pipeline/plan/joint_uses.h"

namespace mdh {

int64_t RowsOf(const PlaneShape& shape) { return shape.places.size() == 3 ? shape.places[1] : 1; }

int64_t ThreadsOf(const PlaneShape& shape, const PlaneLayout& layout) {
  return shape.places.back() * CeilDivide(RowsOf(shape), layout.column);
}

int64_t PitchOf(const PlaneShape& shape, const PlaneLayout& layout) {
  constexpr int64_t kBanks = 32;
  const int64_t width = shape.places.back();
  for (int64_t pitch = width; pitch < width + kBanks; ++pitch) {
    if ((pitch * layout.column - width) % kBanks == 0) return pitch;
  }
  return width;
}

SharedPlane SharedPlaneOf(const Pipeline& pipeline, const JointGroup& group,
                          const PlaneShape& shape, const PlaneLayout& layout,
                          const PlaneShape::Kept& kept) {
  const int64_t pitch = RowsOf(shape) == 1 ? shape.places.back() : PitchOf(shape, layout);
  SharedPlane plane = {pitch, pitch * RoundUp(RowsOf(shape), layout.column), 0, 0};
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    if (use.buffer != kept.buffer || use.writes) continue;
    for (int a = 0; a < std::ssize(use.view->accesses); ++a) {
      const auto distances = DistancesOf(group, shape, use.step, kept, *use.view, a);
      const int64_t rows = distances.size() == 3 ? distances[1] : 0;
      plane.before = std::max(plane.before, -(rows * pitch + distances.back()));
      plane.behind = std::max(plane.behind, rows * pitch + distances.back());
    }
  }
  return plane;
}

int64_t ElementsOf(const SharedPlane& plane, const PlaneShape& shape) {
  return plane.before + shape.planes * plane.places + plane.behind;
}

int64_t SharedBytesOf(const Pipeline& pipeline, const JointGroup& group, const PlaneShape& shape,
                      const PlaneLayout& layout) {
  constexpr int64_t kSharedAlignment = 16;
  int64_t bytes = 0;
  for (const PlaneShape::Kept& kept : shape.kept) {
    if (!kept.is_shared) continue;
    const SharedPlane plane = SharedPlaneOf(pipeline, group, shape, layout, kept);
    bytes += RoundUp(ElementsOf(plane, shape) * pipeline.buffers()[kept.buffer].type.size_bytes(),
                     kSharedAlignment);
  }
  return bytes;
}

}  // namespace mdh
