#include "server/jobs/candidate_request.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/program/contraction_units.h"
#include "core/device/system_model.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/schedule_request.h"
#include "server/jobs/tuning_request.h"
#include "tuner/decompositions/candidate_space.h"
#include "tuner/study/restrictions.h"

namespace mdh {
namespace {

Status IsPipeline(const std::string& field, const ComputationView& computation) {
  return InvalidField(field, absl::StrCat("search spaces are of single expressions, and ",
                                          std::string(computation.name()),
                                          " is a pipeline; take its steps by themselves"));
}

Result<Schedule> ReadSpaceSchedule(const std::string& text, const Expression& expression,
                                   const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(AnySchedule schedule,
                       ReadSchedule(text, ComputationView(expression), device));
  return std::get<Schedule>(std::move(schedule));
}

}  // namespace

Result<AskedSpace> ReadAskedSpace(const v1::Candidate& candidate, const ExpressionLimits& limits,
                                  const DeviceCatalogue& catalogue) {
  MDH_ASSIGN_OR_RETURN(const Computation given,
                       InField("expression", ReadComputation(candidate.expression(), limits)));
  const auto* const expression = std::get_if<Expression>(&given);
  if (expression == nullptr) return IsPipeline("expression", ComputationView(given));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue.Resolve(candidate.device())));
  MDH_ASSIGN_OR_RETURN(const NumericsPolicy numerics,
                       ReadNumericsPolicy(candidate.numerics_policy()));
  if (std::string why = ProductsObstacle(*expression, device, numerics); !why.empty()) {
    return InvalidField("numerics_policy", why);
  }
  MDH_ASSIGN_OR_RETURN(
      Schedule schedule,
      InField("schedule", ReadSpaceSchedule(candidate.schedule(), *expression, device)));
  return AskedSpace{*expression, device, numerics, std::move(schedule)};
}

Status CheckRestrictions(const ComputationView& computation, const DeviceDescription& device,
                         const v1::TuningOptions& options) {
  if (options.restrictions().empty()) return absl::OkStatus();
  const Expression* const expression = computation.expression();
  if (expression == nullptr) return IsPipeline("restrictions", computation);
  MDH_ASSIGN_OR_RETURN(const std::vector<NamedDecision> decisions,
                       InField("restrictions", ReadRestrictions(options.restrictions())));
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       ReadSpaceSchedule(options.schedule(), *expression, device));
  MDH_ASSIGN_OR_RETURN(
      const CandidateSpace space,
      CandidateSpace::Create(*expression, device,
                             static_cast<NumericsPolicy>(options.numerics_policy()),
                             schedule.is_free() ? std::nullopt : std::optional(schedule)));
  return InField("restrictions", space.With(decisions).status());
}

}  // namespace mdh
