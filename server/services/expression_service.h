// mdh.v1.ExpressionService: checks expressions for clients that have no parser of their own.
#pragma once

#include <grpcpp/grpcpp.h>

#include "mdh/v1/expression.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/access/access_control.h"

namespace mdh {

class ExpressionServiceImpl final : public v1::ExpressionService::Service {
 public:
  ExpressionServiceImpl(ExpressionLimits limits, const AccessControl& access)
      : limits_(limits), access_(access) {}

  grpc::Status CheckExpression(grpc::ServerContext* context,
                               const v1::CheckExpressionRequest* request,
                               v1::CheckExpressionResponse* response) override;

 private:
  const ExpressionLimits limits_;
  const AccessControl& access_;
};

}  // namespace mdh
