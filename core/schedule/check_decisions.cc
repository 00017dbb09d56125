#include "core/schedule/check_decisions.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

// The one extent that a decision pins.
std::optional<int64_t> PinnedExtent(const Decision& decision) {
  if (decision.kind != Kind::kTile || decision.values.is_negated()) return std::nullopt;
  const auto& spans = decision.values.spans();
  if (spans.size() != 1 || !(spans[0].low == spans[0].high)) return std::nullopt;
  const int64_t value = spans[0].low[0];
  return value == Decision::kAsOutside ? std::nullopt : std::optional(value);
}

class RuleChecker {
 public:
  RuleChecker(const std::vector<Decision>& decisions, const ScheduleNames& names,
              const ScheduleCursor& cursor)
      : decisions_(decisions), names_(names), cursor_(cursor) {}

  Status Check() const {
    for (const Decision& decision : decisions_) {
      const std::optional<int64_t> extent = PinnedExtent(decision);
      if (!extent.has_value()) continue;
      MDH_RETURN_IF_ERROR(CheckInnermost(decision, *extent));
      for (const Decision& outer : decisions_) {
        if (outer.dimension != decision.dimension || outer.layer >= decision.layer) continue;
        if (const std::optional<int64_t> around = PinnedExtent(outer)) {
          MDH_RETURN_IF_ERROR(CheckInside(decision, *extent, outer, *around));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string Tile(const Decision& decision, int64_t extent) const {
    return absl::StrCat("tile ", names_.DimensionName(decision.dimension), "=", extent, " at ",
                        names_.LayerName(decision.layer));
  }

  Status CheckInnermost(const Decision& decision, int64_t extent) const {
    if (decision.layer + 1 < std::ssize(names_.model().layers) || extent == 1) {
      return absl::OkStatus();
    }
    return cursor_.ErrorAt(decision.offset, Tile(decision, extent),
                           ": parts of the innermost layer are "
                           "single points");
  }

  Status CheckInside(const Decision& decision, int64_t extent, const Decision& outer,
                     int64_t around) const {
    const std::string where =
        absl::StrCat(around, ", the tile around it at ", names_.LayerName(outer.layer), " (line ",
                     outer.line, ")");
    if (extent > around) {
      return cursor_.ErrorAt(decision.offset, Tile(decision, extent), " is larger than ", where);
    }
    const bool is_whole = around == names_.expression().dimensions()[outer.dimension].size;
    if (around % extent == 0 || is_whole) return absl::OkStatus();
    return cursor_.ErrorAt(decision.offset, Tile(decision, extent), " does not divide ", where);
  }

  const std::vector<Decision>& decisions_;
  const ScheduleNames& names_;
  const ScheduleCursor& cursor_;
};

}  // namespace

FusedDimensions FusedBy(const std::vector<Decision>& decisions) {
  FusedDimensions groups;
  for (const Decision& decision : decisions) {
    if (decision.kind != Kind::kFuse) continue;
    if (std::ranges::find(groups, decision.dimensions) == groups.end()) {
      groups.push_back(decision.dimensions);
    }
  }
  return groups;
}

Status CheckDecisions(const std::vector<Decision>& decisions, const ScheduleNames& names,
                      const ScheduleCursor& cursor) {
  return RuleChecker(decisions, names, cursor).Check();
}

}  // namespace mdh
