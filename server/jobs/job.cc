#include "server/jobs/job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/pipeline_parser.h"
#include "server/records/kernel_key.h"

namespace mdh {

Job::Job(const JobClaim& claim, CreateJob request, v1::TuningJob proto)
    : claim(claim),
      number(claim.number),
      computation(std::move(request.computation)),
      devices(std::move(request.devices)),
      source(std::move(request.source)),
      priority(request.priority),
      proto(std::move(proto)) {
  steps.push_back(this->proto.progress());
}

const DeviceDescription& DeviceOf(const CreateJob& request) {
  return request.elsewhere.has_value() ? request.elsewhere->description
                                       : request.devices.front()->description();
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
  // The whole of a planned expression (AsPlanned) may await a search of it as it stands.
  if (HoldsPipeline(job.expression_text())) absl::StrAppend(&id, " whole");
  for (const v1::Restriction& restriction : job.options().restrictions()) {
    absl::StrAppend(&id, " ", restriction.ByteSizeLong(), ":", restriction.SerializeAsString());
  }
  return id;
}

size_t CountHeld(const Job& job) {
  return static_cast<size_t>(std::count_if(
      job.leases.begin(), job.leases.end(),
      [](const std::unique_ptr<DeviceLease>& lease) { return !lease->is_revoked(); }));
}

bool CanGetMore(const Job& job) {
  return job.is_searching && !job.is_stopping && job.options().max_device_time_ns() <= 0;
}

void NameRunningDevices(Job& job) {
  job.proto.clear_running_devices();
  for (const std::unique_ptr<DeviceLease>& lease : job.leases) {
    if (!lease->is_revoked()) job.proto.add_running_devices(lease->held().name());
  }
  for (const std::string& helper : job.helpers) job.proto.add_running_devices(helper);
}

void SetError(const Status& error, v1::TuningJob& job) {
  job.mutable_error()->set_code(error.raw_code());
  job.mutable_error()->set_message(std::string(error.message()));
}

}  // namespace mdh
