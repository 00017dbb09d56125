// The request loop of a runner.
#include "tuner/measure/runner_process.h"

#include <signal.h>

#include "mdh/v1/runner.pb.h"
#include "tuner/measure/runner_service.h"
#include "tuner/process/runner_channel.h"

namespace mdh {

Status ServeRunnerRequests(const RunnerProcessOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  PrepareToSupervise();
  RunnerChannel channel(options.socket);
  RunnerService service(channel, options);
  while (true) {
    const Result<std::optional<v1::RunnerRequest>> request =
        channel.Next(service.has_work() ? 0 : -1);
    if (absl::IsUnavailable(request.status())) return absl::OkStatus();
    if (!request.ok()) return request.status();
    if (request->has_value()) {
      service.Answer(**request);
    } else {
      service.MeasureNext();
    }
  }
}

}  // namespace mdh
