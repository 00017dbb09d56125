#include "core/pipeline/plan/computed_pipeline.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/pipeline/plan/joint_groups.h"

namespace mdh {
namespace {

Status CheckOrder(absl::Span<const JointGroup> groups) {
  for (size_t n = 1; n < groups.size(); ++n) {
    if (groups[n].first > groups[n - 1].last) continue;
    return InvalidArgument("the joint group of steps ", groups[n].first + 1, " to ",
                           groups[n].last + 1, " comes behind one up to step ",
                           groups[n - 1].last + 1);
  }
  return absl::OkStatus();
}

// A group of the pipeline at hand, while groups before it are still to be rewritten.
struct RewrittenGroup {
  JointGroup group;
  std::optional<StreamedSteps> streamed = {};

  // In a pipeline with so many more steps in front of it, and with other buffers.
  void Move(int steps, const Pipeline& from, const Pipeline& to) {
    group.first += steps;
    group.last += steps;
    if (!streamed) return;
    streamed->group.first += steps;
    streamed->group.last += steps;
    const auto moved = [&](int b) {
      const auto has_name = [&](const PipelineBuffer& buffer) {
        return buffer.name == from.buffers()[b].name;
      };
      return static_cast<int>(std::ranges::find_if(to.buffers(), has_name) - to.buffers().begin());
    };
    for (StreamedSteps::Carried& own : streamed->carried) {
      own.before = moved(own.before);
      own.after = moved(own.after);
    }
  }
};

}  // namespace

Result<ComputedPipeline> ComputedPipelineOf(const Pipeline& pipeline,
                                            absl::Span<const JointGroup> groups) {
  MDH_RETURN_IF_ERROR(CheckOrder(groups));
  ComputedPipeline computed{pipeline, {}, std::vector<int>(pipeline.steps().size())};
  std::iota(computed.given.begin(), computed.given.end(), 0);
  std::vector<RewrittenGroup> rewritten;  // the last one first
  for (size_t n = groups.size(); n-- > 0;) {
    MDH_RETURN_IF_ERROR(CheckJointGroup(computed.pipeline, groups[n]));
    if (!groups[n].is_streamed()) {
      rewritten.push_back({groups[n]});
      continue;
    }
    MDH_ASSIGN_OR_RETURN(StreamedSteps streamed, StreamedStepsOf(computed.pipeline, groups[n]));
    const int more = static_cast<int>(streamed.pipeline.steps().size()) -
                     static_cast<int>(computed.pipeline.steps().size());
    for (RewrittenGroup& behind : rewritten) {
      behind.Move(more, computed.pipeline, streamed.pipeline);
    }
    std::vector<int> given;
    for (const int g : streamed.given) given.push_back(g < 0 ? -1 : computed.given[g]);
    computed.given = std::move(given);
    computed.pipeline = streamed.pipeline;
    if (streamed.combination) rewritten.push_back({*streamed.combination});
    JointGroup group = streamed.group;
    rewritten.push_back({std::move(group), std::move(streamed)});
  }
  for (size_t n = rewritten.size(); n-- > 0;) {
    auto& [group, streamed] = rewritten[n];
    if (!streamed) {
      MDH_ASSIGN_OR_RETURN(JointPart part, PartOf(computed.pipeline, group));
      computed.groups.push_back({std::move(group), std::move(part)});
      continue;
    }
    streamed->pipeline = computed.pipeline;
    MDH_ASSIGN_OR_RETURN(JointPart part, PartOf(*streamed));
    computed.groups.push_back({std::move(group), std::move(part), streamed->body,
                               std::move(streamed->carried), std::move(streamed->bounds)});
  }
  return computed;
}

Result<std::vector<Expression>> ComputedExpressions(const Pipeline& pipeline,
                                                    absl::Span<const JointGroup> groups) {
  std::vector<Expression> expressions;
  for (const PipelineStep& step : pipeline.steps()) expressions.push_back(step.expression);
  MDH_ASSIGN_OR_RETURN(const ComputedPipeline computed, ComputedPipelineOf(pipeline, groups));
  for (const JointSteps& joint : computed.groups) {
    for (size_t s = 0; s < joint.part.steps.size(); ++s) {
      const int given = computed.given[joint.group.first + s];
      if (given >= 0) expressions[given] = joint.part.steps[s].expression;
    }
  }
  return expressions;
}

}  // namespace mdh
