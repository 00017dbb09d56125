// From lines to decisions; lines of steps are only found: what they mean, partitions say.
#include "core/pipeline/schedule/pipeline_schedule_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/system_model.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/schedule/group_numbers.h"
#include "core/schedule/parser.h"
#include "core/schedule/value_parser.h"

namespace mdh {
namespace {

using Kind = PipelineDecision::Kind;

class PipelineScheduleParser {
 public:
  PipelineScheduleParser(const Source& source, const StepNames& names, const std::string& model)
      : text_(source.text()),
        names_(names),
        model_(model),
        cursor_(source),
        unused_model_(),
        unused_(names.pipeline().steps()[0].expression, unused_model_),
        values_(unused_, &cursor_) {}

  Result<ParsedPipelineSchedule> Parse() {
    while (cursor_.NextLine()) {
      const size_t begin = cursor_.offset();
      bool is_of_step = false;
      if (cursor_.Accept("for")) {
        MDH_ASSIGN_OR_RETURN(is_read_, ParseModels(model_, &cursor_));
        parsed_.model_lines.push_back({begin, LineEnd(begin) - begin});
      } else if (cursor_.Accept("step")) {
        MDH_RETURN_IF_ERROR(ReadStep());
      } else {
        MDH_ASSIGN_OR_RETURN(is_of_step, ReadLine(begin));
      }
      if (is_of_step) {
        cursor_.SkipLine();
      } else if (!cursor_.AtLineEnd()) {
        return cursor_.Unexpected("the end of the line");
      }
    }
    // A step of which nothing is said need not be one of its own.
    std::erase_if(parsed_.sections,
                  [](const StepSection& section) { return section.lines.empty(); });
    return std::move(parsed_);
  }

 private:
  size_t LineEnd(size_t begin) const { return std::min(text_.find('\n', begin), text_.size()); }

  Status ReadStep() {
    StepSection section = {.name = {}, .line = cursor_.line()};
    MDH_ASSIGN_OR_RETURN(section.name, names_.Name(&cursor_));
    MDH_RETURN_IF_ERROR(cursor_.Expect(":"));
    parsed_.sections.push_back(std::move(section));
    return absl::OkStatus();
  }

  // Whether it is a line of the step whose section it is in.
  Result<bool> ReadLine(size_t begin) {
    for (const auto& [word, read] : {std::pair("edge", &PipelineScheduleParser::ReadEdge),
                                     std::pair("siblings", &PipelineScheduleParser::ReadSiblings),
                                     std::pair("split", &PipelineScheduleParser::ReadSplit),
                                     std::pair("together", &PipelineScheduleParser::ReadTogether),
                                     std::pair("alone", &PipelineScheduleParser::ReadAlone)}) {
      if (!cursor_.Accept(word)) continue;
      if (is_read_) {
        MDH_RETURN_IF_ERROR((this->*read)());
      } else {
        cursor_.SkipLine();
      }
      return false;
    }
    if (parsed_.sections.empty()) {
      return cursor_.Unexpected(
          "'edge', 'siblings', 'split', 'together', 'alone', or 'step NAME:' in front of lines of "
          "a step");
    }
    parsed_.sections.back().lines.push_back({begin, LineEnd(begin) - begin});
    return true;
  }

  PipelineDecision Here(Kind kind) const { return {.kind = kind, .line = cursor_.line()}; }

  // ---- Edges ----

  // "A -> B = stage".
  Status ReadEdge() {
    PipelineDecision decision = Here(Kind::kEdge);
    const size_t at = cursor_.offset();
    MDH_ASSIGN_OR_RETURN(decision.producer, names_.Step(&cursor_));
    MDH_RETURN_IF_ERROR(cursor_.Expect("->"));
    MDH_ASSIGN_OR_RETURN(decision.consumer, names_.Step(&cursor_));
    MDH_RETURN_IF_ERROR(CheckEdge(decision, at));
    MDH_RETURN_IF_ERROR(cursor_.Expect("="));
    MDH_ASSIGN_OR_RETURN(const std::optional<ValueSet> kinds,
                         Words([&] { return EdgeKindHere(); }));
    if (!kinds) return absl::OkStatus();
    decision.edge_kinds = *kinds;
    parsed_.decisions.push_back(std::move(decision));
    return absl::OkStatus();
  }

  Status CheckEdge(const PipelineDecision& decision, size_t at) const {
    std::vector<std::string> edges;
    for (const PlannedEdge& edge : EdgesOf(names_.pipeline())) {
      if (edge.producer == decision.producer && edge.consumer == decision.consumer) {
        return absl::OkStatus();
      }
      edges.push_back(EdgeText(edge.producer, edge.consumer));
    }
    const std::string known = edges.empty()
                                  ? "no step reads what another one writes"
                                  : absl::StrCat("there are ", absl::StrJoin(edges, ", "));
    return cursor_.ErrorAt(at, "there is no edge ", EdgeText(decision.producer, decision.consumer),
                           "; ", known);
  }

  std::string EdgeText(int producer, int consumer) const {
    return absl::StrCat(names_.TextOf(producer, false), " -> ", names_.TextOf(consumer, false));
  }

  Result<ChoiceValue> EdgeKindHere() {
    const size_t at = cursor_.offset();
    MDH_ASSIGN_OR_RETURN(const absl::string_view word, cursor_.ExpectName("how it is fused"));
    const std::optional<EdgeKind> kind = EdgeKindNamed({word.data(), word.size()});
    if (kind && *kind != EdgeKind::kSiblings && *kind != EdgeKind::kSplit) {
      return ChoiceValue{static_cast<int64_t>(*kind)};
    }
    return cursor_.ErrorAt(at,
                           "an edge is stage, inline, epilogue or contraction, "
                           "not '",
                           word, "'");
  }

  // "none"; "(A, B), (C, D), ..".
  Status ReadSiblings() {
    PipelineDecision decision = Here(Kind::kSiblings);
    MDH_RETURN_IF_ERROR(ReadMany(decision, [&]() -> Status {
      const size_t at = cursor_.offset();
      MDH_RETURN_IF_ERROR(cursor_.Expect("("));
      std::vector<int> steps;
      do {
        MDH_ASSIGN_OR_RETURN(steps.emplace_back(), names_.Step(&cursor_));
      } while (cursor_.Accept(","));
      MDH_RETURN_IF_ERROR(cursor_.Expect(")"));
      std::ranges::sort(steps);
      if (steps.size() < 2 || std::ranges::adjacent_find(steps) != steps.end()) {
        return cursor_.ErrorAt(at, "siblings are two different steps or more");
      }
      for (size_t a = 0; a < steps.size(); ++a) {
        for (size_t b = a + 1; b < steps.size(); ++b) {
          decision.pairs.push_back({steps[a], steps[b]});
        }
      }
      return absl::OkStatus();
    }));
    return AddPairs(std::move(decision));
  }

  // "none"; "A, B, ..".
  Status ReadSplit() {
    PipelineDecision decision = Here(Kind::kSplit);
    MDH_RETURN_IF_ERROR(ReadMany(decision, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const int step, names_.Step(&cursor_));
      decision.pairs.push_back({step, step});
      return absl::OkStatus();
    }));
    return AddPairs(std::move(decision));
  }

  Status ReadMany(PipelineDecision& decision, absl::FunctionRef<Status()> read) {
    if (cursor_.Accept("none")) return absl::OkStatus();
    do {
      if (cursor_.Accept("..")) {
        decision.has_others = true;
        return absl::OkStatus();
      }
      MDH_RETURN_IF_ERROR(read());
    } while (cursor_.Accept(","));
    return absl::OkStatus();
  }

  Status AddPairs(PipelineDecision decision) {
    auto& pairs = decision.pairs;
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    if (!pairs.empty() || !decision.has_others) parsed_.decisions.push_back(std::move(decision));
    return absl::OkStatus();
  }

  // ---- Groups ----

  // "(A, B): CLAUSE; ..".
  Status ReadTogether() {
    PipelineDecision decision = Here(Kind::kTogether);
    const size_t at = cursor_.offset();
    MDH_RETURN_IF_ERROR(ReadSteps(decision));
    if (decision.steps.size() < 2) return cursor_.ErrorAt(at, "two steps or more run together");
    if (cursor_.Accept(":")) {
      do {
        MDH_RETURN_IF_ERROR(ReadClause(decision.group));
      } while (cursor_.Accept(";"));
    }
    parsed_.decisions.push_back(std::move(decision));
    return absl::OkStatus();
  }

  Status ReadAlone() {
    PipelineDecision decision = Here(Kind::kAlone);
    MDH_RETURN_IF_ERROR(ReadSteps(decision));
    parsed_.decisions.push_back(std::move(decision));
    return absl::OkStatus();
  }

  // "(A, B)".
  Status ReadSteps(PipelineDecision& decision) {
    MDH_RETURN_IF_ERROR(cursor_.Expect("("));
    do {
      const size_t at = cursor_.offset();
      MDH_ASSIGN_OR_RETURN(const StepName name, names_.Name(&cursor_));
      const auto& steps = decision.steps;
      if (std::ranges::find(steps, name) != steps.end()) {
        return cursor_.ErrorAt(at, names_.TextOf(name, /*is_key=*/false), " is named already");
      }
      decision.steps.push_back(name);
    } while (cursor_.Accept(","));
    return cursor_.Expect(")");
  }

  Status ReadClause(SaidGroup& group) {
    if (cursor_.Accept("by")) return ReadBy(group);
    if (cursor_.Accept("part")) return ReadParts(group);
    if (cursor_.Accept("streamed")) return ReadStreamed(group);
    for (int row = 0; row < std::ssize(kGroupNumbers); ++row) {
      const std::string_view name = kGroupNumbers[row].name;
      if (!cursor_.Accept({name.data(), name.size()})) continue;
      MDH_RETURN_IF_ERROR(cursor_.Expect("="));
      const auto one = [&] { return NumberOf(row); };
      MDH_ASSIGN_OR_RETURN(std::optional<ValueSet> values,
                           row == kGroupKeep ? Words(one) : Numbers(one));
      if (values) group.numbers.push_back({row, *std::move(values)});
      return absl::OkStatus();
    }
    return cursor_.Unexpected(
        "'by', 'part', 'streamed', 'chunk', 'splits', 'threads', 'rows', 'vector', 'keep', "
        "'column' "
        "or 'resident'");
  }

  Result<ChoiceValue> NumberOf(int row) {
    if (kGroupNumbers[row].may_be_none && cursor_.Accept("none")) return ChoiceValue{0};
    if (row != kGroupKeep) return Positive();
    for (size_t k = 0; k < std::size(kKeepNames); ++k) {
      if (cursor_.Accept({kKeepNames[k].data(), kKeepNames[k].size()})) {
        return ChoiceValue{static_cast<int64_t>(k)};
      }
    }
    return cursor_.Unexpected("'registers', 'shared' or 'nothing'");
  }

  Result<ChoiceValue> Positive() {
    const size_t at = cursor_.offset();
    MDH_ASSIGN_OR_RETURN(const int64_t number, cursor_.ExpectNumber("a number"));
    if (number >= 1) return ChoiceValue{number};
    return cursor_.ErrorAt(at, "the number is at least 1");
  }

  // "(i, j), (r, c)".
  Status ReadBy(SaidGroup& group) {
    group.by.clear();
    do {
      MDH_RETURN_IF_ERROR(cursor_.Expect("("));
      MDH_ASSIGN_OR_RETURN(group.by.emplace_back(), ReadNames());
      MDH_RETURN_IF_ERROR(cursor_.Expect(")"));
    } while (cursor_.Accept(","));
    return absl::OkStatus();
  }

  // "i=4, j=64".
  Status ReadParts(SaidGroup& group) {
    do {
      MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor_.ExpectName("a dimension"));
      MDH_RETURN_IF_ERROR(cursor_.Expect("="));
      MDH_ASSIGN_OR_RETURN(std::optional<ValueSet> values, Numbers([&] { return Positive(); }));
      if (values) group.part.push_back({std::string(name), *std::move(values)});
    } while (cursor_.Accept(","));
    return absl::OkStatus();
  }

  // "none"; "(k, none, k)".
  Status ReadStreamed(SaidGroup& group) {
    group.streamed = {"none"};
    if (cursor_.Accept("none")) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(cursor_.Expect("("));
    MDH_ASSIGN_OR_RETURN(*group.streamed, ReadNames());
    return cursor_.Expect(")");
  }

  Result<std::vector<std::string>> ReadNames() {
    std::vector<std::string> names;
    do {
      MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor_.ExpectName("a dimension"));
      names.emplace_back(name);
    } while (cursor_.Accept(","));
    return names;
  }

  // ---- Values ----

  Result<std::optional<ValueSet>> Words(ValueParser::One one) {
    return values_.Choice(/*has_ranges=*/false, one, one);
  }
  Result<std::optional<ValueSet>> Numbers(ValueParser::One one) {
    return values_.Choice(/*has_ranges=*/true, one, one);
  }

  const absl::string_view text_;
  const StepNames& names_;
  const std::string& model_;
  ScheduleCursor cursor_;
  const SystemModel unused_model_;  // numbers need no names
  const ScheduleNames unused_;
  ValueParser values_;
  bool is_read_ = true;
  ParsedPipelineSchedule parsed_;
};

}  // namespace

Result<ParsedPipelineSchedule> ParsePipelineSchedule(const Source& source, const StepNames& names,
                                                     const std::string& model) {
  return PipelineScheduleParser(source, names, model).Parse();
}

}  // namespace mdh
