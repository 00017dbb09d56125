// The figures of a daemon in Prometheus's terms.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_metrics.h"
#include "server/jobs/job_queue.h"
#include "server/lookup/lookup_metrics.h"
#include "server/store/store.h"

namespace mdh {

// Thread-safe. Counters count from the start of the process. What the store cannot say is missing,
// and mdhd_store_problem is 1.
class MetricsSource : public prometheus::Collectable {
 public:
  struct Sources {
    const JobMetrics& job_metrics;
    const LookupMetrics& lookup_metrics;
    const JobQueue& jobs;
    const DeviceCatalogue& catalogue;
    Store& store;
    std::string version;
    absl::Time start;
  };
  // All in `sources` must outlive this.
  explicit MetricsSource(const Sources& sources) : sources_(sources) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Sources sources_;
};

}  // namespace mdh
