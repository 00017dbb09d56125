#include "server/services/expression_service.h"

#include "core/expression/canonical.h"
#include "core/text/printer.h"
#include "proto/grpc_status.h"

namespace mdh {

grpc::Status ExpressionServiceImpl::CheckExpression(grpc::ServerContext* context,
                                                    const v1::CheckExpressionRequest* request,
                                                    v1::CheckExpressionResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.ExpressionService/CheckExpression",
                    [&](const Caller&) -> grpc::Status {
                      const Result<Expression> expression =
                          FromProto(request->expression(), limits_);
                      if (!expression.ok()) return ToGrpcStatus(expression.status());
                      *response->mutable_expression() = ToProto(*expression);
                      response->set_text(ToText(*expression));
                      response->set_canonical_form(CanonicalForm(*expression));
                      response->set_digest(Digest(*expression));
                      response->set_flops(expression->FloatingPointOperations());
                      response->set_compulsory_bytes(expression->CompulsoryBytes());
                      return grpc::Status::OK;
                    });
}

}  // namespace mdh
