#include "server/metrics/metrics_source.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"

namespace mdh {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

class Families {
 public:
  // Of the families, which follow one another.
  void Begin(const std::string& name, MetricType type, const std::string& help) {
    families_.push_back({name, help, type, {}});
  }
  ClientMetric& Add(const Labels& labels) {
    ClientMetric& metric = families_.back().metric.emplace_back();
    for (const auto& [label, value] : labels) metric.label.push_back({label, value});
    return metric;
  }
  void Add(double value, const Labels& labels = {}) {
    ClientMetric& metric = Add(labels);
    (families_.back().type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        value;
  }
  void AddGauge(const std::string& name, const std::string& help, double value) {
    Begin(name, MetricType::Gauge, help);
    Add(value);
  }
  void AddCounter(const std::string& name, const std::string& help, double value) {
    Begin(name, MetricType::Counter, help);
    Add(value);
  }
  std::vector<MetricFamily> Take() && { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// `buckets`: upper bounds, the last one infinite, and how many each has but for those before.
void SetHistogram(const std::vector<std::pair<double, int64_t>>& buckets, double sum,
                  ClientMetric& metric) {
  uint64_t count = 0;
  for (const auto& [bound, members] : buckets) {
    count += static_cast<uint64_t>(members);
    metric.histogram.bucket.push_back({count, bound});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = sum;
}

std::string StateWord(v1::TuningJobState state) {
  return absl::AsciiStrToLower(
      v1::TuningJobState_Name(state).substr(sizeof("TUNING_JOB_STATE_") - 1));
}

void AddJobs(const MetricsSource::Sources& sources, Families& families) {
  const JobQueue::Counts counts = sources.jobs.CountJobs();
  families.Begin("mdhd_jobs", MetricType::Gauge, "Tuning jobs that have not ended, by state.");
  families.Add(static_cast<double>(counts.queued), {{"state", "queued"}});
  families.Add(static_cast<double>(counts.running), {{"state", "running"}});
  families.Add(static_cast<double>(counts.paused), {{"state", "paused"}});
  const JobMetrics::Figures figures = sources.job_metrics.Read();
  families.Begin("mdhd_jobs_ended_total", MetricType::Counter,
                 "Tuning jobs that ended, by how they did.");
  for (const v1::TuningJobState state :
       {v1::TUNING_JOB_STATE_SUCCEEDED, v1::TUNING_JOB_STATE_FAILED,
        v1::TUNING_JOB_STATE_CANCELLED}) {
    const auto found = figures.ended.find(state);
    families.Add(found == figures.ended.end() ? 0 : static_cast<double>(found->second),
                 {{"state", StateWord(state)}});
  }
  families.Begin("mdhd_trials_total", MetricType::Counter, "Trials that ended, by outcome.");
  for (const auto& [outcome, trials] : figures.trials) {
    families.Add(static_cast<double>(trials), {{"outcome", outcome}});
  }
  families.Begin("mdhd_helped_trials_total", MetricType::Counter,
                 "Trials that one daemon has measured for another, by whether this one got or gave "
                 "the help.");
  families.Add(static_cast<double>(figures.help_got), {{"help", "got"}});
  families.Add(static_cast<double>(figures.help_given), {{"help", "given"}});
  families.AddCounter("mdhd_bound_violations_total",
                      "Trials with right results that were faster than the proven bound; none, if "
                      "the bounds are right.",
                      static_cast<double>(figures.bound_violations));
  families.Begin("mdhd_job_wait_seconds", MetricType::Histogram,
                 "How long jobs waited for their first device.");
  std::vector<std::pair<double, int64_t>> waits;
  for (size_t n = 0; n < figures.waits.size(); ++n) {
    waits.emplace_back(n < JobMetrics::kWaitBoundsS.size() ? JobMetrics::kWaitBoundsS[n] : kNoBound,
                       figures.waits[n]);
  }
  SetHistogram(waits, absl::ToDoubleSeconds(figures.waited), families.Add(Labels()));
  families.AddCounter("mdhd_measuring_seconds_total",
                      "Time that devices were held by searches, summed over the devices.",
                      absl::ToDoubleSeconds(figures.measured));
}

void AddLookups(const LookupMetrics& metrics, Families& families) {
  const v1::LookupStatistics lookups = metrics.Read();
  families.Begin("mdhd_lookups_total", MetricType::Counter,
                 "Lookups by outcome; of a batch each one.");
  families.Add(static_cast<double>(lookups.found()), {{"outcome", "found"}});
  families.Add(static_cast<double>(lookups.missed()), {{"outcome", "missed"}});
  families.Add(static_cast<double>(lookups.invalid()), {{"outcome", "invalid"}});
  families.Add(static_cast<double>(lookups.refused()), {{"outcome", "refused"}});
  families.Add(static_cast<double>(lookups.overloaded()), {{"outcome", "overloaded"}});
  families.Begin("mdhd_lookup_latency_seconds", MetricType::Histogram,
                 "From when a call was there until its reply was ready.");
  std::vector<std::pair<double, int64_t>> buckets;
  for (const v1::LatencyBucket& bucket : lookups.latencies()) {
    const double bound =
        bucket.at_most_ns() > 0 ? static_cast<double>(bucket.at_most_ns()) / 1e9 : kNoBound;
    buckets.emplace_back(bound, bucket.calls());
  }
  SetHistogram(buckets, absl::ToDoubleSeconds(metrics.TotalLatency()), families.Add(Labels()));
}

void AddDevices(const MetricsSource::Sources& sources, Families& families) {
  const auto each = [&](const std::string& name, const std::string& help, const auto& value) {
    families.Begin(name, MetricType::Gauge, help);
    for (const std::unique_ptr<TuningDevice>& device : sources.catalogue.devices()) {
      families.Add(value(*device),
                   {{"device", device->name()}, {"model", device->description().name}});
    }
  };
  each("mdhd_device_healthy", "Whether the device answers; 0 also while it is started.",
       [](const TuningDevice& device) {
         return device.state().health == v1::DEVICE_HEALTH_HEALTHY ? 1 : 0;
       });
  each("mdhd_device_busy", "Whether a job holds the device.",
       [](const TuningDevice& device) { return device.state().is_held ? 1 : 0; });
  each("mdhd_device_jobs_waiting", "Jobs that wait and may run on the device.",
       [&](const TuningDevice& device) { return sources.jobs.CountQueued(device); });
}

void AddStore(Store& store, Families& families) {
  families.AddGauge("mdhd_store_age_seconds",
                    "How long ago what is in memory was known to be what is stored; 0 for a file.",
                    absl::ToDoubleSeconds(store.age()));
  v1::Statistics statistics;
  const Status status = store.Count(statistics);
  families.AddGauge("mdhd_store_problem",
                    "1 if the latest transaction was not written, or the store cannot be read.",
                    status.ok() && statistics.storage_problem().empty() ? 0 : 1);
  if (!status.ok()) return;
  families.AddGauge("mdhd_records", "Records in the store.",
                    static_cast<double>(statistics.records()));
  families.AddGauge("mdhd_quarantined_records", "Records that were damaged and set aside.",
                    static_cast<double>(statistics.quarantined_records()));
  families.AddGauge("mdhd_database_bytes", "Size of the database.",
                    static_cast<double>(statistics.database_bytes()));
  families.AddCounter("mdhd_transactions_total", "Transactions written.",
                      static_cast<double>(statistics.transactions()));
  families.AddCounter("mdhd_writes_total", "Writes; several that wait share a transaction.",
                      static_cast<double>(statistics.writes()));
}

int64_t CountOpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int64_t entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ".", ".." and the folder itself
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Under the names that Prometheus's own libraries use.
void AddProcess(absl::Time start, Families& families) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  families.AddCounter("process_cpu_seconds_total", "Processor time, user and system.",
                      Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  families.AddGauge("process_resident_memory_bytes", "Memory in use.",
                    static_cast<double>(resident * sysconf(_SC_PAGESIZE)));
  families.AddGauge("process_open_fds", "Open files.", static_cast<double>(CountOpenFiles()));
  families.AddGauge("process_start_time_seconds", "Start, since 1970.",
                    static_cast<double>(absl::ToUnixMillis(start)) / 1e3);
}

}  // namespace

std::vector<MetricFamily> MetricsSource::Collect() const {
  Families families;
  families.Begin("mdhd_info", MetricType::Gauge, "Always 1; says which version runs.");
  families.Add(1, {{"version", sources_.version}});
  AddJobs(sources_, families);
  AddLookups(sources_.lookup_metrics, families);
  AddDevices(sources_, families);
  AddStore(sources_.store, families);
  AddProcess(sources_.start, families);
  return std::move(families).Take();
}

}  // namespace mdh
