#include "codegen/bounds/distinct_operands.h"

#include <algorithm>
#include <utility>

#include "core/expression/injectivity.h"

namespace mdh {
namespace {

// Of deciding whether a map is injective.
constexpr int64_t kMostSteps = 20'000;

struct Range {
  int64_t first, last;  // empty: last < first
  int64_t size() const { return std::max<int64_t>(0, last - first + 1); }
};

// Rounded to minus infinity; b > 0.
int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Shrinks the range of the longest dimension of an index until the index lies in [0, extent); all
// ranges become empty if no index is.
void KeepInside(const AffineIndex& index, int64_t extent, std::vector<Range>& box) {
  int longest = -1;
  for (int d = 0; d < std::ssize(box); ++d) {
    if (index.coefficients[d] == 0) continue;
    if (longest < 0 || box[d].size() > box[longest].size()) longest = d;
  }
  if (longest < 0) {
    const bool is_inside = 0 <= index.constant && index.constant < extent;
    if (!is_inside) std::ranges::fill(box, Range{0, -1});
    return;
  }
  int64_t least = index.constant, most = index.constant;  // without the longest
  for (int d = 0; d < std::ssize(box); ++d) {
    const int64_t c = index.coefficients[d];
    if (c == 0 || d == longest) continue;
    least += c * (c > 0 ? box[d].first : box[d].last);
    most += c * (c > 0 ? box[d].last : box[d].first);
  }
  const int64_t c = std::abs(index.coefficients[longest]);
  // Of c x the values in [from, to] are inside; of -c x those in [-to, -from].
  int64_t from = -least, to = extent - 1 - most;
  if (index.coefficients[longest] < 0) from = -std::exchange(to, -from);
  Range& range = box[longest];
  range.first = std::max(range.first, -FloorDivide(-from, c));
  range.last = std::min(range.last, FloorDivide(to, c));
}

// The same for all accesses of a buffer that they may leave.
void KeepInside(const Buffer& buffer, std::vector<Range>& box) {
  if (buffer.boundary.kind == Boundary::Kind::kNone) return;
  for (const IndexFunction& access : buffer.accesses) {
    for (size_t x = 0; x < access.indices.size(); ++x) {
      KeepInside(access.indices[x], buffer.extents[x], box);
    }
  }
}

std::vector<int64_t> SizesInside(const Expression& expression) {
  std::vector<Range> box;
  for (const Dimension& dimension : expression.dimensions()) {
    box.push_back({0, dimension.size - 1});
  }
  for (const Buffer& buffer : expression.inputs()) KeepInside(buffer, box);
  if (expression.store() != nullptr) {
    for (const Buffer& buffer : expression.store()->inputs) KeepInside(buffer, box);
  }
  std::vector<int64_t> sizes;
  for (const Range& range : box) sizes.push_back(range.size());
  return sizes;
}

// Dimensions of a row among some.
DimensionSet DimensionsOf(const std::vector<int64_t>& row, DimensionSet among) {
  DimensionSet uses = 0;
  for (size_t d = 0; d < row.size(); ++d) {
    if (row[d] != 0) uses |= DimensionSet{1} << d;
  }
  return uses & among;
}

// Those that one row after the other tells: of all its dimensions, all but one are known.
DimensionSet Told(const Coefficients& rows, DimensionSet within) {
  DimensionSet told = 0;
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const std::vector<int64_t>& row : rows) {
      const DimensionSet open = DimensionsOf(row, within & ~told);
      if (open == 0 || (open & (open - 1)) != 0) continue;
      told |= open;
      is_new = true;
    }
  }
  return told;
}

}  // namespace

DistinctOperands::DistinctOperands(const Expression& expression)
    : expression_(expression), sizes_(SizesInside(expression)) {}

Coefficients DistinctOperands::OfAccess(const Buffer& buffer, int access) {
  Coefficients rows;
  if (!buffer.is_dense()) return {buffer.Linearized(access).coefficients};
  for (const AffineIndex& index : buffer.accesses[access].indices) {
    rows.push_back(index.coefficients);
  }
  return rows;
}

Coefficients DistinctOperands::OfIndex(int dimension) const {
  Coefficients rows(1, std::vector<int64_t>(sizes_.size(), 0));
  rows[0][dimension] = 1;
  return rows;
}

Coefficients DistinctOperands::OfParameters(const std::vector<bool>& parameters) const {
  Coefficients rows;
  for (int p = 0; p < std::ssize(parameters); ++p) {
    if (!parameters[p]) continue;
    Coefficients more;
    if (expression_.is_index(p)) {
      more = OfIndex(expression_.index_dimension(p));
    } else {
      const Expression::AccessRef ref = expression_.input_access(p);
      more = OfAccess(expression_.inputs()[ref.buffer], ref.access);
    }
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

bool DistinctOperands::ReadsInput(const std::vector<bool>& parameters) const {
  for (int p = 0; p < std::ssize(parameters); ++p) {
    if (parameters[p] && !expression_.is_index(p)) return true;
  }
  return false;
}

double DistinctOperands::Points(DimensionSet dimensions) const {
  // A box without points has none along no dimension either.
  double points = std::ranges::count(sizes_, 0) > 0 ? 0 : 1;
  for (const int d : Members(dimensions)) points *= static_cast<double>(sizes_[d]);
  return points;
}

double DistinctOperands::Count(const Coefficients& rows, DimensionSet within) const {
  const DimensionSet told = Told(rows, within);
  DimensionSet open = 0;
  for (const std::vector<int64_t>& row : rows) open |= DimensionsOf(row, within & ~told);
  double count = Points(told);
  if (open == 0 || count == 0) return count;
  IndexFunction map;
  for (const std::vector<int64_t>& row : rows) map.indices.push_back({row, 0});
  std::vector<int> longest_first = Members(open);
  std::ranges::sort(longest_first, [&](int a, int b) { return sizes_[a] > sizes_[b]; });
  std::vector<int64_t> sizes(sizes_.size(), 1);
  for (const int d : longest_first) {
    sizes[d] = sizes_[d];
    int64_t steps = kMostSteps;
    const auto collision = FindSelfCollision(map, sizes, &steps);
    if (!collision.ok() || collision->has_value()) sizes[d] = 1;
    count *= static_cast<double>(sizes[d]);
  }
  return count;
}

}  // namespace mdh
