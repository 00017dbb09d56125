#include "server/jobs/job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/records/kernel_key.h"

namespace mdh {

Job::Job(int64_t number, CreateJob request, v1::TuningJob proto)
    : number(number),
      computation(std::move(request.computation)),
      devices(std::move(request.devices)),
      source(std::move(request.source)),
      priority(request.priority),
      proto(std::move(proto)) {
  steps.push_back(this->proto.progress());
}

void Job::Publish(v1::TuningProgress step, int max_steps) {
  step.set_sequence(proto.progress().sequence() + 1);
  step.set_state(proto.state());
  *proto.mutable_progress() = step;
  steps.push_back(std::move(step));
  if (static_cast<int>(steps.size()) > max_steps) steps.pop_front();
}

std::string TwinIdOf(const v1::TuningJob& job) {
  std::string id = KernelId(job.key());
  for (const v1::Restriction& restriction : job.options().restrictions()) {
    absl::StrAppend(&id, " ", restriction.ByteSizeLong(), ":", restriction.SerializeAsString());
  }
  return id;
}

void SetError(const Status& error, v1::TuningJob& job) {
  job.mutable_error()->set_code(error.raw_code());
  job.mutable_error()->set_message(std::string(error.message()));
}

}  // namespace mdh
