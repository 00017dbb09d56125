#include "server/jobs/schedule_request.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/program/contraction_units.h"
#include "core/decomposition/choices.h"
#include "core/device/system_model.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule.h"
#include "core/schedule/schedule_key.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/tuning_request.h"
#include "tuner/decompositions/schedule_check.h"
#include "tuner/run/pipeline_schedule_check.h"

namespace mdh {
namespace {

constexpr size_t kMaxScheduleBytes = 64 << 10;
// Extents that are tried of a dimension that nothing limits.
constexpr size_t kMostAlternatives = 64;

bool IsFree(const AnySchedule& schedule) {
  return std::visit([](const auto& one) { return one.is_free(); }, schedule);
}

std::string CanonicalText(const AnySchedule& schedule) {
  return std::visit([](const auto& one) { return std::string(one.CanonicalText()); }, schedule);
}

std::string KeyText(const AnySchedule& schedule) {
  const auto* const of_pipeline = std::get_if<PipelineSchedule>(&schedule);
  return of_pipeline != nullptr ? of_pipeline->KeyText()
                                : KeyScheduleOf(std::get<Schedule>(schedule));
}

Result<ScheduleCheck> Check(const DeviceDescription& device, const AnySchedule& schedule,
                            NumericsPolicy numerics, std::optional<int64_t> most_ms = 2000) {
  return std::visit([&](const auto& one) { return CheckSchedule(device, one, numerics, most_ms); },
                    schedule);
}

std::string ConflictsText(const ScheduleCheck& check) {
  if (check.conflicts.empty()) return "no configuration keeps to the schedule on this device";
  std::vector<std::string> texts;
  for (const ScheduleConflict& conflict : check.conflicts) texts.push_back(conflict.ToText());
  return absl::StrJoin(texts, "; ");
}

// A decision that can be varied, and the text of a line that decides it so.
struct Varied {
  std::vector<std::string> values;
  std::string before;        // of the value
  std::string section = "";  // the line in front of it
};

Status UnknownDecision(const std::string& decision) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", decision,
                   "' is no decision to vary; write tile.LAYER.DIMENSION, "
                   "parts.LAYER.DIMENSION, or an option such as remainder; of pipelines "
                   "edge.STEP.STEP, or STEP. in front of one of these"));
}

// Divisors and powers of two, the smallest and the largest ones if there are many.
std::vector<std::string> ExtentsUpTo(int64_t size) {
  std::set<int64_t> extents = {size};
  for (int64_t power = 1; power < size; power *= 2) extents.insert(power);
  for (int64_t divisor = 1; divisor <= size / divisor; ++divisor) {
    if (size % divisor == 0) extents.insert({divisor, size / divisor});
  }
  std::vector<int64_t> kept(extents.begin(), extents.end());
  if (kept.size() > kMostAlternatives) {
    kept.erase(kept.begin() + kMostAlternatives / 2, kept.end() - kMostAlternatives / 2);
  }
  std::vector<std::string> texts;
  for (const int64_t extent : kept) texts.push_back(absl::StrCat(extent));
  return texts;
}

Result<Varied> VariedBy(const std::string& decision, const Expression& expression,
                        const DeviceDescription& device) {
  const std::vector<std::string> words = absl::StrSplit(decision, '.');
  if (words.size() == 3 && (words[0] == "tile" || words[0] == "parts")) {
    for (const Dimension& dimension : expression.dimensions()) {
      if (dimension.name != words[2]) continue;
      return Varied{ExtentsUpTo(dimension.size),
                    absl::StrCat(words[1], ": ", words[0], " ", words[2], "=")};
    }
    return UnknownDecision(decision);
  }
  for (const Choice& choice : Choices()) {
    if (words.size() != 1 || choice.key != decision) continue;
    Varied varied{{}, absl::StrCat(decision, "=")};
    for (const absl::string_view word : choice.words) {
      if (!word.empty()) varied.values.emplace_back(word);
    }
    if (!varied.values.empty()) return varied;
    const bool has_tiles = TuningModel(device.kind).memory == MemoryKind::kCaches;
    const ChoiceTarget target = {
        expression, device, has_tiles ? LoweringTarget::kRegisterTiles : LoweringTarget::kBlocks};
    for (const ChoiceValue& value : choice.Offers(target, NumericsPolicy::kReassociate)) {
      varied.values.push_back(choice.Text(value));
    }
    return varied;
  }
  return UnknownDecision(decision);
}

// "edge.STEP.STEP", or what is varied of a step: "STEP.tile.LAYER.DIMENSION".
Result<Varied> VariedBy(const std::string& decision, const Pipeline& pipeline,
                        const DeviceDescription& device) {
  const std::vector<std::string> words = absl::StrSplit(decision, absl::MaxSplits('.', 1));
  const std::vector<std::string> steps = absl::StrSplit(decision, '.');
  if (steps.size() == 3 && steps[0] == "edge") {
    Varied varied{{}, absl::StrCat("edge ", steps[1], " -> ", steps[2], " = ")};
    for (const EdgeKind kind :
         {EdgeKind::kStage, EdgeKind::kInline, EdgeKind::kEpilogue, EdgeKind::kContraction}) {
      varied.values.emplace_back(Name(kind));
    }
    return varied;
  }
  for (const PipelineStep& step : pipeline.steps()) {
    if (words.size() != 2 || words[0] != step.expression.name()) continue;
    MDH_ASSIGN_OR_RETURN(Varied varied, VariedBy(words[1], step.expression, device));
    varied.section = absl::StrCat("step ", words[0], ":\n");
    return varied;
  }
  return UnknownDecision(decision);
}

Status AddAlternatives(const v1::CheckScheduleRequest& request, const ComputationView& computation,
                       const DeviceDescription& device, NumericsPolicy numerics,
                       v1::CheckScheduleResponse* response) {
  const Expression* const expression = computation.expression();
  MDH_ASSIGN_OR_RETURN(
      const Varied varied,
      InField("vary", expression != nullptr
                          ? VariedBy(request.vary(), *expression, device)
                          : VariedBy(request.vary(), *computation.pipeline(), device)));
  for (const std::string& value : varied.values) {
    // A value that cannot be had beside what the schedule says has no configurations.
    const Result<AnySchedule> narrower =
        ReadSchedule(absl::StrCat(request.schedule(), "\nfor ", TuningModel(device.kind).name,
                                  ":\n", varied.section, varied.before, value),
                     computation, device);
    if (!narrower.ok()) {
      const bool is_first = response->alternatives().empty();
      if (is_first) return InField("vary", narrower.status());
      continue;
    }
    MDH_ASSIGN_OR_RETURN(const ScheduleCheck check,
                         Check(device, *narrower, numerics, /*most_ms=*/std::nullopt));
    v1::ScheduleAlternative* const alternative = response->add_alternatives();
    alternative->set_value(value);
    alternative->set_count(check.count.get_str());
  }
  return absl::OkStatus();
}

}  // namespace

Result<AnySchedule> ReadSchedule(const std::string& text, const ComputationView& computation,
                                 const DeviceDescription& device) {
  if (text.size() > kMaxScheduleBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schedule is longer than ", kMaxScheduleBytes, " bytes"));
  }
  const SystemModel model = TuningModel(device.kind);
  if (computation.expression() == nullptr) {
    return PipelineSchedule::Parse(text, *computation.pipeline(), model);
  }
  return Schedule::Parse(text, *computation.expression(), model);
}

Result<std::string> KeyScheduleOf(const std::string& text, const ComputationView& computation,
                                  const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const AnySchedule schedule,
                       InField("schedule", ReadSchedule(text, computation, device)));
  return KeyText(schedule);
}

Result<std::string> TakeSchedule(const ComputationView& computation,
                                 const DeviceDescription& device, v1::TuningOptions& options) {
  if (options.schedule().empty()) return "";
  MDH_ASSIGN_OR_RETURN(const AnySchedule schedule,
                       InField("schedule", ReadSchedule(options.schedule(), computation, device)));
  options.set_schedule(CanonicalText(schedule));
  if (IsFree(schedule)) return "";
  MDH_ASSIGN_OR_RETURN(
      const ScheduleCheck check,
      InField("schedule",
              Check(device, schedule, static_cast<NumericsPolicy>(options.numerics_policy()))));
  if (!check.conflicts.empty()) return InvalidField("schedule", ConflictsText(check));
  return KeyText(schedule);
}

Result<v1::CheckScheduleResponse> AnswerCheckSchedule(const v1::CheckScheduleRequest& request,
                                                      const ExpressionLimits& limits,
                                                      const DeviceCatalogue& catalogue) {
  MDH_ASSIGN_OR_RETURN(const Computation given,
                       InField("expression", ReadComputation(request.expression(), limits)));
  const ComputationView computation(given);
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue.Resolve(request.device())));
  MDH_ASSIGN_OR_RETURN(const NumericsPolicy numerics,
                       ReadNumericsPolicy(request.numerics_policy()));
  if (const Expression* const expression = computation.expression(); expression != nullptr) {
    if (std::string why = ProductsObstacle(*expression, device, numerics); !why.empty()) {
      return InvalidField("numerics_policy", why);
    }
  }
  MDH_ASSIGN_OR_RETURN(const AnySchedule schedule,
                       InField("schedule", ReadSchedule(request.schedule(), computation, device)));
  MDH_ASSIGN_OR_RETURN(const ScheduleCheck check,
                       InField("schedule", Check(device, schedule, numerics)));
  v1::CheckScheduleResponse response;
  response.set_canonical(check.canonical);
  response.set_key_schedule(KeyText(schedule));
  response.set_count(check.count.get_str());
  response.set_is_exact(check.is_exact);
  response.set_example(check.example);
  for (const ScheduleConflict& conflict : check.conflicts) {
    response.add_conflicts(conflict.ToText());
  }
  if (!request.vary().empty()) {
    MDH_RETURN_IF_ERROR(AddAlternatives(request, computation, device, numerics, &response));
  }
  return response;
}

}  // namespace mdh
