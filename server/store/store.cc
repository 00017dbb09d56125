#include "server/store/store.h"

#include <algorithm>

namespace mdh {

bool JobFilter::Fits(const v1::TuningJob& job) const {
  const bool fits_state = states.empty() || std::ranges::find(states, job.state()) != states.end();
  const bool fits_expression = expression.empty() || expression == job.expression_name() ||
                               expression == job.key().expression_digest();
  const bool fits_device =
      device.empty() || std::ranges::find(job.devices(), device) != job.devices().end();
  return fits_state && fits_expression && fits_device && (source.empty() || source == job.source());
}

bool HasEnded(const v1::TuningJob& job) {
  return job.state() == v1::TUNING_JOB_STATE_SUCCEEDED ||
         job.state() == v1::TUNING_JOB_STATE_FAILED ||
         job.state() == v1::TUNING_JOB_STATE_CANCELLED;
}

bool IsForOneOf(const v1::TuningJob& job, const ClaimRequest& request) {
  const std::vector<std::string>& prints = request.fingerprints;
  return std::ranges::find(prints, job.key().device_fingerprint()) != prints.end() ||
         std::find_first_of(job.devices().begin(), job.devices().end(), request.devices.begin(),
                            request.devices.end()) != job.devices().end();
}

}  // namespace mdh
