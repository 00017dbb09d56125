#include "client/commands/format/study_format.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/text/formatting.h"

namespace mdh {
namespace {

using Json = nlohmann::ordered_json;

// Whole numbers without a point, others with the fewest digits that read back to the same.
Json ValueToJson(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kBoolValue:
      return value.bool_value();
    case google::protobuf::Value::kNumberValue: {
      const double number = value.number_value();
      const bool is_whole = std::trunc(number) == number && std::abs(number) < 1e15;
      return is_whole ? Json(static_cast<int64_t>(number)) : Json(number);
    }
    case google::protobuf::Value::kStringValue:
      return value.string_value();
    case google::protobuf::Value::kListValue: {
      Json list = Json::array();
      for (const google::protobuf::Value& item : value.list_value().values()) {
        list.push_back(ValueToJson(item));
      }
      return list;
    }
    default:
      return nullptr;
  }
}

Json ValueOf(const v1::NamedConfiguration& configuration, const std::string& name) {
  const auto value = configuration.values().fields().find(name);
  return value == configuration.values().fields().end() ? Json(nullptr)
                                                        : ValueToJson(value->second);
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string CostText(const v1::StudyTrial& trial) {
  return trial.has_cost() ? Json(trial.cost()).dump() : std::string();
}

}  // namespace

std::vector<std::string> NamesOfParameters(const v1::StudySpec& spec) {
  std::vector<std::string> names;
  for (const v1::StudyParameter& parameter : spec.parameters()) names.push_back(parameter.name());
  return names;
}

std::string FormatStudyState(v1::StudyState state) {
  std::string name = v1::StudyState_Name(state).substr(sizeof("STUDY_STATE_") - 1);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string FormatConfiguration(const v1::NamedConfiguration& configuration,
                                const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, name, "=", ValueOf(configuration, name).dump());
  });
}

std::string FormatStudy(const v1::Study& study) {
  const v1::StudySpec& spec = study.spec();
  std::string text = absl::StrCat(study.name(), spec.display_name().empty() ? "" : " ",
                                  spec.display_name(), ": ", FormatStudyState(study.state()));
  if (!study.state_reason().empty()) absl::StrAppend(&text, ", ", study.state_reason());
  absl::StrAppend(&text, "\n  space        ",
                  study.space_count().empty() ? "too large to be counted" : study.space_count(),
                  study.space_count().empty() ? "" : " configurations", " of ",
                  spec.parameters_size(),
                  spec.parameters_size() == 1 ? " parameter\n" : " parameters\n");
  absl::StrAppend(&text, "  technique    ", spec.technique(), ", seed ", spec.seed(),
                  ", lookahead ", spec.lookahead(), "\n");
  if (!spec.abort().empty()) absl::StrAppend(&text, "  ends         ", spec.abort(), "\n");
  if (!spec.lower_bound().empty()) {
    absl::StrAppend(&text, "  lower bound  ", spec.lower_bound(), ", which left out ",
                    study.left_out(), "\n");
  }
  absl::StrAppend(&text, "  evaluations  ", study.evaluations(), ", ", study.valid_evaluations(),
                  " valid, ", study.outstanding(), " outstanding, in ",
                  FormatTime(study.active_ns()), "\n");
  if (study.has_best()) {
    absl::StrAppend(&text, "  best         ", CostText(study.best()), ", trial ",
                    study.best().number(), "\n");
    for (const v1::StudyParameter& parameter : spec.parameters()) {
      absl::StrAppend(&text, "    ", parameter.name(), " = ",
                      ValueOf(study.best().configuration(), parameter.name()).dump(), "\n");
    }
  }
  if (!study.lower_bound_violation().empty()) {
    absl::StrAppend(&text, "  wrong bound  ", study.lower_bound_violation(), "\n");
  }
  for (const std::string& notice : study.notices()) {
    absl::StrAppend(&text, "  notice       ", notice, "\n");
  }
  return text;
}

const std::vector<TextColumn>& StudyTable() {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "STUDY"},
                                  {.heading = "STATE"},
                                  {.heading = "TOLD", .is_number = true},
                                  {.heading = "OUT", .is_number = true, .dispensable = 1},
                                  {.heading = "BEST", .least = 8},
                                  {.heading = "CREATED", .dispensable = 2},
                                  {.heading = "NAME", .least = 10}};
  return *table;
}

std::vector<std::string> StudyRow(const v1::Study& study) {
  std::string created =
      google::protobuf::util::TimeUtil::ToString(study.create_time()).substr(0, 16);
  std::ranges::replace(created, 'T', ' ');
  return {study.name(),
          FormatStudyState(study.state()),
          absl::StrCat(study.evaluations()),
          absl::StrCat(study.outstanding()),
          study.has_best() ? CostText(study.best()) : "-",
          created,
          study.spec().display_name()};
}

std::string FormatTrialLine(const v1::StudyTrial& trial, const std::vector<std::string>& names) {
  // Of a failure its first line: compilers write many.
  const std::string reason = trial.failure().substr(0, trial.failure().find('\n'));
  return absl::StrFormat(
      "%8d  %-12s  %s%s%s\n", trial.number(), trial.has_cost() ? CostText(trial) : "failed",
      FormatConfiguration(trial.configuration(), names), reason.empty() ? "" : ": ", reason);
}

std::string CsvHeader(const std::vector<std::string>& names) {
  std::string line = "number,cost,failure";
  for (const std::string& name : names) absl::StrAppend(&line, ",", CsvField(name));
  return line + "\n";
}

std::string CsvLine(const v1::StudyTrial& trial, const std::vector<std::string>& names) {
  std::string line =
      absl::StrCat(trial.number(), ",", CostText(trial), ",", CsvField(trial.failure()));
  for (const std::string& name : names) {
    const Json value = ValueOf(trial.configuration(), name);
    absl::StrAppend(&line, ",",
                    CsvField(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return line + "\n";
}

std::string JsonLine(const v1::StudyTrial& trial, const std::vector<std::string>& names) {
  Json line;
  line["number"] = trial.number();
  line["cost"] = trial.has_cost() ? Json(trial.cost()) : Json(nullptr);
  line["failure"] = trial.failure();
  Json& configuration = line["configuration"] = Json::object();
  for (const std::string& name : names) configuration[name] = ValueOf(trial.configuration(), name);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mdh
