#include "tuner/search/techniques/tree_search.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mdh {
namespace {

// Nodes beyond are not expanded.
constexpr size_t kMostNodes = size_t{1} << 20;

}  // namespace

void TreeSearch::SetBound(SearchBound bound) {
  bound_ = std::move(bound);
  if (cut_) cut_.emplace(bound_);
}

void TreeSearch::Initialize(const SearchSpace& space, uint64_t seed) {
  space_.emplace(space);
  rng_.seed(seed);
  cut_.emplace(bound_);
  nodes_.clear();
  under_way_.clear();
  proposals_ = 0;
  has_cost_ = false;
  tree_.reset();
  if (space.is_lazy()) return;
  tree_.emplace(space, bound_.bound);
  nodes_.push_back({tree_->Root()});
}

// Whether it has children.
bool TreeSearch::Expand(uint32_t node) {
  if (!nodes_[node].children.empty()) return true;
  if (tree_->IsLeaf(nodes_[node].place) || nodes_.size() >= kMostNodes) return false;
  for (TreeNode& child : tree_->ChildrenOf(nodes_[node].place)) {
    nodes_[node].children.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back({std::move(child)});
  }
  return true;
}

// By how far they are below what is cut; before anything is known all alike.
size_t TreeSearch::DrawByBound(const std::vector<double>& bounds) {
  const double limit = cut_->threshold();
  if (limit == std::numeric_limits<double>::infinity()) return RandomBelow(rng_, bounds.size());
  double sum = 0;
  for (const double bound : bounds) sum += std::max(limit - bound, 0.0);
  double left = sum * RandomUnit(rng_);
  for (size_t n = 0; n < bounds.size(); ++n) {
    left -= std::max(limit - bounds[n], 0.0);
    if (left < 0) return n;
  }
  return RandomBelow(rng_, bounds.size());
}

// The child to enter; nullopt: there is none.
std::optional<uint32_t> TreeSearch::ChildOf(uint32_t node) {
  std::vector<uint32_t> enterable, fresh;
  std::vector<double> bounds;  // of the fresh ones
  for (const uint32_t child : nodes_[node].children) {
    if (!MayEnter(child)) continue;
    enterable.push_back(child);
    if (nodes_[child].branch.visits > 0) continue;
    fresh.push_back(child);
    bounds.push_back(nodes_[child].place.bound);
  }
  if (!fresh.empty()) return fresh[DrawByBound(bounds)];
  std::optional<uint32_t> best;
  double best_score = 0;
  for (const uint32_t child : enterable) {
    const double score =
        Score({nodes_[node].branch, nodes_[child].branch, child, enterable.size()});
    if (best.has_value() && score <= best_score) continue;
    best = child;
    best_score = score;
  }
  return best;
}

Configuration TreeSearch::RollOut(TreeNode from) {
  while (!tree_->IsLeaf(from)) {
    std::vector<TreeNode> children = tree_->ChildrenOf(from);
    std::vector<double> bounds;
    for (const TreeNode& child : children) bounds.push_back(child.bound);
    from = std::move(children[DrawByBound(bounds)]);
  }
  return tree_->ConfigurationOf(from);
}

std::optional<Configuration> TreeSearch::Next() {
  if (!tree_) {
    under_way_.emplace_back();
    return space_->Sample(rng_);
  }
  while (MayEnter(0)) {
    std::vector<uint32_t> path = {0};
    bool is_new = false;
    while (!is_new && Expand(path.back())) {
      const std::optional<uint32_t> child = ChildOf(path.back());
      if (!child.has_value()) break;
      is_new = nodes_[*child].branch.visits == 0;
      path.push_back(*child);
    }
    Node& last = nodes_[path.back()];
    const bool is_leaf = tree_->IsLeaf(last.place);
    if (!is_new && !is_leaf && !last.children.empty()) {
      last.is_done = true;  // none of its children may be entered
      continue;
    }
    if (is_leaf) last.is_done = true;
    for (const uint32_t node : path) ++nodes_[node].branch.visits;
    ++proposals_;
    Configuration configuration = RollOut(last.place);
    under_way_.push_back(std::move(path));
    return configuration;
  }
  return std::nullopt;
}

void TreeSearch::Learn(Cost cost) {
  if (!cost.has_value()) return;
  best_ = has_cost_ ? std::min(best_, *cost) : *cost;
  worst_ = has_cost_ ? std::max(worst_, *cost) : *cost;
  has_cost_ = true;
  cut_->Know(cost);
}

void TreeSearch::Report(const Configuration& /*configuration*/, Cost cost) {
  const std::vector<uint32_t> path = std::move(under_way_.front());
  under_way_.pop_front();
  Learn(cost);
  if (!cost.has_value()) return;
  for (size_t n = 0; n < path.size(); ++n) {
    std::vector<Seen>& best = nodes_[path[n]].branch.best;
    const auto at = std::ranges::upper_bound(best, *cost, {}, &Seen::cost);
    best.insert(at, {*cost, n + 1 < path.size() ? path[n + 1] : 0});
    if (best.size() > kBest) best.pop_back();
  }
}

void TreeSearch::Skip(const Configuration& /*configuration*/, double /*at_least*/) {
  under_way_.pop_front();
}

void TreeSearch::Inform(const Configuration& /*configuration*/, Cost cost) { Learn(cost); }

std::optional<double> TreeSearch::ProvenBound() const {
  if (!tree_ || bound_.bound == nullptr) return std::nullopt;
  return nodes_.front().place.bound;
}

bool TreeSearch::HasProvenAll() const { return tree_ && cut_->Cuts(nodes_.front().place.bound); }

// Below nodes that are worse, no others are looked at.
Count TreeSearch::ProvenWorse() const {
  Count worse = 0;
  if (!tree_) return worse;
  std::vector<uint32_t> open = {0};
  while (!open.empty()) {
    const Node& node = nodes_[open.back()];
    open.pop_back();
    if (cut_->Cuts(node.place.bound)) {
      worse += tree_->tree().CountOf(node.place.at);
    } else {
      open.insert(open.end(), node.children.begin(), node.children.end());
    }
  }
  // Some of them may have been proposed before they were known to be worse.
  worse -= static_cast<long>(proposals_);
  return worse > 0 ? worse : Count(0);
}

}  // namespace mdh
