// mdh.v1.KernelService: lookups and kernels.
#pragma once

#include <grpcpp/grpcpp.h>

#include "mdh/v1/kernel.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/device_catalogue.h"
#include "server/lookup_table.h"
#include "server/store.h"

namespace mdh {

// LookupKernel is on start-up and dispatch paths of frameworks: it runs on gRPC's callback threads
// and sends replies that were serialised ahead.
class KernelServiceImpl final
    : public v1::KernelService::WithRawCallbackMethod_LookupKernel<v1::KernelService::Service> {
 public:
  // All must outlive the service.
  KernelServiceImpl(const LookupTable& lookup_table, const DeviceCatalogue& catalogue, Store& store,
                    ExpressionLimits limits)
      : lookup_table_(lookup_table), catalogue_(catalogue), store_(store), limits_(limits) {}

  grpc::ServerUnaryReactor* LookupKernel(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::Status GetKernel(grpc::ServerContext* context, const v1::GetKernelRequest* request,
                         v1::GetKernelResponse* response) override;

 private:
  Result<grpc::Slice> Lookup(const grpc::ByteBuffer& request) const;
  Result<v1::GetKernelResponse> Get(const v1::GetKernelRequest& request) const;
  Result<v1::GetKernelResponse> GetBest(const v1::GetKernelRequest& request) const;

  const LookupTable& lookup_table_;
  const DeviceCatalogue& catalogue_;
  Store& store_;
  const ExpressionLimits limits_;
};

}  // namespace mdh
