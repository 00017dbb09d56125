#include "client/commands/format/explain_pipeline.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/text/formatting.h"
#include "core/expression/canonical.h"
#include "core/expression/progression.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/plan/search_plan.h"

namespace mdh {
namespace {

using Json = nlohmann::ordered_json;
using Role = PipelineBuffer::Role;

const char* RoleName(Role role) {
  switch (role) {
    case Role::kInput:
      return "input";
    case Role::kOutput:
      return "output";
    case Role::kTemporary:
      return "temporary";
  }
  return "";
}

std::vector<std::string> NamesOf(const Pipeline& pipeline, const std::vector<int>& buffers) {
  std::vector<std::string> names;
  for (const int b : buffers) names.push_back(pipeline.buffers()[b].name);
  return names;
}

std::string BufferLine(const PipelineBuffer& buffer) {
  return absl::StrFormat(
      "    %-8s %s, %s %s, %s%s\n", buffer.name, RoleName(buffer.role), buffer.type.ToString(),
      buffer.extents.empty() ? "scalar"
                             : absl::StrCat("(", absl::StrJoin(buffer.extents, ", "), ")"),
      FormatBytes(buffer.size_bytes()),
      buffer.given_strides.empty()
          ? ""
          : absl::StrCat(", strides (", absl::StrJoin(buffer.given_strides, ", "), ") elements"));
}

std::string StepLine(const Pipeline& pipeline, int number) {
  const PipelineStep& step = pipeline.steps()[number];
  return absl::StrFormat(
      "    %-8d %s = %s(%s): %d points, %d FLOP, digest %s\n", number + 1,
      absl::StrJoin(NamesOf(pipeline, step.outputs), ", "), step.expression.name(),
      absl::StrJoin(NamesOf(pipeline, step.inputs), ", "), step.expression.points(),
      step.expression.FloatingPointOperations(), Digest(step.expression).substr(0, 12));
}

int64_t LeastBytes(const Pipeline& pipeline) {
  return AddOrLargest(pipeline.BytesOf(Role::kInput), pipeline.BytesOf(Role::kOutput));
}

const Partition& Unfused(const SearchPlan& plan) {
  for (const Partition& partition : plan.partitions) {
    if (partition.is_unfused()) return partition;
  }
  return plan.partitions.back();  // there always is one
}

// What a partition saves of the memory traffic of the steps one by one, and what it computes more.
std::string PartitionLine(const Pipeline& pipeline, const Partition& partition,
                          const Partition& unfused) {
  const size_t steps = partition.pipeline.steps().size();
  std::string line =
      absl::StrCat("    ", Describe(pipeline, partition), ": ", steps,
                   steps == 1 ? " step, " : " steps, ", FormatBytes(partition.bytes));
  const int64_t saved = unfused.bytes - partition.bytes;
  if (saved > 0) absl::StrAppend(&line, ", saves ", FormatBytes(saved));
  const int64_t more = partition.operations - unfused.operations;
  if (more > 0) absl::StrAppend(&line, ", for ", more, " operations more");
  return line + "\n";
}

std::string ProvenanceName(v1::KernelProvenance provenance) {
  switch (provenance) {
    case v1::KERNEL_PROVENANCE_MEASURED:
      return "measured";
    case v1::KERNEL_PROVENANCE_REPAIRED:
      return "repaired";
    default:
      return "rules";
  }
}

}  // namespace

std::string ExplainAsText(const Pipeline& pipeline) {
  std::string text = absl::StrCat(pipeline.name(), "\n  buffers\n");
  for (const PipelineBuffer& buffer : pipeline.buffers()) {
    absl::StrAppend(&text, BufferLine(buffer));
  }
  absl::StrAppend(&text, "  steps\n");
  for (int s = 0; s < std::ssize(pipeline.steps()); ++s) {
    absl::StrAppend(&text, StepLine(pipeline, s));
  }
  absl::StrAppend(&text, "  work\n    ", pipeline.FloatingPointOperations(), " FLOP; ",
                  FormatBytes(LeastBytes(pipeline)), " of inputs and outputs, ",
                  FormatBytes(pipeline.BytesOf(Role::kTemporary)), " of temporaries\n");
  const SearchPlan plan = PlanSearch(pipeline);
  absl::StrAppend(&text, "  partitions, the cheapest by the plan first\n");
  for (const Partition& partition : plan.partitions) {
    absl::StrAppend(&text, PartitionLine(pipeline, partition, Unfused(plan)));
  }
  return absl::StrCat(text, "  digest\n    ", Digest(pipeline), "\n");
}

nlohmann::ordered_json ExplainAsJson(const Pipeline& pipeline) {
  Json buffers = Json::array(), steps = Json::array(), partitions = Json::array();
  for (const PipelineBuffer& buffer : pipeline.buffers()) {
    buffers.push_back({{"name", buffer.name},
                       {"role", RoleName(buffer.role)},
                       {"type", buffer.type.ToString()},
                       {"extents", buffer.extents},
                       {"size_bytes", buffer.size_bytes()}});
    if (!buffer.given_strides.empty()) buffers.back()["strides"] = buffer.given_strides;
  }
  for (const PipelineStep& step : pipeline.steps()) {
    steps.push_back({{"name", step.expression.name()},
                     {"digest", Digest(step.expression)},
                     {"inputs", NamesOf(pipeline, step.inputs)},
                     {"outputs", NamesOf(pipeline, step.outputs)},
                     {"points", step.expression.points()},
                     {"flops", step.expression.FloatingPointOperations()}});
  }
  const SearchPlan plan = PlanSearch(pipeline);
  for (const Partition& partition : plan.partitions) {
    partitions.push_back({{"text", Describe(pipeline, partition)},
                          {"is_unfused", partition.is_unfused()},
                          {"steps", partition.pipeline.steps().size()},
                          {"bytes", partition.bytes},
                          {"saved_bytes", Unfused(plan).bytes - partition.bytes},
                          {"operations", partition.operations}});
  }
  return {{"name", pipeline.name()},
          {"digest", Digest(pipeline)},
          {"buffers", buffers},
          {"steps", steps},
          {"flops", pipeline.FloatingPointOperations()},
          {"compulsory_bytes", LeastBytes(pipeline)},
          {"temporary_bytes", pipeline.BytesOf(Role::kTemporary)},
          {"partitions", partitions}};
}

std::string OriginOfStep(const v1::PipelineKernelStep& step) {
  if (step.time_ns() > 0) return absl::StrCat("measured, ", FormatTime(step.time_ns()));
  if (step.record().empty()) return "not measured, from rules";
  return absl::StrCat("not measured, ", ProvenanceName(step.provenance()), " from ", step.record());
}

std::string FormatPipelineKernel(const std::string& name, const v1::PipelineKernel& kernel) {
  std::string text = absl::StrCat(name, ": ", kernel.partition().text());
  if (kernel.time_ns() > 0) {
    absl::StrAppend(&text, ", ", FormatTime(kernel.time_ns()),
                    kernel.is_measured() ? ", measured as a whole" : " as the sum of its steps");
  }
  if (kernel.unfused_time_ns() > 0 && kernel.unfused_time_ns() != kernel.time_ns()) {
    absl::StrAppend(&text, "; unfused ", FormatTime(kernel.unfused_time_ns()));
  }
  absl::StrAppend(&text, "\n");
  for (const v1::PipelineKernelStep& step : kernel.steps()) {
    absl::StrAppend(&text, "  ", step.expression_name(), ": ", OriginOfStep(step), "\n");
  }
  return text;
}

}  // namespace mdh
