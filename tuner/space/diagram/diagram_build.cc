// Reduction of a graph of levels to a diagram: from the last level to the first, edges without
// completions are dropped, equal nodes become one, and configurations are counted.
#include <algorithm>
#include <utility>

#include "tuner/space/diagram/diagram.h"
#include "tuner/space/diagram/unique_nodes.h"

namespace mdh {
namespace {

constexpr uint32_t kNoNode = 0xffffffff;

// Numbers of configurations of the nodes of a level, as wide as they need.
struct Counts {
  int limbs = 1;
  std::vector<uint64_t> words;
};

// Sums in one word as long as they fit. False if they do not.
bool CountSmall(const std::vector<uint32_t>& begin, const std::vector<RawEdge>& edges,
                const Counts& below, DiagramLevel& level) {
  if (below.limbs != 1) return false;
  level.limbs = 1;
  level.before.resize(edges.size());
  level.count.resize(begin.size() - 1);
  for (size_t node = 0; node + 1 < begin.size(); ++node) {
    uint64_t sum = 0;
    for (uint32_t edge = begin[node]; edge < begin[node + 1]; ++edge) {
      level.before[edge] = sum;
      const uint64_t values = uint64_t{edges[edge].last} - edges[edge].first + 1;
      uint64_t product;
      if (__builtin_mul_overflow(values, below.words[edges[edge].child], &product)) return false;
      if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    level.count[node] = sum;
  }
  return true;
}

// Adds values * count to sum, both of so many limbs; the last one never overflows.
void AddProduct(uint64_t values, const uint64_t* count, int count_limbs, uint64_t* sum, int limbs) {
  std::vector<mp_limb_t> product(limbs + 1);
  product[count_limbs] = mpn_mul_1(product.data(), count, count_limbs, values);
  mpn_add_n(sum, sum, product.data(), limbs);
}

void CountLarge(const std::vector<uint32_t>& begin, const std::vector<RawEdge>& edges,
                const Counts& below, DiagramLevel& level) {
  const int limbs = below.limbs + 1;
  level.limbs = limbs;
  level.before.assign(edges.size() * limbs, 0);
  level.count.assign((begin.size() - 1) * limbs, 0);
  for (size_t node = 0; node + 1 < begin.size(); ++node) {
    std::vector<uint64_t> sum(limbs);
    for (uint32_t edge = begin[node]; edge < begin[node + 1]; ++edge) {
      std::ranges::copy(sum, level.before.begin() + size_t{edge} * limbs);
      AddProduct(uint64_t{edges[edge].last} - edges[edge].first + 1,
                 &below.words[size_t{edges[edge].child} * below.limbs], below.limbs, sum.data(),
                 limbs);
    }
    std::ranges::copy(sum, level.count.begin() + node * limbs);
  }
}

// Drops the uppermost limb if no number needs it.
void Narrow(DiagramLevel& level) {
  const int limbs = level.limbs;
  for (size_t top = limbs - 1; top < level.count.size(); top += limbs) {
    if (level.count[top] != 0) return;
  }
  const auto narrow = [limbs](std::vector<uint64_t>& words) {
    std::vector<uint64_t> kept;
    kept.reserve(words.size() / limbs * (limbs - 1));
    for (size_t i = 0; i < words.size(); ++i) {
      if (i % limbs != static_cast<size_t>(limbs) - 1) kept.push_back(words[i]);
    }
    words = std::move(kept);
  };
  narrow(level.before);
  narrow(level.count);
  --level.limbs;
}

void Store(UniqueNodes& nodes, const Counts& below, DiagramLevel& level) {
  std::vector<RawEdge>& edges = nodes.edges();
  if (!CountSmall(nodes.begin(), edges, below, level)) {
    CountLarge(nodes.begin(), edges, below, level);
    Narrow(level);
  }
  level.first.reserve(edges.size());
  level.last.reserve(edges.size());
  level.child.reserve(edges.size());
  for (const RawEdge& edge : edges) {
    level.first.push_back(edge.first);
    level.last.push_back(edge.last);
    level.child.push_back(edge.child);
  }
  level.begin = std::vector<uint32_t>(nodes.begin());
}

}  // namespace

std::optional<Diagram> Diagram::Build(const LevelGraph& graph) {
  Diagram diagram;
  diagram.levels_.resize(graph.size());
  std::vector<uint32_t> numbers = {0};  // of nodes of the level below, kNoNode without completion
  Counts below{1, {1}};
  for (size_t number = graph.size(); number-- > 0;) {
    const GraphLevel& level = graph[number];
    UniqueNodes nodes(level.nodes());
    std::vector<uint32_t> above(level.nodes(), kNoNode);
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
        const RawEdge& raw = level.edges[edge];
        const uint32_t child = numbers[raw.child];
        if (child != kNoNode) nodes.Add({raw.first, raw.last, child});
      }
      if (nodes.is_open()) above[node] = nodes.Close();
    }
    if (nodes.edges().empty()) return std::nullopt;
    Store(nodes, below, diagram.levels_[number]);
    below = {diagram.levels_[number].limbs, diagram.levels_[number].count};
    numbers = std::move(above);
  }
  diagram.count_ = diagram.CountOf(0, 0);
  diagram.is_small_ = below.limbs == 1;
  if (diagram.is_small_) {
    diagram.count64_ = below.words[0];
    diagram.compact_ = CompactIndex::Create(diagram.levels_);
  }
  return diagram;
}

}  // namespace mdh
