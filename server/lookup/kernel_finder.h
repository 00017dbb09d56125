// Finds the best kernel that is known for an expression and a device: measured, made from a similar
// one, or from rules.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/kernel.pb.h"
#include "proto/expression_conversion.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"
#include "server/records/lookup_table.h"
#include "server/records/serialized_reply.h"
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

  // An expression that was parsed, and what keys say of it.
  struct Computation {
    Expression expression;
    v1::KernelKey key;
  };
  // A lookup, read once for all that is done about it.
  struct Query {
    v1::LookupKernelRequest request;
    std::optional<Computation> computation;  // if the request has an expression
    std::optional<Pipeline> pipeline;        // or a pipeline
    v1::KernelKey key;                       // that is looked up
  };
  // Errors: see KernelService.LookupKernel.
  Result<Query> Read(v1::LookupKernelRequest request) const;
  // What is measured, of pipelines for all steps; without regard to tune_in_background. Errors: see
  // KernelService.LookupKernel.
  Result<SerializedReply> Lookup(const Query& query) const;
  // The best that is known of an expression or a pipeline with tune_in_background, and a job.
  // `requester`: of that. Errors: see KernelService.LookupKernel.
  Result<SerializedReply> LookupAndTune(const Query& query, const Requester& requester) const;
  // Of a request with an expression or a pipeline. `requester`: of a job. Errors: see
  // KernelService.GetKernel.
  Result<v1::GetKernelResponse> GetBest(const v1::GetKernelRequest& request,
                                        const Requester& requester) const;
  // The kernel of a record, by its id. Errors: as KernelOfRecord.
  Result<v1::Kernel> FindKernel(const std::string& id) const;

 private:
  // What a request says beside its expression.
  struct Asked {
    const v1::DeviceSelection& device;
    v1::NumericsPolicy numerics;
    v1::MatchKind weakest;
    const v1::BackgroundTuning* tuning;  // nullptr: none
    bool has_measured_kernel;            // whether the kernel of a measured record is wanted, too
    absl::Duration patience;  // how long what is to be made waits for devices that are being opened
    std::string schedule;     // of pipelines: that it keeps to; empty: nothing
  };
  struct Wanted {
    const Expression& expression;
    const DeviceDescription device;
    const v1::KernelKey key;
    const bool has_measured_kernel;
  };
  // The expression that a request is about, with its schedule. `may_be_made`: whether also what was
  // not measured will do. Errors: InvalidArgument, Unavailable.
  template <typename Request>
  Result<Computation> ComputationOf(Expression expression, const Request& request,
                                    bool may_be_made) const;
  // Errors: InvalidArgument, Unavailable.
  Result<Wanted> On(const Computation& computation, const Asked& asked) const;
  // Errors: see KernelService.GetKernel.
  Result<v1::LookupKernelResponse> Best(const Computation& computation, const Asked& asked,
                                        const Requester& requester) const;
  // The same, and of an expression that is planned (AsPlanned) what is made is made of steps.
  Result<v1::LookupKernelResponse> BestPlanned(const Computation& computation, const Asked& asked,
                                               const Requester& requester) const;
  // The kernel of all steps: one that was measured as a whole, else one made from the records of
  // the steps. Errors: see KernelService.GetKernel.
  Result<v1::LookupKernelResponse> Best(const Pipeline& pipeline, const Asked& asked,
                                        const Requester& requester) const;
  // A measured one. Errors: NotFound.
  Result<v1::LookupKernelResponse> Measured(const Wanted& wanted, v1::MatchKind weakest) const;
  // A kernel of a pipeline that was measured as a whole. Errors: NotFound, and as FindKernel.
  Result<v1::LookupKernelResponse> MeasuredWhole(const v1::KernelKey& key,
                                                 v1::MatchKind weakest) const;
  // One of other sizes for the same device. Errors: NotFound.
  Result<v1::LookupKernelResponse> Nearest(const Wanted& wanted) const;
  Result<v1::LookupKernelResponse> Predicted(const Wanted& wanted) const;
  // Creates or joins a job, and notes it in the response.
  void Tune(const Wanted& wanted, const v1::BackgroundTuning& tuning, const Requester& requester,
            v1::LookupKernelResponse& response) const;
  // On the attached devices of this fingerprint. Errors: FailedPrecondition if there are none.
  Result<JobRequest> RequestFor(const std::string& device_fingerprint, v1::NumericsPolicy numerics,
                                const v1::BackgroundTuning& tuning,
                                const Requester& requester) const;

  const LookupTable& lookup_table_;
  const DeviceCatalogue& catalogue_;
  Store& store_;
  JobQueue& jobs_;
  const ExpressionLimits limits_;
};

}  // namespace mdh
