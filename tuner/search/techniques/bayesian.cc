// Bayesian optimisation: a model of the costs known so far says which configuration is likely to
// improve most (expected improvement, Jones et al. 1998). Costs are modelled by their logarithm,
// and what bounds and estimates say of them is where the model begins.
#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tuner/search/techniques/gaussian_process.h"
#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/neighbourhood.h"
#include "tuner/search/techniques/technique_makers.h"
#include "tuner/search/techniques/tree_nodes.h"

namespace mdh {
namespace {

constexpr size_t kBeforeModel = 6;        // results before there is a model
constexpr size_t kMaxObservations = 160;  // that the model looks at; half of them the best
constexpr size_t kSamples = 200;          // candidates from anywhere
constexpr size_t kDraws = 20;             // of each, while bounds show that it is no better
constexpr size_t kParents = 4;            // whose neighbours are candidates
constexpr size_t kWalks = 60;             // candidates some steps away from elites
constexpr size_t kMaxNeighbours = 300;
constexpr size_t kFinalists = 300;  // of the candidates, whose improvement is predicted
// Values above this quantile are drawn towards it.
constexpr double kTailQuantile = 0.3, kTailScale = 0.35;
// Of the logarithm of costs: less is no improvement to look for. Else what is known to be good has
// its surroundings tried for the last percent before other good places are.
constexpr double kWorthwhile = 0.05;
// Of the logarithms of a bound and of an estimate, how much the cost is expected to have; and below
// which share of the best cost bounds do not differ, or are not known.
constexpr double kOfBound = 0.5, kOfEstimate = 0.5, kLeastBound = 1e-3;
constexpr size_t kPicked = 200;    // of which the first ones are those that are expected to be best
constexpr int kClimbs = 3;         // to better neighbours of the best candidate
constexpr int kFirstAscents = 25;  // of the model's likelihood
constexpr int kAscents = 4;

class Bayesian final : public SearchTechnique {
 public:
  void SetBound(SearchBound bound) override {
    bound_ = std::move(bound);
    cut_.emplace(bound_);
  }

  void Initialize(const SearchSpace& space, uint64_t seed) override {
    SearchBound bound = std::move(bound_);
    *this = Bayesian();
    SetBound(std::move(bound));
    space_.emplace(space);
    features_.emplace(space);
    model_.emplace(*features_);
    rng_.seed(seed);
  }

  std::optional<Configuration> Next() override {
    std::optional<Configuration> next;
    if (history_.valid() > 0 && history_.results().size() >= kBeforeModel) next = MostPromising();
    if (!next) next = history_.results().size() < kBeforeModel ? DrawFirst() : Draw();
    history_.Expect(*next);
    expected_.push_back(*next);
    return next;
  }

  void Report(const Configuration& configuration, Cost cost) override {
    expected_.pop_front();
    Inform(configuration, cost);
  }
  // Of costs the model learns those that were measured.
  void Skip(const Configuration& /*configuration*/, double /*at_least*/) override {
    expected_.pop_front();
  }
  void Inform(const Configuration& configuration, Cost cost) override {
    cut_->Know(cost);
    history_.Add(configuration, cost);
  }

 private:
  struct Candidate {
    Configuration configuration;
    double improvement;
  };

  bool IsCut(const Configuration& configuration) const {
    return bound_.bound != nullptr && cut_->Cuts(bound_.bound->OfOne(configuration));
  }

  // Any one, which may be better than the best if such are not too rare.
  Configuration Draw() {
    Configuration drawn = space_->Sample(rng_);
    for (size_t n = 0; n < kDraws && IsCut(drawn); ++n) drawn = space_->Sample(rng_);
    return drawn;
  }

  // Before there is a model: of many that were not tried the one of which most is expected.
  Configuration DrawFirst() {
    Configuration first = Draw();
    if (bound_.estimate == nullptr) return first;
    for (size_t n = 0; n < kPicked; ++n) {
      Configuration other = space_->Sample(rng_);
      if (history_.Contains(other) || IsCut(other)) continue;
      if (history_.Contains(first) || Prior(other) < Prior(first)) first = std::move(other);
    }
    return first;
  }

  // Failed configurations count as bad as the worst.
  static double ValueOf(const Cost& cost, double worst) {
    return cost ? std::log(std::max(*cost, 1e-300)) : worst;
  }

  // How bad the bad ones are matters less than where the good ones are.
  static void CompressTail(std::vector<double>& values) {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    const double good =
        sorted[static_cast<size_t>(kTailQuantile * static_cast<double>(sorted.size()))];
    for (double& value : values) {
      if (value > good) value = good + kTailScale * (value - good);
    }
  }

  // What is expected of a configuration before anything is measured, up to a constant.
  double Prior(const Configuration& configuration) const {
    double prior = 0;
    if (bound_.estimate != nullptr) {
      prior += kOfEstimate * std::log(bound_.estimate->Of(configuration));
    }
    if (bound_.bound == nullptr) return prior;
    const double bound = std::max(bound_.bound->OfOne(configuration), least_bound_);
    return prior + kOfBound * std::log(std::max(bound, 1e-300));
  }

  // Positions of the results that the model looks at.
  std::vector<size_t> Observed() const {
    const std::vector<History::Known>& results = history_.results();
    std::vector<size_t> observed(results.size());
    for (size_t i = 0; i < observed.size(); ++i) observed[i] = i;
    if (observed.size() <= kMaxObservations) return observed;
    std::ranges::stable_sort(observed, [&results](size_t a, size_t b) {
      return IsBetter(results[a].cost, results[b].cost);
    });
    // Beside the best half, an even choice of the others.
    const size_t rest = observed.size() - kMaxObservations / 2;
    for (size_t i = 0; i < kMaxObservations / 2; ++i) {
      observed[kMaxObservations / 2 + i] =
          observed[kMaxObservations / 2 + i * rest / (kMaxObservations / 2)];
    }
    observed.resize(kMaxObservations);
    return observed;
  }

  void FitModel() {
    const double worst = ValueOf(history_.Best(history_.valid() - 1).cost, 0);
    least_bound_ = kLeastBound * std::max(*history_.Best().cost, 1e-300);
    std::vector<std::vector<double>> points;
    std::vector<double> values, priors;
    for (const size_t i : Observed()) {
      points.push_back((*features_)(history_.results()[i].configuration));
      values.push_back(ValueOf(history_.results()[i].cost, worst));
      priors.push_back(Prior(history_.results()[i].configuration));
    }
    CompressTail(values);
    best_value_ = *std::ranges::min_element(values);
    for (size_t i = 0; i < values.size(); ++i) values[i] -= priors[i];
    int steps = 0;
    if (history_.results().size() >= fitted_ + 1 + fitted_ / 20) {
      steps = fitted_ == 0 ? kFirstAscents : kAscents;
      fitted_ = history_.results().size();
    }
    model_->Fit(points, values, steps);
    if (expected_.empty()) return;
    // What is being evaluated is believed to have the mean that the model predicts.
    const size_t known = points.size();
    for (const Configuration& configuration : expected_) {
      points.push_back((*features_)(configuration));
    }
    for (size_t i = known; i < points.size(); ++i) values.push_back(model_->Mean(points[i]));
    model_->Fit(std::move(points), values, 0);
  }

  double Improvement(const Configuration& configuration, double target) const {
    const GaussianProcess::Prediction prediction = model_->Predict((*features_)(configuration));
    const double z = (target - prediction.mean - Prior(configuration)) / prediction.deviation;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
    const double below = std::erfc(-z / std::sqrt(2)) / 2;
    return prediction.deviation * (z * below + density);
  }

  std::optional<Configuration> MostPromising() {
    FitModel();
    std::optional<Candidate> chosen = BestOf(Candidates());
    for (int climb = 0; chosen && climb < kClimbs; ++climb) {
      std::optional<Candidate> next = BestOf(NewNeighbours(chosen->configuration));
      if (!next || next->improvement <= chosen->improvement) break;
      chosen = std::move(next);
    }
    if (!chosen) return std::nullopt;
    return std::move(chosen->configuration);
  }

  // The one with the largest expected improvement. Deviations are costly to predict: only those of
  // the candidates with the best means are.
  std::optional<Candidate> BestOf(std::vector<Configuration> candidates) const {
    std::vector<std::pair<double, size_t>> means;
    for (size_t i = 0; i < candidates.size(); ++i) {
      means.emplace_back(model_->Mean((*features_)(candidates[i])) + Prior(candidates[i]), i);
    }
    const size_t finalists = std::min(kFinalists, means.size());
    std::partial_sort(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(finalists),
                      means.end());
    std::optional<Candidate> chosen;
    for (size_t n = 0; n < finalists; ++n) {
      Configuration& candidate = candidates[means[n].second];
      const double improvement = Improvement(candidate, best_value_ - kWorthwhile);
      if (chosen && improvement <= chosen->improvement) continue;
      chosen = {.configuration = std::move(candidate), .improvement = improvement};
    }
    return chosen;
  }

  std::vector<Configuration> Candidates() {
    std::vector<Configuration> candidates;
    absl::flat_hash_set<Configuration> seen;
    const auto add = [this, &candidates, &seen](Configuration configuration) {
      if (history_.Contains(configuration) || !seen.insert(configuration).second) return;
      if (IsCut(configuration)) return;
      candidates.push_back(std::move(configuration));
    };
    const size_t elites = std::min(kParents, history_.valid());
    for (size_t n = 0; n < elites; ++n) {
      for (Configuration& next : NewNeighbours(history_.Best(n).configuration)) {
        add(std::move(next));
      }
    }
    for (size_t i = 0; i < kWalks; ++i) {
      const Configuration& elite = history_.Best(RandomBelow(rng_, elites)).configuration;
      add(RandomWalk(*space_, elite, 2 + static_cast<int>(RandomBelow(rng_, 3)), rng_));
    }
    for (size_t i = 0; i < kSamples; ++i) add(Draw());
    return candidates;
  }

  // Neighbours that are not known; a random choice of them if there are many.
  std::vector<Configuration> NewNeighbours(const Configuration& configuration) {
    std::vector<Change> changes = space_->Neighbours(configuration);
    for (size_t i = 0; changes.size() > kMaxNeighbours && i < kMaxNeighbours; ++i) {
      std::swap(changes[i], changes[i + RandomBelow(rng_, changes.size() - i)]);
    }
    if (changes.size() > kMaxNeighbours) changes.resize(kMaxNeighbours);
    std::vector<Configuration> neighbours;
    for (const Change& change : changes) {
      Configuration neighbour = configuration;
      neighbour[static_cast<size_t>(change.parameter)] = change.code;
      if (!history_.Contains(neighbour) && !IsCut(neighbour))
        neighbours.push_back(std::move(neighbour));
    }
    return neighbours;
  }

  SearchBound bound_;
  std::optional<TreeCut> cut_;
  std::optional<SearchSpace> space_;
  std::optional<FeatureMap> features_;
  std::optional<GaussianProcess> model_;
  Rng rng_;
  History history_;
  std::deque<Configuration> expected_;
  double best_value_ = 0;  // as the model has it
  double least_bound_ = 0;
  size_t fitted_ = 0;  // results when the model's parameters were fitted
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeBayesian() { return std::make_unique<Bayesian>(); }

}  // namespace mdh
