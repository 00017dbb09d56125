// Regression by a Gaussian process (Rasmussen and Williams 2006) with a Matern 5/2 kernel and one
// length scale per group of features.
#pragma once

#include <vector>

#include "tuner/search/techniques/features.h"

namespace mdh {

// Deterministic. Not thread-safe.
class GaussianProcess {
 public:
  explicit GaussianProcess(const FeatureMap& features);

  // Takes the observations; length scales and noise are moved by `steps` ascents of the marginal
  // likelihood, from where they are. Expects at least one.
  void Fit(std::vector<std::vector<double>> points, const std::vector<double>& values, int steps);

  struct Prediction {
    double mean;
    double deviation;
  };
  double Mean(const std::vector<double>& point) const;
  Prediction Predict(const std::vector<double>& point) const;

 private:
  using Matrix = std::vector<double>;  // rows one after the other

  double SquaredDistance(const std::vector<double>& a, const std::vector<double>& b) const;
  std::vector<double> KernelsTo(const std::vector<double>& point) const;
  Matrix GroupDistances() const;
  void Ascend(const Matrix& distances, int steps);
  std::vector<double> Gradient(const Matrix& distances, const Matrix& inverse) const;
  void Factorize();

  std::vector<size_t> starts_;  // of groups
  // Logarithms: of one over the squared length scale of every group; of the noise's share.
  std::vector<double> weights_;
  double noise_;
  double prior_weight_;  // where weights_ are without observations

  std::vector<std::vector<double>> points_;
  std::vector<double> residuals_;  // values less their mean
  double mean_ = 0;
  double variance_ = 1;
  std::vector<double> feature_weights_;  // exp(weights_), per feature
  Matrix factor_;                        // Cholesky's, of the kernel matrix
  std::vector<double> solution_;         // kernel matrix^-1 * residuals
};

}  // namespace mdh
