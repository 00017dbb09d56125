// From lines to decisions. Every function leaves the cursor behind what it has read.
#include "core/schedule/parser.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/schedule/check_decisions.h"
#include "core/schedule/value_parser.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

class ScheduleParser {
 public:
  ScheduleParser(const Source& source, const ScheduleNames& names)
      : names_(names), cursor_(source), values_(names, &cursor_) {}

  Result<std::vector<Decision>> Parse() {
    while (cursor_.NextLine()) {
      if (cursor_.Accept("for")) {
        MDH_ASSIGN_OR_RETURN(is_read_, ParseModels(names_.model().name, &cursor_));
      } else if (!is_read_) {
        cursor_.SkipLine();
        continue;
      } else {
        MDH_RETURN_IF_ERROR(ReadLine());
      }
      if (!cursor_.AtLineEnd()) return cursor_.Unexpected("the end of the line");
    }
    MDH_RETURN_IF_ERROR(CheckDecisions(decisions_, names_, cursor_));
    return std::move(decisions_);
  }

 private:
  Status ReadLine() {
    if (cursor_.Accept("order")) return ReadOrder(-1);
    if (cursor_.Accept("input")) return ReadBuffer(/*is_output=*/false);
    if (cursor_.Accept("output")) return ReadBuffer(/*is_output=*/true);
    if (cursor_.Accept("fuse")) return ReadDimensions(Kind::kFuse);
    if (cursor_.Accept("separate")) return ReadDimensions(Kind::kSeparate);
    if (cursor_.Accept("require")) {
      Decision decision = Here(Kind::kRequire);
      MDH_ASSIGN_OR_RETURN(decision.limit, ParseLimit(names_, &cursor_));
      decisions_.push_back(std::move(decision));
      return absl::OkStatus();
    }
    ScheduleCursor ahead = cursor_;
    const size_t at = cursor_.offset();
    MDH_ASSIGN_OR_RETURN(const absl::string_view name,
                         ahead.ExpectName("a layer, an option, 'order', 'input', 'output', "
                                          "'fuse', 'separate', 'require' or 'for'"));
    if (ahead.Accept("=")) return ReadOptions();
    if (ahead.Accept(":")) {
      MDH_ASSIGN_OR_RETURN(const int layer, names_.Layer(&cursor_));
      MDH_RETURN_IF_ERROR(cursor_.Expect(":"));
      do {
        MDH_RETURN_IF_ERROR(ReadClause(layer));
      } while (cursor_.Accept(";"));
      return absl::OkStatus();
    }
    if (names_.LayerOf(name) < 0) MDH_RETURN_IF_ERROR(names_.Layer(&cursor_).status());
    return cursor_.ErrorAt(at, "expected '", name, ":' and what layer ", name, " has");
  }

  // A decision whose values are a choice; what is free is none.
  Status AddChoice(Decision decision, bool has_ranges, absl::FunctionRef<Result<ChoiceValue>()> one,
                   absl::FunctionRef<Result<ChoiceValue>()> high) {
    MDH_ASSIGN_OR_RETURN(const std::optional<ValueSet> values,
                         values_.Choice(has_ranges, one, high));
    if (!values.has_value()) return absl::OkStatus();
    decision.values = *values;
    decisions_.push_back(std::move(decision));
    return absl::OkStatus();
  }
  Status AddWords(Decision decision, absl::FunctionRef<Result<ChoiceValue>()> one) {
    return AddChoice(std::move(decision), /*has_ranges=*/false, one, one);
  }

  Decision Here(Kind kind, int layer = -1) {
    Decision decision{.kind = kind};
    decision.line = cursor_.line();
    decision.offset = cursor_.offset();
    decision.layer = layer;
    return decision;
  }

  // ---- Layers ----

  Status ReadClause(int layer) {
    if (cursor_.Accept("tile")) return ReadPins(Kind::kTile, layer);
    if (cursor_.Accept("parts")) return ReadPins(Kind::kParts, layer);
    if (cursor_.Accept("order")) return ReadOrder(layer);
    const size_t at = cursor_.offset();
    const LayerRole role = names_.model().layers[layer].role;
    const auto not_here = [&](absl::string_view what) {
      return cursor_.ErrorAt(at, what, "; layer ", names_.LayerName(layer), " is none");
    };
    if (cursor_.Accept("on")) {
      const bool is_core =
          role == LayerRole::kCores || role == LayerRole::kThreads || role == LayerRole::kWarps;
      if (!is_core) return not_here("dimensions are on axes of layers of cores or threads");
      return ReadPins(Kind::kAxis, layer);
    }
    if (cursor_.Accept("lanes")) {
      if (role != LayerRole::kThreads) return not_here("tiles of lanes are of a layer of threads");
      return ReadPins(Kind::kLanes, layer);
    }
    if (cursor_.Accept("along")) {
      if (role != LayerRole::kLanes) return not_here("vectors are along what lanes have");
      return AddWords(Here(Kind::kAlong, layer), [&]() -> Result<ChoiceValue> {
        if (cursor_.Accept("none")) return ChoiceValue{Decision::kNoDimension};
        MDH_ASSIGN_OR_RETURN(const int d, names_.Dimension(&cursor_));
        return ChoiceValue{d};
      });
    }
    return cursor_.Unexpected("'tile', 'parts', 'order', 'on', 'lanes' or 'along'");
  }

  Status ReadPins(Kind kind, int layer) {
    do {
      Decision pin = Here(kind, layer);
      MDH_ASSIGN_OR_RETURN(pin.dimension, names_.Dimension(&cursor_));
      MDH_RETURN_IF_ERROR(cursor_.Expect("="));
      const bool is_extent = kind == Kind::kTile || kind == Kind::kParts;
      const int d = pin.dimension;
      const auto one = [&]() -> Result<ChoiceValue> {
        if (kind == Kind::kAxis) {
          MDH_ASSIGN_OR_RETURN(const int axis, names_.Axis(&cursor_));
          return ChoiceValue{axis};
        }
        return is_extent ? values_.Extent(kind == Kind::kTile, d) : values_.Number();
      };
      MDH_RETURN_IF_ERROR(
          AddChoice(std::move(pin), kind != Kind::kAxis, one, [&] { return values_.High(); }));
    } while (cursor_.Accept(","));
    return absl::OkStatus();
  }

  // Of one layer, or, with -1, across layers.
  Status ReadOrder(int layer) {
    Decision order = Here(Kind::kOrder, layer);
    std::set<MdhLevel> seen;
    do {
      const size_t at = cursor_.offset();
      if (cursor_.Accept("..")) {
        if (order.has_others) return cursor_.ErrorAt(at, "'..' stands for the others once");
        order.has_others = true;
        continue;
      }
      MdhLevel level = {layer, -1};
      if (layer < 0) {
        MDH_ASSIGN_OR_RETURN(level, names_.Level(&cursor_));
      } else {
        MDH_ASSIGN_OR_RETURN(level.dimension, names_.Dimension(&cursor_));
      }
      if (!seen.insert(level).second) {
        return cursor_.ErrorAt(at, names_.LevelName(level), " has a place already");
      }
      (order.has_others ? order.after : order.before).push_back(level);
    } while (cursor_.Accept(","));
    if (seen.size() > (order.has_others ? 0 : 1)) decisions_.push_back(std::move(order));
    return absl::OkStatus();
  }

  // ---- Buffers ----

  Status ReadBuffer(bool is_output) {
    Decision regions = Here(Kind::kRegions);
    regions.is_output = is_output;
    MDH_ASSIGN_OR_RETURN(regions.buffer, names_.Buffer(is_output, &cursor_));
    MDH_RETURN_IF_ERROR(cursor_.Expect(":"));
    bool has_regions = false;
    do {
      const size_t at = cursor_.offset();
      if (cursor_.Accept("in")) {
        if (!names_.is_explicit()) {
          return cursor_.ErrorAt(at, "memory of ", names_.model().name,
                                 " are caches, which copy by themselves; packed "
                                 "copies are 'copy never', 'copy whole' or 'copy at "
                                 "LAYER'");
        }
        has_regions = true;
        MDH_RETURN_IF_ERROR(ReadRegion(&regions));
      } else {
        Decision place = Here(Kind::kCopy);
        place.is_output = is_output;
        place.buffer = regions.buffer;
        MDH_RETURN_IF_ERROR(ReadPlace(std::move(place), &regions, &has_regions));
      }
    } while (cursor_.Accept(";"));
    if (has_regions) decisions_.push_back(std::move(regions));
    return absl::OkStatus();
  }

  // "in REGION from LAYER.DIMENSION"; "in REGION inside".
  Status ReadRegion(Decision* regions) {
    const size_t at = cursor_.offset();
    RegionStep step = {0, RegionStep::kInside};
    MDH_ASSIGN_OR_RETURN(step.region, names_.Region(&cursor_));
    if (step.region == 0) return absl::OkStatus();
    const int before = regions->steps.empty() ? 0 : regions->steps.back().region;
    if (step.region <= before) {
      return cursor_.ErrorAt(at, "regions only get faster: the faster one stands behind");
    }
    if (!cursor_.Accept("inside")) {
      if (!cursor_.Accept("from")) return cursor_.Unexpected("'from' or 'inside'");
      const size_t level_at = cursor_.offset();
      MDH_ASSIGN_OR_RETURN(step.from, names_.Level(&cursor_));
      if (names_.model().layers[step.from.layer].memory_region.empty()) {
        return cursor_.ErrorAt(level_at, "layer ", names_.LayerName(step.from.layer),
                               " has no loops, but cores");
      }
    }
    regions->steps.push_back(step);
    return absl::OkStatus();
  }

  Status ReadPlace(Decision place, Decision* regions, bool* has_regions) {
    const size_t at = cursor_.offset();
    if (cursor_.Accept("across")) return ReadCombination(std::move(place), at);
    if (place.is_output) return cursor_.Unexpected("'in' or 'across'");
    if (names_.is_explicit() && cursor_.Accept("copy")) {
      if (!cursor_.Accept("never")) {
        return cursor_.Unexpected("'never' (copies of this model are 'in REGION from LEVEL')");
      }
      *has_regions = true;
      regions->steps.clear();
      return absl::OkStatus();
    }
    if (cursor_.Accept("copy")) {
      cursor_.Accept("at");  // also in front of several layers
      return AddWords(std::move(place), [&] { return values_.Copy(); });
    }
    const int buffer = place.buffer;
    if (cursor_.Accept("layout")) {
      place.kind = Kind::kLayout;
      if (names_.is_explicit()) place.region = names_.SharedRegion();
      if (names_.is_explicit() && !cursor_.PeekName().empty()) {
        MDH_ASSIGN_OR_RETURN(place.region, names_.Region(&cursor_));
      }
      return AddWords(std::move(place), [&] { return values_.Layout(buffer); });
    }
    if (!names_.is_explicit()) {
      if (!cursor_.Accept("strips")) return cursor_.Unexpected("'copy', 'layout' or 'strips'");
      place.kind = Kind::kStrips;
      return AddWords(std::move(place), [&]() -> Result<ChoiceValue> {
        if (cursor_.Accept("none")) return ChoiceValue{Decision::kNoDimension};
        MDH_ASSIGN_OR_RETURN(const int x, names_.BufferDimension(buffer, false, &cursor_));
        return ChoiceValue{x};
      });
    }
    return ReadCopyDetail(std::move(place));
  }

  // "across LAYER.DIMENSION in REGION".
  Status ReadCombination(Decision place, size_t at) {
    if (!place.is_output || !names_.is_explicit()) {
      return cursor_.ErrorAt(at, "'across' is for outputs where memory is explicit");
    }
    place.kind = Kind::kCombine;
    MDH_ASSIGN_OR_RETURN(const MdhLevel level, names_.Level(&cursor_));
    place.layer = level.layer;
    place.dimension = level.dimension;
    MDH_RETURN_IF_ERROR(cursor_.Expect("in"));
    return AddWords(std::move(place), [&]() -> Result<ChoiceValue> {
      MDH_ASSIGN_OR_RETURN(const int region, names_.Region(&cursor_));
      return ChoiceValue{region};
    });
  }

  Status ReadCopyDetail(Decision place) {
    for (const auto& [name, kind] : {std::pair<absl::string_view, Kind>{"padding", Kind::kPadding},
                                     {"width", Kind::kWidth},
                                     {"stages", Kind::kStages},
                                     {"mode", Kind::kMode}}) {
      if (!cursor_.Accept(name)) continue;
      place.kind = kind;
      MDH_RETURN_IF_ERROR(cursor_.Expect("="));
      if (kind == Kind::kMode) {
        return AddWords(std::move(place), [&] { return values_.Mode(); });
      }
      return AddChoice(
          std::move(place), /*has_ranges=*/true, [&] { return values_.Number(); },
          [&] { return values_.High(); });
    }
    return cursor_.Unexpected(
        "'in', 'copy never', 'layout', 'padding', 'width', 'stages' or 'mode'");
  }

  // ---- Others ----

  Status ReadOptions() {
    do {
      Decision decision = Here(Kind::kOption);
      MDH_ASSIGN_OR_RETURN(decision.option, names_.Option(&cursor_));
      MDH_RETURN_IF_ERROR(cursor_.Expect("="));
      const Choice& row = *decision.option;
      MDH_RETURN_IF_ERROR(AddChoice(
          std::move(decision), row.is_number(), [&] { return values_.OfOption(row); },
          [&] { return values_.High(); }));
    } while (cursor_.Accept(";"));
    return absl::OkStatus();
  }

  Status ReadDimensions(Kind kind) {
    Decision decision = Here(kind);
    MDH_ASSIGN_OR_RETURN(decision.dimensions, ParseGroup(names_, &cursor_));
    decisions_.push_back(std::move(decision));
    return absl::OkStatus();
  }

  const ScheduleNames& names_;
  ScheduleCursor cursor_;
  ValueParser values_;
  bool is_read_ = true;
  std::vector<Decision> decisions_;
};

}  // namespace

Result<bool> ParseModels(const std::string& model, ScheduleCursor* cursor) {
  bool is_among = false;
  do {
    const size_t at = cursor->offset();
    const absl::string_view name = cursor->Word(",:");
    if (name != "all") {
      const Status known = SystemModelNamed({name.data(), name.size()}).status();
      if (!known.ok()) return cursor->ErrorAt(at, known.message());
    }
    is_among = is_among || name == "all" || name == model;
  } while (cursor->Accept(","));
  MDH_RETURN_IF_ERROR(cursor->Expect(":"));
  return is_among;
}

Result<std::vector<int>> ParseGroup(const ScheduleNames& names, ScheduleCursor* cursor) {
  std::vector<int> group;
  MDH_RETURN_IF_ERROR(cursor->Expect("("));
  do {
    const size_t at = cursor->offset();
    MDH_ASSIGN_OR_RETURN(const int d, names.Dimension(cursor));
    if (std::ranges::find(group, d) != group.end()) {
      return cursor->ErrorAt(at, names.DimensionName(d), " is named already");
    }
    group.push_back(d);
  } while (cursor->Accept(","));
  MDH_RETURN_IF_ERROR(cursor->Expect(")"));
  return group;
}

Result<std::vector<Decision>> ParseDecisions(const Source& source, const ScheduleNames& names) {
  return ScheduleParser(source, names).Parse();
}

}  // namespace mdh
