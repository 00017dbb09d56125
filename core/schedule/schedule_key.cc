#include "core/schedule/schedule_key.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

template <typename Named>
void NumberNames(const char* prefix, std::vector<Named>* things) {
  for (size_t n = 0; n < things->size(); ++n) (*things)[n].name = absl::StrCat(prefix, n + 1);
}

Result<Expression> WithNumbers(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  // What the store function reads is an input, or no schedule speaks of it.
  for (size_t s = 0; spec.store && s < spec.store->inputs.size(); ++s) {
    std::string& name = spec.store->inputs[s].name;
    const auto same = std::ranges::find(spec.inputs, name, &Buffer::name);
    name = same == spec.inputs.end() ? absl::StrCat("store", s + 1)
                                     : absl::StrCat("in", same - spec.inputs.begin() + 1);
  }
  NumberNames("d", &spec.dimensions);
  NumberNames("in", &spec.inputs);
  NumberNames("out", &spec.outputs);
  return Expression::Create(std::move(spec));
}

// What a schedule says of one expression, of another one that differs in names only.
Result<Schedule> Moved(const Schedule& schedule, const Expression& expression) {
  MDH_ASSIGN_OR_RETURN(const Schedule free, Schedule::Parse("", expression, schedule.model()));
  const absl::Span<const Decision> decisions = schedule.decisions();
  return free.With({decisions.begin(), decisions.end()});
}

}  // namespace

std::string KeyScheduleOf(const Schedule& schedule) {
  if (schedule.is_free()) return "";
  const Result<Expression> numbered = WithNumbers(schedule.expression());
  const Result<Schedule> moved =
      numbered.ok() ? Moved(schedule, *numbered) : Result<Schedule>(numbered.status());
  // Names do not decide whether there is such an expression.
  return moved.ok() ? moved->CanonicalText() : schedule.CanonicalText();
}

Result<Schedule> ScheduleOfKey(std::string_view key_schedule, const Expression& expression,
                               const SystemModel& model) {
  MDH_ASSIGN_OR_RETURN(const Expression numbered, WithNumbers(expression));
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       Schedule::Parse(key_schedule, numbered, model, "<key>"));
  return Moved(schedule, expression);
}

}  // namespace mdh
