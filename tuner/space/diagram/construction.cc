#include "tuner/space/diagram/construction.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/start_thread.h"
#include "tuner/space/diagram/tree_construction.h"
#include "tuner/space/levels/state_columns.h"

namespace mdh {
namespace {

// Prefixes that are expanded together; levels with fewer are left to one thread.
constexpr uint32_t kChunk = 1024;

// From so many states on, conditions are tabulated.
constexpr uint32_t kManyStates = 16;

// Whether the states after a level are those before it, with the same numbers.
bool KeepsStates(const SpacePlan& plan, int number) {
  const LevelPlan& level = plan.levels[number];
  const Cut& before = plan.cuts[number];
  const Cut& after = plan.cuts[number + 1];
  const auto is_same_gate = [](const Gate& a, const Gate& b) {
    return a.operation == b.operation && a.paths == b.paths;
  };
  const auto is_same_slot = [](const Slot& a, const Slot& b) {
    return a.operation == b.operation && a.paths == b.paths;
  };
  return level.roots.empty() && std::ranges::equal(before.gates, after.gates, is_same_gate) &&
         std::ranges::equal(before.slots, after.slots, is_same_slot);
}

class Builder {
 public:
  Builder(const SpacePlan& plan, int64_t max_bytes, int threads,
          const std::function<bool()>& gives_up)
      : plan_(plan), max_bytes_(max_bytes), gives_up_(gives_up) {
    for (int i = 0; i < std::max(threads, 1); ++i) {
      expanders_.emplace_back(plan, static_cast<size_t>(max_bytes) / sizeof(RawEdge) + 1);
    }
  }

  Construction Run() {
    StateTable states(0, false);
    states.NumberOf(nullptr);
    result_.graph.reserve(plan_.level_count());
    for (int level = 0; level < plan_.level_count(); ++level) {
      if (GivesUp()) return End(Construction::Outcome::kGivenUp);
      const int end = EndOfTree(plan_, level);
      if (end > level && level >= trees_end_) {
        trees_end_ = end;
        const TreeOutcome outcome =
            ConstructTree(plan_, level, end, max_bytes_ - done_bytes_, result_.graph);
        if (outcome == TreeOutcome::kTooLarge) return End(Construction::Outcome::kOutOfMemory);
        if (outcome == TreeOutcome::kComplete) {
          for (; level < end; ++level) done_bytes_ += BytesOf(result_.graph[level]);
          --level;
          continue;
        }
      }
      if (KeepsStates(plan_, level)) {
        PassStates(level, states.count());
        if (IsTooLarge(states, states, 0)) return End(Construction::Outcome::kOutOfMemory);
        done_bytes_ += BytesOf(result_.graph.back());
        continue;
      }
      StateTable children(plan_.cuts[level + 1].words(), plan_.levels[level].is_injective);
      children.Reserve(states.count());
      result_.graph.emplace_back();
      const bool is_complete = ExpandLevel(level, states, children);
      CollectIncidents();
      if (result_.overflow.constraint >= 0) return End(Construction::Outcome::kOverflow);
      if (has_given_up_) return End(Construction::Outcome::kGivenUp);
      if (!is_complete) return End(Construction::Outcome::kOutOfMemory);
      if (children.count() == 0) return End(Construction::Outcome::kEmpty);
      done_bytes_ += BytesOf(result_.graph.back());
      states = std::move(children);
    }
    return std::move(result_);
  }

 private:
  Construction End(Construction::Outcome outcome) {
    result_.outcome = outcome;
    return std::move(result_);
  }

  bool GivesUp() {
    has_given_up_ = has_given_up_ || (gives_up_ && gives_up_());
    return has_given_up_;
  }

  void PassStates(int level, uint32_t states) {
    GraphLevel& result = result_.graph.emplace_back();
    result.begin.reserve(states + 1);
    for (uint32_t state = 0; state < states; ++state) {
      for (const PositionRun& run : plan_.levels[level].domain) {
        result.edges.push_back({run.first, run.last, state});
      }
      result.begin.push_back(static_cast<uint32_t>(result.edges.size()));
    }
  }

  static int64_t BytesOf(const GraphLevel& level) {
    return static_cast<int64_t>(level.edges.capacity() * sizeof(RawEdge) +
                                level.begin.capacity() * sizeof(uint32_t));
  }

  bool IsTooLarge(const StateTable& states, const StateTable& children, int64_t more) const {
    const bool has_stopped = std::ranges::any_of(expanders_, &Expander::has_stopped);
    return has_stopped ||
           done_bytes_ + BytesOf(result_.graph.back()) + states.bytes() + children.bytes() + more >
               max_bytes_;
  }

  // False if there is no memory left, or it has given up.
  bool ExpandLevel(int level, const StateTable& states, StateTable& children) {
    std::optional<StateColumns> columns;
    if (!plan_.levels[level].tables.empty() && states.count() >= kManyStates) {
      columns.emplace(states);
    }
    for (Expander& expander : expanders_) expander.SetColumns(columns ? &*columns : nullptr);
    if (expanders_.size() > 1 && states.count() > kChunk) {
      return ExpandInParallel(level, states, children);
    }
    GraphLevel& result = result_.graph.back();
    result.begin.reserve(states.count() + 1);
    for (uint32_t state = 0; state < states.count(); ++state) {
      expanders_[0].Expand(level, states.state(state), state, children, result.edges);
      result.begin.push_back(static_cast<uint32_t>(result.edges.size()));
      if (expanders_[0].overflow().constraint >= 0) return true;
      if ((state & 63) == 0 && IsTooLarge(states, children, 0)) return false;
      if ((state & (kChunk - 1)) == kChunk - 1 && GivesUp()) return false;
    }
    return !IsTooLarge(states, children, 0);
  }

  // What one thread makes of a chunk; children are numbered inside of it.
  struct Chunk {
    explicit Chunk(int words, bool are_distinct) : children(words, are_distinct) {}
    StateTable children;
    GraphLevel level;
  };

  void ExpandChunk(int level, const StateTable& states, uint32_t first, Expander& expander,
                   Chunk& chunk) const {
    const uint32_t end = std::min(first + kChunk, states.count());
    for (uint32_t state = first; state < end; ++state) {
      expander.Expand(level, states.state(state), state, chunk.children, chunk.level.edges);
      chunk.level.begin.push_back(static_cast<uint32_t>(chunk.level.edges.size()));
    }
  }

  bool ExpandInParallel(int level, const StateTable& states, StateTable& children) {
    const auto threads = static_cast<uint32_t>(expanders_.size());
    const bool are_distinct = plan_.levels[level].is_injective;
    for (uint32_t first = 0; first < states.count(); first += kChunk * threads) {
      std::vector<Chunk> chunks(threads, Chunk(children.words(), are_distinct));
      std::vector<std::thread> running;
      size_t begun = 0;
      for (uint32_t i = 0; i < threads && first + i * kChunk < states.count(); ++i) {
        const auto expand = [&, i] {
          ExpandChunk(level, states, first + i * kChunk, expanders_[i], chunks[i]);
        };
        Result<std::thread> thread = StartThread(expand);
        if (thread.ok()) {
          running.push_back(*std::move(thread));
        } else {
          expand();
        }
        ++begun;
      }
      for (std::thread& thread : running) thread.join();
      int64_t more = 0;
      for (const Chunk& chunk : chunks) more += chunk.children.bytes() + BytesOf(chunk.level);
      for (size_t i = 0; i < begun; ++i) Append(chunks[i], children);
      for (const Expander& expander : expanders_) {
        if (expander.overflow().constraint >= 0) return true;
      }
      if (IsTooLarge(states, children, more) || GivesUp()) return false;
    }
    return true;
  }

  // In the order of chunks, so that children are numbered as one thread would.
  void Append(const Chunk& chunk, StateTable& children) {
    GraphLevel& level = result_.graph.back();
    std::vector<uint32_t> numbers(chunk.children.count());
    for (uint32_t child = 0; child < chunk.children.count(); ++child) {
      numbers[child] = children.NumberOf(chunk.children.state(child));
    }
    const auto before = static_cast<uint32_t>(level.edges.size());
    for (RawEdge edge : chunk.level.edges) {
      edge.child = numbers[edge.child];
      level.edges.push_back(edge);
    }
    for (size_t i = 1; i < chunk.level.begin.size(); ++i) {
      level.begin.push_back(before + chunk.level.begin[i]);
    }
  }

  // The first by prefix, whatever thread met it.
  void CollectIncidents() {
    const auto is_before = [](const Incident& a, const Incident& b) {
      return std::make_pair(a.prefix, a.position) < std::make_pair(b.prefix, b.position);
    };
    const auto level = static_cast<int>(result_.graph.size()) - 1;
    for (Expander& expander : expanders_) {
      if (expander.last_obstacle() >= 0) result_.obstacle = expander.last_obstacle();
      const Incident& overflow = expander.overflow();
      if (overflow.constraint >= 0 &&
          (result_.overflow.constraint < 0 || is_before(overflow, result_.overflow))) {
        result_.overflow = overflow;
      }
      for (const Incident& incident : expander.divisions_by_zero()) {
        if (incident.level != level) continue;
        std::vector<Incident>& known = result_.divisions_by_zero;
        const auto same = std::ranges::find(known, incident.constraint, &Incident::constraint);
        if (same == known.end()) {
          known.push_back(incident);
        } else if (same->level == level && is_before(incident, *same)) {
          *same = incident;
        }
      }
    }
  }

  const SpacePlan& plan_;
  int64_t max_bytes_;
  const std::function<bool()>& gives_up_;
  bool has_given_up_ = false;
  std::vector<Expander> expanders_;
  Construction result_;
  int64_t done_bytes_ = 0;
  int trees_end_ = 0;  // of what was tried as a tree
};

}  // namespace

Construction Construct(const SpacePlan& plan, int64_t max_bytes, int threads,
                       const std::function<bool()>& gives_up) {
  return Builder(plan, max_bytes, threads, gives_up).Run();
}

std::vector<uint32_t> PositionsOf(const LevelGraph& graph, const Incident& incident) {
  std::vector<uint32_t> positions(incident.level + 1);
  positions[incident.level] = incident.position;
  uint32_t node = incident.prefix;
  for (int level = incident.level - 1; level >= 0; --level) {
    const GraphLevel& edges = graph[level];
    const auto edge =
        std::ranges::find_if(edges.edges, [node](const RawEdge& to) { return to.child == node; });
    positions[level] = edge->first;
    const auto number = static_cast<uint32_t>(edge - edges.edges.begin());
    node = static_cast<uint32_t>(std::upper_bound(edges.begin.begin(), edges.begin.end(), number) -
                                 edges.begin.begin() - 1);
  }
  return positions;
}

}  // namespace mdh
