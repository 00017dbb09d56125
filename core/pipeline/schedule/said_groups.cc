#include "core/pipeline/schedule/said_groups.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/schedule/group_numbers.h"

namespace mdh {
namespace {

constexpr const char* kNone = "none";

const Expression& StepOf(const Pipeline& pipeline, int step) {
  return pipeline.steps()[step].expression;
}

// Names for every step of the group: one list may be for all of them.
template <typename Names>
const Names& OfStep(const std::vector<Names>& lists, size_t n) {
  return lists.size() == 1 ? lists[0] : lists[n];
}

// The common dimensions that are said, per step. Errors: FailedPrecondition.
Result<std::vector<std::vector<int>>> SaidDimensions(const SaidGroup& said, int first, int last,
                                                     const Pipeline& pipeline, bool is_key) {
  const auto steps = static_cast<size_t>(last - first + 1);
  if (said.by.size() != 1 && said.by.size() != steps) {
    return FailedPrecondition("it has ", steps,
                              " steps, and common "
                              "dimensions are named for ",
                              said.by.size());
  }
  std::vector<std::vector<int>> dimensions(steps);
  for (size_t n = 0; n < steps; ++n) {
    const Expression& step = StepOf(pipeline, first + static_cast<int>(n));
    for (const std::string& name : OfStep(said.by, n)) {
      const int d = DimensionNamed(step, name, is_key);
      if (d < 0) return FailedPrecondition(step.name(), " has no dimension '", name, "'");
      dimensions[n].push_back(d);
    }
  }
  return dimensions;
}

bool SaysNoStream(const SaidGroup& said) {
  return said.streamed && said.streamed->size() == 1 && said.streamed->front() == kNone;
}

Result<std::vector<int>> SaidStream(const SaidGroup& said, int first, const Pipeline& pipeline,
                                    bool is_key) {
  std::vector<int> streamed;
  for (size_t n = 0; n < said.streamed->size(); ++n) {
    const std::string& name = (*said.streamed)[n];
    const int step = first + static_cast<int>(n);
    if (step >= std::ssize(pipeline.steps())) break;
    const int d = name == kNone ? -1 : DimensionNamed(StepOf(pipeline, step), name, is_key);
    if (name != kNone && d < 0) {
      return FailedPrecondition(StepOf(pipeline, step).name(), " has no dimension '", name, "'");
    }
    streamed.push_back(d);
  }
  return streamed;
}

constexpr int kNoRow = -1;  // of values that are no GroupNumber

std::string ValueText(int row, int64_t value) {
  if (row == kNoRow) return absl::StrCat(value);
  if (row == kGroupKeep) return std::string(kKeepNames[value]);
  return kGroupNumbers[row].may_be_none && value == 0 ? kNone : absl::StrCat(value);
}

std::string ChoiceText(int row, const ValueSet& values) {
  std::string text =
      absl::StrJoin(values.spans(), ", ", [&](std::string* out, const ValueSet::Span& span) {
        absl::StrAppend(out, ValueText(row, span.low[0]));
        if (span.low == span.high) return;
        absl::StrAppend(out, "..", span.high[0]);
        if (span.is_factor || span.step > 1) {
          absl::StrAppend(out, span.is_factor ? "*" : " step ", span.step);
        }
      });
  if (values.spans().size() > 1) text = absl::StrCat("{", text, "}");
  return values.is_negated() ? absl::StrCat("!", text) : text;
}

// The values of a row that all of its choices name, up to some.
std::vector<int64_t> NamedValues(const SaidGroup& said, int row) {
  constexpr size_t kMost = 8;
  std::vector<int64_t> named;
  for (const auto& [of, values] : said.numbers) {
    if (of != row) continue;
    for (const ChoiceValue& value : values.Named(kMost)) named.push_back(value[0]);
  }
  std::erase_if(named, [&](int64_t value) {
    return std::ranges::any_of(said.numbers, [&](const auto& other) {
      return other.first == row && !other.second.Contains(value);
    });
  });
  std::ranges::sort(named);
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

// Whether it says something of rows, or of planes, and that there are some: `none` is the number
// that says that there are not.
bool Says(const SaidGroup& said, GroupNumber::Of of, int none) {
  return std::ranges::any_of(said.numbers, [&](const auto& number) {
    return kGroupNumbers[number.first].of == of &&
           !(number.first == none && number.second.Contains(0));
  });
}

// Every group once for each of the values, by `set`.
void Multiply(std::vector<JointGroup>& groups, const std::vector<int64_t>& values, size_t most,
              const std::function<void(JointGroup&, int64_t)>& set) {
  if (values.empty()) return;
  std::vector<JointGroup> multiplied;
  for (const JointGroup& group : groups) {
    for (const int64_t value : values) {
      if (multiplied.size() == most) break;
      set(multiplied.emplace_back(group), value);
    }
  }
  groups = std::move(multiplied);
}

}  // namespace

int DimensionNamed(const Expression& expression, const std::string& name, bool is_key) {
  for (int d = 0; d < expression.rank(); ++d) {
    if (DimensionText(expression, d, is_key) == name) return d;
  }
  return -1;
}

std::string DimensionText(const Expression& expression, int dimension, bool is_key) {
  return is_key ? absl::StrCat("d", dimension + 1) : expression.dimensions()[dimension].name;
}

Status AllowsGroup(const SaidGroup& said, const JointGroup& group, const Pipeline& pipeline,
                   bool is_key) {
  if (!said.by.empty()) {
    MDH_ASSIGN_OR_RETURN(const auto dimensions,
                         SaidDimensions(said, group.first, group.last, pipeline, is_key));
    if (dimensions != group.dimensions) return InvalidArgument("other dimensions are common");
  }
  const Expression& last = StepOf(pipeline, group.last);
  for (const auto& [name, values] : said.part) {
    const std::vector<int>& common = group.dimensions.back();
    const auto found = std::ranges::find(common, DimensionNamed(last, name, is_key));
    if (found == common.end()) {
      return InvalidArgument("'", name, "' is no common dimension of ", last.name());
    }
    const int64_t part = group.part[found - common.begin()];
    if (!values.Contains(part)) return InvalidArgument("parts of ", name, " are ", part);
  }
  if (said.streamed) {
    MDH_ASSIGN_OR_RETURN(std::vector<int> streamed,
                         SaidStream(said, group.first, pipeline, is_key));
    if (SaysNoStream(said)) streamed.clear();
    if (streamed != group.streamed) return InvalidArgument("other dimensions are streamed");
  }
  for (const auto& [row, values] : said.numbers) {
    const std::string name(kGroupNumbers[row].name);
    if (!HasNumber(group, row)) return InvalidArgument("it has no ", name);
    const int64_t value = kGroupNumbers[row].get(group);
    if (!values.Contains(value)) return InvalidArgument(name, " is ", ValueText(row, value));
  }
  return absl::OkStatus();
}

Result<std::vector<JointGroup>> GroupsWith(const SaidGroup& said, int first, int last,
                                           const Pipeline& pipeline, bool is_key, UsualGroup usual,
                                           size_t most) {
  JointGroup group{first, last, {}, {}};
  if (said.by.empty()) {
    const std::optional<JointGroup> widest = WidestJointGroup(pipeline, first, last);
    if (!widest) return FailedPrecondition("its steps have no dimension in common");
    group = *widest;
  } else {
    MDH_ASSIGN_OR_RETURN(group.dimensions, SaidDimensions(said, first, last, pipeline, is_key));
  }
  group.part.assign(group.dimensions.back().size(), 1);
  MDH_RETURN_IF_ERROR(CheckJointGroup(pipeline, group));
  group = usual(group);
  if (said.streamed) {
    group.streamed.clear();
    if (!SaysNoStream(said)) {
      MDH_ASSIGN_OR_RETURN(group.streamed, SaidStream(said, first, pipeline, is_key));
    }
  }
  for (size_t n = 0; n < group.streamed.size() && group.chunk == 0; ++n) {
    // Whole, where nothing is said of chunks.
    const int d = group.streamed[n];
    const Expression& step = StepOf(pipeline, first + static_cast<int>(n));
    if (d >= 0) group.chunk = step.dimensions()[d].size;
  }
  if (Says(said, GroupNumber::Of::kRows, kGroupRows)) {
    if (!group.rows) group.rows = RowLayout();
    group.part.assign(group.part.size(), 1);
    group.planes = std::nullopt;
  } else if (Says(said, GroupNumber::Of::kPlanes, kGroupColumn)) {
    if (!group.planes) group.planes = PlaneLayout();
    group.rows = std::nullopt;
  }
  if (NamedValues(said, kGroupRows) == std::vector<int64_t>{0}) group.rows = std::nullopt;
  if (NamedValues(said, kGroupColumn) == std::vector<int64_t>{0}) group.planes = std::nullopt;
  std::vector<JointGroup> groups = {std::move(group)};
  for (const auto& [name, values] : said.part) {
    const int d = DimensionNamed(StepOf(pipeline, last), name, is_key);
    const std::vector<int>& common = groups[0].dimensions.back();
    const auto place = std::ranges::find(common, d);
    if (place == common.end()) {
      return FailedPrecondition("'", name, "' is no common dimension of ",
                                StepOf(pipeline, last).name());
    }
    const auto k = place - common.begin();
    std::vector<int64_t> named;
    for (const ChoiceValue& value : values.Named(8)) named.push_back(value[0]);
    Multiply(groups, named, most, [k](JointGroup& g, int64_t value) { g.part[k] = value; });
  }
  for (int row = 0; row < std::ssize(kGroupNumbers); ++row) {
    if (row == kGroupRows && !groups[0].rows) continue;
    if (row == kGroupColumn && !groups[0].planes) continue;
    std::vector<int64_t> named = NamedValues(said, row);
    if (!HasNumber(groups[0], row)) continue;
    if (row == kGroupRows || row == kGroupColumn) std::erase(named, 0);
    Multiply(groups, named, most, kGroupNumbers[row].set);
  }
  Status refusal;
  std::erase_if(groups, [&](const JointGroup& one) {
    Status allowed = CheckJointGroup(pipeline, one);
    if (allowed.ok()) allowed = AllowsGroup(said, one, pipeline, is_key);
    refusal.Update(allowed);
    return !allowed.ok();
  });
  if (groups.empty()) return FailedPrecondition(refusal.message());
  return groups;
}

bool IsWhole(const SaidGroup& said, const JointGroup& group) {
  const auto is_one = [](const ValueSet& values) {
    return !values.is_negated() && values.spans().size() == 1 &&
           values.spans()[0].low == values.spans()[0].high;
  };
  if (said.by.empty() || said.part.size() < group.part.size() || !said.streamed) return false;
  if (!std::ranges::all_of(said.part, [&](const auto& part) { return is_one(part.second); })) {
    return false;
  }
  for (int row = 0; row < std::ssize(kGroupNumbers); ++row) {
    if (!HasNumber(group, row)) continue;
    if (std::ranges::none_of(said.numbers, [&](const auto& number) {
          return number.first == row && is_one(number.second);
        })) {
      return false;
    }
  }
  return true;
}

SaidGroup SaidOf(const JointGroup& group, const Pipeline& pipeline) {
  const auto name = [&](size_t n, int d) {
    return DimensionText(StepOf(pipeline, group.first + static_cast<int>(n)), d, false);
  };
  SaidGroup said;
  for (size_t n = 0; n < group.dimensions.size(); ++n) {
    std::vector<std::string>& names = said.by.emplace_back();
    for (const int d : group.dimensions[n]) names.push_back(name(n, d));
  }
  for (size_t k = 0; k < group.part.size(); ++k) {
    said.part.push_back({said.by.back()[k], ValueSet({group.part[k]})});
  }
  said.streamed = {kNone};
  if (group.is_streamed()) said.streamed->clear();
  for (size_t n = 0; n < group.streamed.size(); ++n) {
    said.streamed->push_back(group.streamed[n] < 0 ? kNone : name(n, group.streamed[n]));
  }
  for (int row = 0; row < std::ssize(kGroupNumbers); ++row) {
    if (!HasNumber(group, row)) continue;
    said.numbers.push_back({row, ValueSet({kGroupNumbers[row].get(group)})});
  }
  return said;
}

std::string GroupClauses(const SaidGroup& said, const Pipeline& pipeline, int first, int last,
                         bool from_key, bool to_key) {
  const auto text = [&](int step, const std::string& name) -> std::string {
    if (from_key == to_key || name == kNone) return name;
    const int d = DimensionNamed(StepOf(pipeline, step), name, from_key);
    return d < 0 ? name : DimensionText(StepOf(pipeline, step), d, to_key);
  };
  std::vector<std::string> clauses, lists, parts;
  std::vector<std::vector<std::string>> by = said.by;
  if (by.size() == 1) by.assign(static_cast<size_t>(last - first) + 1, by[0]);
  for (size_t n = 0; n < by.size(); ++n) {
    for (std::string& name : by[n]) name = text(first + static_cast<int>(n), name);
  }
  const bool are_same =
      std::ranges::all_of(by, [&](const auto& of_step) { return of_step == by.front(); });
  if (are_same && !by.empty()) by.resize(1);
  for (const auto& names : by) lists.push_back(absl::StrCat("(", absl::StrJoin(names, ", "), ")"));
  if (!lists.empty()) clauses.push_back(absl::StrCat("by ", absl::StrJoin(lists, ", ")));
  for (const auto& [name, values] : said.part) {
    parts.push_back(absl::StrCat(text(last, name), "=", ChoiceText(kNoRow, values)));
  }
  std::ranges::sort(parts);
  if (!parts.empty()) clauses.push_back(absl::StrCat("part ", absl::StrJoin(parts, ", ")));
  if (said.streamed) {
    std::vector<std::string> names;
    for (size_t n = 0; n < said.streamed->size(); ++n) {
      names.push_back(text(first + static_cast<int>(n), (*said.streamed)[n]));
    }
    clauses.push_back(SaysNoStream(said)
                          ? "streamed none"
                          : absl::StrCat("streamed (", absl::StrJoin(names, ", "), ")"));
  }
  std::vector<std::pair<int, ValueSet>> numbers = said.numbers;
  std::ranges::stable_sort(numbers, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [row, values] : numbers) {
    clauses.push_back(
        absl::StrCat(std::string(kGroupNumbers[row].name), "=", ChoiceText(row, values)));
  }
  return absl::StrJoin(clauses, "; ");
}

}  // namespace mdh
