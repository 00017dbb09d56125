// Every measured kernel tests the bound of its computation: one that is right and faster proves a
// rate wrong, which is raised, and what was claimed with it is withdrawn.
#pragma once

#include <functional>
#include <optional>

#include "codegen/bounds/problem_bound.h"
#include "mdh/v1/record.pb.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_metrics.h"
#include "server/store/store.h"
#include "tuner/decompositions/mdh_bound.h"
#include "tuner/measure/results/measurement.h"

namespace mdh {

// Of one computation on one device. Refers to what it is made of.
class BoundAudit {
 public:
  struct Tools {
    DeviceCatalogue& catalogue;
    Store& store;
    JobMetrics* metrics;  // null: nothing is counted
  };
  // `cache`: in which calls are timed.
  BoundAudit(ComputationView computation, const TuningDevice& device, NumericsPolicy numerics,
             v1::CacheState cache, const Tools& tools);

  // What bounds of single configurations are made of.
  BoundFacts FactsWith(const v1::MachinePeaks& peaks) const;
  // One of these was wrong.
  void CountViolation() const;

  // The device with the limits of its specification.
  const DeviceDescription& device() const { return description_; }

  // If the measurement contradicts the bound that follows from `peaks`: counts it, raises the
  // peaks, and makes the certificates of the device's records anew. Gives the peaks as they are
  // then.
  v1::MachinePeaks Check(const Measurement& measurement, v1::MachinePeaks peaks);

 private:
  const ProblemBound& BoundWith(const v1::MachinePeaks& peaks);
  void WithdrawClaims(const v1::MachinePeaks& peaks) const;

  const ComputationView computation_;
  const TuningDevice& device_;
  const DeviceDescription description_;
  const BoundQuestion question_;
  const Tools tools_;
  DeviceRates rates_;
  std::optional<ProblemBound> bound_;  // of one call, with rates_
};

}  // namespace mdh
