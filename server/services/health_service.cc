#include "server/services/health_service.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/cleanup/cleanup.h"

namespace mdh {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Each holds a thread of the server.
constexpr int kMaxHealthWatchers = 32;
// How soon a watcher that went away is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(500);

struct KnownService {
  std::string_view name;
  bool must_write;             // to be of use
  bool must_be_fresh = false;  // idem
};

constexpr KnownService kServices[] = {
    {"", false},
    {"mdh.v1.AdminService", false},
    {"mdh.v1.CandidateService", false},
    {"mdh.v1.DeviceService", false},
    {"mdh.v1.ExpressionService", false},
    {"mdh.v1.KernelService", false, /*must_be_fresh=*/true},
    {"mdh.v1.StudyService", true},
    {"mdh.v1.TuningService", true},
};

const KnownService* FindService(std::string_view name) {
  const auto* found = std::ranges::find(kServices, name, &KnownService::name);
  return found == std::end(kServices) ? nullptr : found;
}

}  // namespace

HealthCheckResponse HealthServiceImpl::Current(const std::string& service) {
  HealthCheckResponse response;
  const KnownService* known = FindService(service);
  if (known == nullptr) {
    response.set_status(HealthCheckResponse::SERVICE_UNKNOWN);
    return response;
  }
  absl::MutexLock lock(&mutex_);
  const bool is_of_use =
      is_serving_ && (!known->must_write || can_write_()) && (!known->must_be_fresh || is_fresh_());
  response.set_status(is_of_use ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
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
  if (FindService(request->service()) == nullptr) {
    return {grpc::StatusCode::NOT_FOUND, "service name unknown"};
  }
  *response = Current(request->service());
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
  HealthCheckResponse told = Current(request->service());
  writer->Write(told);
  while (!context->IsCancelled()) {
    const bool has_stopped = WaitForStop(kPoll);
    const HealthCheckResponse current = Current(request->service());
    if (current.status() != told.status()) writer->Write(current);
    told = current;
    if (has_stopped) return {grpc::StatusCode::UNAVAILABLE, "the daemon is stopping"};
  }
  return {grpc::StatusCode::CANCELLED, "the client went away"};
}

}  // namespace mdh
