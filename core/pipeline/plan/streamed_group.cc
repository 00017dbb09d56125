#include "core/pipeline/plan/streamed_group.h"

#include <algorithm>
#include <utility>

#include "core/pipeline/inverse_view.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/streamed_steps.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// That have the streamed dimension.
int64_t StepsOf(const JointGroup& group) {
  return std::ranges::count_if(group.streamed, [](int d) { return d >= 0; });
}

class StreamChecker : public StreamedGroup {
 public:
  using StreamedGroup::StreamedGroup;

  Status Check() const {
    MDH_RETURN_IF_ERROR(Sizes());
    if (group_.rows) return Obstacle("a joint group in rows streams along them anyway");
    if (group_.planes) return Obstacle("planes of a joint group follow each other anyway");
    if (HasHalo(pipeline_, group_)) {
      return Obstacle("steps of a streamed group read what others of it write at other points");
    }
    for (int s = group_.first; s <= group_.last; ++s) {
      if (Streamed(s) < 0) continue;
      MDH_RETURN_IF_ERROR(IsCarried(s) ? CarriedStep(s) : ChunkStep(s));
      MDH_RETURN_IF_ERROR(Moves(s));
    }
    return absl::OkStatus();
  }

 private:
  Status Sizes() const {
    if (std::ssize(group_.streamed) != group_.last - group_.first + 1) {
      return Obstacle("every step of a joint group has a streamed dimension, or has none");
    }
    int64_t extent = -1;
    for (int s = group_.first; s <= group_.last; ++s) {
      const int d = Streamed(s);
      if (d < 0) continue;
      const Expression& e = ExpressionOf(s);
      if (d >= e.rank() || std::ranges::count(Common(s), d) > 0) {
        return Obstacle("the streamed dimension of ", StepText(s),
                        " is another one than the common ones");
      }
      const int64_t size = e.dimensions()[d].size;
      if (extent >= 0 && size != extent) {
        return Obstacle("the streamed dimension of ", StepText(s), " has ", size,
                        " points, that of others ", extent);
      }
      extent = size;
      if (e.has_prefix_sum()) return Obstacle(StepText(s), " has prefix sums");
      if (e.is_empty()) return Obstacle(StepText(s), " has no points");
    }
    if (extent < 0) return Obstacle("no step of the joint group has the streamed dimension");
    const bool is_cut = group_.chunk >= 1 && group_.splits >= 1 && extent % group_.splits == 0 &&
                        extent / group_.splits % group_.chunk == 0;
    if (is_cut) return absl::OkStatus();
    return Obstacle("chunks of ", group_.chunk, " points do not divide ", group_.splits,
                    " splits of the ", extent, " points of the streamed dimension");
  }

  Status CarriedStep(int s) const {
    const Expression& e = ExpressionOf(s);
    const Buffer& output = e.outputs()[0];
    if (e.outputs().size() != 1 || output.accesses.size() != 1 || output.type.is_record() ||
        e.function().results().size() != 1) {
      return Obstacle(StepText(s),
                      " reduces the streamed dimension for several "
                      "results");
    }
    const CombineOperator& reduction = e.reduction();
    if (reduction.kind() == PointWiseKind::kCustom || !reduction.identity()) {
      return Obstacle(StepText(s),
                      " reduces the streamed dimension by an operator "
                      "without a name");
    }
    return absl::OkStatus();
  }

  // Of what it writes there is a chunk, or, outside of the group, all.
  Status ChunkStep(int s) const {
    for (const int b : pipeline_.steps()[s].outputs) {
      for (const StepView& use : ViewsOf(pipeline_, group_.first, group_.last)) {
        if (use.buffer != b) continue;
        if (Streamed(use.step) >= 0 && PlaceOf(use) >= 0 && PlaceOf(use) == PlaceIn(s, b)) continue;
        return Obstacle(StepText(use.step), " uses '", pipeline_.buffers()[b].name, "' of ",
                        StepText(s),
                        " by other indices than the streamed "
                        "dimension, plainly, at one place");
      }
    }
    return absl::OkStatus();
  }
  int PlaceOf(const StepView& use) const {
    for (int x = 0; x < std::ssize(use.view->extents); ++x) {
      if (PlainDimensionAt(*use.view, x) == Streamed(use.step)) return x;
    }
    return -1;
  }
  int PlaceIn(int s, int buffer) const {
    for (const StepView& use : ViewsOf(pipeline_, s, s)) {
      if (use.buffer == buffer && use.writes) return PlaceOf(use);
    }
    return -1;
  }

  // What a step reads from outside moves all alike from chunk to chunk, and inside.
  Status Moves(int s) const {
    const int d = Streamed(s);
    for (const StepView& use : ViewsOf(pipeline_, s, s)) {
      for (int a = 0; a < std::ssize(use.view->accesses); ++a) {
        if (MoveAlong(*use.view, a, d) != MoveAlong(*use.view, 0, d)) {
          return Obstacle(StepText(s), " uses '", pipeline_.buffers()[use.buffer].name,
                          "' at indices that move differently along the streamed "
                          "dimension");
        }
        if (use.view->boundary.kind == Boundary::Kind::kNone) continue;
        for (size_t x = 0; x < use.view->extents.size(); ++x) {
          const AffineIndex& index = use.view->accesses[a].indices[x];
          if (index.coefficients[d] == 0) continue;
          const auto range = RangeOf(index, ExpressionOf(s).dimensions());
          if (range && range->smallest >= 0 && range->largest < use.view->extents[x]) continue;
          return Obstacle(StepText(s), " leaves '", pipeline_.buffers()[use.buffer].name,
                          "' along the streamed dimension");
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

bool StreamedGroup::IsReadBehindChunks(int s) const {
  const int buffer = pipeline_.steps()[s].outputs[0];
  if (pipeline_.buffers()[buffer].role == PipelineBuffer::Role::kOutput) return true;
  for (const int reader : pipeline_.Readers(buffer)) {
    if (!IsInGroup(reader) || Streamed(reader) < 0) return true;
    const Expression& e = ExpressionOf(reader);
    for (int b = 0; e.store() != nullptr && b < std::ssize(e.store()->inputs); ++b) {
      if (pipeline_.steps()[reader].inputs[e.passed_store_input(b)] == buffer) return true;
    }
  }
  return false;
}

std::vector<int> DropUnusedBuffers(PipelineSpec* spec) {
  std::vector<bool> is_used(spec->buffers.size(), false);
  for (const PipelineStep& step : spec->steps) {
    for (const int b : step.inputs) is_used[b] = true;
    for (const int b : step.outputs) is_used[b] = true;
  }
  std::vector<int> number(spec->buffers.size(), -1);
  std::vector<PipelineBuffer> buffers;
  for (size_t b = 0; b < spec->buffers.size(); ++b) {
    if (!is_used[b]) continue;
    number[b] = static_cast<int>(buffers.size());
    buffers.push_back(std::move(spec->buffers[b]));
  }
  spec->buffers = std::move(buffers);
  for (PipelineStep& step : spec->steps) {
    for (int& b : step.inputs) b = number[b];
    for (int& b : step.outputs) b = number[b];
  }
  return number;
}

Status CheckStreamed(const Pipeline& pipeline, const JointGroup& group) {
  return StreamChecker(pipeline, group).Check();
}

std::vector<JointGroup> StreamedGroups(const Pipeline& pipeline, const JointGroup& group) {
  const std::vector<StepView> views = ViewsOf(pipeline, group.first, group.last);
  const auto expression = [&](int s) -> const Expression& {
    return pipeline.steps()[s].expression;
  };
  std::vector<JointGroup> streamed;
  // The dimensions that index buffers at the place where this one does, in steps that share them.
  const auto along = [&](int first, int dimension) {
    JointGroup own = group;
    own.streamed.assign(group.dimensions.size(), -1);
    const auto number = [&](int s) -> int& { return own.streamed[s - group.first]; };
    number(first) = dimension;
    own.chunk = expression(first).dimensions()[dimension].size;
    for (bool grows = true; grows;) {
      grows = false;
      for (const StepView& from : views) {
        for (int x = 0; number(from.step) >= 0 && x < std::ssize(from.view->extents); ++x) {
          if (PlainDimensionAt(*from.view, x) != number(from.step)) continue;
          for (const StepView& to : views) {
            if (to.buffer != from.buffer || number(to.step) >= 0) continue;
            const int d = PlainDimensionAt(*to.view, x);
            if (d < 0 || expression(to.step).dimensions()[d].size != own.chunk) continue;
            number(to.step) = d;
            grows = true;
          }
        }
      }
    }
    return own;
  };
  for (int s = group.first; s <= group.last; ++s) {
    for (int d = 0; d < expression(s).rank(); ++d) {
      if (!expression(s).is_reduction(d)) continue;
      JointGroup own = along(s, d);
      if (std::ranges::find(streamed, own) != streamed.end()) continue;
      if (StepsOf(own) > 1 && StreamedStepsOf(pipeline, own).ok()) {
        streamed.push_back(std::move(own));
      }
    }
  }
  std::ranges::stable_sort(
      streamed, [](const JointGroup& a, const JointGroup& b) { return StepsOf(a) > StepsOf(b); });
  return streamed;
}

int64_t StreamedExtent(const Pipeline& pipeline, const JointGroup& group) {
  for (int s = group.first; s <= group.last; ++s) {
    const int d = group.streamed[s - group.first];
    if (d >= 0) return pipeline.steps()[s].expression.dimensions()[d].size;
  }
  return 0;
}

}  // namespace mdh
