#include "server/services/admin_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "proto/error_details.h"
#include "server/access/connection_limits.h"
#include "server/lookup/lookup_answers.h"
#include "server/lookup/record_check.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"
#include "server/services/reply.h"
#include "server/store/bundle.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// Each is in memory until it is stored.
constexpr int kMaxImports = 2;

static_assert(static_cast<int>(Role::kNone) == v1::ROLE_UNSPECIFIED);
static_assert(static_cast<int>(Role::kReader) == v1::ROLE_READER);
static_assert(static_cast<int>(Role::kAdmin) == v1::ROLE_ADMIN);

v1::CallerLimits LimitsToProto(const RoleLimits& limits) {
  v1::CallerLimits proto;
  proto.set_requests_per_second(limits.requests_per_second);
  proto.set_calls(limits.calls);
  proto.set_watches(limits.watches);
  proto.set_queued_jobs(limits.queued_jobs);
  proto.set_device_time_s(limits.device_time_s);
  return proto;
}

// All bytes of the stream. Errors: ResourceExhausted if they are too many.
Result<std::string> ReadAll(grpc::ServerReader<v1::ImportBundleRequest>& reader,
                            bool& validate_only) {
  std::string bytes;
  v1::ImportBundleRequest request;
  while (reader.Read(&request)) {
    validate_only |= request.validate_only();
    if (static_cast<int64_t>(bytes.size() + request.data().size()) > kMaxBundleBytes) {
      return WithReason(ResourceExhausted("the bundle is larger than ", kMaxBundleBytes, " bytes"),
                        "BUNDLE_TOO_LARGE");
    }
    bytes += request.data();
  }
  return bytes;
}

// The records, no longer pinned, each with its kernel, if that can be read.
Result<std::vector<StoredResult>> WithKernels(std::vector<v1::TuningRecord> records,
                                              const ExpressionLimits& limits, Store& store) {
  std::vector<StoredResult> results;
  for (v1::TuningRecord& record : records) {
    record.clear_is_pinned();
    MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(record.name()));
    Result<v1::Kernel> kernel = KernelOfRecord(id, limits, store);
    if (!kernel.ok() && !absl::IsNotFound(kernel.status())) return kernel.status();
    results.push_back({std::move(record), kernel.ok() ? *std::move(kernel) : v1::Kernel()});
  }
  return results;
}

}  // namespace

Retention RetentionOf(const AdminOptions& options, absl::Time now) {
  return {.jobs_ended_before = now - options.keep_jobs,
          .most_ended_jobs = options.most_ended_jobs,
          .generator_version = kGeneratorVersion};
}

v1::Capabilities AdminServiceImpl::CapabilitiesFor(const Caller& caller) const {
  v1::Capabilities can;
  can.set_server_version(options_.version);
  can.add_api_versions("mdh.v1");
  can.set_generator_version(kGeneratorVersion);
  can.set_bundle_version(kBundleVersion);
  can.set_schema_version(static_cast<int32_t>(store_.schema_version()));
  can.set_max_request_bytes(options_.max_request_bytes);
  can.set_max_metadata_bytes(kMaxMetadataBytes);
  can.set_max_calls_per_connection(ConnectionLimits().calls_per_connection);
  can.set_max_batch_lookups(kMaxBatchLookups);
  can.set_max_page_size(kMaxPageSize);
  can.set_max_queued_jobs(options_.max_queued_jobs);
  can.set_max_queued_jobs_per_source(options_.max_queued_jobs_per_source);
  can.set_max_buffer_bytes(limits_.buffer_bytes);
  can.set_max_bundle_bytes(kMaxBundleBytes);
  for (const std::string& technique : SearchTechniqueNames()) can.add_search_techniques(technique);
  for (const v1::NumericsPolicy policy :
       {v1::NUMERICS_POLICY_REASSOCIATE, v1::NUMERICS_POLICY_EXACT_ORDER,
        v1::NUMERICS_POLICY_FIXED_TREE, v1::NUMERICS_POLICY_TF32, v1::NUMERICS_POLICY_BF16X3,
        v1::NUMERICS_POLICY_BF16X6, v1::NUMERICS_POLICY_FP8}) {
    can.add_numerics_policies(policy);
  }
  can.set_can_back_up(!options_.backup_directory.empty());
  can.set_max_remembered_changes(kRememberedChanges);
  can.set_caller_name(caller.principal->name);
  can.set_caller_role(static_cast<v1::Role>(caller.principal->role));
  *can.mutable_caller_limits() = LimitsToProto(caller.limits);
  return can;
}

grpc::Status AdminServiceImpl::GetCapabilities(grpc::ServerContext* context,
                                               const v1::GetCapabilitiesRequest*,
                                               v1::GetCapabilitiesResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/GetCapabilities",
                    [&](const Caller& caller) {
                      *response->mutable_capabilities() = CapabilitiesFor(caller);
                      return absl::OkStatus();
                    });
}

Status AdminServiceImpl::Export(const v1::ExportBundleRequest& request,
                                grpc::ServerWriter<v1::ExportBundleResponse>& writer) {
  std::string bytes;
  {
    absl::MutexLock lock(&mutex_);
    MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> records, store_.AllRecords());
    const auto is_left_out = [&](const v1::TuningRecord& record) {
      const bool is_other = !request.device_fingerprint().empty() &&
                            request.device_fingerprint() != record.key().device_fingerprint();
      // Bundles are asked for free kernels.
      return is_other || record.is_provisional() || !record.key().schedule().empty();
    };
    std::erase_if(records, is_left_out);
    std::ranges::sort(records, [](const auto& a, const auto& b) { return a.name() < b.name(); });
    MDH_ASSIGN_OR_RETURN(const std::vector<StoredResult> results,
                         WithKernels(std::move(records), limits_, store_));
    v1::BundleHeader header;
    header.set_server_version(options_.version);
    *header.mutable_create_time() = ToProto(absl::Now());
    bytes = WriteBundle(std::move(header), results);
  }
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    v1::ExportBundleResponse piece;
    piece.set_data(bytes.substr(at, kPieceBytes));
    if (!writer.Write(piece)) return Cancelled("the client went away");
  }
  return absl::OkStatus();
}

Result<v1::ImportBundleResponse> AdminServiceImpl::Import(
    grpc::ServerReader<v1::ImportBundleRequest>& reader) {
  const absl::Cleanup leave = [this] { --imports_; };
  if (++imports_ > kMaxImports) {
    return WithRetry(ResourceExhausted("other bundles are being imported"), absl::Seconds(10));
  }
  bool validate_only = false;
  MDH_ASSIGN_OR_RETURN(const std::string bytes, ReadAll(reader, validate_only));
  absl::MutexLock lock(&mutex_);
  MDH_ASSIGN_OR_RETURN(const Bundle bundle, ReadBundle(bytes));
  v1::ImportBundleResponse response;
  response.set_records(static_cast<int64_t>(bundle.records.size()));
  std::vector<StoredResult> results;
  for (size_t n = 0; n < bundle.records.size(); ++n) {
    Result<StoredResult> checked =
        CheckGivenRecord(bundle.records[n], limits_, store_, absl::Now());
    if (IsOfOtherGenerator(checked.status())) {
      response.set_other_versions(response.other_versions() + 1);
      continue;
    }
    if (!checked.ok()) {
      return InField(
          absl::StrCat("records[", n, "]"),
          Status(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("record ", n, " of the bundle, ", bundle.records[n].expression_name(),
                              ": ", checked.status().message())));
    }
    results.push_back(*std::move(checked));
  }
  if (validate_only) return response;
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningRecord> stored, store_.PutResults(results));
  for (size_t n = 0; n < stored.size(); ++n) {
    if (stored[n].SerializeAsString() == results[n].record.SerializeAsString()) {
      response.set_stored(response.stored() + 1);
    } else {
      response.set_kept(response.kept() + 1);
    }
  }
  spdlog::info("bundle: records={} stored={} kept={}", response.records(), response.stored(),
               response.kept());
  return response;
}

Result<v1::BackupResponse> AdminServiceImpl::MakeBackup() {
  if (options_.backup_directory.empty()) {
    return WithReason(FailedPrecondition("the daemon's configuration names no folder for backups"),
                      "NO_BACKUP_DIRECTORY");
  }
  std::error_code error;
  std::filesystem::create_directories(options_.backup_directory, error);
  absl::MutexLock lock(&mutex_);
  v1::BackupResponse response;
  response.set_file(
      absl::FormatTime("mdhd-%Y%m%dT%H%M%E6SZ.sqlite", absl::Now(), absl::UTCTimeZone()));
  const std::string path =
      (std::filesystem::path(options_.backup_directory) / response.file()).string();
  MDH_RETURN_IF_ERROR(store_.BackUp(path));
  response.set_size_bytes(static_cast<int64_t>(std::filesystem::file_size(path, error)));
  spdlog::info("backup={} bytes={}", path, response.size_bytes());
  return response;
}

Result<v1::Statistics> AdminServiceImpl::Statistics() {
  v1::Statistics statistics;
  MDH_RETURN_IF_ERROR(store_.Count(statistics));
  *statistics.mutable_start_time() = ToProto(start_);
  const JobQueue::Counts counts = jobs_.CountJobs();
  statistics.set_queued_jobs(counts.queued);
  statistics.set_running_jobs(counts.running);
  statistics.set_paused_jobs(counts.paused);
  *statistics.mutable_lookups() = lookups_.Read();
  statistics.set_lookup_hits(statistics.lookups().found());
  statistics.set_lookup_misses(statistics.lookups().missed());
  return statistics;
}

grpc::Status AdminServiceImpl::ExportBundle(grpc::ServerContext* context,
                                            const v1::ExportBundleRequest* request,
                                            grpc::ServerWriter<v1::ExportBundleResponse>* writer) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/ExportBundle",
                    [&](const Caller&) { return Export(*request, *writer); });
}

grpc::Status AdminServiceImpl::ImportBundle(grpc::ServerContext* context,
                                            grpc::ServerReader<v1::ImportBundleRequest>* reader,
                                            v1::ImportBundleResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/ImportBundle",
                    [&](const Caller&) { return Reply(Import(*reader), response); });
}

grpc::Status AdminServiceImpl::Backup(grpc::ServerContext* context, const v1::BackupRequest*,
                                      v1::BackupResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/Backup",
                    [&](const Caller&) { return Reply(MakeBackup(), response); });
}

grpc::Status AdminServiceImpl::CheckIntegrity(grpc::ServerContext* context,
                                              const v1::CheckIntegrityRequest*,
                                              v1::CheckIntegrityResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.AdminService/CheckIntegrity", [&](const Caller&) -> Status {
        absl::MutexLock lock(&mutex_);
        MDH_ASSIGN_OR_RETURN(const std::vector<std::string> problems, store_.CheckIntegrity());
        response->mutable_problems()->Assign(problems.begin(), problems.end());
        return absl::OkStatus();
      });
}

grpc::Status AdminServiceImpl::CollectGarbage(grpc::ServerContext* context,
                                              const v1::CollectGarbageRequest* request,
                                              v1::CollectGarbageResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/CollectGarbage",
                    [&](const Caller&) -> Status {
                      absl::MutexLock lock(&mutex_);
                      const absl::Time now = options_.now();
                      MDH_RETURN_IF_ERROR(clock_.status());
                      MDH_RETURN_IF_ERROR(clock_->Check(now));
                      Retention retention = RetentionOf(options_, now);
                      retention.only_count = request->validate_only();
                      return Reply(store_.Forget(retention), response);
                    });
}

grpc::Status AdminServiceImpl::GetStatistics(grpc::ServerContext* context,
                                             const v1::GetStatisticsRequest*,
                                             v1::GetStatisticsResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.AdminService/GetStatistics", [&](const Caller&) {
    return Reply(Statistics(), response->mutable_statistics());
  });
}

}  // namespace mdh
