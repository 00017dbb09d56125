#include "core/pipeline/schedule/step_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {

bool StepNames::IsOnly(const std::string& name) const {
  return std::ranges::count_if(pipeline_.steps(), [&](const PipelineStep& s) {
           return s.expression.name() == name;
         }) == 1;
}

// The step of that name, else the writer of that buffer; -1: there is none.
int StepNames::Named(absl::string_view name) const {
  const std::string called(name);
  for (int s = 0; s < std::ssize(pipeline_.steps()); ++s) {
    if (pipeline_.steps()[s].expression.name() == called && IsOnly(called)) return s;
  }
  for (int b = 0; b < std::ssize(pipeline_.buffers()); ++b) {
    if (pipeline_.buffers()[b].name == called) return pipeline_.writer(b);
  }
  return -1;
}

Result<int> StepNames::Step(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  const int64_t steps = std::ssize(pipeline_.steps());
  std::string found;
  if (cursor->NextIsDigit()) {
    MDH_ASSIGN_OR_RETURN(const int64_t number, cursor->ExpectNumber("a step"));
    if (number >= 1 && number <= steps) return static_cast<int>(number - 1);
    found = absl::StrCat(number);
  } else {
    MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor->ExpectName("a step"));
    if (const int step = Named(name); step >= 0) return step;
    found = std::string(name);
  }
  std::vector<std::string> names;
  for (int s = 0; s < steps; ++s) names.push_back(TextOf(s, /*is_key=*/false));
  return cursor->ErrorAt(at, "unknown step '", found, "'; ", pipeline_.name(), " has ",
                         absl::StrJoin(names, ", "));
}

Result<StepName> StepNames::Name(ScheduleCursor* cursor) const {
  if (!cursor->Accept("@")) {
    MDH_ASSIGN_OR_RETURN(const int step, Step(cursor));
    return StepName{.step = step};
  }
  const size_t at = cursor->offset();
  MDH_ASSIGN_OR_RETURN(const int64_t number, cursor->ExpectNumber("a number"));
  if (number < 1 || number > static_cast<int64_t>(2 * Pipeline::kMaxSteps)) {
    return cursor->ErrorAt(at, "no partition has such a step");
  }
  return StepName{.position = static_cast<int>(number - 1)};
}

std::string StepNames::TextOf(int step, bool is_key) const {
  const PipelineStep& s = pipeline_.steps()[step];
  if (!is_key) {
    const std::string& buffer = pipeline_.buffers()[s.outputs[0]].name;
    for (const std::string* name : {&s.expression.name(), &buffer}) {
      if (Named(*name) == step) return *name;
    }
  }
  return absl::StrCat(step + 1);
}

std::string StepNames::TextOf(const StepName& name, bool is_key) const {
  return name.step >= 0 ? TextOf(name.step, is_key) : absl::StrCat("@", name.position + 1);
}

bool StepNames::WritesOneOf(int step, const Pipeline& partition, int position) const {
  const std::vector<int>& written = partition.steps()[position].outputs;
  const std::vector<int>& outputs = pipeline_.steps()[step].outputs;
  return std::ranges::any_of(outputs, [&](int output) {
    return std::ranges::any_of(written, [&](int b) {
      return partition.buffers()[b].name == pipeline_.buffers()[output].name;
    });
  });
}

int StepNames::PositionOf(const StepName& name, const Pipeline& partition) const {
  const int steps = static_cast<int>(partition.steps().size());
  if (name.step < 0) return name.position < steps ? name.position : -1;
  for (int s = 0; s < steps; ++s) {
    if (WritesOneOf(name.step, partition, s)) return s;
  }
  return -1;
}

StepName StepNames::NameAt(int position, const Pipeline& partition) const {
  for (int s = 0; s < std::ssize(pipeline_.steps()); ++s) {
    if (WritesOneOf(s, partition, position)) return {.step = s};
  }
  return {.position = position};
}

}  // namespace mdh
