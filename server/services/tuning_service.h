// mdh.v1.TuningService: jobs. WatchTuningJob is served by WatchStreams.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "server/access/access_control.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"
#include "server/records/lookup_table.h"
#include "server/services/watch_streams.h"
#include "server/store/store.h"

namespace mdh {

class TuningServiceImpl final
    : public v1::TuningService::WithAsyncMethod_WatchTuningJob<v1::TuningService::Service> {
 public:
  // All must outlive the service.
  TuningServiceImpl(JobQueue& jobs, const LookupTable& lookup_table,
                    const DeviceCatalogue& catalogue, Store& store, ExpressionLimits limits,
                    const AccessControl& access)
      : jobs_(jobs),
        lookup_table_(lookup_table),
        catalogue_(catalogue),
        store_(store),
        limits_(limits),
        access_(access) {}

  grpc::Status CreateTuningJob(grpc::ServerContext* context,
                               const v1::CreateTuningJobRequest* request,
                               v1::CreateTuningJobResponse* response) override;
  grpc::Status GetTuningJob(grpc::ServerContext* context, const v1::GetTuningJobRequest* request,
                            v1::GetTuningJobResponse* response) override;
  grpc::Status ListTuningJobs(grpc::ServerContext* context,
                              const v1::ListTuningJobsRequest* request,
                              v1::ListTuningJobsResponse* response) override;
  grpc::Status CancelTuningJob(grpc::ServerContext* context,
                               const v1::CancelTuningJobRequest* request,
                               v1::CancelTuningJobResponse* response) override;
  grpc::Status PauseTuningJob(grpc::ServerContext* context,
                              const v1::PauseTuningJobRequest* request,
                              v1::PauseTuningJobResponse* response) override;
  grpc::Status ResumeTuningJob(grpc::ServerContext* context,
                               const v1::ResumeTuningJobRequest* request,
                               v1::ResumeTuningJobResponse* response) override;
  grpc::Status ListTuningTrials(grpc::ServerContext* context,
                                const v1::ListTuningTrialsRequest* request,
                                v1::ListTuningTrialsResponse* response) override;
  grpc::Status CheckSchedule(grpc::ServerContext* context, const v1::CheckScheduleRequest* request,
                             v1::CheckScheduleResponse* response) override;

  // Has WatchTuningJob served.
  void AddTo(WatchStreams& streams);

 private:
  Result<v1::CreateTuningJobResponse> Create(const v1::CreateTuningJobRequest& request,
                                             const Requester& requester);
  // The number of a job that the caller may change. Errors: NotFound; PermissionDenied.
  Result<int64_t> FindOwn(const std::string& name, const Caller& caller);
  Result<WatchNext<v1::WatchTuningJobResponse>> Follow(const grpc::ServerContext& context,
                                                       const v1::WatchTuningJobRequest& request);

  JobQueue& jobs_;
  const LookupTable& lookup_table_;
  const DeviceCatalogue& catalogue_;
  Store& store_;
  const ExpressionLimits limits_;
  const AccessControl& access_;
};

}  // namespace mdh
