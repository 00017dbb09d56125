// Names, intervals, generators, sets and permutations.
#include "tuner/study/study_spec_range.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula_text.h"
#include "tuner/study/study_spec.h"
#include "tuner/study/study_spec_error.h"
#include "tuner/study/study_spec_value.h"

namespace mdh {
namespace {

using Definitions = std::map<std::string, Formula>;

std::string Field(int index, const char* below = "") {
  return absl::StrCat("study.parameters[", index, "]", below);
}

// Reads the parameters of one specification.
class ParameterReader {
 public:
  ParameterReader(const v1::StudySpec& spec, const Definitions& definitions)
      : spec_(spec), definitions_(definitions) {
    for (const auto& [name, formula] : definitions) {
      if (formula.Parameters().empty()) constants_.emplace(name, formula);
    }
    for (int i = 0; i < spec.parameters_size(); ++i) indices_.emplace(spec.parameters(i).name(), i);
  }

  Result<std::vector<TuningParameter>> ReadAll() {
    MDH_RETURN_IF_ERROR(CheckNames());
    std::vector<TuningParameter> parameters;
    for (int i = 0; i < spec_.parameters_size(); ++i) {
      MDH_ASSIGN_OR_RETURN(Range range, ReadRange(i));
      parameters.push_back({spec_.parameters(i).name(), std::move(range)});
    }
    return parameters;
  }

 private:
  Status CheckNames() const;
  Result<Range> ReadRange(int index) const;
  Result<Range> ReadInterval(int index) const;
  Result<Range> ReadSet(int index) const;
  Result<Formula> ReadGenerator(int index) const;
  Status ForeignName(int index, const std::string& name) const;
  // Other parameters that the generator of a parameter refers to.
  std::vector<int> References(int index) const;
  // " -> B -> A" if generators lead from one parameter to itself; empty if not.
  std::string CycleFrom(int index) const;

  const v1::StudySpec& spec_;
  const Definitions& definitions_;
  Definitions constants_;
  std::map<std::string, int> indices_;
};

Status ParameterReader::CheckNames() const {
  if (spec_.parameters_size() == 0) return InvalidArgument("study.parameters: there are none");
  if (spec_.parameters_size() > kMaxStudyParameters) {
    return InvalidArgument("study.parameters: there are ", spec_.parameters_size(),
                           ", but at most ", kMaxStudyParameters, " are allowed");
  }
  for (int i = 0; i < spec_.parameters_size(); ++i) {
    const std::string& name = spec_.parameters(i).name();
    if (!IsParameterName(name)) {
      return InvalidArgument(Field(i, ".name"), ": ", ToText(Value(name.substr(0, 128))),
                             " is no name; names are C identifiers of at most 128 characters "
                             "that are no words of formulas");
    }
    if (indices_.at(name) != i) {
      return InvalidArgument(Field(i, ".name"), ": the name '", name, "' is that of parameter ",
                             indices_.at(name), ", too");
    }
    if (definitions_.count(name) > 0) {
      return InvalidArgument(Field(i, ".name"), ": there is a definition of the name '", name,
                             "', too");
    }
  }
  return absl::OkStatus();
}

Result<Range> ParameterReader::ReadRange(int index) const {
  const v1::StudyParameter& parameter = spec_.parameters(index);
  switch (parameter.range_case()) {
    case v1::StudyParameter::kInterval:
      return ReadInterval(index);
    case v1::StudyParameter::kSet:
      return ReadSet(index);
    case v1::StudyParameter::kPermutation: {
      const auto& items = parameter.permutation().items();
      auto range = Range::Permutations({items.begin(), items.end()});
      if (!range.ok()) return InField(Field(index, ".permutation"), range.status());
      return range;
    }
    case v1::StudyParameter::RANGE_NOT_SET:
      break;
  }
  return InvalidArgument(Field(index), ": '", parameter.name(),
                         "' has no range; give an interval, a set or a permutation");
}

Result<Range> ParameterReader::ReadInterval(int index) const {
  const v1::IntervalRange& interval = spec_.parameters(index).interval();
  const int64_t step = interval.step() == 0 ? 1 : interval.step();
  auto elements = Range::Interval(interval.first(), interval.last(), step);
  if (!elements.ok()) return InField(Field(index, ".interval"), elements.status());
  if (interval.generator().empty()) return elements;
  const std::string field = Field(index, ".interval.generator");
  MDH_ASSIGN_OR_RETURN(const Formula generator, ReadGenerator(index));
  const std::vector<TuningParameter> self = {{spec_.parameters(index).name(), *elements}};
  const auto type = CheckFormula(generator, self);
  if (!type.ok()) return InField(field, type.status());
  if (*type != ValueType::kInteger) {
    return InvalidArgument(field, ": is of type ", std::string(Name(*type)),
                           ", but values of an interval are integers");
  }
  auto range = Range::Generated(
      interval.first(), interval.last(), step, [&](int64_t element) -> Result<int64_t> {
        MDH_ASSIGN_OR_RETURN(const Value value, Evaluate(generator, self, {element}));
        return std::get<int64_t>(value);
      });
  if (!range.ok()) return InField(field, range.status());
  return range;
}

Result<Formula> ParameterReader::ReadGenerator(int index) const {
  const v1::StudyParameter& parameter = spec_.parameters(index);
  auto generator = ParseFormulaOver(parameter.interval().generator(), constants_);
  if (!generator.ok()) return InField(Field(index, ".interval.generator"), generator.status());
  for (const std::string& name : generator->Parameters()) {
    if (name != parameter.name()) return ForeignName(index, name);
  }
  return generator;
}

Status ParameterReader::ForeignName(int index, const std::string& name) const {
  const std::string field = Field(index, ".interval.generator");
  const std::string& own = spec_.parameters(index).name();
  const std::string cycle = CycleFrom(index);
  if (!cycle.empty()) return InvalidArgument(field, ": generators form a cycle: ", own, cycle);
  const std::string rule = absl::StrCat("a generator may use '", own, "' and constants only");
  const auto definition = definitions_.find(name);
  if (definition != definitions_.end()) {
    return InvalidArgument(field, ": the definition '", name, "' depends on the parameter '",
                           definition->second.Parameters().front(), "'; ", rule);
  }
  const char* what = indices_.count(name) > 0 ? "refers to the parameter '" : "there is no name '";
  return InvalidArgument(field, ": ", what, name, "'; ", rule);
}

std::vector<int> ParameterReader::References(int index) const {
  std::vector<int> references;
  const auto generator =
      ParseFormulaOver(spec_.parameters(index).interval().generator(), definitions_);
  if (!generator.ok()) return references;
  for (const std::string& name : generator->Parameters()) {
    const auto found = indices_.find(name);
    if (found != indices_.end() && found->second != index) references.push_back(found->second);
  }
  return references;
}

std::string ParameterReader::CycleFrom(int index) const {
  // Breadth first, with the parameter from which each one was reached.
  std::map<int, int> reached_from;
  std::vector<int> open = {index};
  for (size_t next = 0; next < open.size(); ++next) {
    for (const int reference : References(open[next])) {
      if (reached_from.emplace(reference, open[next]).second) open.push_back(reference);
    }
    if (reached_from.count(index) > 0) break;
  }
  if (reached_from.count(index) == 0) return "";
  std::string cycle;
  int at = index;
  do {
    cycle = absl::StrCat(" -> ", spec_.parameters(at).name(), cycle);
    at = reached_from.at(at);
  } while (at != index);
  return cycle;
}

// The type of a set: that of its first value; numbers are integers if all are whole.
Result<ValueType> TypeOfSet(const v1::ValueSet& set) {
  using Proto = google::protobuf::Value;
  const auto is_number = [](const Proto& value) {
    return value.kind_case() == Proto::kNumberValue;
  };
  const auto is_broken = [&](const Proto& value) {
    return is_number(value) && (!std::isfinite(value.number_value()) ||
                                value.number_value() != std::floor(value.number_value()));
  };
  const auto& values = set.values();
  if (set.real() && !std::ranges::all_of(values, is_number)) {
    return InvalidArgument("'real' is for numbers, but not all values are");
  }
  switch (values[0].kind_case()) {
    case Proto::kBoolValue:
      return ValueType::kBool;
    case Proto::kStringValue:
      return ValueType::kString;
    case Proto::kNumberValue:
      return set.real() || std::ranges::any_of(values, is_broken) ? ValueType::kReal
                                                                  : ValueType::kInteger;
    default:
      return InvalidArgument("values are bools, numbers or strings, but the first is ",
                             ProtoText(values[0]));
  }
}

Result<Range> ParameterReader::ReadSet(int index) const {
  const v1::ValueSet& set = spec_.parameters(index).set();
  const std::string field = Field(index, ".set");
  if (set.values_size() == 0) return InvalidArgument(field, ": there are no values");
  if (set.values_size() > kMaxSetValues) {
    return InvalidArgument(field, ": there are ", set.values_size(), " values, but at most ",
                           kMaxSetValues, " are allowed");
  }
  const auto type = TypeOfSet(set);
  if (!type.ok()) return InField(field, type.status());
  std::vector<Value> values;
  for (int i = 0; i < set.values_size(); ++i) {
    const google::protobuf::Value& proto = set.values(i);
    const std::string value_field = absl::StrCat(field, ".values[", i, "]");
    // Strings for integers are for configurations; here they are a mixture of types.
    if (*type == ValueType::kInteger &&
        proto.kind_case() == google::protobuf::Value::kNumberValue &&
        std::fabs(proto.number_value()) > kLargestExactInteger) {
      return InvalidArgument(value_field, ": ", ProtoText(proto),
                             " is beyond 2^53, where numbers in messages are not exact; use "
                             "an interval");
    }
    auto value = proto.kind_case() == set.values(0).kind_case()
                     ? FromProto(proto, *type)
                     : InvalidArgument(ProtoText(proto), " is of another type than ",
                                       ProtoText(set.values(0)));
    if (!value.ok()) return InField(value_field, value.status());
    values.push_back(*std::move(value));
  }
  auto range = Range::Of(std::move(values));
  if (!range.ok()) return InField(field, range.status());
  return range;
}

}  // namespace

Result<std::vector<TuningParameter>> ReadStudyParameters(const v1::StudySpec& spec,
                                                         const Definitions& definitions) {
  return ParameterReader(spec, definitions).ReadAll();
}

}  // namespace mdh
