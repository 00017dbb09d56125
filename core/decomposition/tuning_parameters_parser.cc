// Reading the text form of tuning parameters (core/decomposition/tuning_parameters_printer.cc).
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/round.h"
#include "core/base/text_view.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {
namespace {

template <typename... Parts>
Status Invalid(const Parts&... parts) {
  return InvalidArgument("tuning parameters: ", parts...);
}

template <typename T>
Result<T> ParseInteger(absl::string_view text) {
  T value;
  if (!absl::SimpleAtoi(text, &value)) return Invalid("'", text, "' is no integer");
  return value;
}

template <typename T>
Result<std::vector<T>> ParseRow(absl::string_view text, char separator = ',') {
  std::vector<T> row;
  if (text.empty()) return row;
  for (const absl::string_view item : absl::StrSplit(text, separator)) {
    MDH_ASSIGN_OR_RETURN(const T value, ParseInteger<T>(item));
    row.push_back(value);
  }
  return row;
}

template <typename T>
Result<LevelTable<T>> ParseRows(absl::string_view text) {
  LevelTable<T> rows;
  if (text.empty()) return rows;
  for (const absl::string_view part : absl::StrSplit(text, '|')) {
    MDH_ASSIGN_OR_RETURN(std::vector<T> row, ParseRow<T>(part));
    rows.push_back(std::move(row));
  }
  return rows;
}

// "(1,1)(2,3)...", one-based, as zero-based levels.
template <typename Level>
Result<std::vector<Level>> ParseLevels(absl::string_view text) {
  std::vector<Level> levels;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find(')');
    if (rest[0] != '(' || end == absl::string_view::npos) {
      return Invalid("'", text, "' is no list of levels '(LAYER,DIMENSION)'");
    }
    MDH_ASSIGN_OR_RETURN(const std::vector<int> pair, ParseRow<int>(rest.substr(1, end - 1)));
    if (pair.size() != 2 || pair[0] < 1 || pair[1] < 1) {
      return Invalid("'", rest.substr(0, end + 1), "' is no level '(LAYER,DIMENSION)'");
    }
    levels.push_back({pair[0] - 1, pair[1] - 1});
    rest.remove_prefix(end + 1);
  }
  return levels;
}

Result<std::vector<MdhLevel>> ParseOrder(absl::string_view text) {
  if (absl::StartsWith(text, "(")) return ParseLevels<MdhLevel>(text);
  MDH_ASSIGN_OR_RETURN(const LevelTable<int> orders, ParseRows<int>(text));
  return NestedOrder(orders);
}

Result<LevelTable<AsmLevel>> ParseAssignment(absl::string_view text) {
  LevelTable<AsmLevel> table;
  for (const absl::string_view row : absl::StrSplit(text, '|')) {
    MDH_ASSIGN_OR_RETURN(std::vector<AsmLevel> levels, ParseLevels<AsmLevel>(row));
    table.push_back(std::move(levels));
  }
  return table;
}

Result<std::vector<int>> ParseLayout(absl::string_view text) {
  return ParseRow<int>(text == "-" ? "" : text, '.');
}

Result<MemoryParameters> ParseMemory(absl::string_view text) {
  MemoryParameters memory;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('@', 1));
  MDH_ASSIGN_OR_RETURN(memory.regions, ParseRows<int>(parts[0]));
  if (parts.size() < 2) return memory;
  for (const absl::string_view row : absl::StrSplit(parts[1], '|')) {
    memory.layouts.emplace_back();
    for (const absl::string_view item : absl::StrSplit(row, ',')) {
      MDH_ASSIGN_OR_RETURN(std::vector<int> layout, ParseLayout(item));
      memory.layouts.back().push_back(std::move(layout));
    }
  }
  return memory;
}

// "2:0.1|2:0" = region and layout per buffer.
Result<std::vector<ScalarMemory>> ParseScalarMemory(absl::string_view text) {
  std::vector<ScalarMemory> memory;
  for (const absl::string_view item : absl::StrSplit(text, '|')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(item, ':');
    if (parts.size() != 2) return Invalid("scalar memory '", item, "' is not REGION:LAYOUT");
    MDH_ASSIGN_OR_RETURN(const int region, ParseInteger<int>(parts[0]));
    MDH_ASSIGN_OR_RETURN(std::vector<int> layout, ParseLayout(parts[1]));
    memory.push_back({region, std::move(layout)});
  }
  return memory;
}

// "in_place:0,1:-1" = where, layout, strip dimension.
Result<InputParameters> ParseInput(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) return Invalid("input '", text, "' is not WHERE:LAYOUT:STRIP");
  InputParameters input;
  if (parts[0] == "in_place") {
    input.stage_layer = InputParameters::kInPlace;
  } else if (parts[0] == "whole") {
    input.stage_layer = InputParameters::kWholeBuffer;
  } else if (!absl::SimpleAtoi(parts[0], &input.stage_layer) || input.stage_layer < 0) {
    return Invalid("'", parts[0], "' is neither in_place, whole nor a layer");
  }
  MDH_ASSIGN_OR_RETURN(input.layout, ParseRow<int>(parts[1]));
  if (!absl::SimpleAtoi(parts[2], &input.strip_dimension)) {
    return Invalid("strip dimension '", parts[2], "' is no integer");
  }
  return input;
}

// "8:4:2", "0:4:3:async" = padding, width, stages, how elements are moved.
Status ParseCopy(absl::string_view text, InputParameters* input) {
  absl::string_view numbers = text;
  if (absl::ConsumeSuffix(&numbers, ":async")) input->copy_mode = CopyMode::kAsynchronous;
  MDH_ASSIGN_OR_RETURN(const std::vector<int> values, ParseRow<int>(numbers, ':'));
  if (values.size() != 3) return Invalid("copy '", text, "' is not PADDING:WIDTH:STAGES[:async]");
  input->padding = values[0];
  input->copy_width = values[1];
  input->copy_stages = values[2];
  return absl::OkStatus();
}

// Fields of Table 1, and what belongs to it.
constexpr absl::string_view kTables =
    "model, fused, tile (or parts, where the expression is known), order, assign, scalar_order, "
    "scalar_assign, recompose_order, recompose_assign, inputs, memory, copy, results, scalar_in, "
    "scalar_out";

// The fields of a text, each of which is taken once.
class Fields {
 public:
  static Result<Fields> Split(absl::string_view text) {
    Fields fields;
    for (const absl::string_view field : absl::StrSplit(text, ';')) {
      const std::pair<absl::string_view, absl::string_view> pair =
          absl::StrSplit(absl::StripAsciiWhitespace(field), absl::MaxSplits('=', 1));
      if (!fields.values_.emplace(pair.first, pair.second).second) {
        return Invalid("'", pair.first, "' is given twice");
      }
    }
    return fields;
  }

  bool Has(const std::string& name) const { return values_.contains(name); }
  std::optional<std::string> Take(const std::string& name) {
    const auto it = values_.find(name);
    if (it == values_.end()) return std::nullopt;
    std::string value = std::move(it->second);
    values_.erase(it);
    return value;
  }
  Result<std::string> TakeRequired(const std::string& name) {
    std::optional<std::string> value = Take(name);
    if (!value.has_value()) return Invalid("'", name, "' is missing");
    return *std::move(value);
  }
  Status NothingLeft() const {
    if (values_.empty()) return absl::OkStatus();
    std::string known(kTables);
    for (const Choice& choice : Choices()) absl::StrAppend(&known, ", ", choice.key);
    return Invalid("unknown field '", values_.begin()->first, "'; the fields are ", known,
                   " and numerics");
  }

 private:
  std::map<std::string, std::string> values_;
};

Status ReadPhases(Fields& fields, TuningParameters* p) {
  MDH_ASSIGN_OR_RETURN(const std::string order, fields.TakeRequired("order"));
  MDH_ASSIGN_OR_RETURN(p->phase.order, ParseOrder(order));
  const auto read_assignment = [&](const std::string& name, PhaseParameters* phase) -> Status {
    const std::optional<std::string> text = fields.Take(name);
    if (!text.has_value()) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(phase->assignment, ParseAssignment(*text));
    return absl::OkStatus();
  };
  MDH_RETURN_IF_ERROR(read_assignment("assign", &p->phase));
  const auto read_phase = [&](const std::string& prefix,
                              std::optional<PhaseParameters>* phase) -> Status {
    const std::optional<std::string> text = fields.Take(prefix + "_order");
    if (!text.has_value() && fields.Has(prefix + "_assign")) {
      return Invalid("'", prefix, "_assign' needs '", prefix, "_order'");
    }
    if (!text.has_value()) return absl::OkStatus();
    phase->emplace();
    MDH_ASSIGN_OR_RETURN((*phase)->order, ParseOrder(*text));
    return read_assignment(prefix + "_assign", &**phase);
  };
  MDH_RETURN_IF_ERROR(read_phase("scalar", &p->scalar_phase));
  return read_phase("recompose", &p->recomposition_phase);
}

// The items of a field with one per input; none if the field is left out.
Result<std::vector<std::string>> TakePerInput(Fields& fields, const std::string& name,
                                              char separator, size_t inputs) {
  const std::optional<std::string> text = fields.Take(name);
  if (!text.has_value()) return std::vector<std::string>();
  std::vector<std::string> items = absl::StrSplit(*text, separator);
  if (items.size() != inputs) {
    return Invalid("'", name, "' is for ", items.size(), " inputs, 'inputs' for ", inputs);
  }
  return items;
}

Status ReadInputs(Fields& fields, TuningParameters* p) {
  MDH_ASSIGN_OR_RETURN(const std::string inputs, fields.TakeRequired("inputs"));
  if (!inputs.empty()) {
    for (const absl::string_view input : absl::StrSplit(inputs, '|')) {
      MDH_ASSIGN_OR_RETURN(InputParameters parsed, ParseInput(input));
      p->inputs.push_back(std::move(parsed));
    }
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string> memory,
                       TakePerInput(fields, "memory", '/', p->inputs.size()));
  for (size_t b = 0; b < memory.size(); ++b) {
    MDH_ASSIGN_OR_RETURN(p->inputs[b].memory, ParseMemory(memory[b]));
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string> copies,
                       TakePerInput(fields, "copy", '|', p->inputs.size()));
  for (size_t b = 0; b < copies.size(); ++b) {
    MDH_RETURN_IF_ERROR(ParseCopy(copies[b], &p->inputs[b]));
  }
  return absl::OkStatus();
}

Status ReadResults(Fields& fields, TuningParameters* p) {
  if (const std::optional<std::string> results = fields.Take("results")) {
    for (const absl::string_view output : absl::StrSplit(*results, '/')) {
      MDH_ASSIGN_OR_RETURN(MemoryParameters memory, ParseMemory(output));
      p->outputs.push_back(std::move(memory));
    }
  }
  if (const std::optional<std::string> text = fields.Take("scalar_in")) {
    MDH_ASSIGN_OR_RETURN(p->scalar_inputs, ParseScalarMemory(*text));
  }
  if (const std::optional<std::string> text = fields.Take("scalar_out")) {
    MDH_ASSIGN_OR_RETURN(p->scalar_outputs, ParseScalarMemory(*text));
  }
  return absl::OkStatus();
}

Status ReadCodeLevel(Fields& fields, TuningParameters* p) {
  for (const Choice& choice : Choices()) {
    const std::optional<std::string> text = fields.Take(std::string(choice.key));
    ChoiceValue value = choice.DefaultFor(*p);
    if (text.has_value()) {
      MDH_ASSIGN_OR_RETURN(value, choice.Parse(*text));
    }
    choice.set(value, p);
  }
  if (const std::optional<std::string> numerics = fields.Take("numerics")) {
    MDH_ASSIGN_OR_RETURN(p->numerics, ParseNumericsPolicy(*numerics));
  }
  return absl::OkStatus();
}

// The extents of parts (TuningParameters::tile) of which there are so many.
Result<LevelTable<int64_t>> TilesOf(const LevelTable<int64_t>& parts, const Expression& e) {
  LevelTable<int64_t> tiles = parts;
  for (const std::vector<int64_t>& row : parts) {
    if (static_cast<int>(row.size()) != e.rank()) {
      return Invalid("'parts' needs ", e.rank(), " counts per layer, one has ", row.size());
    }
  }
  for (int d = 0; d < e.rank(); ++d) {
    const Dimension& dimension = e.dimensions()[d];
    int64_t inner = 1;
    for (size_t l = parts.size(); l-- > 0;) {
      tiles[l][d] = inner;
      if (parts[l][d] < 1) {
        return Invalid("'parts' of layer ", l + 1, " in dimension ", dimension.name, " is ",
                       parts[l][d], ", not positive");
      }
      inner = inner > dimension.size / parts[l][d] ? dimension.size : inner * parts[l][d];
    }
    int64_t outer = dimension.size;
    for (size_t l = 0; l < parts.size(); ++l) {
      const int64_t count = CeilDivide(outer, tiles[l][d]);
      if (count != parts[l][d]) {
        return Invalid("#PRT of layer ", l + 1, " in dimension ", dimension.name, ": ", parts[l][d],
                       " parts of ", tiles[l][d], " points, but ", outer, " points are ", count,
                       " such parts");
      }
      outer = tiles[l][d];
    }
  }
  return tiles;
}

Result<TuningParameters> Parse(absl::string_view text, const Expression* expression) {
  MDH_ASSIGN_OR_RETURN(Fields fields, Fields::Split(text));
  TuningParameters p;
  MDH_ASSIGN_OR_RETURN(p.system_model, fields.TakeRequired("model"));
  if (const std::optional<std::string> fused = fields.Take("fused")) {
    MDH_ASSIGN_OR_RETURN(p.fused, ParseRows<int>(*fused));
  }
  if (expression != nullptr && !fields.Has("tile")) {
    MDH_ASSIGN_OR_RETURN(const std::string parts, fields.TakeRequired("parts"));
    MDH_ASSIGN_OR_RETURN(const LevelTable<int64_t> counts, ParseRows<int64_t>(parts));
    MDH_ASSIGN_OR_RETURN(const Expression fused, FuseDimensions(*expression, p.fused));
    MDH_ASSIGN_OR_RETURN(p.tile, TilesOf(counts, fused));
  } else {
    MDH_ASSIGN_OR_RETURN(const std::string tile, fields.TakeRequired("tile"));
    MDH_ASSIGN_OR_RETURN(p.tile, ParseRows<int64_t>(tile));
  }
  MDH_RETURN_IF_ERROR(ReadPhases(fields, &p));
  MDH_RETURN_IF_ERROR(ReadInputs(fields, &p));
  MDH_RETURN_IF_ERROR(ReadResults(fields, &p));
  MDH_RETURN_IF_ERROR(ReadCodeLevel(fields, &p));
  MDH_RETURN_IF_ERROR(fields.NothingLeft());
  return p;
}

}  // namespace

Result<TuningParameters> ParseTuningParameters(std::string_view text) {
  return Parse(View(text), nullptr);
}

Result<TuningParameters> ParseTuningParameters(std::string_view text,
                                               const Expression& expression) {
  return Parse(View(text), &expression);
}

}  // namespace mdh
