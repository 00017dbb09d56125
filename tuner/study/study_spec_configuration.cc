// Configurations by name and as codes.
#include <algorithm>
#include <optional>

#include "tuner/space/formula/formula_names.h"
#include "tuner/study/study_spec.h"
#include "tuner/study/study_spec_value.h"

namespace mdh {
namespace {

// None of the codes of a set of reals or strings, or of permutations.
constexpr int64_t kNoCode = -1;

Status AtParameter(const std::string& name, const Status& error) {
  return InvalidArgument("parameter '", name, "': ", std::string(error.message()));
}

Status CheckNames(const v1::NamedConfiguration& named,
                  absl::Span<const TuningParameter> parameters) {
  const auto& values = named.values().fields();
  size_t known = 0;
  for (const TuningParameter& parameter : parameters) {
    if (values.count(parameter.name) == 0) {
      return InvalidArgument("parameter '", parameter.name, "': there is no value");
    }
    ++known;
  }
  if (known == values.size()) return absl::OkStatus();
  // The first in alphabetical order: those of the message have none.
  std::vector<std::string> names;
  for (const TuningParameter& parameter : parameters) names.push_back(parameter.name);
  std::optional<std::string> unknown;
  for (const auto& entry : values) {
    const bool is_known = std::ranges::find(names, entry.first) != names.end();
    if (!is_known && (!unknown.has_value() || entry.first < *unknown)) unknown = entry.first;
  }
  return InvalidArgument("there is no parameter '", *unknown, "'", Suggestion(*unknown, names));
}

// Code of a value that may be outside of the range.
int64_t WantedCode(const Value& value, const Range& range) {
  if (const auto code = range.CodeOf(value); code.ok()) return *code;
  if (const bool* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return *integer;
  return kNoCode;
}

Result<Configuration> Read(const v1::NamedConfiguration& named,
                           absl::Span<const TuningParameter> parameters, bool may_leave_ranges) {
  MDH_RETURN_IF_ERROR(CheckNames(named, parameters));
  Configuration configuration;
  for (const TuningParameter& parameter : parameters) {
    const google::protobuf::Value& proto = named.values().fields().at(parameter.name);
    const auto value = FromProto(proto, parameter.range.type());
    if (!value.ok()) return AtParameter(parameter.name, value.status());
    if (may_leave_ranges) {
      configuration.push_back(WantedCode(*value, parameter.range));
      continue;
    }
    const auto code = parameter.range.CodeOf(*value);
    if (!code.ok()) return AtParameter(parameter.name, code.status());
    configuration.push_back(*code);
  }
  return configuration;
}

}  // namespace

Result<Configuration> ConfigurationFromNamed(const v1::NamedConfiguration& named,
                                             absl::Span<const TuningParameter> parameters) {
  return Read(named, parameters, /*may_leave_ranges=*/false);
}

Result<Configuration> WantedFromNamed(const v1::NamedConfiguration& named,
                                      absl::Span<const TuningParameter> parameters) {
  return Read(named, parameters, /*may_leave_ranges=*/true);
}

v1::NamedConfiguration NamedFromConfiguration(absl::Span<const int64_t> configuration,
                                              absl::Span<const TuningParameter> parameters) {
  v1::NamedConfiguration named;
  auto& fields = *named.mutable_values()->mutable_fields();
  for (size_t i = 0; i < parameters.size(); ++i) {
    fields[parameters[i].name] = ToProto(parameters[i].range.ValueOf(configuration[i]));
  }
  return named;
}

}  // namespace mdh
