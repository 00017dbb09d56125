#include "server/records/certificate.h"

#include <string>

#include "absl/strings/str_format.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "proto/device_conversion.h"
#include "server/records/cache_state.h"

namespace mdh {
namespace {

// Both in the unit of the second one: "30.1 of 32.4 us".
std::string OfText(double part_ns, double whole_ns) {
  const double unit_ns = whole_ns < 1e3 ? 1 : whole_ns < 1e6 ? 1e3 : whole_ns < 1e9 ? 1e6 : 1e9;
  const char* const unit = unit_ns == 1     ? "ns"
                           : unit_ns == 1e3 ? "us"
                           : unit_ns == 1e6 ? "ms"
                                            : "s";
  return absl::StrFormat("%.3g of %.3g %s", part_ns / unit_ns, whole_ns / unit_ns, unit);
}

Result<Computation> ComputationOf(const v1::TuningRecord& record) {
  if (HoldsPipeline(record.expression_text())) {
    MDH_ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline(record.expression_text()));
    return Computation(std::move(pipeline));
  }
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(record.expression_text()));
  return Computation(std::move(expression));
}

}  // namespace

std::string BindingFloorText(const ProblemBound& bound, int64_t time_ns) {
  if (bound.floors.empty() || time_ns <= 0) return "";
  return bound.floors.front().resource + ": " +
         OfText(bound.time_ns(), static_cast<double>(time_ns));
}

v1::Certificate ToCertificate(const ProblemBound& bound, const DeviceRates& rates,
                              int64_t time_ns) {
  v1::Certificate certificate;
  certificate.set_problem_bound_ns(bound.time_ns());
  certificate.set_binding_floor(BindingFloorText(bound, time_ns));
  for (const Floor& floor : bound.floors) {
    v1::BoundFloor& one = *certificate.add_floors();
    one.set_resource(floor.resource);
    one.set_time_ns(floor.time_ns);
    one.set_reason(floor.reason);
  }
  if (!bound.floors.empty()) {
    const Floor& binding = bound.floors.front();
    if (!binding.assumption.empty()) certificate.add_assumptions(binding.assumption);
    certificate.set_proof_class(std::string(1, static_cast<char>(binding.proof)));
  }
  certificate.set_bound_version(kBoundVersion);
  certificate.set_rates_digest(rates.Digest());
  return certificate;
}

v1::Certificate CertificateOf(ComputationView computation, const DeviceDescription& device,
                              const DeviceRates& rates, const v1::TuningRecord& record) {
  const BoundQuestion question = {
      .numerics = static_cast<NumericsPolicy>(record.key().numerics_policy()),
      .has_cold_caches = IsCold(record.cache_state())};
  return ToCertificate(ProblemBoundOf(computation, device, rates, question), rates,
                       record.time_ns());
}

Result<v1::Certificate> CertificateOfRecord(const v1::TuningRecord& record,
                                            const MachinePeaks& peaks) {
  MDH_ASSIGN_OR_RETURN(const Computation computation, ComputationOf(record));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, FromProto(record.device()));
  return CertificateOf(computation, device, RatesOf(device, peaks), record);
}

}  // namespace mdh
