#include "server/daemon_services.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "core/base/start_thread.h"
#include "proto/endpoint.h"
#include "server/access/connection_limits.h"

namespace mdh {
namespace {

// Calls that are still open when the daemon stops are ended after this.
constexpr gpr_timespec kStopGrace = {
    .tv_sec = 0, .tv_nsec = 500'000'000, .clock_type = GPR_TIMESPAN};

// More than gRPC starts for a server; it aborts where it cannot.
constexpr int kThreadsOfServer = 6;

Status CheckThatThreadsStart(int count) {
  absl::Notification end;
  std::vector<std::thread> threads;
  Status started;
  for (int n = 0; n < count && started.ok(); ++n) {
    Result<std::thread> thread = StartThread([&end] { end.WaitForNotification(); });
    started = thread.status();
    if (thread.ok()) threads.push_back(*std::move(thread));
  }
  end.Notify();
  for (std::thread& thread : threads) thread.join();
  return started;
}

LookupServerOptions AdmittedBy(const AccessControl& access) {
  LookupServerOptions options;
  options.admit = [&access](const grpc::ServerContextBase& context, std::string_view method) {
    return access.Admit(context, method);
  };
  return options;
}

}  // namespace

DaemonServices::DaemonServices(Parts parts)
    : parts_(std::move(parts)),
      kernel_finder_(parts_.lookup_table, parts_.catalogue, parts_.store, parts_.jobs,
                     parts_.options.limits),
      kernel_service_(kernel_finder_, parts_.store, parts_.options.limits, parts_.access.control()),
      lookup_server_(kernel_service_, kernel_finder_, parts_.lookup_table,
                     AdmittedBy(parts_.access.control())),
      tuning_service_(parts_.jobs, parts_.lookup_table, parts_.catalogue, parts_.store,
                      parts_.options.limits, parts_.access.control()),
      admin_service_(parts_.store, lookup_server_.metrics(), parts_.jobs, parts_.options.limits,
                     parts_.admin, parts_.access.control()),
      device_service_(parts_.catalogue, parts_.jobs, parts_.options.version,
                      parts_.access.control()),
      expression_service_(parts_.options.limits, parts_.access.control()),
      candidates_(parts_.lookup_table, parts_.catalogue, parts_.options.limits),
      candidate_service_(candidates_, parts_.access.control()),
      study_service_(parts_.studies, parts_.study_store, parts_.access.control()),
      health_service_([this] { return parts_.store.CheckWritable().ok(); },
                      [this] { return parts_.store.age() <= parts_.options.max_staleness; }) {
  kernel_service_.AddTo(parts_.watches);
  tuning_service_.AddTo(parts_.watches);
}

Status DaemonServices::Listen(std::vector<int>& ports) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  LimitConnections(builder);
  // Without this two daemons may share a TCP port, and calls go to either.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const std::vector<std::string>& listen = parts_.options.listen;
  ports.assign(listen.size(), 0);
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(listen[i], parts_.access.CredentialsFor(listen[i]), &ports[i]);
  }
  builder.RegisterService(&health_service_);
  builder.RegisterService(&kernel_service_);
  builder.RegisterService(&tuning_service_);
  builder.RegisterService(&device_service_);
  builder.RegisterService(&expression_service_);
  builder.RegisterService(&candidate_service_);
  builder.RegisterService(&study_service_);
  builder.RegisterService(&admin_service_);
  lookup_server_.AddTo(builder);
  if (parts_.options.on_serving) parts_.options.on_serving();
  MDH_RETURN_IF_ERROR(CheckThatThreadsStart(kThreadsOfServer));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(lookup_server_.Start());
  return parts_.watches.Start(lookup_server_.queue());
}

Status DaemonServices::NoteAddress(const std::string& address, int port) {
  if (server_ == nullptr || port == 0) return Unavailable("cannot listen on ", address);
  const std::string path = UnixSocketPath(address);
  if (!path.empty() && chmod(path.c_str(), parts_.options.socket_mode) != 0) {
    return FailedPrecondition("the mode of socket ", path, ": ", std::strerror(errno));
  }
  addresses_.push_back(path.empty() ? absl::StrCat(address.substr(0, address.rfind(':')), ":", port)
                                    : address);
  spdlog::info("listening on {}", addresses_.back());
  return absl::OkStatus();
}

Status DaemonServices::Serve() {
  std::vector<int> ports;
  MDH_RETURN_IF_ERROR(Listen(ports));
  for (size_t i = 0; i < ports.size(); ++i) {
    MDH_RETURN_IF_ERROR(NoteAddress(parts_.options.listen[i], ports[i]));
  }
  return absl::OkStatus();
}

void DaemonServices::Stop() {
  parts_.watches.Stop();
  // By a clock that nobody sets.
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), kStopGrace));
  server_->Wait();
  parts_.watches.Join();
  lookup_server_.Stop();
  parts_.watches.Clear();
  server_.reset();
}

}  // namespace mdh
