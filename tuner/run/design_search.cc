#include "tuner/run/design_search.h"

#include <algorithm>

#include "core/decomposition/tuning_parameters.h"

namespace mdh {
namespace {

constexpr int kRanked = 160;        // designs that the model proposes
constexpr int kEvaluations = 5000;  // of the model, per start
constexpr int kFirst = 40;          // of them before the first neighbour
constexpr int kRankedEvery = 6;     // afterwards, one in so many
constexpr int kAnyEvery = 3;        // of neighbours, one in so many is any one
constexpr size_t kParents = 6;      // whose neighbours are considered
constexpr int kPatience = 150;      // measurements without gain
constexpr int kRepeatedCost = 4;    // so many repeated kernels cost as much as measuring one
constexpr int kMostOutside = 200;   // of the schedule
constexpr double kGain = 0.995;     // of the best cost
constexpr double kMostGain = 0.75;  // that the model is trusted to foresee
constexpr double kMostLoss = 1.5;   // idem

}  // namespace

DesignSearch::DesignSearch(const Expression& expression, const SystemModel& model,
                           const DeviceDescription& device, const Schedule* schedule)
    : expression_(expression),
      model_(model),
      device_(device),
      schedule_(schedule),
      costs_(expression, device),
      moves_(expression, device,
             {.async_copies = true, .choices = true, .lane_tiles = true, .thirds = true}),
      ranked_(
          BlockCandidates(expression, model, device,
                          {.count = kRanked, .evaluations = kEvaluations, .async_copies = true})) {}

bool DesignSearch::is_done() const {
  if (HasLostPatience() || outside_ > kMostOutside) return true;
  const bool has_neighbours = std::any_of(known_.begin(), known_.end(), [](const Known& known) {
    return !known.is_expanded || !known.neighbours.empty();
  });
  return next_ranked_ == ranked_.size() && under_way_ == 0 && !has_neighbours;
}

std::optional<BlockCandidate> DesignSearch::Ask() {
  if (HasLostPatience() || outside_ > kMostOutside) return std::nullopt;
  ++asks_;
  std::optional<BlockCandidate> next;
  const bool is_ranked = asks_ <= kFirst || asks_ % kRankedEvery == 0;
  next = is_ranked ? NextRanked() : asks_ % kAnyEvery == 0 ? AnyNeighbour() : NextNeighbour();
  if (!next.has_value()) next = is_ranked ? NextNeighbour() : NextRanked();
  if (next.has_value()) ++under_way_;
  return next;
}

std::optional<BlockCandidate> DesignSearch::Take(const BlockDesign& design) {
  if (!asked_.insert(ToString(expression_, design)).second) return std::nullopt;
  TuningParameters parameters = ToParameters(expression_, model_, device_, design);
  if (!Validate(expression_, model_, device_, parameters).ok()) return std::nullopt;
  if (schedule_ != nullptr && !schedule_->Allows(parameters).ok()) {
    ++outside_;
    return std::nullopt;
  }
  return BlockCandidate{design, costs_.Estimate(design), std::move(parameters)};
}

std::optional<BlockCandidate> DesignSearch::NextRanked() {
  while (next_ranked_ < ranked_.size()) {
    std::optional<BlockCandidate> next = Take(ranked_[next_ranked_++].design);
    if (next.has_value()) return next;
  }
  return std::nullopt;
}

// What the best neighbour of a design is expected to cost.
double DesignSearch::Expected(const Known& known) const {
  const double ratio = known.neighbours.back().first / known.expected;
  return known.cost * std::clamp(ratio, kMostGain, kMostLoss);
}

void DesignSearch::Expand(Known* known) const {
  known->is_expanded = true;
  for (BlockDesign& next : moves_.Neighbours(known->design)) {
    const BlockCost cost = costs_.Estimate(next);
    if (cost.fits) known->neighbours.emplace_back(cost.total, std::move(next));
  }
  std::stable_sort(known->neighbours.begin(), known->neighbours.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
}

std::optional<BlockCandidate> DesignSearch::NextNeighbour() {
  while (true) {
    Known* best = nullptr;
    size_t parents = 0;
    for (size_t n = 0; n < known_.size() && parents < kParents; ++n) {
      if (!known_[n].is_expanded) Expand(&known_[n]);
      if (known_[n].neighbours.empty()) continue;
      ++parents;
      if (best == nullptr || Expected(known_[n]) < Expected(*best)) best = &known_[n];
    }
    if (best == nullptr) return std::nullopt;
    const BlockDesign design = std::move(best->neighbours.back().second);
    best->neighbours.pop_back();
    std::optional<BlockCandidate> next = Take(design);
    if (next.has_value()) return next;
  }
}

// Of the fastest design that has neighbours left.
std::optional<BlockCandidate> DesignSearch::AnyNeighbour() {
  for (Known& known : known_) {
    if (!known.is_expanded) Expand(&known);
    auto& neighbours = known.neighbours;
    while (!neighbours.empty()) {
      const auto at =
          neighbours.begin() + static_cast<std::ptrdiff_t>(random_() % neighbours.size());
      const BlockDesign design = std::move(at->second);
      neighbours.erase(at);
      std::optional<BlockCandidate> next = Take(design);
      if (next.has_value()) return next;
    }
  }
  return std::nullopt;
}

bool DesignSearch::HasLostPatience() const { return without_gain_ >= kRepeatedCost * kPatience; }

void DesignSearch::TellRepeated() {
  --under_way_;
  ++without_gain_;
}

void DesignSearch::Tell(const BlockDesign& design, std::optional<double> cost) {
  --under_way_;
  const bool is_gain = cost.has_value() && (known_.empty() || *cost < kGain * known_.front().cost);
  without_gain_ = is_gain ? 0 : without_gain_ + kRepeatedCost;
  if (!cost.has_value()) return;
  Known known{design, *cost, costs_.Estimate(design).total, false, {}};
  const auto at = std::upper_bound(known_.begin(), known_.end(), *cost,
                                   [](double c, const Known& k) { return c < k.cost; });
  known_.insert(at, std::move(known));
}

}  // namespace mdh
