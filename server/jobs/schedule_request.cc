#include "server/jobs/schedule_request.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/program/contraction_units.h"
#include "core/decomposition/choices.h"
#include "core/device/system_model.h"
#include "core/schedule/schedule.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/records/schedule_key.h"
#include "tuner/decompositions/candidate_space.h"
#include "tuner/decompositions/schedule_check.h"
#include "tuner/study/restrictions.h"

namespace mdh {
namespace {

constexpr size_t kMaxScheduleBytes = 64 << 10;
// Extents that are tried of a dimension that nothing limits.
constexpr size_t kMostAlternatives = 64;

Result<Schedule> ReadSchedule(const std::string& text, const Expression& expression,
                              const DeviceDescription& device) {
  if (text.size() > kMaxScheduleBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schedule is longer than ", kMaxScheduleBytes, " bytes"));
  }
  return Schedule::Parse(text, expression, TuningModel(device.kind));
}

// Of a request, where it may be a pipeline's.
Result<Schedule> ReadField(const std::string& text, const ComputationView& computation,
                           const DeviceDescription& device) {
  if (computation.expression() == nullptr) {
    return InvalidField("schedule", absl::StrCat("schedules are of single expressions, and ",
                                                 std::string(computation.name()),
                                                 " is a pipeline; tune its steps by themselves"));
  }
  return InField("schedule", ReadSchedule(text, *computation.expression(), device));
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
  std::string before;  // of the value
};

Status UnknownDecision(const std::string& decision) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", decision,
                   "' is no decision to vary; write tile.LAYER.DIMENSION, "
                   "parts.LAYER.DIMENSION, or an option such as remainder"));
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

Status AddAlternatives(const v1::CheckScheduleRequest& request, const Expression& expression,
                       const DeviceDescription& device, NumericsPolicy numerics,
                       v1::CheckScheduleResponse* response) {
  MDH_ASSIGN_OR_RETURN(const Varied varied,
                       InField("vary", VariedBy(request.vary(), expression, device)));
  for (const std::string& value : varied.values) {
    // A value that cannot be had beside what the schedule says has no configurations.
    const Result<Schedule> narrower =
        ReadSchedule(absl::StrCat(request.schedule(), "\nfor ", TuningModel(device.kind).name,
                                  ":\n", varied.before, value),
                     expression, device);
    if (!narrower.ok()) {
      const bool is_first = response->alternatives().empty();
      if (is_first) return InField("vary", narrower.status());
      continue;
    }
    MDH_ASSIGN_OR_RETURN(const ScheduleCheck check,
                         CheckSchedule(device, *narrower, numerics, /*most_ms=*/std::nullopt));
    v1::ScheduleAlternative* const alternative = response->add_alternatives();
    alternative->set_value(value);
    alternative->set_count(check.count.get_str());
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::string> KeyScheduleOf(const std::string& text, const ComputationView& computation,
                                  const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const Schedule schedule, ReadField(text, computation, device));
  return KeyScheduleOf(schedule);
}

Result<std::string> TakeSchedule(const ComputationView& computation,
                                 const DeviceDescription& device, v1::TuningOptions& options) {
  if (options.schedule().empty()) return "";
  MDH_ASSIGN_OR_RETURN(const Schedule schedule, ReadField(options.schedule(), computation, device));
  options.set_schedule(schedule.CanonicalText());
  if (schedule.is_free()) return "";
  MDH_ASSIGN_OR_RETURN(
      const ScheduleCheck check,
      InField("schedule", CheckSchedule(device, schedule,
                                        static_cast<NumericsPolicy>(options.numerics_policy()))));
  if (!check.conflicts.empty()) return InvalidField("schedule", ConflictsText(check));
  return KeyScheduleOf(schedule);
}

Status CheckRestrictions(const ComputationView& computation, const DeviceDescription& device,
                         const v1::TuningOptions& options) {
  if (options.restrictions().empty()) return absl::OkStatus();
  const Expression* const expression = computation.expression();
  if (expression == nullptr) {
    return InvalidField("restrictions",
                        absl::StrCat("search spaces are of single expressions, and ",
                                     std::string(computation.name()),
                                     " is a pipeline; tune its steps by themselves"));
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<NamedDecision> decisions,
                       InField("restrictions", ReadRestrictions(options.restrictions())));
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       ReadSchedule(options.schedule(), *expression, device));
  MDH_ASSIGN_OR_RETURN(
      const CandidateSpace space,
      CandidateSpace::Create(*expression, device,
                             static_cast<NumericsPolicy>(options.numerics_policy()),
                             schedule.is_free() ? std::nullopt : std::optional(schedule)));
  return InField("restrictions", space.With(decisions).status());
}

Result<AskedSchedule> ReadAskedSchedule(const v1::ExpressionSource& source,
                                        const v1::DeviceSelection& selection,
                                        v1::NumericsPolicy policy, const std::string& text,
                                        const ExpressionLimits& limits,
                                        const DeviceCatalogue& catalogue) {
  MDH_ASSIGN_OR_RETURN(const Computation given,
                       InField("expression", ReadComputation(source, limits)));
  const auto* const expression = std::get_if<Expression>(&given);
  if (expression == nullptr) {
    return InvalidField("expression",
                        "schedules are of single expressions, and this is a pipeline");
  }
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue.Resolve(selection)));
  if (!v1::NumericsPolicy_IsValid(policy)) {
    return InvalidField("numerics_policy", absl::StrCat("there is no numerics policy number ",
                                                        static_cast<int>(policy)));
  }
  const NumericsPolicy numerics = policy == v1::NUMERICS_POLICY_UNSPECIFIED
                                      ? NumericsPolicy::kReassociate
                                      : static_cast<NumericsPolicy>(policy);
  if (std::string why = ProductsObstacle(*expression, device, numerics); !why.empty()) {
    return InvalidField("numerics_policy", why);
  }
  MDH_ASSIGN_OR_RETURN(Schedule schedule,
                       InField("schedule", ReadSchedule(text, *expression, device)));
  return AskedSchedule{*expression, device, numerics, std::move(schedule)};
}

Result<v1::CheckScheduleResponse> AnswerCheckSchedule(const v1::CheckScheduleRequest& request,
                                                      const ExpressionLimits& limits,
                                                      const DeviceCatalogue& catalogue) {
  MDH_ASSIGN_OR_RETURN(
      const AskedSchedule asked,
      ReadAskedSchedule(request.expression(), request.device(), request.numerics_policy(),
                        request.schedule(), limits, catalogue));
  const auto& [expression, device, numerics, schedule] = asked;
  MDH_ASSIGN_OR_RETURN(const ScheduleCheck check,
                       InField("schedule", CheckSchedule(device, schedule, numerics)));
  v1::CheckScheduleResponse response;
  response.set_canonical(check.canonical);
  response.set_key_schedule(KeyScheduleOf(schedule));
  response.set_count(check.count.get_str());
  response.set_is_exact(check.is_exact);
  response.set_example(check.example);
  for (const ScheduleConflict& conflict : check.conflicts) {
    response.add_conflicts(conflict.ToText());
  }
  if (!request.vary().empty()) {
    MDH_RETURN_IF_ERROR(AddAlternatives(request, expression, device, numerics, &response));
  }
  return response;
}

}  // namespace mdh
