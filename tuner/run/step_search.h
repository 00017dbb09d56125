// A search among designs of any kind which knows what a model expects of them and learns from what
// is measured.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace mdh {

// What the search knows of designs.
template <typename Design>
struct DesignKnowledge {
  // What the model costs; nullopt: it does not fit.
  std::function<std::optional<double>(const Design&)> expected;
  std::function<std::vector<Design>(const Design&)> neighbours;
  std::function<bool(const Design&)> is_valid;
  std::function<bool(const Design&)> is_wanted;    // of valid ones; those of schedules
  std::function<std::string(const Design&)> text;  // equal designs have equal texts
};

// First the designs that the model holds to be best, then, step by step, neighbours of the fastest
// ones: a neighbour is expected to take as much longer or shorter than what was measured as the
// model says. Now and then it is any neighbour, as the model errs. After many designs that nobody
// wants it is done.
template <typename Design>
class StepSearch {
 public:
  // `ranked`: what the model proposes, the best first; `first`: how many of them are asked for
  // before the first neighbour.
  StepSearch(DesignKnowledge<Design> knowledge, std::vector<Design> ranked, int first)
      : knowledge_(std::move(knowledge)), ranked_(std::move(ranked)), first_(first) {}

  // The next design to measure; several may be under way. nullopt: there is nothing to ask for,
  // for now or any more (is_done).
  std::optional<Design> Ask() {
    if (HasGivenUp()) return std::nullopt;
    ++asks_;
    std::optional<Design> next;
    const bool is_ranked = asks_ <= first_ || asks_ % kRankedEvery == 0;
    next = is_ranked ? NextRanked() : asks_ % kAnyEvery == 0 ? AnyNeighbour() : NextNeighbour();
    if (!next.has_value()) next = is_ranked ? NextNeighbour() : NextRanked();
    if (next.has_value()) ++under_way_;
    return next;
  }

  // What was measured of it; nullopt: it failed.
  void Tell(const Design& design, std::optional<double> cost) {
    --under_way_;
    const bool is_gain =
        cost.has_value() && (known_.empty() || *cost < kGain * known_.front().cost);
    without_gain_ = is_gain ? 0 : without_gain_ + kRepeatedCost;
    if (cost.has_value()) Learn(design, *cost);
  }
  // Its kernel is that of a design that was asked for before: nothing was measured.
  void TellRepeated() {
    --under_way_;
    ++without_gain_;
  }
  // What was measured of a design that nobody had to ask for. Expects one that fits.
  void Learn(const Design& design, double cost) {
    asked_.insert(knowledge_.text(design));
    Known known{design, cost, knowledge_.expected(design).value_or(cost), false, {}};
    known_.insert(std::ranges::upper_bound(known_, cost, {}, &Known::cost), std::move(known));
  }

  // Whether there is no design left, or none has helped for long.
  bool is_done() const {
    if (HasGivenUp()) return true;
    const bool has_neighbours = std::ranges::any_of(
        known_, [](const Known& known) { return !known.is_expanded || !known.neighbours.empty(); });
    return next_ranked_ == ranked_.size() && under_way_ == 0 && !has_neighbours;
  }
  // Of the fastest one that is known; nullopt: none is.
  std::optional<double> best() const {
    return known_.empty() ? std::nullopt : std::optional<double>(known_.front().cost);
  }

 private:
  static constexpr int kRankedEvery = 6;   // later on, one in so many is what the model proposes
  static constexpr int kAnyEvery = 3;      // of neighbours, one in so many is any one
  static constexpr size_t kParents = 6;    // whose neighbours are considered
  static constexpr int kPatience = 150;    // measurements without gain
  static constexpr int kRepeatedCost = 4;  // so many repeated kernels cost as much as measuring
  static constexpr int kMostUnwanted = 200;
  static constexpr double kGain = 0.995;     // of the best cost
  static constexpr double kMostGain = 0.75;  // that the model is trusted to foresee
  static constexpr double kMostLoss = 1.5;   // idem

  struct Known {
    Design design;
    double cost;      // measured
    double expected;  // of the model
    bool is_expanded = false;
    std::vector<std::pair<double, Design>> neighbours;  // costs of the model, the best last
  };

  // The design, if it may be asked for.
  std::optional<Design> Take(Design design) {
    if (!asked_.insert(knowledge_.text(design)).second) return std::nullopt;
    if (!knowledge_.is_valid(design)) return std::nullopt;
    if (!knowledge_.is_wanted(design)) {
      ++unwanted_;
      return std::nullopt;
    }
    return design;
  }

  std::optional<Design> NextRanked() {
    while (next_ranked_ < ranked_.size()) {
      std::optional<Design> next = Take(ranked_[next_ranked_++]);
      if (next.has_value()) return next;
    }
    return std::nullopt;
  }

  // What the best neighbour of a design is expected to cost.
  double Expected(const Known& known) const {
    const double ratio = known.neighbours.back().first / known.expected;
    return known.cost * std::clamp(ratio, kMostGain, kMostLoss);
  }

  void Expand(Known* known) const {
    known->is_expanded = true;
    for (Design& next : knowledge_.neighbours(known->design)) {
      const std::optional<double> cost = knowledge_.expected(next);
      if (cost.has_value()) known->neighbours.emplace_back(*cost, std::move(next));
    }
    std::ranges::stable_sort(known->neighbours,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
  }

  std::optional<Design> NextNeighbour() {
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
      Design design = std::move(best->neighbours.back().second);
      best->neighbours.pop_back();
      std::optional<Design> next = Take(std::move(design));
      if (next.has_value()) return next;
    }
  }

  // Of the fastest design that has neighbours left.
  std::optional<Design> AnyNeighbour() {
    for (Known& known : known_) {
      if (!known.is_expanded) Expand(&known);
      auto& neighbours = known.neighbours;
      while (!neighbours.empty()) {
        const auto at =
            neighbours.begin() + static_cast<std::ptrdiff_t>(random_() % neighbours.size());
        Design design = std::move(at->second);
        neighbours.erase(at);
        std::optional<Design> next = Take(std::move(design));
        if (next.has_value()) return next;
      }
    }
    return std::nullopt;
  }

  bool HasGivenUp() const {
    return without_gain_ >= kRepeatedCost * kPatience || unwanted_ > kMostUnwanted;
  }

  const DesignKnowledge<Design> knowledge_;
  const std::vector<Design> ranked_;
  const int first_;
  size_t next_ranked_ = 0;
  std::vector<Known> known_;  // the fastest first
  absl::flat_hash_set<std::string> asked_;
  std::mt19937 random_{1};  // the same for every search
  int asks_ = 0, under_way_ = 0, without_gain_ = 0, unwanted_ = 0;
};

}  // namespace mdh
