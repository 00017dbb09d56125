#include "core/pipeline/schedule/pipeline_parameters_text.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mdh {
namespace {

struct NamedKeep {
  RowLayout::Keep keep;
  absl::string_view name;
};
constexpr NamedKeep kKeeps[] = {{RowLayout::Keep::kRegisters, "registers"},
                                {RowLayout::Keep::kShared, "shared"},
                                {RowLayout::Keep::kNothing, "nothing"}};

// " rows 256,1,4 registers": threads of a row, rows of a block, elements of a vector.
std::string RowsText(const std::optional<RowLayout>& rows) {
  if (!rows) return "";
  std::string text = absl::StrCat(" rows ", rows->threads, ",", rows->rows, ",", rows->vector);
  for (const NamedKeep& named : kKeeps) {
    if (named.keep == rows->keep) absl::StrAppend(&text, " ", named.name);
  }
  return text;
}

// " planes 4,2": places of a thread's column, blocks of a multiprocessor.
std::string PlanesText(const std::optional<PlaneLayout>& planes) {
  if (!planes) return "";
  return absl::StrCat(" planes ", planes->column, ",", planes->resident);
}

std::string GroupText(const JointGroup& group) {
  const auto row = [](std::string* out, const std::vector<int>& numbers) {
    absl::StrAppend(out, absl::StrJoin(numbers, ","));
  };
  std::string text = absl::StrCat("group ", group.first + 1, " ", group.last + 1, " part ",
                                  absl::StrJoin(group.part, ","), " dimensions ",
                                  absl::StrJoin(group.dimensions, "|", row));
  absl::StrAppend(&text, RowsText(group.rows), PlanesText(group.planes));
  if (!group.is_streamed()) return text;
  const auto dimension = [](std::string* out, int d) {
    absl::StrAppend(out, d < 0 ? "-" : absl::StrCat(d));
  };
  absl::StrAppend(&text, " streamed ", absl::StrJoin(group.streamed, ",", dimension), " chunk ",
                  group.chunk, " splits ", group.splits);
  return text;
}

// "1,-,0": the streamed dimension of every step, if it has it.
bool ParseStreamed(absl::string_view text, std::vector<int>& streamed) {
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    int& d = streamed.emplace_back(-1);
    if (word != "-" && (!absl::SimpleAtoi(word, &d) || d < 0)) return false;
  }
  return true;
}

// "1,2".
template <typename Number>
bool ParseNumbers(absl::string_view text, std::vector<Number>& numbers) {
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back()) || numbers.back() < 0) return false;
  }
  return true;
}

// Zero-based, of a text that counts from 1.
bool ParseStep(absl::string_view word, int& step) {
  if (!absl::SimpleAtoi(word, &step) || step < 1) return false;
  --step;
  return true;
}

Status ParseEdge(absl::string_view text, PipelineParameters& parameters) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  PlannedEdge edge = {};
  const std::optional<EdgeKind> kind =
      words.size() == 3 ? EdgeKindNamed({words[2].data(), words[2].size()}) : std::nullopt;
  if (!kind || !ParseStep(words[0], edge.producer) || !ParseStep(words[1], edge.consumer)) {
    return InvalidArgument(
        "expected 'edge STEP STEP stage|inline|epilogue|contraction|siblings|split', found 'edge ",
        text, "'");
  }
  edge.kind = *kind;
  parameters.edges.push_back(edge);
  return absl::OkStatus();
}

std::optional<RowLayout> ParseRows(absl::string_view layout, absl::string_view keep) {
  std::vector<int64_t> numbers;
  if (!ParseNumbers(layout, numbers) || numbers.size() != 3) return std::nullopt;
  for (const NamedKeep& named : kKeeps) {
    if (named.name == keep) return RowLayout{numbers[0], numbers[1], numbers[2], named.keep};
  }
  return std::nullopt;
}

std::optional<PlaneLayout> ParsePlanes(absl::string_view layout) {
  std::vector<int64_t> numbers;
  if (!ParseNumbers(layout, numbers) || numbers.size() != 2) return std::nullopt;
  return PlaneLayout{numbers[0], numbers[1]};
}

Status ParseJointGroup(absl::string_view text, PipelineParameters& parameters) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  JointGroup group;
  const auto is_read = [&] {
    const bool is_streamed = words.size() == 12, has_rows = words.size() == 9;
    const bool has_planes = words.size() == 8;
    if (words.size() != 6 && !is_streamed && !has_rows && !has_planes) return false;
    if (words[2] != "part" || words[4] != "dimensions") return false;
    if (has_rows) {
      if (words[6] != "rows") return false;
      group.rows = ParseRows(words[7], words[8]);
      if (!group.rows) return false;
    }
    if (has_planes) {
      if (words[6] != "planes") return false;
      group.planes = ParsePlanes(words[7]);
      if (!group.planes) return false;
    }
    if (is_streamed) {
      if (words[6] != "streamed" || words[8] != "chunk" || words[10] != "splits") return false;
      if (!ParseStreamed(words[7], group.streamed)) return false;
      if (!absl::SimpleAtoi(words[9], &group.chunk) || group.chunk < 1) return false;
      if (!absl::SimpleAtoi(words[11], &group.splits) || group.splits < 1) return false;
    }
    if (!ParseStep(words[0], group.first) || !ParseStep(words[1], group.last)) return false;
    if (group.last < group.first || !ParseNumbers(words[3], group.part)) return false;
    for (const absl::string_view row : absl::StrSplit(words[5], '|')) {
      if (!ParseNumbers(row, group.dimensions.emplace_back())) return false;
      if (group.dimensions.back().size() != group.part.size()) return false;
    }
    const size_t steps = static_cast<size_t>(group.last - group.first) + 1;
    return group.dimensions.size() == steps && (!is_streamed || group.streamed.size() == steps);
  };
  if (!is_read()) {
    return InvalidArgument(
        "expected 'group STEP STEP part N,... dimensions N,...|... [rows THREADS,ROWS,VECTOR "
        "registers|shared|nothing] [planes COLUMN,RESIDENT] [streamed N|-,... chunk N splits N]', "
        "found 'group ",
        text, "'");
  }
  parameters.groups.push_back(std::move(group));
  return absl::OkStatus();
}

Status ParseLine(absl::string_view line, PipelineParameters& parameters) {
  if (absl::ConsumePrefix(&line, "edge ")) return ParseEdge(line, parameters);
  if (absl::ConsumePrefix(&line, "group ")) return ParseJointGroup(line, parameters);
  if (absl::ConsumePrefix(&line, "step ")) {
    MDH_ASSIGN_OR_RETURN(parameters.steps.emplace_back(),
                         ParseTuningParameters({line.data(), line.size()}));
    return absl::OkStatus();
  }
  return InvalidArgument("expected 'edge', 'group' or 'step', found '", line.substr(0, 40), "'");
}

}  // namespace

std::string ToText(const PipelineParameters& parameters) {
  std::string text;
  for (const PlannedEdge& edge : parameters.edges) {
    absl::StrAppend(&text, "edge ", edge.producer + 1, " ", edge.consumer + 1, " ",
                    std::string(Name(edge.kind)), "\n");
  }
  for (const JointGroup& group : parameters.groups) absl::StrAppend(&text, GroupText(group), "\n");
  for (const TuningParameters& step : parameters.steps) {
    absl::StrAppend(&text, "step ", ToText(step), "\n");
  }
  return text;
}

std::optional<RowLayout> ParseRowLayout(std::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
  return words.size() == 2 ? ParseRows(words[0], words[1]) : std::nullopt;
}

Result<PipelineParameters> ParsePipelineParameters(std::string_view text) {
  PipelineParameters parameters;
  int number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    if (line.empty()) continue;
    if (const Status status = ParseLine(line, parameters); !status.ok()) {
      return InvalidArgument("line ", number, ": ", status.message());
    }
  }
  if (parameters.steps.empty()) return InvalidArgument("line ", number, ": there is no step");
  return parameters;
}

}  // namespace mdh
