#include "server/services/expression_service.h"

#include "core/expression/canonical.h"
#include "core/expression/progression.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"
#include "proto/pipeline_conversion.h"

namespace mdh {

namespace {

v1::CheckExpressionResponse CheckedExpression(const Expression& expression) {
  v1::CheckExpressionResponse response;
  *response.mutable_expression() = ToProto(expression);
  response.set_text(ToText(expression));
  response.set_canonical_form(CanonicalForm(expression));
  response.set_digest(Digest(expression));
  response.set_flops(expression.FloatingPointOperations());
  response.set_compulsory_bytes(expression.CompulsoryBytes());
  return response;
}

v1::CheckExpressionResponse CheckedPipeline(const Pipeline& pipeline) {
  using Role = PipelineBuffer::Role;
  v1::CheckExpressionResponse response;
  *response.mutable_pipeline() = ToProto(pipeline);
  response.set_text(ToText(pipeline));
  response.set_canonical_form(CanonicalForm(pipeline));
  response.set_digest(Digest(pipeline));
  response.set_flops(pipeline.FloatingPointOperations());
  response.set_compulsory_bytes(
      AddOrLargest(pipeline.BytesOf(Role::kInput), pipeline.BytesOf(Role::kOutput)));
  response.set_temporary_bytes(pipeline.BytesOf(Role::kTemporary));
  for (const Partition& partition : PlanSearch(pipeline).partitions) {
    *response.add_partitions() = ToProto(pipeline, partition);
  }
  return response;
}

}  // namespace

grpc::Status ExpressionServiceImpl::CheckExpression(grpc::ServerContext* context,
                                                    const v1::CheckExpressionRequest* request,
                                                    v1::CheckExpressionResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.ExpressionService/CheckExpression", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const Computation given,
                             ReadComputation(request->expression(), limits_));
        const auto* const pipeline = std::get_if<Pipeline>(&given);
        *response = pipeline != nullptr ? CheckedPipeline(*pipeline)
                                        : CheckedExpression(std::get<Expression>(given));
        return absl::OkStatus();
      });
}

}  // namespace mdh
