#include "codegen/backends/row_uses.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

RowUses::RowUses(const Pipeline& pipeline, const JointGroup& group, const RowShape& shape)
    : pipeline_(pipeline),
      group_(group),
      shape_(shape),
      views_(ViewsOf(pipeline, group.first, group.last)) {
  std::map<std::string, int> uses;
  std::map<std::string, RowOf> rows;
  for (int s = group.first; s <= group.last; ++s) {
    for (RowOf& row : RowsRead(s)) {
      ++uses[row.key];
      rows.emplace(row.key, std::move(row));
    }
  }
  for (const auto& [key, row] : rows) {
    const bool is_stored = row.is_within && IsDriver(pipeline.writer(row.buffer));
    if (uses.at(key) + (is_stored ? 1 : 0) > 1) kept_.emplace(key, row);
  }
}

bool RowUses::IsOutside(int buffer) const {
  if (pipeline_.buffers()[buffer].role == PipelineBuffer::Role::kOutput) return true;
  const std::vector<int> readers = pipeline_.Readers(buffer);
  return !readers.empty() && readers.back() > group_.last;
}

bool RowUses::IsDriver(int s) const {
  const int d = RowDimension(s);
  const PipelineStep& step = pipeline_.steps()[s];
  return d < 0 || step.expression.is_reduction(d) ||
         std::ranges::any_of(step.outputs, [&](int buffer) { return IsOutside(buffer); });
}

RowAddress RowUses::Address(int s, const Buffer& view, int access) const {
  const AffineIndex linear = view.Linearized(access);
  RowAddress address{.common = {}, .constant = linear.constant};
  for (const int d : group_.dimensions[s - group_.first]) {
    address.common.push_back(linear.coefficients[d]);
  }
  if (const int d = RowDimension(s); d >= 0) address.along = linear.coefficients[d];
  return address;
}

RowOf RowUses::Within(int buffer) const {
  const ScalarType stored = pipeline_.buffers()[buffer].type.scalar();
  return {.key = absl::StrCat(buffer),
          .buffer = buffer,
          .is_within = true,
          .type = RegisterType(stored),
          .address = {}};
}

RowOf RowUses::RowRead(int s, int buffer, const Buffer& view, int access) const {
  if (IsWithinGroup(buffer)) return Within(buffer);
  RowAddress address = Address(s, view, access);
  std::string key = absl::StrCat(buffer, " ", absl::StrJoin(address.common, ","), " ",
                                 address.along, " ", address.constant);
  return {.key = std::move(key),
          .buffer = buffer,
          .is_within = false,
          .type = view.type.scalar(),
          .address = std::move(address)};
}

std::optional<RowOf> RowUses::RowWritten(int buffer) const {
  if (!IsWithinGroup(buffer) || !shape_.is_vector[buffer]) return std::nullopt;
  return Within(buffer);
}

std::vector<RowOf> RowUses::RowsRead(int s) const {
  std::vector<RowOf> rows;
  for (const StepView& use : views_) {
    if (use.step != s || use.writes) continue;
    for (int a = 0; a < std::ssize(use.view->accesses); ++a) {
      RowOf row = RowRead(s, use.buffer, *use.view, a);
      const bool has_points = row.is_within ? shape_.is_vector[use.buffer] : row.address.along != 0;
      const bool is_known =
          std::ranges::any_of(rows, [&](const RowOf& other) { return other.key == row.key; });
      if (has_points && !is_known) rows.push_back(std::move(row));
    }
  }
  return rows;
}

int64_t RowUses::KeptBytesPerPoint() const {
  int64_t bytes = 0;
  for (const auto& [key, row] : kept_) bytes += SizeBytes(row.type);
  return bytes;
}

}  // namespace mdh
