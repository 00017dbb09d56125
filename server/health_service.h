// grpc.health.v1.Health. gRPC's own answers by callbacks, whose threads would do the input and
// output of lookups: each lookup would then wake up another thread (LookupServer).
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace mdh {

// Knows the daemon as a whole, which is the service without a name. Thread-safe.
class HealthServiceImpl final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) override;

  // From now on it is not serving, and calls of Watch end.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // After it has stopped, or the time is over.
  bool WaitForStop(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  grpc::health::v1::HealthCheckResponse Current() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = true;
  int watchers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
