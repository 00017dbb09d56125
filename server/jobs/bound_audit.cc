#include "server/jobs/bound_audit.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

#include "server/devices/known_devices.h"
#include "server/records/cache_state.h"
#include "server/records/certificate.h"
#include "server/records/resource_names.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {

BoundAudit::BoundAudit(ComputationView computation, const TuningDevice& device,
                       NumericsPolicy numerics, v1::CacheState cache, const Tools& tools)
    : computation_(computation),
      device_(device),
      description_(WithLimits(device.description(), tools.catalogue.known())),
      question_{.numerics = numerics, .has_cold_caches = IsCold(cache), .calls = 1},
      tools_(tools) {}

BoundFacts BoundAudit::FactsWith(const v1::MachinePeaks& peaks) const {
  return {description_, RatesOf(description_, FromMessage(peaks)), question_};
}

void BoundAudit::CountViolation() const {
  if (tools_.metrics != nullptr) tools_.metrics->CountBoundViolation();
  spdlog::error("device={} a configuration of '{}' took less than its bound, which counts no more",
                device_.name(), computation_.name());
}

const ProblemBound& BoundAudit::BoundWith(const v1::MachinePeaks& peaks) {
  DeviceRates rates = RatesOf(description_, FromMessage(peaks));
  if (!bound_ || rates.ToText() != rates_.ToText()) {
    rates_ = std::move(rates);
    bound_ = ProblemBoundOf(computation_, description_, rates_, question_);
  }
  return *bound_;
}

v1::MachinePeaks BoundAudit::Check(const Measurement& measurement, v1::MachinePeaks peaks) {
  if (measurement.outcome != TrialOutcome::kOk) return peaks;
  const auto time_ns = static_cast<double>(measurement.time_ns());
  if (time_ns <= 0 || BoundWith(peaks).time_ns() <= time_ns) return peaks;
  if (tools_.metrics != nullptr) tools_.metrics->CountBoundViolation();
  spdlog::error("device={} '{}' took {} ns, and nothing should take less than {} ns: {}",
                device_.name(), computation_.name(), measurement.time_ns(), bound_->time_ns(),
                bound_->floors.front().reason);
  // The floors behind the first one may be too high, too.
  while (BoundWith(peaks).time_ns() > time_ns) {
    const MachinePeaks raised =
        RaisedBy(bound_->floors.front(), time_ns, rates_, FromMessage(peaks));
    peaks = tools_.catalogue.RaisePeaks(device_, ToMessage(raised));
  }
  WithdrawClaims(peaks);
  return peaks;
}

void BoundAudit::WithdrawClaims(const v1::MachinePeaks& peaks) const {
  const Result<std::vector<v1::TuningRecord>> records = tools_.store.AllRecords();
  if (!records.ok()) {
    spdlog::error("bounds are not made anew: {}", std::string(records.status().message()));
    return;
  }
  int made = 0;
  for (const v1::TuningRecord& record : *records) {
    const bool is_here = record.key().device_fingerprint() == device_.fingerprint();
    if (!is_here || !record.has_certificate()) continue;
    Result<v1::Certificate> anew = CertificateOfRecord(record, FromMessage(peaks));
    // A claim that cannot be made again is none.
    const Result<std::string> id = ParseRecordName(record.name());
    if (!id.ok()) continue;
    const Status stored =
        tools_.store.SetCertificate(*id, anew.ok() ? *anew : v1::Certificate()).status();
    if (!stored.ok()) {
      spdlog::error("{} keeps a bound that is wrong: {}", record.name(),
                    std::string(stored.message()));
    }
    ++made;
  }
  spdlog::warn("device={} rates were raised, bounds of {} records made anew", device_.name(), made);
}

}  // namespace mdh
