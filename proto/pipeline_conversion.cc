#include "proto/pipeline_conversion.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/teml/teml.h"
#include "core/text/pipeline_parser.h"
#include "proto/scalar_conversion.h"

namespace mdh {
namespace {

// Enums of the wire have the numbers of core's, which this makes sure of.
static_assert(static_cast<int>(PipelineBuffer::Role::kInput) == v1::PIPELINE_ROLE_INPUT);
static_assert(static_cast<int>(PipelineBuffer::Role::kTemporary) == v1::PipelineRole_MAX);

v1::PipelineEdgeKind KindToProto(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kStage:
      return v1::PIPELINE_EDGE_KIND_STAGE;
    case EdgeKind::kInline:
      return v1::PIPELINE_EDGE_KIND_INLINE;
    case EdgeKind::kEpilogue:
      return v1::PIPELINE_EDGE_KIND_EPILOGUE;
    case EdgeKind::kContraction:
      return v1::PIPELINE_EDGE_KIND_CONTRACTION;
    case EdgeKind::kSiblings:
      return v1::PIPELINE_EDGE_KIND_SIBLINGS;
    case EdgeKind::kSplit:
      return v1::PIPELINE_EDGE_KIND_SPLIT;
  }
  return v1::PIPELINE_EDGE_KIND_UNSPECIFIED;
}

Status CheckPipelineCount(int64_t count, int64_t limit, const char* what) {
  if (count <= limit) return absl::OkStatus();
  return InvalidArgument("the pipeline has ", count, " ", what, ", at most ", limit,
                         " are allowed");
}

Status CheckPipelineSize(const v1::Pipeline& proto, const PipelineLimits& limits) {
  MDH_RETURN_IF_ERROR(CheckPipelineCount(proto.steps_size(), limits.steps, "steps"));
  int64_t edges = 0;
  for (const v1::PipelineStep& step : proto.steps()) edges += step.inputs_size();
  MDH_RETURN_IF_ERROR(CheckPipelineCount(edges, limits.edges, "inputs of steps"));
  return CheckPipelineCount(proto.buffers_size(), Pipeline::kMaxBuffers, "buffers");
}

Status CheckPipelineBytes(const Pipeline& pipeline, const PipelineLimits& limits) {
  int64_t bytes = 0;
  for (const PipelineBuffer& buffer : pipeline.buffers()) {
    if (!__builtin_add_overflow(bytes, buffer.size_bytes(), &bytes) &&
        bytes <= limits.buffer_bytes) {
      continue;
    }
    return ResourceExhausted("the buffers of pipeline '", pipeline.name(), "' up to '", buffer.name,
                             "' have more bytes than the limit of ", limits.buffer_bytes);
  }
  return absl::OkStatus();
}

Result<Pipeline> PipelineFromText(const v1::TextExpression& text, const PipelineLimits& limits) {
  if (static_cast<int64_t>(text.text().size()) > limits.text_bytes) {
    return InvalidArgument("the text has ", text.text().size(), " bytes, at most ",
                           limits.text_bytes, " are allowed");
  }
  const Bindings bindings(text.bindings().begin(), text.bindings().end());
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline,
                       LooksLikeTeml(text.text())
                           ? ParseTemlPipeline(text.text(), bindings)
                           : ParsePipeline(text.text(), bindings, "<text>", text.name()));
  MDH_RETURN_IF_ERROR(FromProto(ToProto(pipeline), limits).status());
  return pipeline;
}

}  // namespace

PipelineLimits PipelineLimits::None() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  return {ExpressionLimits::None(), kNone, kNone, kNone, kNone};
}

PipelineLimits PipelineLimits::Of(const ExpressionLimits& limits) {
  PipelineLimits result{.step = limits};
  result.buffer_bytes = limits.buffer_bytes;
  return result;
}

bool HoldsPipeline(const v1::ExpressionSource& source) {
  if (source.has_pipeline()) return true;
  return source.has_text() &&
         (!source.text().name().empty() || HoldsPipeline(source.text().text()) ||
          LooksLikeTeml(source.text().text()));
}

Result<Computation> ReadComputation(const v1::ExpressionSource& source,
                                    const ExpressionLimits& limits) {
  if (!HoldsPipeline(source)) {
    MDH_ASSIGN_OR_RETURN(Expression expression, FromProto(source, limits));
    return expression;
  }
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline, FromProto(source, PipelineLimits::Of(limits)));
  return ToComputation(std::move(pipeline));
}

Result<Computation> ReadPrinted(const std::string& text, const ExpressionLimits& limits) {
  v1::ExpressionSource source;
  source.mutable_text()->set_text(text);
  if (!HoldsPipeline(text)) return FromProto(source, limits);
  return FromProto(source, PipelineLimits::Of(limits));
}

Result<Pipeline> FromProto(const v1::ExpressionSource& source, const PipelineLimits& limits) {
  switch (source.source_case()) {
    case v1::ExpressionSource::kText:
      return PipelineFromText(source.text(), limits);
    case v1::ExpressionSource::kPipeline:
      return FromProto(source.pipeline(), limits);
    case v1::ExpressionSource::kStructured: {
      MDH_ASSIGN_OR_RETURN(Expression expression, FromProto(source.structured(), limits.step));
      return Pipeline::Of(std::move(expression));
    }
    case v1::ExpressionSource::SOURCE_NOT_SET:
      break;
  }
  return InvalidArgument("the request has no pipeline");
}

Result<Pipeline> FromProto(const v1::Pipeline& proto, const PipelineLimits& limits) {
  MDH_RETURN_IF_ERROR(CheckPipelineSize(proto, limits));
  MDH_RETURN_IF_ERROR(CheckNameLength(proto.name(), "the pipeline"));
  PipelineSpec spec{.name = proto.name(), .buffers = {}, .steps = {}};
  for (const v1::PipelineBuffer& buffer : proto.buffers()) {
    MDH_RETURN_IF_ERROR(CheckNameLength(buffer.name(), "a buffer"));
    if (buffer.role() == v1::PIPELINE_ROLE_UNSPECIFIED ||
        !v1::PipelineRole_IsValid(buffer.role())) {
      return InvalidArgument("buffer '", buffer.name(), "' has no role, or an unknown one");
    }
    spec.buffers.push_back(
        {.name = buffer.name(), .role = static_cast<PipelineBuffer::Role>(buffer.role())});
  }
  for (const v1::PipelineStep& step : proto.steps()) {
    Result<Expression> expression = FromProto(step.expression(), limits.step);
    if (!expression.ok()) {
      return Status(expression.status().code(), absl::StrCat("step ", spec.steps.size() + 1, ": ",
                                                             expression.status().message()));
    }
    spec.steps.push_back({*std::move(expression),
                          {step.inputs().begin(), step.inputs().end()},
                          {step.outputs().begin(), step.outputs().end()}});
  }
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Create(std::move(spec)));
  MDH_RETURN_IF_ERROR(CheckPipelineBytes(pipeline, limits));
  return pipeline;
}

v1::Pipeline ToProto(const Pipeline& pipeline) {
  v1::Pipeline proto;
  proto.set_name(pipeline.name());
  for (const PipelineBuffer& buffer : pipeline.buffers()) {
    v1::PipelineBuffer* to = proto.add_buffers();
    to->set_name(buffer.name);
    to->set_role(static_cast<v1::PipelineRole>(buffer.role));
    if (buffer.type.is_record()) {
      for (const ElementType::Field& field : buffer.type.fields()) {
        *to->add_record() = ToProto(TypedName{field.name, field.type});
      }
    } else {
      to->set_type(ToProto(buffer.type.scalar()));
    }
    to->mutable_extents()->Add(buffer.extents.begin(), buffer.extents.end());
    to->mutable_strides()->Add(buffer.given_strides.begin(), buffer.given_strides.end());
  }
  for (const PipelineStep& step : pipeline.steps()) {
    v1::PipelineStep* to = proto.add_steps();
    *to->mutable_expression() = ToProto(step.expression);
    to->mutable_inputs()->Add(step.inputs.begin(), step.inputs.end());
    to->mutable_outputs()->Add(step.outputs.begin(), step.outputs.end());
  }
  return proto;
}

v1::ExpressionSource ToProto(const ComputationView& computation) {
  v1::ExpressionSource source;
  if (computation.pipeline() != nullptr) {
    *source.mutable_pipeline() = ToProto(*computation.pipeline());
  } else {
    // As a structure: the text form of an expression with large tables is large.
    *source.mutable_structured() = ToProto(*computation.expression());
  }
  return source;
}

v1::PipelinePartition ToProto(const Pipeline& pipeline, const Partition& partition) {
  v1::PipelinePartition proto;
  proto.set_text(Describe(pipeline, partition));
  for (const PlannedEdge& edge : partition.edges) {
    v1::PipelineEdge* to = proto.add_edges();
    to->set_producer(edge.producer);
    to->set_consumer(edge.consumer);
    to->set_kind(KindToProto(edge.kind));
  }
  proto.set_bytes(partition.bytes);
  proto.set_operations(partition.operations);
  *proto.mutable_pipeline() = ToProto(partition.pipeline);
  return proto;
}

}  // namespace mdh
