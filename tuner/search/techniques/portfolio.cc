#include "tuner/search/techniques/portfolio.h"

#include <cassert>
#include <utility>

namespace mdh {

void Portfolio::SetBound(SearchBound bound) {
  bound_ = std::move(bound);
  for (const std::unique_ptr<SearchTechnique>& member : members_) member->SetBound(bound_);
}

void Portfolio::Initialize(const SearchSpace& space, uint64_t seed) {
  members_.clear();
  proposers_.clear();
  best_.reset();
  Rng seeds(seed);
  for (const std::string& name : names_) {
    Result<std::unique_ptr<SearchTechnique>> member = SearchTechniqueNamed(name);
    assert(member.ok());
    members_.push_back(*std::move(member));
    members_.back()->SetBound(bound_);
    members_.back()->Initialize(space, seeds());
  }
  Reset(space);
}

std::optional<Configuration> Portfolio::Next() {
  for (const size_t member : Order()) {
    std::optional<Configuration> next = members_[member]->Next();
    if (!next) continue;
    proposers_.push_back(member);
    OnProposal(member);
    return next;
  }
  return std::nullopt;
}

size_t Portfolio::TakeProposer() {
  const size_t proposer = proposers_.front();
  proposers_.pop_front();
  return proposer;
}

void Portfolio::Skip(const Configuration& configuration, double at_least) {
  const size_t proposer = TakeProposer();
  members_[proposer]->Skip(configuration, at_least);
  OnResult(proposer, /*is_new_best=*/false);
}

void Portfolio::Report(const Configuration& configuration, Cost cost) {
  const size_t proposer = TakeProposer();
  const bool is_new_best = IsBetter(cost, best_);
  if (is_new_best) best_ = cost;
  for (size_t member = 0; member < members_.size(); ++member) {
    if (member == proposer) {
      members_[member]->Report(configuration, cost);
    } else {
      members_[member]->Inform(configuration, cost);
    }
  }
  OnResult(proposer, is_new_best);
}

void Portfolio::Inform(const Configuration& configuration, Cost cost) {
  if (IsBetter(cost, best_)) best_ = cost;
  for (const std::unique_ptr<SearchTechnique>& member : members_) {
    member->Inform(configuration, cost);
  }
}

}  // namespace mdh
