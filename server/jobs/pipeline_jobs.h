// Jobs for pipelines: one for each distinct step of the partitions that are worth a search, whose
// records are those of expressions, which other pipelines and partitions share; and one that awaits
// these and measures whole kernels.
#pragma once

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/tuning.pb.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"

namespace mdh {

// Creates or joins the jobs; the limits of `request` are divided among them (core's Shares). If one
// cannot be created, those that were are cancelled. Errors: see TuningService.CreateTuningJob.
Result<v1::CreateTuningJobResponse> CreatePipelineJobs(const Pipeline& pipeline,
                                                       const JobRequest& request,
                                                       const DeviceCatalogue& catalogue,
                                                       JobQueue& jobs);

// Only checks: gives the jobs that there would be, without names, or the errors.
Result<v1::CreateTuningJobResponse> ValidatePipelineJobs(const Pipeline& pipeline,
                                                         const JobRequest& request,
                                                         const DeviceCatalogue& catalogue,
                                                         JobQueue& jobs);

}  // namespace mdh
