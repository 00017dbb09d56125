// Finds the best kernel that is known for an expression and a device: measured, made from a similar
// one, or from rules.
#pragma once

#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"
#include "server/records/lookup_table.h"
#include "server/records/ready_reply.h"
#include "server/store/store.h"

namespace mdh {

// Thread-safe.
class KernelFinder {
 public:
  // All must outlive this.
  KernelFinder(const LookupTable& lookup_table, const DeviceCatalogue& catalogue, Store& store,
               JobQueue& jobs, ExpressionLimits limits)
      : lookup_table_(lookup_table),
        catalogue_(catalogue),
        store_(store),
        jobs_(jobs),
        limits_(limits) {}

  // What is measured; without regard to tune_in_background. Errors: see KernelService.LookupKernel.
  Result<ReadyReply> Lookup(v1::LookupKernelRequest request) const;
  // The best that is known of a request with tune_in_background, and a job. `requester`: of that.
  // Errors: see KernelService.LookupKernel.
  Result<ReadyReply> LookupAndTune(const v1::LookupKernelRequest& request,
                                   const Requester& requester) const;
  // Of a request with an expression. `requester`: of a job. `patience`: how long what is to be made
  // waits for devices that are being opened. Errors: see KernelService.GetKernel.
  Result<v1::GetKernelResponse> GetBest(const v1::GetKernelRequest& request,
                                        const Requester& requester,
                                        absl::Duration patience = absl::Seconds(5)) const;
  // The kernel of a record, by its id. Errors: as KernelOfRecord.
  Result<v1::Kernel> FindKernel(const std::string& id) const;

 private:
  struct Wanted {
    const Expression& expression;
    const DeviceDescription& device;
    const v1::KernelKey& key;
  };
  // A measured one. Errors: NotFound.
  Result<v1::GetKernelResponse> Measured(const Wanted& wanted, v1::MatchKind weakest) const;
  // One of other sizes for the same device. Errors: NotFound.
  Result<v1::GetKernelResponse> Nearest(const Wanted& wanted) const;
  Result<v1::GetKernelResponse> Predicted(const Wanted& wanted) const;
  // Creates or joins a job, and notes it in the response.
  void Tune(const Wanted& wanted, const v1::BackgroundTuning& tuning, const Requester& requester,
            v1::GetKernelResponse& response) const;
  Result<v1::TuningJob> MakeJob(const Wanted& wanted, const v1::BackgroundTuning& tuning,
                                const Requester& requester) const;

  const LookupTable& lookup_table_;
  const DeviceCatalogue& catalogue_;
  Store& store_;
  JobQueue& jobs_;
  const ExpressionLimits limits_;
};

}  // namespace mdh
