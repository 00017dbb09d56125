#include "tuner/space/diagram/compact_index.h"

#include <algorithm>

#include "tuner/space/diagram/diagram.h"

namespace mdh {
namespace {

constexpr size_t kMaxEdges = 1 << 16;
constexpr uint32_t kMaxPosition = 0xffff;
constexpr uint32_t kHeader = 2;  // words before a node's edges

bool IsFixed(const DiagramLevel& level) {
  return level.child.size() == 1 && level.first[0] == level.last[0];
}

bool IsSmall(const std::vector<DiagramLevel>& levels) {
  size_t edges = 0;
  for (const DiagramLevel& level : levels) {
    if (level.limbs != 1) return false;
    edges += level.child.size();
    for (const uint32_t last : level.last) {
      if (last > kMaxPosition) return false;
    }
  }
  return !levels.empty() && edges <= kMaxEdges && levels[0].count[0] <= UINT32_MAX;
}

// The last of `size` increasing values that is not above `wanted`; the first if all are.
uint32_t LastNotAbove(const uint32_t* values, uint32_t size, uint32_t wanted) {
  uint32_t at = 0;
  while (size > 1) {
    const uint32_t half = size / 2;
    at = values[at + half] <= wanted ? at + half : at;
    size -= half;
  }
  return at;
}

}  // namespace

std::optional<CompactIndex> CompactIndex::Create(const std::vector<DiagramLevel>& levels) {
  if (!IsSmall(levels)) return std::nullopt;
  CompactIndex index;
  index.words_ = {0, 1};              // the end: no edges, one configuration
  std::vector<uint32_t> below = {0};  // places of the nodes of the level below
  index.fixed_.resize(levels.size());
  for (size_t number = levels.size(); number-- > 0;) {
    const DiagramLevel& level = levels[number];
    if (IsFixed(level)) {
      index.fixed_[number] = level.first[0];
      index.fixed_levels_.push_back(static_cast<int>(number));
      below = {below[level.child[0]]};
      continue;
    }
    index.levels_.push_back(static_cast<int>(number));
    std::vector<uint32_t> places;
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      places.push_back(static_cast<uint32_t>(index.words_.size()));
      index.words_.push_back(level.begin[node + 1] - level.begin[node]);
      index.words_.push_back(static_cast<uint32_t>(level.count[node]));
      const auto add = [&](auto word) {
        for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
          index.words_.push_back(word(edge));
        }
      };
      add([&](uint32_t edge) { return static_cast<uint32_t>(level.before[edge]); });
      add([&](uint32_t edge) { return level.first[edge] << 16 | level.last[edge]; });
      add([&](uint32_t edge) { return below[level.child[edge]]; });
    }
    below = std::move(places);
  }
  std::ranges::reverse(index.levels_);
  index.root_ = below[0];
  index.words_.shrink_to_fit();
  return index;
}

void CompactIndex::At(uint64_t index, absl::Span<uint32_t> positions) const {
  std::ranges::copy(fixed_, positions.begin());
  auto rest = static_cast<uint32_t>(index);
  const uint32_t* node = &words_[root_];
  for (const int level : levels_) {
    const uint32_t edges = node[0];
    const uint32_t* before = node + kHeader;
    const uint32_t edge = LastNotAbove(before, edges, rest);
    rest -= before[edge];
    const uint32_t range = before[edges + edge];
    node = &words_[before[2 * edges + edge]];
    uint32_t position = range >> 16;
    if (position != (range & kMaxPosition)) {
      const uint32_t quotient = rest / node[1];
      rest -= quotient * node[1];
      position += quotient;
    }
    positions[level] = position;
  }
}

std::optional<uint64_t> CompactIndex::IndexOf(absl::Span<const uint32_t> positions) const {
  for (const int level : fixed_levels_) {
    if (positions[level] != fixed_[level]) return std::nullopt;
  }
  uint32_t index = 0;
  const uint32_t* node = &words_[root_];
  for (const int level : levels_) {
    const uint32_t edges = node[0];
    const uint32_t* before = node + kHeader;
    const uint32_t* ranges = before + edges;
    if (positions[level] > kMaxPosition) return std::nullopt;
    const uint32_t edge = LastNotAbove(ranges, edges, positions[level] << 16 | kMaxPosition);
    const uint32_t place = positions[level] - (ranges[edge] >> 16);
    if (place > (ranges[edge] & kMaxPosition) - (ranges[edge] >> 16)) return std::nullopt;
    node = &words_[ranges[edges + edge]];
    index += before[edge];
    if (place != 0) index += place * node[1];
  }
  return index;
}

}  // namespace mdh
