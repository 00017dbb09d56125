#include "core/pipeline/plan/joint_uses.h"

#include <algorithm>

namespace mdh {

std::vector<StepView> ViewsOf(const Pipeline& pipeline, int first, int last) {
  std::vector<StepView> views;
  for (int s = first; s <= last; ++s) {
    const PipelineStep& step = pipeline.steps()[s];
    const Expression& e = step.expression;
    for (int b = 0; b < std::ssize(e.inputs()); ++b) {
      views.push_back({s, step.inputs[b], &e.inputs()[b], false, b});
    }
    for (int b = 0; e.store() != nullptr && b < std::ssize(e.store()->inputs); ++b) {
      const int passed = e.passed_store_input(b);
      views.push_back({s, step.inputs[passed], &e.store()->inputs[b], false, passed});
    }
    for (int b = 0; b < std::ssize(e.outputs()); ++b) {
      views.push_back({s, step.outputs[b], &e.outputs()[b], true, b});
    }
  }
  return views;
}

int PlainDimensionAt(const Buffer& view, int place) {
  for (const IndexFunction& access : view.accesses) {
    if (access.indices[place].constant != 0) return -1;
  }
  return ShiftedDimensionAt(view, place);
}

int ShiftedDimensionAt(const Buffer& view, int place) {
  int dimension = -1;
  for (const IndexFunction& access : view.accesses) {
    const AffineIndex& index = access.indices[place];
    int only = -1;
    for (int d = 0; d < std::ssize(index.coefficients); ++d) {
      if (index.coefficients[d] == 0) continue;
      if (only >= 0 || index.coefficients[d] != 1) return -1;
      only = d;
    }
    if (only < 0 || (dimension >= 0 && only != dimension)) return -1;
    dimension = only;
  }
  for (const IndexFunction& access : view.accesses) {
    for (int x = 0; x < std::ssize(access.indices); ++x) {
      if (x != place && access.indices[x].coefficients[dimension] != 0) return -1;
    }
  }
  return dimension;
}

int CommonPlace(const std::vector<StepView>& views, const JointGroup& group, int buffer, size_t k) {
  int place = -1;
  for (const StepView& use : views) {
    if (use.buffer != buffer) continue;
    const int dimension = group.dimensions[use.step - group.first][k];
    if (dimension < 0) return -1;
    int own = -1;
    for (int x = 0; x < std::ssize(use.view->extents); ++x) {
      const int there =
          use.writes ? PlainDimensionAt(*use.view, x) : ShiftedDimensionAt(*use.view, x);
      if (there == dimension) own = x;
    }
    if (own < 0 || (place >= 0 && own != place)) return -1;
    place = own;
  }
  return place;
}

bool IsWithin(const std::vector<StepView>& views, int buffer) {
  const auto is_used = [&](bool writes) {
    return std::ranges::any_of(
        views, [&](const StepView& use) { return use.buffer == buffer && use.writes == writes; });
  };
  return is_used(true) && is_used(false);
}

bool IsOfPart(const Pipeline& pipeline, const JointGroup& group, int buffer) {
  if (pipeline.buffers()[buffer].role != PipelineBuffer::Role::kTemporary) return false;
  const std::vector<int> readers = pipeline.Readers(buffer);
  return pipeline.writer(buffer) >= group.first && readers.back() <= group.last;
}

int64_t MoveAlong(const Buffer& view, int access, int dimension) {
  const std::vector<int64_t> strides = view.strides();
  int64_t move = 0;
  for (size_t x = 0; x < strides.size(); ++x) {
    move += strides[x] * view.accesses[access].indices[x].coefficients[dimension];
  }
  return move;
}

}  // namespace mdh
