// Searches that grow a tree of decisions by what was measured below its nodes (Monte Carlo tree
// search; Telamon, Section 5.1).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tuner/search/techniques/random_number.h"
#include "tuner/search/techniques/tree_nodes.h"

namespace mdh {

// Goes down from the root: to a child that was never visited, if there is one, else to that with
// the best score; from the first node that has no children yet to a configuration at random, those
// with lower bounds more often. What the bound shows to be worse is never entered. A proposal
// counts as a visit at once, so that those that are evaluated at the same time go different ways.
class TreeSearch : public SearchTechnique {
 public:
  void SetBound(SearchBound bound) override;
  void Initialize(const SearchSpace& space, uint64_t seed) override;
  std::optional<Configuration> Next() override;
  void Report(const Configuration& configuration, Cost cost) override;
  void Skip(const Configuration& configuration, double at_least) override;
  void Inform(const Configuration& configuration, Cost cost) override;
  std::optional<double> ProvenBound() const override;
  Count ProvenWorse() const override;
  bool HasProvenAll() const override;

 protected:
  // The best costs below a node, the least first, and the child that each came from.
  struct Seen {
    double cost;
    uint32_t child;
  };
  struct Branch {
    int64_t visits = 0;  // those under way included
    std::vector<Seen> best;
  };
  static constexpr size_t kBest = 10;

  struct Choice {
    const Branch& parent;
    const Branch& child;
    uint32_t number;  // of the child
    size_t children;  // that may be entered
  };
  // The child with the largest score is entered; expects visits > 0.
  virtual double Score(const Choice& choice) const = 0;
  double best() const { return best_; }
  double worst() const { return worst_; }

 private:
  struct Node {
    TreeNode place;
    Branch branch = {};
    std::vector<uint32_t> children = {};  // none: it was not expanded
    bool is_done = false;                 // nothing below is left to propose
  };

  bool MayEnter(uint32_t node) const {
    return !nodes_[node].is_done && !cut_->Cuts(nodes_[node].place.bound);
  }
  bool Expand(uint32_t node);
  std::optional<uint32_t> ChildOf(uint32_t node);
  size_t DrawByBound(const std::vector<double>& bounds);
  Configuration RollOut(TreeNode from);
  void Learn(Cost cost);

  SearchBound bound_;
  std::optional<SearchSpace> space_;
  std::optional<TreeBounds> tree_;
  std::optional<TreeCut> cut_;
  Rng rng_;
  std::vector<Node> nodes_;                      // the root first
  std::deque<std::vector<uint32_t>> under_way_;  // paths of proposals that were not reported
  int64_t proposals_ = 0;
  double best_ = 0, worst_ = 0;
  bool has_cost_ = false;
};

}  // namespace mdh
