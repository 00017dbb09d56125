// The numbers of groups of steps that run together, as schedules name them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/pipeline/plan/joint_group.h"

namespace mdh {

struct GroupNumber {
  enum class Of : uint8_t { kStreamed, kRows, kPlanes };

  std::string_view name;
  Of of;  // which groups have it
  int64_t (*get)(const JointGroup& group);
  void (*set)(JointGroup& group, int64_t value);
  bool may_be_none = false;  // 0, as 'none'
};

inline constexpr GroupNumber kGroupNumbers[] = {
    {"chunk", GroupNumber::Of::kStreamed, [](const JointGroup& g) { return g.chunk; },
     [](JointGroup& g, int64_t value) { g.chunk = value; }},
    {"splits", GroupNumber::Of::kStreamed, [](const JointGroup& g) { return g.splits; },
     [](JointGroup& g, int64_t value) { g.splits = value; }},
    {"threads", GroupNumber::Of::kRows, [](const JointGroup& g) { return g.rows->threads; },
     [](JointGroup& g, int64_t value) { g.rows->threads = value; }},
    {"rows", GroupNumber::Of::kRows, [](const JointGroup& g) { return g.rows ? g.rows->rows : 0; },
     [](JointGroup& g, int64_t value) { g.rows->rows = value; }, /*may_be_none=*/true},
    {"vector", GroupNumber::Of::kRows, [](const JointGroup& g) { return g.rows->vector; },
     [](JointGroup& g, int64_t value) { g.rows->vector = value; }},
    {"keep", GroupNumber::Of::kRows,
     [](const JointGroup& g) { return static_cast<int64_t>(g.rows->keep); },
     [](JointGroup& g, int64_t value) { g.rows->keep = static_cast<RowLayout::Keep>(value); }},
    {"column", GroupNumber::Of::kPlanes,
     [](const JointGroup& g) { return g.planes ? g.planes->column : 0; },
     [](JointGroup& g, int64_t value) { g.planes->column = value; }, /*may_be_none=*/true},
    {"resident", GroupNumber::Of::kPlanes, [](const JointGroup& g) { return g.planes->resident; },
     [](JointGroup& g, int64_t value) { g.planes->resident = value; }, /*may_be_none=*/true}};

inline constexpr int kGroupRows = 3;  // the row of "rows": 0, "none", of parts that are none
inline constexpr int kGroupKeep = 5;  // that of "keep"
// That of "column": 0, "none", of parts that are not computed plane after plane.
inline constexpr int kGroupColumn = 6;

// Names of RowLayout::Keep, by number.
inline constexpr std::string_view kKeepNames[] = {"registers", "shared", "nothing"};

// Whether the group has that number.
inline bool HasNumber(const JointGroup& group, int row) {
  if (row == kGroupRows) return true;
  if (row == kGroupColumn) return !group.rows && !group.is_streamed();
  switch (kGroupNumbers[row].of) {
    case GroupNumber::Of::kStreamed:
      return group.is_streamed();
    case GroupNumber::Of::kRows:
      return group.rows.has_value();
    case GroupNumber::Of::kPlanes:
      return group.planes.has_value();
  }
  return false;
}

}  // namespace mdh
