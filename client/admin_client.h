// Looks after a daemon: its records, bundles of them, backups, checks, figures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

enum class Effect { kReal, kOnlyCheck };

// Thread-safe. Errors of every call: as those of Client, and what mdh.v1.AdminService and
// mdh.v1.KernelService say of the call.
class AdminClient {
 public:
  // As Client::Connect. The limit of a call holds for each but Export, Import, Backup and
  // CheckIntegrity, which take as long as there is data.
  static Result<std::unique_ptr<AdminClient>> Connect(const std::string& target,
                                                      const ClientOptions& options = {});
  virtual ~AdminClient() = default;

  virtual Result<v1::Capabilities> GetCapabilities() = 0;
  virtual Result<v1::Statistics> GetStatistics() = 0;

  // A result that was measured elsewhere.
  virtual Result<v1::PutKernelResponse> PutKernel(const v1::TuningRecord& record,
                                                  Effect effect = Effect::kReal) = 0;
  // One page of all records.
  virtual Result<v1::ListRecordsResponse> ListRecords(const v1::ListRecordsRequest& request) = 0;
  // `name`: of a record or its kernel. Each gives the record as it is now, or was.
  virtual Result<v1::TuningRecord> Invalidate(const std::string& name) = 0;
  virtual Result<v1::TuningRecord> Pin(const std::string& name) = 0;
  virtual Result<v1::TuningRecord> Unpin(const std::string& name) = 0;

  // The bytes of a bundle of all records, or of those for one device.
  virtual Result<std::string> Export(const std::string& device_fingerprint = "") = 0;
  virtual Result<v1::ImportBundleResponse> Import(const std::string& bundle,
                                                  Effect effect = Effect::kReal) = 0;
  virtual Result<v1::BackupResponse> Backup() = 0;
  virtual Result<v1::CheckIntegrityResponse> CheckIntegrity() = 0;
  virtual Result<v1::CollectGarbageResponse> CollectGarbage(Effect effect = Effect::kReal) = 0;
};

}  // namespace mdh
