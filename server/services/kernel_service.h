// mdh.v1.KernelService but for the lookups, which LookupServer answers. WatchKernels is served by
// WatchStreams.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "mdh/v1/kernel.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/access/access_control.h"
#include "server/lookup/kernel_finder.h"
#include "server/lookup/replica_state.h"
#include "server/services/watch_streams.h"
#include "server/store/change_cursor.h"
#include "server/store/store.h"

namespace mdh {

class KernelServiceImpl final
    : public v1::KernelService::WithRawMethod_LookupKernel<
          v1::KernelService::WithRawMethod_BatchLookupKernels<
              v1::KernelService::WithAsyncMethod_WatchKernels<v1::KernelService::Service>>> {
 public:
  // All must outlive the service.
  KernelServiceImpl(const KernelFinder& finder, Store& store, ExpressionLimits limits,
                    const AccessControl& access)
      : finder_(finder), store_(store), replica_(store), limits_(limits), access_(access) {}

  grpc::Status GetKernel(grpc::ServerContext* context, const v1::GetKernelRequest* request,
                         v1::GetKernelResponse* response) override;
  grpc::Status PutKernel(grpc::ServerContext* context, const v1::PutKernelRequest* request,
                         v1::PutKernelResponse* response) override;
  grpc::Status ListRecords(grpc::ServerContext* context, const v1::ListRecordsRequest* request,
                           v1::ListRecordsResponse* response) override;
  grpc::Status InvalidateKernel(grpc::ServerContext* context,
                                const v1::InvalidateKernelRequest* request,
                                v1::InvalidateKernelResponse* response) override;
  grpc::Status PinKernel(grpc::ServerContext* context, const v1::PinKernelRequest* request,
                         v1::PinKernelResponse* response) override;
  grpc::Status UnpinKernel(grpc::ServerContext* context, const v1::UnpinKernelRequest* request,
                           v1::UnpinKernelResponse* response) override;

  // Has WatchKernels served.
  void AddTo(WatchStreams& streams);

  // For whom a caller may have jobs created. `asked`: whom the request names. Errors: as those of
  // AccessControl for CreateTuningJob.
  Result<Requester> TuningRequester(const grpc::ServerContextBase& context,
                                    const std::string& asked) const;
  const ReplicaState& replica() const { return replica_; }

 private:
  Result<WatchNext<v1::WatchKernelsResponse>> Follow(const grpc::ServerContext& context,
                                                     const v1::WatchKernelsRequest& request);
  // What is new after `cursor`, which moves on; a sign of life when it is time for that.
  WatchStep<v1::WatchKernelsResponse> NextChanges(ChangeCursor& cursor, absl::Time& next_sign);
  Result<std::vector<v1::KernelChange>> ChangesAfter(const ChangeCursor& cursor);

  const KernelFinder& finder_;
  Store& store_;
  const ReplicaState replica_;
  const ExpressionLimits limits_;
  const AccessControl& access_;
};

}  // namespace mdh
