#include "server/job_search.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "proto/device_conversion.h"
#include "server/job.h"
#include "server/similar_records.h"
#include "server/tuning_request.h"
#include "server/tuning_result_conversion.h"

namespace mdh {
namespace {

// Records that a search starts from.
constexpr size_t kStartRecords = 3;

std::vector<StartPoint> StartPoints(const JobSearch& search, const v1::DeviceDescription& device,
                                    const LookupTable& lookup_table) {
  std::vector<StartPoint> points;
  if (Result<TuningParameters> own = ParseTuningParameters(search.resume_from); own.ok()) {
    points.push_back({*std::move(own)});
  }
  for (const v1::TuningRecord& known :
       lookup_table.FindSimilar(search.key, kStartRecords, device)) {
    Result<TuningParameters> start = ParseTuningParameters(known.parameters());
    const std::optional<ExpressionShape> shape = ExpressionShape::Of(known.key().canonical_form());
    if (start.ok() && shape) points.push_back({*std::move(start), shape->sizes});
  }
  return points;
}

}  // namespace

Result<v1::TuningRecord> SearchAndStore(const JobSearch& search, const SearchTools& tools) {
  TuningDevice& device = search.leases.front()->held();
  v1::MachinePeaks peaks;
  if (const Result<v1::MachinePeaks> measured = tools.catalogue.Peaks(device); measured.ok()) {
    peaks = *measured;
  } else {
    spdlog::warn("device={} peaks are unknown: {}", device.name(),
                 std::string(measured.status().message()));
  }
  const v1::DeviceDescription description = ToProto(device.description());
  TuningOptions options = FromProto(search.options);
  options.start = StartPoints(search, description, tools.lookup_table);
  std::vector<Runner*> runners;
  for (const std::unique_ptr<DeviceLease>& lease : search.leases) runners.push_back(lease.get());
  MDH_ASSIGN_OR_RETURN(const TuningResult result, tools.tune(search.expression, runners, options,
                                                             search.on_trial, search.cancelled));
  MDH_RETURN_IF_ERROR(
      CheckPlausible(search.expression, result.measurement.time_ns(), device.description(), peaks));
  v1::TuningRecord record = MakeRecord(search.expression, search.key, device.description(), result);
  record.set_search_end(search.cancelled ? v1::SEARCH_END_CANCELLED : v1::SEARCH_END_BUDGET);
  *record.mutable_peaks() = peaks;
  record.set_technique(search.options.technique());
  record.set_seed(search.options.seed());
  for (const std::unique_ptr<DeviceLease>& lease : search.leases) {
    record.add_device_names(lease->held().name());
  }
  *record.mutable_create_time() = ToProto(tools.now());
  MDH_ASSIGN_OR_RETURN(
      v1::TuningRecord stored,
      tools.store.PutResult(record, MakeKernel(search.key, result.kernel, device.description())));
  tools.lookup_table.Put(stored);
  return stored;
}

}  // namespace mdh
