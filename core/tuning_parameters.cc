#include "core/tuning_parameters.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

template <typename T>
std::string JoinRows(const std::vector<std::vector<T>>& rows) {
  return absl::StrJoin(rows, "|", [](std::string* out, const std::vector<T>& row) {
    absl::StrAppend(out, absl::StrJoin(row, ","));
  });
}

template <typename T>
Result<std::vector<T>> ParseRow(absl::string_view text) {
  std::vector<T> row;
  if (text.empty()) return row;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    T value;
    if (!absl::SimpleAtoi(item, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tuning parameters: '", item, "' is no integer"));
    }
    row.push_back(value);
  }
  return row;
}

template <typename T>
Result<std::vector<std::vector<T>>> ParseRows(absl::string_view text) {
  std::vector<std::vector<T>> rows;
  if (text.empty()) return rows;
  for (const absl::string_view part : absl::StrSplit(text, '|')) {
    MDH_ASSIGN_OR_RETURN(std::vector<T> row, ParseRow<T>(part));
    rows.push_back(std::move(row));
  }
  return rows;
}

// "0,1,2|2,0,1|...": one row per layer, if layers are nested; else "(1,1)(1,2)(3,1)...", one-based.
std::string OrderText(const PhaseParameters& phase) {
  std::string text;
  int layer = 0;
  for (const MdhLevel& level : phase.order) {
    if (!IsNested(phase)) {
      absl::StrAppend(&text, "(", level.layer + 1, ",", level.dimension + 1, ")");
      continue;
    }
    const char* separator = text.empty() ? "" : level.layer == layer ? "," : "|";
    layer = level.layer;
    absl::StrAppend(&text, separator, level.dimension);
  }
  return text;
}

std::string StageName(int layer) {
  if (layer == InputParameters::kInPlace) return "in_place";
  if (layer == InputParameters::kWholeBuffer) return "whole";
  return absl::StrCat(layer);
}

// "in_place:0,1:-1" = where, layout, strip dimension.
Result<InputParameters> ParseInput(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuning parameters: input '", text, "' is not WHERE:LAYOUT:STRIP"));
  }
  InputParameters input;
  if (parts[0] == "in_place") {
    input.stage_layer = InputParameters::kInPlace;
  } else if (parts[0] == "whole") {
    input.stage_layer = InputParameters::kWholeBuffer;
  } else if (!absl::SimpleAtoi(parts[0], &input.stage_layer) || input.stage_layer < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuning parameters: '", parts[0], "' is neither in_place, whole nor a layer"));
  }
  MDH_ASSIGN_OR_RETURN(input.layout, ParseRow<int>(parts[1]));
  if (!absl::SimpleAtoi(parts[2], &input.strip_dimension)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuning parameters: strip dimension '", parts[2], "' is no integer"));
  }
  return input;
}

}  // namespace

std::vector<MdhLevel> NestedOrder(const std::vector<std::vector<int>>& orders) {
  std::vector<MdhLevel> levels;
  for (size_t l = 0; l < orders.size(); ++l) {
    for (const int d : orders[l]) levels.push_back({static_cast<int>(l), d});
  }
  return levels;
}

std::vector<int> OrderOfLayer(const PhaseParameters& phase, int layer) {
  std::vector<int> order;
  for (const MdhLevel& level : phase.order) {
    if (level.layer == layer) order.push_back(level.dimension);
  }
  return order;
}

void SetOrderOfLayer(PhaseParameters& phase, int layer, const std::vector<int>& order) {
  size_t next = 0;
  for (MdhLevel& level : phase.order) {
    if (level.layer == layer) level.dimension = order[next++];
  }
}

bool IsNested(const PhaseParameters& phase) {
  int layer = 0;
  for (const MdhLevel& level : phase.order) {
    if (level.layer < layer) return false;
    layer = level.layer;
  }
  return true;
}

std::string ToText(const TuningParameters& p) {
  const std::string inputs =
      absl::StrJoin(p.inputs, "|", [](std::string* out, const InputParameters& input) {
        absl::StrAppend(out, StageName(input.stage_layer), ":", absl::StrJoin(input.layout, ","),
                        ":", input.strip_dimension);
      });
  return absl::StrCat(
      "model=", p.system_model, "; tile=", JoinRows(p.tile), "; order=", OrderText(p.phase),
      "; inputs=", inputs,
      "; accumulate=", p.accumulate_in == AccumulateIn::kRegisters ? "registers" : "output",
      "; chains=", p.independent_accumulators ? "independent" : "one",
      "; compiler=", p.compiler == Compiler::kGcc ? "gcc" : "clang",
      p.numerics == NumericsPolicy::kReassociate ? ""
                                                 : absl::StrCat("; numerics=", Name(p.numerics)));
}

Result<TuningParameters> ParseTuningParameters(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const absl::string_view field :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ';')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(absl::StripAsciiWhitespace(field), absl::MaxSplits('=', 1));
    if (!fields.emplace(pair.first, pair.second).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tuning parameters: '", pair.first, "' is given twice"));
    }
  }
  for (const char* name :
       {"model", "tile", "order", "inputs", "accumulate", "chains", "compiler"}) {
    if (!fields.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("tuning parameters: '", name, "' is missing"));
    }
  }
  fields.try_emplace("numerics", Name(NumericsPolicy::kReassociate));  // the default
  if (fields.size() != 8) return absl::InvalidArgumentError("tuning parameters: unknown field");
  // The word chosen for a field with two possible ones.
  auto is_first = [&](const std::string& name, absl::string_view yes,
                      absl::string_view no) -> Result<bool> {
    if (fields[name] == yes) return true;
    if (fields[name] == no) return false;
    return absl::InvalidArgumentError(absl::StrCat("tuning parameters: ", name, " is '",
                                                   fields[name], "', expected '", yes, "' or '", no,
                                                   "'"));
  };
  TuningParameters p;
  p.system_model = fields["model"];
  MDH_ASSIGN_OR_RETURN(p.tile, ParseRows<int64_t>(fields["tile"]));
  MDH_ASSIGN_OR_RETURN(const std::vector<std::vector<int>> orders, ParseRows<int>(fields["order"]));
  p.phase.order = NestedOrder(orders);
  if (!fields["inputs"].empty()) {
    for (const absl::string_view input : absl::StrSplit(fields["inputs"], '|')) {
      MDH_ASSIGN_OR_RETURN(InputParameters parsed, ParseInput(input));
      p.inputs.push_back(std::move(parsed));
    }
  }
  MDH_ASSIGN_OR_RETURN(const bool registers, is_first("accumulate", "registers", "output"));
  MDH_ASSIGN_OR_RETURN(p.independent_accumulators, is_first("chains", "independent", "one"));
  MDH_ASSIGN_OR_RETURN(const bool gcc, is_first("compiler", "gcc", "clang"));
  p.accumulate_in = registers ? AccumulateIn::kRegisters : AccumulateIn::kOutput;
  p.compiler = gcc ? Compiler::kGcc : Compiler::kClang;
  MDH_ASSIGN_OR_RETURN(p.numerics, ParseNumericsPolicy(fields["numerics"]));
  return p;
}

}  // namespace mdh
