// What the steps of a row group (core/pipeline/plan/row_groups.h) read and write along a row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/row_groups.h"

namespace mdh {

// Element offset in a buffer of a point: constant + sum of common[k] * index of common dimension k
// + along * place in the row.
struct RowAddress {
  std::vector<int64_t> common;
  int64_t along = 0;
  int64_t constant = 0;
};

// An element per point of the row, or, with `along` 0, one per row.
struct RowOf {
  std::string key;  // equal for the same elements
  int buffer = -1;
  bool is_within = false;  // written by a step of the group: by its place alone
  ScalarType type;         // of threads' copies: that of memory, or that it is computed in
  RowAddress address;
};

class RowUses {
 public:
  // Keeps references to all of them.
  RowUses(const Pipeline& pipeline, const JointGroup& group, const RowShape& shape);

  int RowDimension(int s) const { return shape_.dimensions[s - group_.first]; }
  // Whether somebody outside of the group sees the buffer.
  bool IsOutside(int buffer) const;
  // Whether a step of the group writes it and another one reads it.
  bool IsWithinGroup(int buffer) const { return IsWithin(views_, buffer); }
  // Whether the step is computed by itself: it reduces, has no row, or is seen outside. Others are
  // computed where they are read.
  bool IsDriver(int s) const;

  RowAddress Address(int s, const Buffer& view, int access) const;
  RowOf RowRead(int s, int buffer, const Buffer& view, int access) const;
  // nullopt: no step of the group reads it, or it has one element per row.
  std::optional<RowOf> RowWritten(int buffer) const;
  // All with elements along the row that the step reads, each once.
  std::vector<RowOf> RowsRead(int s) const;

  // Rows that are used more than once, by their keys.
  const std::map<std::string, RowOf>& kept_rows() const { return kept_; }
  int64_t KeptBytesPerPoint() const;

 private:
  RowOf Within(int buffer) const;

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const RowShape& shape_;
  const std::vector<StepView> views_;
  std::map<std::string, RowOf> kept_;
};

}  // namespace mdh
