// mdh tune of a pipeline: waits for the jobs of its steps and of the whole, and shows what they
// give.
#pragma once

#include <string>
#include <vector>

#include "client/client.h"
#include "client/commands/call/command.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

struct PipelineTuning {
  const Pipeline& pipeline;
  const TuneOptions& options;
  // What the daemon said to the request.
  const v1::CreateTuningJobResponse& created;
  // The words of the command that writes the kernel; none: not known.
  std::vector<std::string> kernel_command = {};
};

// Shows the progress and result of every step, and of whole kernels. Ctrl-C cancels the jobs that
// this request has begun.
Status WaitForPipeline(const GlobalOptions& options, Client& client, const PipelineTuning& tuning);

// A step that is tuned by itself, with what its loops say of it.
struct ScheduledStep {
  const Expression& expression;
  std::string schedule;  // empty: nothing
};

enum class JobsAre { kWaitedFor, kLeftAlone };

// Tunes every step with its schedule and the same share of the budget, and shows what they take,
// and all of them one after the other. Ctrl-C cancels the jobs that are waited for. Jobs that are
// left alone, or only checked, are printed as the daemon has taken them.
Status TuneSteps(const GlobalOptions& options, Client& client, const TuneOptions& tuning,
                 const std::vector<ScheduledStep>& steps, JobsAre jobs);

}  // namespace mdh
