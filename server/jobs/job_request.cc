#include "server/jobs/job_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/program/contraction_units.h"
#include "proto/error_details.h"
#include "server/jobs/candidate_request.h"
#include "server/jobs/schedule_request.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"

namespace mdh {
namespace {

constexpr size_t kMaxSourceBytes = 64;

Status CheckNotEmpty(const Expression& expression) {
  for (const Dimension& dimension : expression.dimensions()) {
    if (dimension.size > 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "there is nothing to tune: dimension '", dimension.name, "' of ", expression.name(),
        " is empty, and its kernel, which GetKernel gives, computes nothing"));
  }
  return absl::OkStatus();
}

// A policy that is about products needs some that it is about: in a pipeline, those of a step.
Status CheckProducts(const Computation& computation, const DeviceDescription& device,
                     const v1::TuningOptions& options) {
  const auto policy = static_cast<NumericsPolicy>(options.numerics_policy());
  std::string why;
  if (const auto* const expression = std::get_if<Expression>(&computation)) {
    why = ProductsObstacle(*expression, device, policy);
  } else {
    for (const PipelineStep& step : std::get<Pipeline>(computation).steps()) {
      const std::string of_step = ProductsObstacle(step.expression, device, policy);
      if (of_step.empty()) return absl::OkStatus();
      if (why.empty()) why = absl::StrCat("no step has such products; the first: ", of_step);
    }
  }
  return why.empty() ? absl::OkStatus() : InvalidField("numerics_policy", why);
}

}  // namespace

Result<CreateJob> CheckJobRequest(Computation computation, JobRequest request,
                                  const DeviceCatalogue& catalogue) {
  if (const auto* const expression = std::get_if<Expression>(&computation)) {
    MDH_RETURN_IF_ERROR(CheckNotEmpty(*expression));
  }
  if (request.request_id.size() > kMaxRequestIdBytes) {
    return InvalidField("request_id",
                        absl::StrCat("request_id is longer than ", kMaxRequestIdBytes, " bytes"));
  }
  if (request.requester.source.size() > kMaxSourceBytes) {
    return InvalidField("source",
                        absl::StrCat("source is longer than ", kMaxSourceBytes, " bytes"));
  }
  if (request.priority < -kMaxPriority || request.priority > kMaxPriority) {
    return InvalidField("priority",
                        absl::StrCat("the priority, ", request.priority, ", is not between -",
                                     kMaxPriority, " and ", kMaxPriority));
  }
  const bool takes_any_search = request.options.budget_ns() == 0 &&
                                request.options.max_trials() == 0 &&
                                request.options.max_device_time_ns() == 0;
  MDH_ASSIGN_OR_RETURN(v1::TuningOptions options,
                       InField("options", CheckTuningOptions(std::move(request.options))));
  MDH_RETURN_IF_ERROR(LimitDeviceTime(request.requester.limits, request.requester.source, options));
  MDH_ASSIGN_OR_RETURN(ChosenDevices devices,
                       InField("devices", catalogue.ChooseForJob(request.devices)));
  const DeviceDescription& device = devices.description;
  MDH_RETURN_IF_ERROR(InField("options", CheckProducts(computation, device, options)));
  MDH_ASSIGN_OR_RETURN(std::string key_schedule,
                       InField("options", TakeSchedule(computation, device, options)));
  MDH_RETURN_IF_ERROR(InField("options", CheckRestrictions(computation, device, options)));
  std::optional<DevicesElsewhere> elsewhere;
  if (devices.own.empty()) elsewhere = {device, devices.can_tune};
  const bool is_forced = request.force || !options.restrictions().empty();
  return CreateJob{.computation = std::move(computation),
                   .options = std::move(options),
                   .key_schedule = std::move(key_schedule),
                   .force = is_forced,
                   .request_id = std::move(request.request_id),
                   .devices = std::move(devices.own),
                   .elsewhere = std::move(elsewhere),
                   .device_names = std::move(devices.names),
                   .source = std::move(request.requester.source),
                   .max_queued_of_source = request.requester.limits.queued_jobs,
                   .priority = request.priority,
                   .takes_any_search = takes_any_search};
}

}  // namespace mdh
