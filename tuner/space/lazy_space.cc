#include "tuner/space/lazy_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tuner/space/random_number.h"

namespace mdh {
namespace {

// Prefixes that are tried until a search is given up; for the first configuration, in one order.
constexpr int64_t kMaxTries = 200000;
constexpr int64_t kMaxTriesOfOrder = 25000;

// Nodes with more edges cannot be expanded.
constexpr size_t kMaxNodeEdges = size_t{1} << 24;

uint64_t SizeOf(const RawEdge& edge) { return uint64_t{edge.last} - edge.first + 1; }

uint64_t SizeOf(const std::vector<RawEdge>& edges) {
  uint64_t size = 0;
  for (const RawEdge& edge : edges) size += SizeOf(edge);
  return size;
}

// The edge with the n-th position of all; n becomes its place inside of the edge.
size_t EdgeWith(const std::vector<RawEdge>& edges, uint64_t& n) {
  size_t edge = 0;
  while (n >= SizeOf(edges[edge])) n -= SizeOf(edges[edge++]);
  return edge;
}

}  // namespace

struct LazySpace::Node {
  std::vector<RawEdge> edges;
  std::vector<State> children;
  bool is_dead = false;

  int64_t bytes() const {
    size_t bytes = sizeof(Node) + edges.capacity() * sizeof(RawEdge);
    for (const State& child : children) bytes += sizeof(State) + child.size() * sizeof(uint64_t);
    return static_cast<int64_t>(bytes);
  }
};

// Depth first, with a preference for edges, until a configuration is complete.
class LazySpace::Descent {
 public:
  // Which position to take first: (level, edges) -> a position of one of the edges.
  using Preference = std::function<uint32_t(int, const std::vector<RawEdge>&)>;

  Descent(const LazySpace& space, const Preference& preference, int64_t tries)
      : space_(space),
        preference_(preference),
        tries_(tries),
        positions_(space.plan_.level_count()) {}

  bool Run() { return Visit({0}); }
  const std::vector<uint32_t>& positions() const { return positions_; }
  bool is_given_up() const { return tries_ <= 0; }

 private:
  bool Visit(const State& state) {
    const auto level = static_cast<int>(state[0]);
    if (level == space_.plan_.level_count()) return true;
    if (--tries_ <= 0) return false;
    const NodePointer node = space_.NodeOf(state);
    if (node->is_dead) return false;
    if (!node->edges.empty() && TryEdges(*node, level)) return true;
    if (!is_given_up()) space_.MarkDead(state);
    return false;
  }

  bool TryEdges(const Node& node, int level) {
    const uint32_t wanted = preference_(level, node.edges);
    std::vector<std::pair<uint32_t, const RawEdge*>> order;
    for (const RawEdge& edge : node.edges) {
      const uint32_t closest = std::clamp(wanted, edge.first, edge.last);
      order.emplace_back(closest > wanted ? closest - wanted : wanted - closest, &edge);
    }
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<bool> is_tried(node.children.size());
    for (const auto& [steps, edge] : order) {
      if (is_tried[edge->child]) continue;
      is_tried[edge->child] = true;
      positions_[level] = std::clamp(wanted, edge->first, edge->last);
      if (Visit(node.children[edge->child])) return true;
      if (is_given_up()) return false;
    }
    return false;
  }

  const LazySpace& space_;
  const Preference& preference_;
  int64_t tries_;
  std::vector<uint32_t> positions_;
};

LazySpace::LazySpace(SpacePlan plan, int64_t max_bytes, std::vector<uint32_t> first)
    : plan_(std::move(plan)),
      max_bytes_(max_bytes),
      first_(std::move(first)),
      expander_(plan_, kMaxNodeEdges) {}

int64_t LazySpace::cached_nodes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(nodes_.size());
}

int64_t LazySpace::cached_edges() const {
  const std::lock_guard lock(mutex_);
  return edges_;
}

int64_t LazySpace::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

LazySpace::NodePointer LazySpace::NodeOf(const State& state) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(state);
  if (found != nodes_.end()) return found->second;
  const auto level = static_cast<int>(state[0]);
  auto node = std::make_shared<Node>();
  StateTable children(plan_.cuts[level + 1].words(), plan_.levels[level].is_injective);
  expander_.Expand(level, state.data() + 1, 0, children, node->edges);
  node->is_dead = node->edges.empty();
  for (uint32_t child = 0; child < children.count(); ++child) {
    State below = {static_cast<uint64_t>(level) + 1};
    below.insert(below.end(), children.state(child), children.state(child) + children.words());
    node->children.push_back(std::move(below));
  }
  const int64_t bytes = node->bytes() + static_cast<int64_t>(state.size() * sizeof(uint64_t)) + 64;
  if (bytes_ + bytes > max_bytes_) {
    nodes_.clear();
    bytes_ = edges_ = 0;
  }
  bytes_ += bytes;
  edges_ += static_cast<int64_t>(node->edges.size());
  nodes_.emplace(state, node);
  return node;
}

void LazySpace::MarkDead(const State& state) const {
  auto dead = std::make_shared<Node>();
  dead->is_dead = true;
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(state);
  if (found != nodes_.end()) found->second = std::move(dead);
}

bool LazySpace::FindFirst(bool& is_empty) {
  const Descent::Preference first = [](int, const std::vector<RawEdge>& edges) {
    return edges.front().first;
  };
  std::mt19937_64 rng(1);
  const Descent::Preference any = [&rng](int, const std::vector<RawEdge>& edges) {
    uint64_t n = RandomBelow(rng, SizeOf(edges));
    const size_t edge = EdgeWith(edges, n);
    return edges[edge].first + static_cast<uint32_t>(n);
  };
  is_empty = false;
  // One order can be unlucky for long.
  constexpr int kOrders = 8;
  for (int attempt = 0; attempt < kOrders; ++attempt) {
    Descent descent(*this, attempt == 0 ? first : any, kMaxTriesOfOrder);
    const bool is_found = descent.Run();
    if (expander_.has_stopped()) return false;
    if (is_found) {
      first_ = descent.positions();
      return true;
    }
    is_empty = !descent.is_given_up();
    if (is_empty) return false;
  }
  return false;
}

std::vector<uint32_t> LazySpace::Sample(std::mt19937_64& rng) const {
  const Descent::Preference any = [&rng](int, const std::vector<RawEdge>& edges) {
    uint64_t n = RandomBelow(rng, SizeOf(edges));
    const size_t edge = EdgeWith(edges, n);
    return edges[edge].first + static_cast<uint32_t>(n);
  };
  Descent descent(*this, any, kMaxTries);
  return descent.Run() ? descent.positions() : first_;
}

std::vector<uint32_t> LazySpace::AtCoordinates(absl::Span<const double> coordinates) const {
  const Descent::Preference at = [&](int level, const std::vector<RawEdge>& edges) {
    const uint64_t size = SizeOf(edges);
    const double coordinate = std::clamp(coordinates[level], 0.0, 1.0);
    auto n = std::min(static_cast<uint64_t>(coordinate * static_cast<double>(size)), size - 1);
    const size_t edge = EdgeWith(edges, n);
    return edges[edge].first + static_cast<uint32_t>(n);
  };
  Descent descent(*this, at, kMaxTries);
  return descent.Run() ? descent.positions() : first_;
}

std::vector<uint32_t> LazySpace::Nearest(absl::Span<const uint32_t> wanted) const {
  const Descent::Preference closest = [&](int level, const std::vector<RawEdge>&) {
    return std::min(wanted[level], plan_.values[plan_.levels[level].parameter].size() - 1);
  };
  Descent descent(*this, closest, kMaxTries);
  return descent.Run() ? descent.positions() : first_;
}

std::vector<double> LazySpace::CoordinatesOf(absl::Span<const uint32_t> positions) const {
  std::vector<double> coordinates(positions.size());
  State state = {0};
  for (size_t level = 0; level < positions.size(); ++level) {
    const NodePointer node = NodeOf(state);
    uint64_t before = 0;
    const State* below = nullptr;
    for (const RawEdge& edge : node->edges) {
      if (edge.last < positions[level]) {
        before += SizeOf(edge);
      } else if (below == nullptr && edge.first <= positions[level]) {
        before += positions[level] - edge.first;
        below = &node->children[edge.child];
      }
    }
    coordinates[level] =
        (static_cast<double>(before) + 0.5) / static_cast<double>(SizeOf(node->edges));
    if (below == nullptr) break;
    state = State(*below);
  }
  return coordinates;
}

bool LazySpace::Contains(absl::Span<const uint32_t> positions) const {
  State state = {0};
  for (uint32_t position : positions) {
    const NodePointer node = NodeOf(state);
    const auto edge = std::ranges::find_if(node->edges, [position](const RawEdge& candidate) {
      return candidate.first <= position && position <= candidate.last;
    });
    if (edge == node->edges.end()) return false;
    state = State(node->children[edge->child]);
  }
  return true;
}

std::vector<PositionRun> LazySpace::Alternatives(absl::Span<const uint32_t> positions,
                                                 int level) const {
  std::vector<PositionRun> runs;
  std::vector<uint32_t> changed(positions.begin(), positions.end());
  State state = {0};
  for (int above = 0; above < level; ++above) {
    const NodePointer node = NodeOf(state);
    for (const RawEdge& edge : node->edges) {
      if (edge.first > positions[above] || edge.last < positions[above]) continue;
      state = State(node->children[edge.child]);
      break;
    }
  }
  const NodePointer node = NodeOf(state);
  for (const RawEdge& edge : node->edges) {
    changed[level] = edge.first;
    if (Contains(changed)) runs.push_back({edge.first, edge.last});
  }
  return runs;
}

void LazySpace::Enumerate(const std::function<bool(absl::Span<const uint32_t>)>& visit) const {
  std::vector<uint32_t> positions(plan_.level_count());
  const std::function<bool(const State&)> descend = [&](const State& state) {
    const auto level = static_cast<int>(state[0]);
    if (level == plan_.level_count()) return visit(positions);
    const NodePointer node = NodeOf(state);
    for (const RawEdge& edge : node->edges) {
      for (uint32_t position = edge.first; position <= edge.last; ++position) {
        positions[level] = position;
        if (!descend(node->children[edge.child])) return false;
      }
    }
    return true;
  };
  descend({0});
}

}  // namespace mdh
