#include "tuner/space/diagram/find_one.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "tuner/space/diagram/construction.h"
#include "tuner/space/diagram/diagram.h"
#include "tuner/space/levels/expansion.h"

namespace mdh {
namespace {

// Prefixes that the first descent expands at most; each later one, twice as many.
constexpr int kFirstTries = 250;
constexpr int kDescents = 4;

// Depth first. States that were left without success have no completion, and are not entered again.
class Descents {
 public:
  explicit Descents(const SpacePlan& plan) : plan_(plan), positions_(plan.level_count()) {
    for (int level = 0; level <= plan.level_count(); ++level) {
      states_.emplace_back(plan.cuts[level].words(), false);
    }
    states_[0].NumberOf(nullptr);
    expanders_.resize(plan.level_count());
    is_dead_.resize(plan.level_count() + 1);
  }

  // Whether a completion was found. If not, and it is not exhausted either, there is none.
  bool Run(int tries, bool in_order) {
    left_ = tries;
    in_order_ = in_order;
    return Visit(0, 0);
  }
  bool is_exhausted() const { return left_ <= 0; }
  const std::vector<uint32_t>& positions() const { return positions_; }

 private:
  bool Visit(int level, uint32_t state) {
    if (level == plan_.level_count()) return true;
    if (IsDead(level, state) || --left_ <= 0) return false;
    std::vector<RawEdge> edges;
    Expand(level, state, edges);
    if (!in_order_) std::shuffle(edges.begin(), edges.end(), rng_);
    for (const RawEdge& edge : edges) {
      positions_[level] = edge.first;
      if (Visit(level + 1, edge.child)) return true;
      if (is_exhausted()) return false;
    }
    MarkDead(level, state);
    return false;
  }

  void Expand(int level, uint32_t number, std::vector<RawEdge>& edges) {
    std::unique_ptr<Expander>& expander = expanders_[level];
    if (expander == nullptr) {
      expander = std::make_unique<Expander>(plan_, std::numeric_limits<size_t>::max());
    }
    expander->Expand(level, states_[level].state(number), number, states_[level + 1], edges);
  }

  bool IsDead(int level, uint32_t state) const {
    return state < is_dead_[level].size() && is_dead_[level][state];
  }
  void MarkDead(int level, uint32_t state) {
    if (state >= is_dead_[level].size()) is_dead_[level].resize(state + 1, false);
    is_dead_[level][state] = true;
  }

  const SpacePlan& plan_;
  std::vector<StateTable> states_;                    // before each level, and behind the last one
  std::vector<std::unique_ptr<Expander>> expanders_;  // by level
  std::vector<std::vector<bool>> is_dead_;            // by level and state
  std::vector<uint32_t> positions_;
  std::mt19937_64 rng_{1};
  int left_ = 0;
  bool in_order_ = false;
};

}  // namespace

FoundOne FindOne(const SpacePlan& plan, int64_t max_bytes, const std::function<bool()>& gives_up) {
  using Outcome = FoundOne::Outcome;
  {
    Descents descents(plan);
    for (int n = 0; n < kDescents; ++n) {
      if (gives_up && gives_up()) return {Outcome::kGivenUp};
      if (descents.Run(kFirstTries << n, /*in_order=*/n % 2 == 1))
        return {Outcome::kFound, descents.positions()};
      if (!descents.is_exhausted()) return {Outcome::kEmpty};
    }
  }
  const Construction construction = Construct(plan, max_bytes, /*threads=*/1, gives_up);
  switch (construction.outcome) {
    case Construction::Outcome::kComplete:
      break;
    case Construction::Outcome::kEmpty:
      return {Outcome::kEmpty};
    case Construction::Outcome::kGivenUp:
      return {Outcome::kGivenUp};
    case Construction::Outcome::kOverflow:
    case Construction::Outcome::kOutOfMemory:
      return {Outcome::kUnknown};
  }
  const std::optional<Diagram> diagram = Diagram::Build(construction.graph);
  if (!diagram.has_value()) return {Outcome::kEmpty};
  std::vector<uint32_t> positions(plan.level_count());
  diagram->At(mpz_class(0), absl::MakeSpan(positions));
  return {Outcome::kFound, std::move(positions)};
}

}  // namespace mdh
