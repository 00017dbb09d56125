#include "server/health_service.h"

#include "absl/cleanup/cleanup.h"

namespace mdh {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Each holds a thread of the server.
constexpr int kMaxHealthWatchers = 32;
// How soon a watcher that went away is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(500);

}  // namespace

HealthCheckResponse HealthServiceImpl::Current() {
  absl::MutexLock lock(&mutex_);
  HealthCheckResponse response;
  response.set_status(is_serving_ ? HealthCheckResponse::SERVING
                                  : HealthCheckResponse::NOT_SERVING);
  return response;
}

bool HealthServiceImpl::WaitForStop(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  const auto has_stopped = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !is_serving_; };
  return mutex_.AwaitWithTimeout(absl::Condition(&has_stopped), timeout);
}

void HealthServiceImpl::Stop() {
  absl::MutexLock lock(&mutex_);
  is_serving_ = false;
}

grpc::Status HealthServiceImpl::Check(grpc::ServerContext*, const HealthCheckRequest* request,
                                      HealthCheckResponse* response) {
  if (!request->service().empty()) return {grpc::StatusCode::NOT_FOUND, "service name unknown"};
  *response = Current();
  return grpc::Status::OK;
}

grpc::Status HealthServiceImpl::Watch(grpc::ServerContext* context,
                                      const HealthCheckRequest* request,
                                      grpc::ServerWriter<HealthCheckResponse>* writer) {
  {
    absl::MutexLock lock(&mutex_);
    if (watchers_ == kMaxHealthWatchers) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch; try again later"};
    }
    ++watchers_;
  }
  const absl::Cleanup leave = [this] {
    absl::MutexLock lock(&mutex_);
    --watchers_;
  };
  HealthCheckResponse response = Current();
  const bool is_known = request->service().empty();
  if (!is_known) response.set_status(HealthCheckResponse::SERVICE_UNKNOWN);
  writer->Write(response);
  while (!context->IsCancelled()) {
    if (!WaitForStop(kPoll)) continue;
    if (is_known) writer->Write(Current());
    return {grpc::StatusCode::UNAVAILABLE, "the daemon is stopping"};
  }
  return {grpc::StatusCode::CANCELLED, "the client went away"};
}

}  // namespace mdh
