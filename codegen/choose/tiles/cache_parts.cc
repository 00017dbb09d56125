#include "codegen/choose/tiles/cache_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kBytesOfPage = 4096;
constexpr int64_t kNearBytes = kBytesOfPage / 2;
constexpr int64_t kFarBytes = 2 * kBytesOfPage;
constexpr int64_t kFollowedRows = 16;
constexpr int64_t kLongRow = 1024;  // results: shorter ones are worth less than points in common
constexpr int64_t kRowsAhead = 32;  // a last cache answers before a tile has multiplied them
constexpr double kPartsOfRows = 8;  // that the second-level cache keeps
constexpr int64_t kNearPages = 64;  // that first-level translation buffers have entries for

}  // namespace

bool CacheParts::ReadAgain() const {
  return std::ranges::any_of(e_.inputs(), [&](const Buffer& buffer) {
    return ReuseOf(e_, buffer) > 1.5 && buffer.size_bytes() > device_.l1_bytes / 4;
  });
}

double CacheParts::BytesOf(const Buffer& buffer, const std::vector<int64_t>& part,
                           int line_bytes) const {
  double elements = 1;
  const double line = std::max(1.0, static_cast<double>(line_bytes) / buffer.type.size_bytes());
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    double extent = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      extent += std::abs(static_cast<double>(buffer.accesses[0].indices[x].coefficients[d])) *
                static_cast<double>(part[d] - 1);
    }
    extent = std::min(extent, static_cast<double>(buffer.extents[x]));
    if (x + 1 == buffer.extents.size()) extent = std::ceil(extent / line) * line;
    elements *= extent;
  }
  return elements * buffer.type.size_bytes();
}

double CacheParts::FootprintBytes(const std::vector<int64_t>& part, int line_bytes) const {
  double bytes = 0;
  for (const Buffer& buffer : e_.inputs()) bytes += BytesOf(buffer, part, line_bytes);
  for (const Buffer& buffer : e_.outputs()) bytes += BytesOf(buffer, part, line_bytes);
  return bytes;
}

// Whether inputs with neighbours along dimension v have several rows a page, whatever reduction one
// walks along.
bool CacheParts::HasNearRows(int v) const {
  for (const Buffer& buffer : e_.inputs()) {
    if (v < 0 || StrideAlong(buffer, 0, v) == 0) continue;
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t stride = e_.is_reduction(d) ? std::abs(StrideAlong(buffer, 0, d)) : 0;
      if (size(d) > 1 && stride * buffer.type.size_bytes() > kNearBytes) return false;
    }
  }
  return v >= 0;
}

double CacheParts::ReductionBytes(const TileChoice& choice) const {
  const auto l2 = static_cast<double>(device_.l2_bytes);
  const int v = choice.vector_dimension;
  if (v >= 0 && e_.is_reduction(v)) return choice.has_short_parts ? FirstCacheBytes() : 0.5 * l2;
  const bool has_strips = std::ranges::find(choice.packed, true) != choice.packed.end();
  const bool comes_ahead = has_strips || HasNearRows(v);
  return comes_ahead ? std::max(FirstCacheBytes(), l2 / 8) : FirstCacheBytes();
}

void CacheParts::Grow(std::vector<int64_t>& part, const std::vector<int>& dimensions,
                      double bytes) const {
  if (dimensions.empty()) return;
  // Reductions walk along rows; what a block of results reads of a line should be all of it.
  const int line_bytes = e_.is_reduction(dimensions.front()) ? 1 : device_.cache_line_bytes;
  while (true) {
    std::vector<int64_t> best;
    double least = 0;
    for (const int d : dimensions) {
      if (part[d] == size(d)) continue;
      std::vector<int64_t> larger = part;
      // Not twice the extent itself, which may be too large.
      larger[d] = part[d] >= size(d) - part[d] ? size(d) : part[d] * 2;
      const double footprint = FootprintBytes(larger, line_bytes);
      const double growth =
          footprint * static_cast<double>(part[d]) / static_cast<double>(larger[d]);
      if (footprint > bytes || (!best.empty() && growth >= least)) continue;
      least = growth;
      best = std::move(larger);
    }
    if (best.empty()) return;
    part = std::move(best);
  }
}

void CacheParts::FollowRows(std::vector<int64_t>& part, const TileChoice& choice,
                            const std::vector<int>& reduced) const {
  const int64_t most = RowsFollowed(choice);
  if (most < kMostRows) Balance(part, choice.tile, reduced, most);
}

double CacheParts::PartsOfFollowedRows(const TileChoice& choice) const {
  const int64_t most = RowsFollowed(choice);
  double rows = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) rows *= static_cast<double>(size(d));
  }
  return most < kMostRows ? std::max(1.0, rows / static_cast<double>(most)) : 1;
}

int64_t CacheParts::RowsFollowed(const TileChoice& choice) const {
  const int v = choice.vector_dimension;
  int64_t most = kMostRows;
  for (int b = 0; v >= 0 && b < std::ssize(e_.inputs()); ++b) {
    const Buffer& buffer = e_.inputs()[b];
    if (choice.packed[b] || buffer.size_bytes() <= device_.l2_bytes) continue;
    bool is_across = false;
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t bytes = std::abs(StrideAlong(buffer, 0, d)) * buffer.type.size_bytes();
      is_across |= e_.is_reduction(d) && size(d) > 1 && bytes >= kFarBytes && !IsWindow(d);
    }
    // Results are taken up again for every part.
    const auto uses = static_cast<int64_t>(ReuseOf(e_, buffer));
    if (is_across && !e_.is_reduction(v) && StrideAlong(buffer, 0, v) == 1)
      most = std::min(most, std::max(kFollowedRows, 2 * uses));
  }
  return most;
}

// Whether dimension d moves what some input reads where a dimension of the results does, too.
bool CacheParts::IsWindow(int d) const {
  return std::ranges::any_of(e_.inputs(), [&](const Buffer& buffer) {
    return std::ranges::any_of(buffer.accesses[0].indices, [&](const AffineIndex& index) {
      bool is_moved = false;
      for (int k = 0; k < e_.rank(); ++k) {
        is_moved |= !e_.is_reduction(k) && size(k) > 1 && index.coefficients[k] != 0;
      }
      return is_moved && index.coefficients[d] != 0;
    });
  });
}

void CacheParts::KeepRowsOfWindows(std::vector<int64_t>& part, int v) const {
  if (v < 0 || e_.is_reduction(v)) return;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && size(d) > 1 && !IsWindow(d)) return;
  }
  std::vector<int64_t> longer = part;
  longer[v] = size(v);
  const double bytes = FootprintBytes(longer, device_.cache_line_bytes);
  if (kPartsOfRows * bytes <= static_cast<double>(device_.l2_bytes)) part = std::move(longer);
}

double CacheParts::LastCacheBytes() const {
  return std::max(static_cast<double>(device_.l2_bytes),
                  0.5 * static_cast<double>(device_.l3_bytes) / std::max(1, device_.cores));
}

int64_t CacheParts::NearRows(const TileChoice& choice) const {
  int64_t rows = kMostRows;
  const int v = choice.vector_dimension;
  for (int b = 0; b < std::ssize(e_.inputs()); ++b) {
    const Buffer& buffer = e_.inputs()[b];
    const int64_t bytes = buffer.type.size_bytes();
    const bool is_narrow = choice.tile[v] * bytes <= device_.cache_line_bytes;
    if (!choice.packed[b] || !is_narrow || StrideAlong(buffer, 0, v) != 1) continue;
    const int64_t apart = std::abs(StrideAlong(buffer, 0, choice.dot - 1));
    const int64_t of_page = kBytesOfPage / std::max<int64_t>(1, apart * bytes);
    rows = std::min(rows, kNearPages * std::max<int64_t>(1, of_page));
  }
  return rows;
}

int64_t CacheParts::IterationsAhead(const TileChoice& choice) const {
  const int v = choice.vector_dimension;
  int innermost = -1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && choice.tile[d] < size(d)) innermost = d;
  }
  int64_t rows = 0;
  for (int b = 0; b < std::ssize(e_.inputs()) && v >= 0 && innermost >= 0; ++b) {
    const Buffer& buffer = e_.inputs()[b];
    if (choice.packed[b] || buffer.size_bytes() <= device_.l2_bytes) continue;
    if (StrideAlong(buffer, 0, v) != 0 || IsWindow(innermost)) return 0;
    const int64_t apart = std::abs(StrideAlong(buffer, 0, innermost)) * buffer.type.size_bytes();
    if (apart < kNearBytes) continue;
    // Of lines so far apart the first-level cache keeps as many as it has in these sets.
    const int64_t sets =
        kBytesOfPage / std::max<int64_t>(device_.cache_line_bytes, std::gcd(apart, kBytesOfPage));
    const int64_t kept = device_.l1_bytes / kBytesOfPage * sets;
    rows = std::max<int64_t>(rows, std::min(kRowsAhead, kept / 2));
  }
  return rows == 0 ? 0 : std::max<int64_t>(1, rows / choice.tile[innermost]);
}

std::vector<int64_t> CacheParts::OfOutputs(const std::vector<int64_t>& register_tile, int v) const {
  std::vector<int64_t> part = register_tile;
  int64_t bytes = 0;  // of the results of a column
  for (const Buffer& buffer : e_.outputs()) bytes += buffer.type.size_bytes();
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) part[d] = size(d);
    if (!e_.is_reduction(d) && d != v) bytes *= part[d];
  }
  const int64_t most = device_.l2_bytes / 2;
  for (int d = e_.rank() - 1; d >= 0; --d) {
    if (e_.is_reduction(d) || d == v) continue;
    const bool reads_again = std::ranges::all_of(e_.inputs(), [&](const Buffer& buffer) {
      return buffer.size_bytes() <= device_.l2_bytes || StrideAlong(buffer, 0, v) == 0 ||
             StrideAlong(buffer, 0, d) == 0;
    });
    const int64_t whole = bytes / part[d] * size(d);
    if (!reads_again || whole * std::min(size(v), kLongRow) > most) continue;
    part[d] = size(d);
    bytes = whole;
  }
  const int64_t fitting = std::max<int64_t>(1, most / bytes / register_tile[v]) * register_tile[v];
  part[v] = std::min(size(v), fitting);
  return part;
}

void CacheParts::Balance(std::vector<int64_t>& part, const std::vector<int64_t>& register_tile,
                         const std::vector<int>& reduced, int64_t most) const {
  for (const int d : reduced) {
    int64_t rows = 1;
    for (const int each : reduced) rows *= part[each];
    if (rows <= most) break;
    const int64_t unit = register_tile[d];
    part[d] = std::max(unit, part[d] / CeilDivide(rows, most) / unit * unit);
  }
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t parts = CeilDivide(size(d), part[d]);
    part[d] = std::min(size(d), RoundUp(CeilDivide(size(d), parts), register_tile[d]));
  }
}

}  // namespace mdh
