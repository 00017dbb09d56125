// Looks after a daemon: its records, bundles of them, backups, checks, figures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "core/base/status.h"
#include "grpc/health/v1/health.pb.h"
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
  ~AdminClient();

  Result<v1::Capabilities> GetCapabilities();
  Result<v1::Statistics> GetStatistics();
  // Whether the daemon, or one of its services ("mdh.v1.KernelService"), is of use; "": as a whole.
  // Errors: NotFound if it has no such service.
  Result<grpc::health::v1::HealthCheckResponse> CheckHealth(const std::string& service = "");

  // A result that was measured elsewhere.
  Result<v1::PutKernelResponse> PutKernel(const v1::TuningRecord& record,
                                          Effect effect = Effect::kReal);
  // One page of all records.
  Result<v1::ListRecordsResponse> ListRecords(const v1::ListRecordsRequest& request);
  // `name`: of a record or its kernel. Each gives the record as it is now, or was.
  Result<v1::TuningRecord> Invalidate(const std::string& name);
  Result<v1::TuningRecord> Pin(const std::string& name);
  Result<v1::TuningRecord> Unpin(const std::string& name);

  // The bytes of a bundle of all records, or of those for one device.
  Result<std::string> Export(const std::string& device_fingerprint = "");
  Result<v1::ImportBundleResponse> Import(const std::string& bundle, Effect effect = Effect::kReal);
  Result<v1::BackupResponse> Backup();
  Result<v1::CheckIntegrityResponse> CheckIntegrity();
  Result<v1::CollectGarbageResponse> CollectGarbage(Effect effect = Effect::kReal);

 private:
  class Services;  // of the daemon
  explicit AdminClient(std::unique_ptr<const Services> services);

  const std::unique_ptr<const Services> services_;
};

}  // namespace mdh
