// mdh.v1.ExpressionService: checks expressions for clients that have no parser of their own.
#pragma once

#include <grpcpp/grpcpp.h>

#include "mdh/v1/expression.grpc.pb.h"
#include "proto/expression_conversion.h"

namespace mdh {

class ExpressionServiceImpl final : public v1::ExpressionService::Service {
 public:
  explicit ExpressionServiceImpl(ExpressionLimits limits) : limits_(limits) {}

  grpc::Status CheckExpression(grpc::ServerContext* context,
                               const v1::CheckExpressionRequest* request,
                               v1::CheckExpressionResponse* response) override;

 private:
  const ExpressionLimits limits_;
};

}  // namespace mdh
