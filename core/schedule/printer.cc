#include "core/schedule/printer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

std::string SpanText(const Decision& decision, const ValueSet::Span& span,
                     const ScheduleNames& names) {
  std::string text = ValueText(decision, span.low, names);
  if (span.low == span.high) return text;
  text = absl::StrCat(span.low[0], "..", span.high[0]);
  if (span.is_factor) return absl::StrCat(text, "*", span.step);
  return span.step == 1 ? text : absl::StrCat(text, " step ", span.step);
}

std::string ChoiceText(const Decision& decision, const ScheduleNames& names) {
  const auto& spans = decision.values.spans();
  std::string text = absl::StrJoin(spans, ", ", [&](std::string* out, const ValueSet::Span& span) {
    *out += SpanText(decision, span, names);
  });
  if (spans.size() > 1) text = absl::StrCat("{", text, "}");
  return decision.values.is_negated() ? absl::StrCat("!", text) : text;
}

std::string OrderItems(const Decision& decision, const ScheduleNames& names) {
  std::vector<std::string> items;
  const auto add = [&](const std::vector<MdhLevel>& levels) {
    for (const MdhLevel& level : levels) {
      items.push_back(decision.layer < 0 ? names.LevelName(level)
                                         : names.DimensionName(level.dimension));
    }
  };
  add(decision.before);
  if (decision.has_others) items.push_back("..");
  add(decision.after);
  return absl::StrJoin(items, ", ");
}

std::string StepsText(const Decision& decision, const ScheduleNames& names) {
  const std::vector<std::string> regions = names.model().memory_regions();
  if (decision.steps.empty()) return absl::StrCat("in ", regions[0]);
  return absl::StrJoin(decision.steps, "; ", [&](std::string* out, const RegionStep& step) {
    absl::StrAppend(out, "in ", regions[step.region],
                    step.from == RegionStep::kInside
                        ? " inside"
                        : absl::StrCat(" from ", names.LevelName(step.from)));
  });
}

std::string DimensionsText(const Decision& decision, const ScheduleNames& names) {
  return absl::StrCat(
      "(",
      absl::StrJoin(decision.dimensions, ", ",
                    [&](std::string* out, int d) { *out += names.DimensionName(d); }),
      ")");
}

// Of a layer's clause, in front of the pins that share it; empty: others do not share it.
absl::string_view ClauseName(Kind kind) {
  switch (kind) {
    case Kind::kTile:
      return "tile ";
    case Kind::kParts:
      return "parts ";
    case Kind::kAxis:
      return "on ";
    case Kind::kLanes:
      return "lanes ";
    default:
      return "";
  }
}

absl::string_view DetailName(Kind kind) {
  switch (kind) {
    case Kind::kPadding:
      return "padding=";
    case Kind::kWidth:
      return "width=";
    case Kind::kStages:
      return "stages=";
    case Kind::kMode:
      return "mode=";
    case Kind::kStrips:
      return "strips ";
    default:
      return "copy ";
  }
}

// Without what the decision is of.
std::string ClauseText(const Decision& decision, const ScheduleNames& names) {
  switch (decision.kind) {
    case Kind::kTile:
    case Kind::kParts:
    case Kind::kAxis:
    case Kind::kLanes:
      return absl::StrCat(names.DimensionName(decision.dimension), "=",
                          ChoiceText(decision, names));
    case Kind::kOrder:
      return absl::StrCat("order ", OrderItems(decision, names));
    case Kind::kAlong:
      return absl::StrCat("along ", ChoiceText(decision, names));
    case Kind::kLayout: {
      const bool is_usual = decision.region == names.SharedRegion();
      return absl::StrCat("layout ",
                          is_usual ? "" : names.model().memory_regions()[decision.region] + " ",
                          ChoiceText(decision, names));
    }
    case Kind::kRegions:
      return StepsText(decision, names);
    case Kind::kCombine:
      return absl::StrCat("across ", names.LevelName({decision.layer, decision.dimension}), " in ",
                          ChoiceText(decision, names));
    case Kind::kOption:
      return absl::StrCat(decision.option->key, "=", ChoiceText(decision, names));
    case Kind::kFuse:
      return absl::StrCat("fuse ", DimensionsText(decision, names));
    case Kind::kSeparate:
      return absl::StrCat("separate ", DimensionsText(decision, names));
    case Kind::kRequire:
      return absl::StrCat("require ", ToText(decision.limit, names));
    default:
      return absl::StrCat(DetailName(decision.kind), ChoiceText(decision, names));
  }
}

// Which line a decision is on: its place among the lines, and what the line begins with.
std::pair<std::vector<int>, std::string> LineOf(const Decision& decision,
                                                const ScheduleNames& names) {
  switch (decision.kind) {
    case Kind::kFuse:
      return {{0}, ""};
    case Kind::kSeparate:
      return {{1}, ""};
    case Kind::kRequire:
      return {{6}, ""};
    case Kind::kOption:
      return {{5}, ""};
    default:
      break;
  }
  if (decision.buffer >= 0) {
    const absl::string_view what = decision.is_output ? "output " : "input ";
    return {{4, decision.is_output ? 1 : 0, decision.buffer},
            absl::StrCat(what, names.BufferAt(decision.buffer, decision.is_output).name, ": ")};
  }
  if (decision.layer < 0) return {{3}, ""};
  return {{2, decision.layer}, absl::StrCat(names.LayerName(decision.layer), ": ")};
}

// Clauses of one line.
std::string Joined(const std::vector<std::pair<Kind, std::string>>& clauses) {
  std::string text;
  Kind last = Kind::kRequire;
  for (const auto& [kind, clause] : clauses) {
    const absl::string_view name = ClauseName(kind);
    const bool shares = !name.empty() && kind == last;
    absl::StrAppend(&text, text.empty() ? "" : shares ? ", " : "; ", shares ? "" : name, clause);
    last = kind;
  }
  return text;
}

bool IsAlone(Kind kind) {
  return kind == Kind::kFuse || kind == Kind::kSeparate || kind == Kind::kRequire;
}

}  // namespace

std::string ValueText(const Decision& decision, const ChoiceValue& value,
                      const ScheduleNames& names) {
  const int64_t v = value.empty() ? 0 : value[0];
  switch (decision.kind) {
    case Kind::kTile:
      if (v == Decision::kAsOutside) return "^";
      return v == names.expression().dimensions()[decision.dimension].size ? "whole"
                                                                           : absl::StrCat(v);
    case Kind::kAxis:
      return names.model().DimensionName(static_cast<int>(v));
    case Kind::kAlong:
      return v == Decision::kNoDimension ? "none" : names.DimensionName(static_cast<int>(v));
    case Kind::kStrips:
      return v == Decision::kNoDimension
                 ? "none"
                 : names.BufferDimensionName(decision.buffer, false, static_cast<int>(v));
    case Kind::kLayout:
      return absl::StrCat("(",
                          absl::StrJoin(value, ", ",
                                        [&](std::string* out, int64_t x) {
                                          *out += names.BufferDimensionName(decision.buffer, false,
                                                                            static_cast<int>(x));
                                        }),
                          ")");
    case Kind::kCopy:
      return v == InputParameters::kInPlace       ? "never"
             : v == InputParameters::kWholeBuffer ? "whole"
                                                  : "at " + names.LayerName(static_cast<int>(v));
    case Kind::kMode:
      return v == static_cast<int64_t>(CopyMode::kAsynchronous) ? "async" : "registers";
    case Kind::kCombine:
      return names.model().memory_regions()[v];
    case Kind::kOption:
      return decision.option->Text(value);
    default:
      return absl::StrCat(v);
  }
}

std::string LineText(const Decision& decision, const ScheduleNames& names) {
  return LinesText(absl::MakeConstSpan(&decision, 1), names);
}

std::string LinesText(absl::Span<const Decision> decisions, const ScheduleNames& names) {
  struct Line {
    std::string begin;
    std::vector<std::pair<Kind, std::string>> clauses = {};
  };
  std::map<std::vector<int>, Line> lines;
  for (const Decision& decision : decisions) {
    auto [place, begin] = LineOf(decision, names);
    Line& line = lines[place];
    line.begin = std::move(begin);
    // Along the layers and their dimensions, then by their text.
    line.clauses.push_back({decision.kind, ClauseText(decision, names)});
  }
  std::string text;
  for (auto& [place, line] : lines) {
    auto& clauses = line.clauses;
    std::ranges::stable_sort(clauses);
    clauses.erase(std::unique(clauses.begin(), clauses.end()), clauses.end());
    // Regions of a line are all that there are: those of several lines stay apart. They come first,
    // so that a line that begins with them has no others.
    std::vector<std::pair<Kind, std::string>> shared;
    bool has_regions = false;
    for (auto& clause : clauses) {
      const bool is_alone = IsAlone(clause.first) || place == std::vector<int>{3} ||
                            (clause.first == Kind::kRegions && has_regions);
      has_regions = has_regions || clause.first == Kind::kRegions;
      if (is_alone) {
        absl::StrAppend(&text, line.begin, clause.second, "\n");
      } else {
        shared.push_back(std::move(clause));
      }
    }
    std::ranges::stable_sort(shared, [](const auto& a, const auto& b) {
      return a.first == Kind::kRegions && b.first != Kind::kRegions;
    });
    if (!shared.empty()) absl::StrAppend(&text, line.begin, Joined(shared), "\n");
  }
  return text;
}

}  // namespace mdh
