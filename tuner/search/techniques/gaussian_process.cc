#include "tuner/search/techniques/gaussian_process.h"

#include <algorithm>
#include <cmath>

namespace mdh {
namespace {

constexpr double kPriorDeviation = 1.2;  // of a group's weight
constexpr double kPriorNoise = -6.0;
constexpr double kNoiseDeviation = 1.0;
constexpr double kFirstAscent = 0.3;
constexpr double kSmallestAscent = 0.02;

// Derivative of the kernel by the squared distance, and the kernel.
double Matern(double squared_distance) {
  const double r = std::sqrt(5 * squared_distance);
  return (1 + r + r * r / 3) * std::exp(-r);
}
double MaternSlope(double squared_distance) {
  const double r = std::sqrt(5 * squared_distance);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

// Several sums at once, so that they need not wait for each other.
double Dot(const double* a, const double* b, size_t n) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// In place; the upper triangle is not looked at.
void Cholesky(std::vector<double>& a, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const double sum = a[i * n + j] - Dot(&a[i * n], &a[j * n], j);
      a[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-10)) : sum / a[j * n + j];
    }
  }
}

// factor * result = b
std::vector<double> SolveLower(const std::vector<double>& factor, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    b[i] = (b[i] - Dot(&factor[i * n], b.data(), i)) / factor[i * n + i];
  }
  return b;
}

// factor^T * result = b
std::vector<double> SolveUpper(const std::vector<double>& factor, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = n; i-- > 0;) {
    b[i] /= factor[i * n + i];
    for (size_t k = 0; k < i; ++k) b[k] -= factor[i * n + k] * b[i];
  }
  return b;
}

// (factor * factor^T)^-1
std::vector<double> Inverse(const std::vector<double>& factor, size_t n) {
  std::vector<double> rows(n * n, 0.0);  // row i: column i of factor^-1
  for (size_t i = 0; i < n; ++i) {
    double* const row = &rows[i * n];
    row[i] = 1 / factor[i * n + i];
    for (size_t j = i + 1; j < n; ++j) {
      row[j] = -Dot(&factor[j * n + i], row + i, j - i) / factor[j * n + j];
    }
  }
  std::vector<double> inverse(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      inverse[i * n + j] = inverse[j * n + i] = Dot(&rows[i * n + i], &rows[j * n + i], n - i);
    }
  }
  return inverse;
}

}  // namespace

GaussianProcess::GaussianProcess(const FeatureMap& features) : noise_(kPriorNoise) {
  for (size_t group = 0; group <= features.groups(); ++group) {
    starts_.push_back(features.group_start(group));
  }
  // The kernel reaches beyond the distance of random points, however many parameters there are, so
  // that a few results already say something of every place.
  prior_weight_ = std::log(2.0 / static_cast<double>(std::max<size_t>(1, features.groups())));
  weights_.assign(features.groups(), prior_weight_);
}

void GaussianProcess::Fit(std::vector<std::vector<double>> points,
                          const std::vector<double>& values, int steps) {
  points_ = std::move(points);
  mean_ = 0;
  for (const double value : values) mean_ += value / static_cast<double>(values.size());
  residuals_.clear();
  for (const double value : values) residuals_.push_back(value - mean_);
  if (steps > 0) Ascend(GroupDistances(), steps);
  Factorize();
}

// Squared distance of every group, for all pairs: [i][j < i][group].
GaussianProcess::Matrix GaussianProcess::GroupDistances() const {
  Matrix distances;
  const size_t groups = weights_.size();
  distances.reserve(points_.size() * (points_.size() - 1) / 2 * groups);
  for (size_t i = 0; i < points_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      for (size_t group = 0; group < groups; ++group) {
        double sum = 0;
        for (size_t f = starts_[group]; f < starts_[group + 1]; ++f) {
          const double difference = points_[i][f] - points_[j][f];
          sum += difference * difference;
        }
        distances.push_back(sum);
      }
    }
  }
  return distances;
}

void GaussianProcess::Factorize() {
  const size_t n = points_.size();
  feature_weights_.assign(starts_.back(), 0);
  for (size_t group = 0; group < weights_.size(); ++group) {
    for (size_t f = starts_[group]; f < starts_[group + 1]; ++f) {
      feature_weights_[f] = std::exp(weights_[group]);
    }
  }
  factor_.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      factor_[i * n + j] = Matern(SquaredDistance(points_[i], points_[j]));
    }
    factor_[i * n + i] = 1 + std::exp(noise_);
  }
  Cholesky(factor_, n);
  solution_ = SolveUpper(factor_, SolveLower(factor_, residuals_));
  variance_ = 0;
  for (size_t i = 0; i < n; ++i) variance_ += residuals_[i] * solution_[i];
  variance_ = std::max(variance_ / static_cast<double>(n), 1e-12);
}

// Steps of the resilient kind (Riedmiller and Braun 1993): only signs of derivatives count.
void GaussianProcess::Ascend(const Matrix& distances, int steps) {
  std::vector<double> ascents(weights_.size() + 1, kFirstAscent);
  std::vector<double> last(weights_.size() + 1, 0);
  for (int step = 0; step < steps; ++step) {
    Factorize();
    const std::vector<double> slopes = Gradient(distances, Inverse(factor_, points_.size()));
    for (size_t i = 0; i < slopes.size(); ++i) {
      const double agreement = slopes[i] * last[i];
      if (agreement > 0) ascents[i] = std::min(1.0, ascents[i] * 1.2);
      if (agreement < 0) ascents[i] = std::max(kSmallestAscent, ascents[i] * 0.5);
      last[i] = slopes[i];
      double& parameter = i < weights_.size() ? weights_[i] : noise_;
      if (slopes[i] != 0) parameter += std::copysign(ascents[i], slopes[i]);
      parameter = std::clamp(parameter, -12.0, 6.0);
    }
    noise_ = std::min(noise_, 0.0);
  }
}

// Of the logarithm of marginal likelihood times prior, by weights_ and noise_; the variance is at
// its optimum.
std::vector<double> GaussianProcess::Gradient(const Matrix& distances,
                                              const Matrix& inverse) const {
  const size_t n = points_.size();
  const size_t groups = weights_.size();
  std::vector<double> slopes(groups + 1, 0);
  const double* pair = distances.data();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j, pair += groups) {
      double squared = 0;
      for (size_t group = 0; group < groups; ++group) {
        squared += pair[group] * feature_weights_[starts_[group]];
      }
      const double share =
          (solution_[i] * solution_[j] / variance_ - inverse[i * n + j]) * MaternSlope(squared);
      for (size_t group = 0; group < groups; ++group) slopes[group] += share * pair[group];
    }
    slopes[groups] += (solution_[i] * solution_[i] / variance_ - inverse[i * n + i]) / 2;
  }
  for (size_t group = 0; group < groups; ++group) {
    slopes[group] *= feature_weights_[starts_[group]];
    slopes[group] -= (weights_[group] - prior_weight_) / (kPriorDeviation * kPriorDeviation);
  }
  slopes[groups] *= std::exp(noise_);
  slopes[groups] -= (noise_ - kPriorNoise) / (kNoiseDeviation * kNoiseDeviation);
  return slopes;
}

double GaussianProcess::SquaredDistance(const std::vector<double>& a,
                                        const std::vector<double>& b) const {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = a[i] - b[i];
    sum += feature_weights_[i] * difference * difference;
  }
  return sum;
}

std::vector<double> GaussianProcess::KernelsTo(const std::vector<double>& point) const {
  std::vector<double> kernels;
  kernels.reserve(points_.size());
  for (const std::vector<double>& other : points_) {
    kernels.push_back(Matern(SquaredDistance(point, other)));
  }
  return kernels;
}

double GaussianProcess::Mean(const std::vector<double>& point) const {
  double mean = mean_;
  for (size_t i = 0; i < points_.size(); ++i) {
    mean += solution_[i] * Matern(SquaredDistance(point, points_[i]));
  }
  return mean;
}

GaussianProcess::Prediction GaussianProcess::Predict(const std::vector<double>& point) const {
  const std::vector<double> kernels = KernelsTo(point);
  double mean = mean_;
  for (size_t i = 0; i < kernels.size(); ++i) mean += solution_[i] * kernels[i];
  double explained = 0;
  for (const double value : SolveLower(factor_, kernels)) explained += value * value;
  return {.mean = mean, .deviation = std::sqrt(variance_ * std::max(1 - explained, 1e-9))};
}

}  // namespace mdh
