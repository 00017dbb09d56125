#include "client/report/job_report.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/decomposition_data.h"
#include "client/report/parameter_columns.h"
#include "client/report/report_page.h"
#include "client/report/trial_data.h"
#include "client/text/formatting.h"
#include "core/expression/touched_elements.h"
#include "core/text/computation_text.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

using nlohmann::json;

// "TUNING_JOB_STATE_RUNNING" -> "running".
std::string WordOf(const std::string& enumerator, size_t prefix_bytes) {
  std::string word = enumerator.substr(std::min(prefix_bytes, enumerator.size()));
  std::ranges::replace(word, '_', ' ');
  return absl::AsciiStrToLower(word);
}

std::string Instant(const google::protobuf::Timestamp& time) {
  return google::protobuf::util::TimeUtil::ToString(time);
}

json JobData(const v1::TuningJob& job) {
  const v1::TuningProgress& progress = job.progress();
  return {{"name", job.name()},
          {"state", WordOf(v1::TuningJobState_Name(job.state()), sizeof("TUNING_JOB_STATE"))},
          {"source", job.source()},
          {"devices", std::vector<std::string>(job.devices().begin(), job.devices().end())},
          {"technique", job.options().technique()},
          {"seed", job.options().seed()},
          {"budget_ns", job.options().budget_ns()},
          {"numerics", WordOf(v1::NumericsPolicy_Name(job.options().numerics_policy()),
                              sizeof("NUMERICS_POLICY"))},
          {"schedule", job.options().schedule()},
          {"created", Instant(job.create_time())},
          {"ended", job.has_end_time() ? Instant(job.end_time()) : ""},
          {"trials", progress.trials()},
          {"failed_trials", progress.failed_trials()},
          {"elapsed_ns", progress.elapsed_ns()},
          {"restarts", job.restarts()},
          {"record", job.record()},
          {"error", job.error().message()}};
}

// The device of the tuning, or as it is now.
v1::DeviceDescription DeviceOf(const JobReport& report) {
  if (report.record.has_value() && report.record->has_device()) return report.record->device();
  return report.device.value_or(v1::Device()).description();
}

// The longer of operations over peak and, for data larger than the caches, bytes over bandwidth.
json ResultData(const JobReport& report, const std::optional<Expression>& expression) {
  const v1::TuningRecord record = report.record.value_or(v1::TuningRecord());
  const bool has_time = record.time_ns() > 0;
  json result = {{"time_ns", BestTimeNs(report)},
                 {"is_measured_again", has_time && !record.is_provisional()},
                 {"is_disturbed", record.is_disturbed()},
                 {"default_time_ns", record.default_time_ns()},
                 {"loop_nest_time_ns", record.loop_nest_time_ns()},
                 {"flops", record.flops()},
                 {"compulsory_bytes", record.compulsory_bytes()},
                 {"fits_in_cache", record.fits_in_cache()}};
  if (!report.record.has_value() && expression.has_value()) {
    result["flops"] = expression->FloatingPointOperations();
    result["compulsory_bytes"] = expression->CompulsoryBytes();
    const v1::DeviceDescription device = DeviceOf(report);
    result["fits_in_cache"] =
        TouchedLineBytes(*expression, std::max(1, device.cache_line_bytes())) <=
        std::max(device.l2_bytes(), device.l3_bytes());
  }
  return result;
}

// The peaks of the tuning, or those that the device has now.
json PeaksData(const JobReport& report, const std::optional<Expression>& expression) {
  v1::MachinePeaks peaks;
  if (report.record.has_value() && report.record->has_peaks()) {
    peaks = report.record->peaks();
  } else if (report.device.has_value()) {
    peaks = report.device->peaks();
  }
  bool is_double = report.record.has_value() && report.record->is_double_precision();
  if (!report.record.has_value() && expression.has_value()) {
    const auto& instructions = expression->function().instructions();
    is_double = std::ranges::any_of(instructions, [](const auto& one) {
      return one.type == ScalarType::kFloat64 && Info(one.op).flops > 0;
    });
  }
  json data = {{"fp32_flops_per_s", peaks.fp32_flops_per_s()},
               {"fp64_flops_per_s", peaks.fp64_flops_per_s()},
               {"memory_bytes_per_s", peaks.memory_bytes_per_s()},
               {"is_double", is_double}};
  const std::optional<UnitUse> unit =
      report.record.has_value() ? UnitUseOf(*report.record) : std::nullopt;
  if (unit.has_value() && unit->flops_per_s > 0) {
    data["unit"] = unit->instruction.name;
    data["unit_flops_per_s"] = unit->flops_per_s;
  }
  return data;
}

void AddBound(json& result, const json& peaks, const v1::DeviceDescription& device) {
  const double peak = peaks[peaks.contains("unit") ? "unit_flops_per_s"
                            : peaks["is_double"]   ? "fp64_flops_per_s"
                                                   : "fp32_flops_per_s"];
  const double bandwidth = peaks["memory_bytes_per_s"];
  const double compute_ns = peak > 0 ? result["flops"].get<double>() / peak * 1e9 : 0;
  const double memory_ns = bandwidth > 0 && !result["fits_in_cache"].get<bool>()
                               ? result["compulsory_bytes"].get<double>() / bandwidth * 1e9
                               : 0;
  result["bound_ns"] = std::max(compute_ns, memory_ns);
  result["bound_is_bandwidth"] = memory_ns > compute_ns;
  const Bound bound{.time_ns = result["bound_ns"], .is_bandwidth = memory_ns > compute_ns};
  const double time_ns = result["time_ns"];
  result["above_peak"] =
      time_ns > 0 ? WhyAbovePeak(time_ns, bound, result["compulsory_bytes"], device) : "";
}

// What no kernel can be faster than; null: there is no certificate.
json CertificateData(const JobReport& report) {
  if (!report.record.has_value() || !report.record->has_certificate()) return json();
  const v1::Certificate& certificate = report.record->certificate();
  json floors = json::array(), assumptions = json::array();
  for (const v1::BoundFloor& floor : certificate.floors()) {
    floors.push_back(
        {{"resource", floor.resource()}, {"time_ns", floor.time_ns()}, {"reason", floor.reason()}});
  }
  for (const std::string& assumption : certificate.assumptions()) assumptions.push_back(assumption);
  return {{"bound_ns", certificate.problem_bound_ns()},
          {"binding_floor", certificate.binding_floor()},
          {"floors", std::move(floors)},
          {"assumptions", std::move(assumptions)},
          {"proof_class", certificate.proof_class()},
          {"space_count", certificate.space_count()},
          {"proven_worse_count", certificate.proven_worse_count()},
          {"is_whole", certificate.is_whole()},
          {"gap", certificate.gap()},
          {"version", certificate.bound_version()}};
}

// Null: it is not known.
json BoundsData(const JobReport& report) {
  if (!report.bounds.has_value() || report.bounds->configurations() <= 0) return json();
  const v1::BoundHistogram& bounds = *report.bounds;
  json classes = json::array();
  for (int n = 0; n < bounds.counts_size() && n < std::ssize(kBoundClasses); ++n) {
    classes.push_back({{"name", kBoundClasses[n]}, {"configurations", bounds.counts(n)}});
  }
  return {{"time_ns", bounds.time_ns()},
          {"configurations", bounds.configurations()},
          {"is_exact", bounds.is_exact()},
          {"left_share_low", bounds.left_share_low()},
          {"left_share_high", bounds.left_share_high()},
          {"classes", std::move(classes)}};
}

std::string BestParameters(const JobReport& report) {
  return report.record.has_value() ? report.record->parameters()
                                   : report.runs[0].job.progress().best_parameters();
}

// The best configuration as a low-level expression. Errors: what in it cannot be read.
Result<LowLevelExpression> BestDecomposition(const JobReport& report,
                                             const std::optional<Expression>& expression) {
  if (!expression.has_value()) {
    return InvalidArgument("the expression cannot be read by this version");
  }
  if (BestParameters(report).empty()) return NotFound("there is no valid configuration yet");
  return Decompose(*expression, BestParameters(report), DeviceOf(report));
}

void AddDecomposition(const JobReport& report, const std::optional<Expression>& expression,
                      json& data) {
  const Result<LowLevelExpression> low = BestDecomposition(report, expression);
  if (low.ok()) {
    data["decomposition"] = DecompositionData(*low);
  } else {
    data["decomposition"] = nullptr;
    data["decomposition_missing"] =
        absl::StrCat("It cannot be drawn: ", std::string(low.status().message()));
  }
}

// Element offsets as sums over dimensions: "i*256 + k".
json IndexMap(const Expression& expression) {
  json map = json::array();
  const auto add = [&](const Buffer& buffer, const char* role) {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      const IndexFunction linear{{buffer.Linearized(static_cast<int>(a))}};
      const std::string text = ToText(linear, expression.dimensions());
      const size_t sum = text.find("-> ");
      map.push_back({{"buffer", buffer.name},
                     {"role", role},
                     {"access", ToText(buffer.accesses[a], expression.dimensions())},
                     {"element", sum == std::string::npos
                                     ? text
                                     : absl::StrCat(buffer.name, " + ", text.substr(sum + 3))}});
    }
  };
  for (const Buffer& buffer : expression.outputs()) add(buffer, "result");
  for (const Buffer& buffer : expression.inputs()) add(buffer, "input");
  if (expression.store() != nullptr) {
    for (const Buffer& buffer : expression.store()->inputs) add(buffer, "input of the store");
  }
  return map;
}

json KernelData(const v1::Kernel& kernel) {
  json launches = json::array();
  for (const v1::KernelLaunch& launch : kernel.launches()) {
    launches.push_back(
        {{"function", launch.function()},
         {"grid", std::vector<int64_t>(launch.grid().begin(), launch.grid().end())},
         {"block", std::vector<int64_t>(launch.block().begin(), launch.block().end())}});
  }
  return {{"language", kernel.language()},
          {"entry", kernel.entry()},
          {"compiler", kernel.compiler()},
          {"compile_options", std::vector<std::string>(kernel.compile_options().begin(),
                                                       kernel.compile_options().end())},
          {"launches", std::move(launches)},
          {"source", kernel.source()}};
}

std::string SizesText(const std::optional<Expression>& expression) {
  if (!expression.has_value()) return "";
  return absl::StrJoin(expression->dimensions(), ", ",
                       [](std::string* out, const Dimension& dimension) {
                         absl::StrAppend(out, dimension.name, " = ", dimension.size);
                       });
}

ParameterNames NamesFor(const JobReport& report, const std::optional<Expression>& expression) {
  ParameterNames names;
  if (!expression.has_value()) return names;
  for (const Dimension& dimension : expression->dimensions()) {
    names.dimensions.push_back(dimension.name);
  }
  for (const Buffer& buffer : expression->inputs()) names.inputs.push_back(buffer.name);
  const Result<TuningParameters> parameters = ParseTuningParameters(BestParameters(report));
  if (!parameters.ok()) return names;
  const Result<SystemModel> model = SystemModelNamed(parameters->system_model);
  if (!model.ok()) return names;
  for (const AsmLayer& layer : model->layers) names.layers.push_back(layer.name);
  return names;
}

std::string DeviceModel(const JobReport& report) {
  if (report.record.has_value()) return report.record->device().model();
  return report.device.value_or(v1::Device()).description().model();
}

// Whole kernels of a pipeline that were measured in turns; empty: there are none.
json TurnsData(const JobReport& report) {
  json turns = json::array();
  if (!report.record.has_value()) return turns;
  for (const v1::PipelineTurn& turn : report.record->pipeline().kernels()) {
    json steps = json::array();
    for (const v1::PipelineTurnStep& step : turn.steps()) {
      steps.push_back({{"name", step.expression_name()},
                       {"time_ns", step.time_ns()},
                       {"record", step.record()}});
    }
    turns.push_back({{"partition", turn.partition()},
                     {"is_unfused", turn.is_unfused()},
                     {"time_ns", turn.time_ns()},
                     {"is_disturbed", turn.is_disturbed()},
                     {"outcome", turn.outcome()},
                     {"reason", turn.reason()},
                     {"steps_time_ns", turn.steps_time_ns()},
                     {"steps", std::move(steps)}});
  }
  return turns;
}

}  // namespace

v1::Candidate SearchedBy(const v1::TuningJob& job) {
  v1::Candidate candidate;
  candidate.mutable_expression()->mutable_text()->set_text(job.expression_text());
  const auto& devices = job.running_devices().empty() ? job.devices() : job.running_devices();
  if (!devices.empty()) candidate.mutable_device()->set_name(devices[0]);
  candidate.set_numerics_policy(job.options().numerics_policy());
  candidate.set_schedule(job.options().schedule());
  *candidate.mutable_restrictions() = job.options().restrictions();
  return candidate;
}

int64_t BestTimeNs(const JobReport& report) {
  const int64_t time_ns = report.record.has_value() ? report.record->time_ns() : 0;
  return time_ns > 0 ? time_ns : report.runs[0].job.progress().best_time_ns();
}

nlohmann::json JobReportData(const JobReport& report) {
  const v1::TuningJob& job = report.runs[0].job;
  std::optional<Expression> expression;
  const Result<Computation> parsed = ParsePrinted(job.expression_text());
  if (parsed.ok() && std::holds_alternative<Expression>(*parsed)) {
    expression = std::get<Expression>(*parsed);
  }
  const bool is_pipeline = parsed.ok() && std::holds_alternative<Pipeline>(*parsed);
  json data = {{"page", "job"},
               {"title", job.expression_name()},
               {"sizes", SizesText(expression)},
               {"device", DeviceModel(report)},
               {"expression", job.expression_text()},
               {"is_pipeline", is_pipeline},
               {"turns", TurnsData(report)},
               {"best_parameters", BestParameters(report)},
               {"schedule", report.record.has_value() ? report.record->schedule() : ""},
               {"job", JobData(job)},
               {"result", ResultData(report, expression)},
               {"peaks", PeaksData(report, expression)},
               {"certificate", CertificateData(report)},
               {"bounds", BoundsData(report)},
               {"index_map", expression.has_value() ? IndexMap(*expression) : json::array()},
               {"kernel", report.kernel.has_value() ? KernelData(*report.kernel) : json()}};
  AddBound(data["result"], data["peaks"], DeviceOf(report));
  data["result"]["unfused_time_ns"] =
      report.record.has_value() ? report.record->pipeline().unfused_time_ns() : 0;
  AddTrials(report.runs, NamesFor(report, expression), data);
  if (!is_pipeline) AddDecomposition(report, expression, data);
  return data;
}

std::string JobReportPage(const JobReport& report) {
  const v1::TuningJob& job = report.runs[0].job;
  return ReportPage(absl::StrCat(job.expression_name(), ", ", job.name()), JobReportData(report));
}

}  // namespace mdh
