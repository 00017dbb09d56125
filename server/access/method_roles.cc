#include "server/access/method_roles.h"

#include <algorithm>

namespace mdh {
namespace {

// Health is asked by load balancers, which have no credentials; reflection tells what is public.
// They are served by gRPC itself, which asks nobody: that they are here says that it is meant so.
constexpr MethodRole kMethodRoles[] = {
    {"/grpc.health.v1.Health/Check", Role::kNone},
    {"/grpc.health.v1.Health/Watch", Role::kNone},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kNone},
    {"/mdh.v1.AdminService/Backup", Role::kAdmin},
    {"/mdh.v1.AdminService/CheckIntegrity", Role::kAdmin},
    {"/mdh.v1.AdminService/CollectGarbage", Role::kAdmin},
    {"/mdh.v1.AdminService/ExportBundle", Role::kPublisher},
    {"/mdh.v1.AdminService/GetCapabilities", Role::kReader},
    {"/mdh.v1.AdminService/GetStatistics", Role::kReader},
    {"/mdh.v1.AdminService/ImportBundle", Role::kPublisher},
    {"/mdh.v1.CandidateService/DescribeCandidate", Role::kReader},
    {"/mdh.v1.CandidateService/FinishCandidate", Role::kReader},
    {"/mdh.v1.DeviceService/GetDevice", Role::kReader},
    {"/mdh.v1.DeviceService/ListDevices", Role::kReader},
    {"/mdh.v1.DeviceService/ListKnownDevices", Role::kReader},
    {"/mdh.v1.ExpressionService/CheckExpression", Role::kReader},
    // With tune_in_background these need what CreateTuningJob does.
    {"/mdh.v1.KernelService/BatchLookupKernels", Role::kReader},
    {"/mdh.v1.KernelService/GetKernel", Role::kReader},
    {"/mdh.v1.KernelService/InvalidateKernel", Role::kPublisher},
    {"/mdh.v1.KernelService/ListRecords", Role::kReader},
    {"/mdh.v1.KernelService/LookupKernel", Role::kReader},
    {"/mdh.v1.KernelService/PinKernel", Role::kPublisher},
    {"/mdh.v1.KernelService/PutKernel", Role::kPublisher},
    {"/mdh.v1.KernelService/UnpinKernel", Role::kPublisher},
    {"/mdh.v1.KernelService/WatchKernels", Role::kReader, CallKind::kWatch},
    {"/mdh.v1.StudyService/AskTrials", Role::kTuner},
    {"/mdh.v1.StudyService/CancelStudy", Role::kTuner},
    {"/mdh.v1.StudyService/CreateStudy", Role::kTuner},
    {"/mdh.v1.StudyService/DeleteStudy", Role::kTuner},
    {"/mdh.v1.StudyService/GetStudy", Role::kReader},
    {"/mdh.v1.StudyService/ListStudies", Role::kReader},
    {"/mdh.v1.StudyService/ListTrials", Role::kReader},
    {"/mdh.v1.StudyService/TellTrials", Role::kTuner},
    {"/mdh.v1.TuningService/CancelTuningJob", Role::kTuner},
    {"/mdh.v1.TuningService/CheckSchedule", Role::kReader},
    {"/mdh.v1.TuningService/CreateTuningJob", Role::kTuner},
    {"/mdh.v1.TuningService/GetTuningJob", Role::kReader},
    {"/mdh.v1.TuningService/ListTuningJobs", Role::kReader},
    {"/mdh.v1.TuningService/ListTuningTrials", Role::kReader},
    {"/mdh.v1.TuningService/PauseTuningJob", Role::kTuner},
    {"/mdh.v1.TuningService/ResumeTuningJob", Role::kTuner},
    {"/mdh.v1.TuningService/WatchTuningJob", Role::kReader, CallKind::kWatch},
};

static_assert(std::ranges::is_sorted(kMethodRoles, {}, &MethodRole::method),
              "the methods are looked up by bisection");

}  // namespace

absl::Span<const MethodRole> MethodRoles() { return kMethodRoles; }

const MethodRole* FindMethodRole(std::string_view method) {
  const MethodRole* found = std::ranges::lower_bound(kMethodRoles, method, {}, &MethodRole::method);
  return found == std::end(kMethodRoles) || found->method != method ? nullptr : found;
}

}  // namespace mdh
