// Techniques that share one search: each gets the results of its own proposals, and is informed of
// those of the others. What is skipped only its proposer learns.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {

class Portfolio : public SearchTechnique {
 public:
  void SetBound(SearchBound bound) final;
  void Initialize(const SearchSpace& space, uint64_t seed) final;
  std::optional<Configuration> Next() final;
  void Report(const Configuration& configuration, Cost cost) final;
  void Skip(const Configuration& configuration, double at_least) final;
  void Inform(const Configuration& configuration, Cost cost) final;

 protected:
  explicit Portfolio(std::vector<std::string> members) : names_(std::move(members)) {}

  size_t size() const { return names_.size(); }
  virtual void Reset(const SearchSpace& space) = 0;
  // All members, the one to ask first, first. The others follow if it needs results of its earlier
  // proposals.
  virtual std::vector<size_t> Order() = 0;
  virtual void OnProposal(size_t /*member*/) {}
  virtual void OnResult(size_t /*member*/, bool /*is_new_best*/) {}

 private:
  size_t TakeProposer();

  std::vector<std::string> names_;
  SearchBound bound_;
  std::vector<std::unique_ptr<SearchTechnique>> members_;
  std::deque<size_t> proposers_;  // of what was not reported
  Cost best_;
};

}  // namespace mdh
