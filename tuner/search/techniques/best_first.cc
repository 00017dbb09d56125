// Branch and bound (Land and Doig 1960), the least bound first: once nothing below the best is
// left, the best is proven to be one.
#include <algorithm>
#include <map>
#include <utility>

#include "tuner/search/techniques/random_number.h"
#include "tuner/search/techniques/technique_makers.h"
#include "tuner/search/techniques/tree_nodes.h"

namespace mdh {
namespace {

// Nodes that are kept; beyond, those with the largest bounds are given up.
constexpr size_t kMostQueued = size_t{1} << 19;

class BestFirst final : public SearchTechnique {
 public:
  void SetBound(SearchBound bound) override {
    bound_ = std::move(bound);
    if (cut_) cut_.emplace(bound_);
  }

  void Initialize(const SearchSpace& space, uint64_t seed) override {
    space_.emplace(space);
    rng_.seed(seed);
    cut_.emplace(bound_);
    open_.clear();
    given_up_ = std::nullopt;
    tree_.reset();
    if (space.is_lazy()) return;
    tree_.emplace(space, bound_.bound);
    Push(tree_->Root());
  }

  std::optional<Configuration> Next() override {
    if (!tree_) return space_->Sample(rng_);
    while (!open_.empty() && !cut_->Cuts(open_.begin()->second.bound)) {
      const TreeNode node = std::move(open_.extract(open_.begin()).mapped());
      if (tree_->IsLeaf(node)) return tree_->ConfigurationOf(node);
      Expand(node);
    }
    return std::nullopt;
  }

  void Report(const Configuration& /*configuration*/, Cost cost) override { cut_->Know(cost); }
  void Inform(const Configuration& /*configuration*/, Cost cost) override { cut_->Know(cost); }

  std::optional<double> ProvenBound() const override {
    if (!tree_ || bound_.bound == nullptr) return std::nullopt;
    const double least = open_.empty() ? cut_->threshold() : open_.begin()->second.bound;
    return given_up_ ? std::min(least, given_up_->first) : least;
  }

  Count ProvenWorse() const override {
    Count worse = 0;
    if (!tree_) return worse;
    for (auto at = open_.rbegin(); at != open_.rend() && cut_->Cuts(at->second.bound); ++at) {
      worse += tree_->tree().CountOf(at->second.at);
    }
    if (given_up_ && cut_->Cuts(given_up_->first)) worse += given_up_->second;
    return worse;
  }

  bool HasProvenAll() const override {
    const std::optional<double> bound = ProvenBound();
    return bound.has_value() && cut_->Cuts(*bound);
  }

 private:
  // Equal bounds are taken in random order.
  void Push(TreeNode node) {
    const double bound = node.bound;
    open_.emplace(std::pair(bound, rng_()), std::move(node));
  }

  // Of children that are as good, one is next: so every proposal goes down to a configuration.
  void Expand(const TreeNode& node) {
    std::vector<TreeNode> children = tree_->ChildrenOf(node);
    std::vector<size_t> least;
    for (size_t n = 0; n < children.size(); ++n) {
      if (least.empty() || children[n].bound < children[least.front()].bound) least.clear();
      if (least.empty() || children[n].bound == children[least.front()].bound) least.push_back(n);
    }
    const size_t next = least[RandomBelow(rng_, least.size())];
    for (size_t n = 0; n < children.size(); ++n) {
      if (n != next) Push(std::move(children[n]));
    }
    open_.emplace(std::pair(children[next].bound, uint64_t{0}), children[next]);
    while (open_.size() > kMostQueued) GiveUpLast();
  }

  void GiveUpLast() {
    const TreeNode& last = open_.rbegin()->second;
    if (!given_up_) given_up_.emplace(last.bound, 0);
    given_up_->first = std::min(given_up_->first, last.bound);
    given_up_->second += tree_->tree().CountOf(last.at);
    open_.erase(std::prev(open_.end()));
  }

  SearchBound bound_;
  std::optional<SearchSpace> space_;
  Rng rng_;
  std::optional<TreeCut> cut_;
  std::optional<TreeBounds> tree_;
  std::multimap<std::pair<double, uint64_t>, TreeNode> open_;
  std::optional<std::pair<double, Count>> given_up_;  // the least bound, and configurations
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeBestFirst() { return std::make_unique<BestFirst>(); }

}  // namespace mdh
