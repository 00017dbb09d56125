// mdh.v1.AdminService: bundles, backups, checks, figures, capabilities.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "mdh/v1/admin.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/access/access_control.h"
#include "server/jobs/job_queue.h"
#include "server/lookup/lookup_metrics.h"
#include "server/store/retention_clock.h"
#include "server/store/store.h"

namespace mdh {

struct AdminOptions {
  std::string version = "";           // of the daemon
  std::string backup_directory = "";  // empty: no backups
  absl::Duration keep_jobs = absl::Hours(24 * 30);
  int64_t most_ended_jobs = 100'000;
  int64_t max_request_bytes = 0;
  int max_queued_jobs = 0;
  int max_queued_jobs_per_source = 0;
  std::function<absl::Time()> now = absl::Now;
};

// What of `options` may be forgotten now.
Retention RetentionOf(const AdminOptions& options, absl::Time now);

class AdminServiceImpl final : public v1::AdminService::Service {
 public:
  // All must outlive the service.
  AdminServiceImpl(Store& store, const LookupMetrics& lookups, const JobQueue& jobs,
                   ExpressionLimits limits, AdminOptions options, const AccessControl& access)
      : store_(store),
        lookups_(lookups),
        jobs_(jobs),
        limits_(limits),
        options_(std::move(options)),
        access_(access),
        clock_(RetentionClock::Of(store_, options_.keep_jobs)),
        start_(absl::Now()) {}

  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const v1::GetCapabilitiesRequest* request,
                               v1::GetCapabilitiesResponse* response) override;
  grpc::Status ExportBundle(grpc::ServerContext* context, const v1::ExportBundleRequest* request,
                            grpc::ServerWriter<v1::ExportBundleResponse>* writer) override;
  grpc::Status ImportBundle(grpc::ServerContext* context,
                            grpc::ServerReader<v1::ImportBundleRequest>* reader,
                            v1::ImportBundleResponse* response) override;
  grpc::Status Backup(grpc::ServerContext* context, const v1::BackupRequest* request,
                      v1::BackupResponse* response) override;
  grpc::Status CheckIntegrity(grpc::ServerContext* context,
                              const v1::CheckIntegrityRequest* request,
                              v1::CheckIntegrityResponse* response) override;
  grpc::Status CollectGarbage(grpc::ServerContext* context,
                              const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse* response) override;
  grpc::Status GetStatistics(grpc::ServerContext* context, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) override;

 private:
  Status Export(const v1::ExportBundleRequest& request,
                grpc::ServerWriter<v1::ExportBundleResponse>& writer);
  Result<v1::ImportBundleResponse> Import(grpc::ServerReader<v1::ImportBundleRequest>& reader);
  Result<v1::BackupResponse> MakeBackup();
  v1::Capabilities CapabilitiesFor(const Caller& caller) const;
  Result<v1::Statistics> Statistics();

  Store& store_;
  const LookupMetrics& lookups_;
  const JobQueue& jobs_;
  const ExpressionLimits limits_;
  const AdminOptions options_;
  const AccessControl& access_;
  const Result<RetentionClock> clock_;
  const absl::Time start_;
  std::atomic<int> imports_ = 0;
  absl::Mutex mutex_;  // one export, import, backup, check or collection at a time
};

}  // namespace mdh
