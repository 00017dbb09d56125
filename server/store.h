// What the daemon remembers: records, kernels, jobs and the peaks of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

// Thread-safe. What a call acknowledged survives the end of the process and of the machine.
// Errors of every call that writes: ResourceExhausted if the disk is full; then nothing has
// changed. Errors of every call: FailedPrecondition if the storage is damaged, Internal.
class Store {
 public:
  virtual ~Store() = default;

  // Stores a record and its kernel under the record's key, unless there is a record of at most the
  // same time already. Returns the record that is stored now.
  virtual Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                             const v1::Kernel& kernel) = 0;
  virtual Result<std::vector<v1::TuningRecord>> AllRecords() = 0;
  // Errors: NotFound.
  virtual Result<v1::Kernel> GetKernel(std::string_view id) = 0;

  // Returns the number of the new job; later jobs have larger numbers. `name` is not stored: jobs
  // that are read have the name of their number.
  // Errors: AlreadyExists if its request_id is that of another job.
  virtual Result<int64_t> InsertJob(const v1::TuningJob& job) = 0;
  virtual Status UpdateJob(int64_t number, const v1::TuningJob& job) = 0;
  // Errors: NotFound.
  virtual Result<v1::TuningJob> GetJob(int64_t number) = 0;
  // nullopt if no job has that request_id.
  virtual Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) = 0;
  // Up to `limit` jobs with numbers below `before` (0: any), the newest first.
  virtual Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit) = 0;
  // Jobs that are queued or running.
  virtual Result<std::vector<v1::TuningJob>> UnfinishedJobs() = 0;

  // nullopt if none are stored for that device.
  virtual Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) = 0;
  virtual Status PutPeaks(std::string_view fingerprint, const v1::MachinePeaks& peaks) = 0;
};

}  // namespace mdh
