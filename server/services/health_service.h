// grpc.health.v1.Health. gRPC's own answers by callbacks, whose threads would do the input and
// output of lookups: each lookup would then wake up another thread (LookupServer).
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace mdh {

// Knows the daemon as a whole, which is the service without a name, and its services by their full
// names: those that write serve nobody while nothing can be written, and KernelService is to be
// asked no more, though it answers, while what it knows is too old. Thread-safe.
class HealthServiceImpl final : public grpc::health::v1::Health::Service {
 public:
  // `can_write`: whether anything can be stored; `is_fresh`: whether what is in memory is as
  // stored. Both are thread-safe.
  explicit HealthServiceImpl(
      std::function<bool()> can_write, std::function<bool()> is_fresh = [] { return true; })
      : can_write_(std::move(can_write)), is_fresh_(std::move(is_fresh)) {}

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
  grpc::health::v1::HealthCheckResponse Current(const std::string& service)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<bool()> can_write_;
  const std::function<bool()> is_fresh_;
  absl::Mutex mutex_;
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = true;
  int watchers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
