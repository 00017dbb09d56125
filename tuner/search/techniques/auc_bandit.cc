// The AUC bandit of OpenTuner (Ansel et al. 2014; Fialho et al. 2010): whoever found new bests
// lately is asked more often.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "tuner/search/techniques/portfolio.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

constexpr size_t kWindow = 500;  // results that count
// Before so many proposals nobody has credit that means anything: the model alone, which learns
// most from few results, and knows what is expected of them. Of small spaces a part: what the model
// is wrong about is soon found by others there.
constexpr size_t kOfModel = 100;
constexpr size_t kPartOfModel = 5;  // one of so many configurations
constexpr double kExploration = 0.02;

class AucBandit final : public Portfolio {
 public:
  AucBandit() : Portfolio({"bayesian", "descent", "annealing"}) {}

 private:
  struct Use {
    size_t member;
    bool is_new_best;
  };

  void Reset(const SearchSpace& space) override {
    of_model_ = kOfModel;
    if (!space.is_lazy() && space.count() < kOfModel * kPartOfModel) {
      of_model_ = static_cast<size_t>(space.count().get_ui()) / kPartOfModel;
    }
    window_.clear();
    pending_.assign(size(), 0);
  }

  void OnProposal(size_t member) override { ++pending_[member]; }

  void OnResult(size_t member, bool is_new_best) override {
    --pending_[member];
    window_.push_back({.member = member, .is_new_best = is_new_best});
    if (window_.size() > kWindow) window_.pop_front();
  }

  // By credit and the bonus of those that were used little; what is being evaluated counts as use
  // without success.
  std::vector<size_t> Order() override {
    std::vector<size_t> order(size());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t total = std::accumulate(pending_.begin(), pending_.end(), window_.size());
    if (total < of_model_) return order;
    std::vector<double> scores(size());
    for (size_t member = 0; member < size(); ++member) {
      size_t uses = pending_[member];
      double credit = 0;
      double uses_in_window = 0;
      for (const Use& use : window_) {
        if (use.member != member) continue;
        uses_in_window += 1;
        ++uses;
        if (use.is_new_best) credit += uses_in_window;
      }
      if (uses == 0) {
        scores[member] = std::numeric_limits<double>::infinity();
        continue;
      }
      const auto n = static_cast<double>(uses);
      scores[member] = 2 * credit / (n * (n + 1)) +
                       kExploration * std::sqrt(2 * std::log2(static_cast<double>(total)) / n);
    }
    std::ranges::stable_sort(order,
                             [&scores](size_t a, size_t b) { return scores[a] > scores[b]; });
    return order;
  }

  size_t of_model_ = kOfModel;
  std::deque<Use> window_;
  std::vector<size_t> pending_;  // proposals of each member that were not reported
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeAucBandit() { return std::make_unique<AucBandit>(); }

}  // namespace mdh
