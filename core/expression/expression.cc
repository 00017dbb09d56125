// What can be asked of an expression and its buffers. The checks are in expression_checks.cc.
#include "core/expression/expression.h"

#include <algorithm>
#include <utility>

#include "core/base/round.h"
#include "core/expression/progression.h"
#include "core/expression/touched_elements.h"

namespace mdh {
namespace {

std::vector<Expression::AccessRef> AllAccesses(const std::vector<Buffer>& buffers) {
  std::vector<Expression::AccessRef> accesses;
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    for (int a = 0; a < static_cast<int>(buffers[b].accesses.size()); ++a) {
      for (int f = 0; f < static_cast<int>(buffers[b].type.fields().size()); ++f) {
        accesses.push_back({b, a, f});
      }
    }
  }
  return accesses;
}

}  // namespace

std::vector<const std::vector<Buffer>*> BuffersOf(const ExpressionSpec& spec) {
  std::vector<const std::vector<Buffer>*> buffers = {&spec.inputs, &spec.outputs};
  if (spec.store.has_value()) buffers.push_back(&spec.store->inputs);
  return buffers;
}

std::vector<std::vector<Buffer>*> BuffersOf(ExpressionSpec* spec) {
  std::vector<std::vector<Buffer>*> buffers = {&spec->inputs, &spec->outputs};
  if (spec->store.has_value()) buffers.push_back(&spec->store->inputs);
  return buffers;
}

Expression::Expression(ExpressionSpec spec)
    : spec_(std::move(spec)),
      input_accesses_(AllAccesses(spec_.inputs)),
      output_accesses_(AllAccesses(spec_.outputs)) {
  if (!spec_.store.has_value()) return;
  const std::vector<Buffer>& read = spec_.store->inputs;
  store_accesses_ = AllAccesses(read);
  if (!read.empty()) passed_inputs_ = spec_.inputs;
  for (const Buffer& buffer : read) {
    const auto known = std::ranges::find(passed_inputs_, buffer.name, &Buffer::name);
    passed_store_inputs_.push_back(static_cast<int>(known - passed_inputs_.begin()));
    if (known == passed_inputs_.end()) passed_inputs_.push_back(buffer);
  }
}

int64_t Buffer::elements() const {
  int64_t last = 0;
  const std::vector<int64_t> stride = strides();
  if (std::ranges::count(extents, 0) > 0) return 0;
  for (size_t x = 0; x < extents.size(); ++x) last += (extents[x] - 1) * stride[x];
  return last + 1;
}

std::vector<int64_t> Buffer::strides() const {
  if (!given_strides.empty()) return given_strides;
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t x = extents.size(); x-- > 1;) strides[x - 1] = strides[x] * extents[x];
  return strides;
}

AffineIndex Buffer::Linearized(int access) const {
  const std::vector<AffineIndex>& indices = accesses[access].indices;
  const std::vector<int64_t> stride = strides();
  AffineIndex offset;
  offset.coefficients.assign(mda_rank, 0);
  for (size_t x = 0; x < indices.size(); ++x) {
    for (size_t d = 0; d < indices[x].coefficients.size(); ++d) {
      offset.coefficients[d] += stride[x] * indices[x].coefficients[d];
    }
    offset.constant += stride[x] * indices[x].constant;
  }
  return offset;
}

AffineIndex Buffer::Linearized(int access, int field) const {
  // Records are padded to a multiple of every field's size, and fields are aligned to theirs.
  AffineIndex offset = Linearized(access);
  const ElementType::Field& at = type.fields()[field];
  const int64_t scale = type.size_bytes() / SizeBytes(at.type);
  for (int64_t& coefficient : offset.coefficients) coefficient *= scale;
  offset.constant = offset.constant * scale + at.offset_bytes / SizeBytes(at.type);
  return offset;
}

bool Buffer::DependsOn(int d) const {
  for (const IndexFunction& access : accesses) {
    for (const AffineIndex& index : access.indices) {
      if (index.coefficients[d] != 0) return true;
    }
  }
  return false;
}

int64_t Buffer::ElementAt(int access, absl::Span<const int64_t> mda_index) const {
  const std::vector<int64_t> stride = strides();
  int64_t offset = 0;
  for (size_t x = 0; x < extents.size(); ++x) {
    int64_t index = accesses[access].indices[x].Evaluate(mda_index);
    if (boundary.kind == Boundary::Kind::kConstant && (index < 0 || index >= extents[x])) return -1;
    if (boundary.kind == Boundary::Kind::kClamp) {
      index = std::clamp<int64_t>(index, 0, extents[x] - 1);
    }
    offset += index * stride[x];
  }
  return offset;
}

bool Expression::has_prefix_sum() const {
  for (int d = 0; d < rank(); ++d) {
    if (is_prefix_sum(d)) return true;
  }
  return false;
}

bool Expression::has_reduction() const {
  for (int d = 0; d < rank(); ++d) {
    if (is_reduction(d)) return true;
  }
  return false;
}

const CombineOperator& Expression::reduction() const {
  int d = 0;
  while (spec_.combine_operators[d].is_concat()) ++d;
  return spec_.combine_operators[d];
}

int Expression::input_parameters() const { return static_cast<int>(input_accesses_.size()); }

Expression::AccessRef Expression::input_access(int parameter) const {
  return input_accesses_[parameter];
}

Expression::AccessRef Expression::output_access(int n) const { return output_accesses_[n]; }

Expression::StoreParameter Expression::store_parameter(int parameter) const {
  const auto results = std::ssize(spec_.function.results());
  if (parameter < results) return StoreParameter::kResult;
  return parameter < results + std::ssize(store_accesses_) ? StoreParameter::kAccess
                                                           : StoreParameter::kIndex;
}

Expression::AccessRef Expression::store_access(int parameter) const {
  return store_accesses_[parameter - spec_.function.results().size()];
}

int Expression::store_index_dimension(int parameter) const {
  return spec_.store
      ->index_dimensions[parameter - spec_.function.results().size() - store_accesses_.size()];
}

ScalarType Expression::stored_type(int n) const {
  const AccessRef ref = output_access(n);
  return spec_.outputs[ref.buffer].type.fields()[ref.field].type;
}

bool Expression::finishes_results() const {
  if (spec_.store.has_value()) return true;
  for (int r = 0; r < static_cast<int>(function().results().size()); ++r) {
    if (function().results()[r].type != stored_type(r)) return true;
  }
  return false;
}

int64_t Expression::points() const {
  int64_t product = 1;
  for (const Dimension& dimension : spec_.dimensions) product *= dimension.size;
  return product;
}

int64_t Expression::result_points() const {
  int64_t product = 1;
  for (int d = 0; d < rank(); ++d) {
    if (!is_reduction(d)) product *= spec_.dimensions[d].size;
  }
  return product;
}

int64_t Expression::FloatingPointOperations() const {
  int64_t per_point = spec_.function.FloatingPointOperations();
  if (has_reduction() || has_prefix_sum()) {
    per_point += reduction().function().FloatingPointOperations();
  }
  const int64_t operations = MultiplyOrLargest(points(), per_point);
  if (!spec_.store.has_value()) return operations;
  return AddOrLargest(
      operations,
      MultiplyOrLargest(result_points(), spec_.store->function.FloatingPointOperations()));
}

int64_t Expression::CompulsoryBytes() const { return TouchedBytes(*this).upper; }

}  // namespace mdh
