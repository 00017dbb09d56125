#include "codegen/describe_pipeline.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/plan/search_plan.h"

namespace mdh {

// What they cost, what becomes of the edges, and how many steps they have, the cheapest first.
std::string DescribePartitions(const Pipeline& pipeline) {
  constexpr const char* kKinds[] = {"through memory", "inlined",   "in the store function",
                                    "in the sum",     "beside it", "two factors at a time"};
  std::string text;
  int number = 0;
  for (const Partition& partition : PlanPartitions(pipeline)) {
    absl::StrAppend(&text, "partition ", number++, ": ", partition.pipeline.steps().size(),
                    " steps, ", partition.bytes, " bytes, ", partition.operations, " operations\n");
    for (const PlannedEdge& edge : partition.edges) {
      absl::StrAppend(&text, "  step ", edge.producer + 1, " to step ", edge.consumer + 1, " ",
                      kKinds[static_cast<int>(edge.kind)], "\n");
    }
  }
  return text;
}

// Which steps run together, by which dimensions, and the parts.
std::string DescribeGroups(const Pipeline& pipeline, absl::Span<const JointGroup> groups) {
  std::string text;
  for (const JointGroup& group : groups) {
    absl::StrAppend(&text, "steps ", group.first + 1, " to ", group.last + 1, " together, ",
                    PartsOf(pipeline, group), " parts of ", absl::StrJoin(group.part, " x "),
                    " points\n");
    if (group.is_streamed()) {
      absl::StrAppend(&text, "  on chunks of ", group.chunk, " of ",
                      StreamedExtent(pipeline, group), " points, in ", group.splits, " splits\n");
    }
    for (int s = group.first; s <= group.last; ++s) {
      const Expression& step = pipeline.steps()[s].expression;
      absl::StrAppend(
          &text, "  step ", s + 1, ", ", step.name(), ", by ",
          absl::StrJoin(group.dimensions[s - group.first], ", ",
                        [&](std::string* out, int d) { out->append(step.dimensions()[d].name); }));
      if (group.is_streamed()) {
        const int d = group.streamed[s - group.first];
        absl::StrAppend(&text, d < 0 ? ", behind the chunks"
                                     : absl::StrCat(", chunks of ", step.dimensions()[d].name));
      }
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

}  // namespace mdh
