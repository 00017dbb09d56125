// Figure 16, subfigures 6 to 8: histograms, map and reduce, prefix sums; and computations with
// operators and functions of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/examples/example.h"

namespace mdh::pattern_test {
namespace {

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(HistogramExamples, Histo) {
  constexpr int E = 101, B = 7;
  Example example("histo", {{"E", "101"}, {"B", "7"}});
  const Values bins = {-3, -2, -1, 0, 1, 2, 3};
  example.SetInput(1, bins);
  const Values elements = example.Input(0);
  Values counts(B);
  for (int e = 0; e < E; ++e) {
    for (int b = 0; b < B; ++b) {
      if (elements[e] == bins[b]) ++counts[b];
    }
  }
  ExpectOutput(example, counts);
}

TEST(HistogramExamples, GenHisto) {
  constexpr int E = 51, B = 9;
  Example example("gen_histo", {{"E", "51"}, {"B", "9"}});
  Values bins(B);
  std::iota(bins.begin(), bins.end(), -3);  // the last one is empty
  example.SetInput(1, bins);
  const Values bin = example.Input(0, 0), value = example.Input(0, 1);
  Values largest(B, -kInfinity);
  for (int e = 0; e < E; ++e) {
    for (int b = 0; b < B; ++b) {
      if (bin[e] == bins[b]) largest[b] = std::max(largest[b], value[e]);
    }
  }
  EXPECT_EQ(largest.back(), -kInfinity);
  ExpectOutput(example, largest);
}

TEST(MapReduceExamples, Map) {
  const Example example("map", {{"I", "23"}, {"T", "fp64"}});
  Values y = example.Input(0);
  for (double& x : y) x = x / (1 + std::fabs(x));
  ExpectOutput(example, y, 1e-15);
}

TEST(MapReduceExamples, ReduceWithOneAndWithTwoOperators) {
  const Example one("reduce", {{"I", "23"}});
  const Values x = one.Input(0);
  double sum = 0, largest = -kInfinity;
  for (const double value : x) {
    sum += value;
    largest = std::max(largest, value);
  }
  ExpectOutput(one, {sum});
  Example two("reduce2", {{"I", "23"}});
  two.SetInput(0, x);
  ExpectOutput(two, {sum}, 0, 0);
  ExpectOutput(two, {largest}, 0, 1);
}

TEST(MapReduceExamples, SumAndMaxOfRows) {
  constexpr int I = 4, K = 9;
  const Example example("sum_and_max", {{"I", "4"}, {"K", "9"}});
  const Values M = example.Input(0);
  Values sum(I), largest(I, -kInfinity);
  for (int i = 0; i < I; ++i) {
    for (int k = 0; k < K; ++k) {
      sum[i] += M[i * K + k];
      largest[i] = std::max(largest[i], M[i * K + k]);
    }
  }
  ExpectOutput(example, sum, 0, 0);
  ExpectOutput(example, largest, 0, 1);
}

TEST(PrefixSumExamples, Scan) {
  const Example example("scan", {{"I", "29"}});
  const Values x = example.Input(0);
  Values y(29);
  double sum = 0;
  for (int i = 0; i < 29; ++i) y[i] = sum += x[i];
  ExpectOutput(example, y);
}

TEST(PrefixSumExamples, Mbbs) {
  constexpr int I = 7, J = 5;
  const Example example("mbbs", {{"I", "7"}, {"J", "5"}});
  const Values A = example.Input(0);
  Values sums(I);
  double sum = 0;
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) sum += A[i * J + j];
    sums[i] = sum;
  }
  ExpectOutput(example, sums);
}

TEST(PrefixSumExamples, LinearRecurrence) {
  constexpr int I = 13;
  Example example("linear_recurrence", {{"I", "13"}});
  example.Fill(-2, 2);
  const Values a = example.Input(0, 0), b = example.Input(0, 1);
  Values x(I), product(I);
  double previous = 0, factor = 1;
  for (int i = 0; i < I; ++i) {
    x[i] = previous = a[i] * previous + b[i];
    product[i] = factor *= a[i];
  }
  ExpectOutput(example, product, 0, 0, 0);
  ExpectOutput(example, x, 0, 0, 1);
}

TEST(IndexExamples, Mandelbrot) {
  constexpr int H = 24, W = 36;
  const Example example("mandelbrot", {{"H", "24"}, {"W", "36"}});
  Values iterations(H * W);
  for (int y = 0; y < H; ++y) {
    for (int x = 0; x < W; ++x) {
      const double cx = 3.0 * x / W - 2, cy = 2.0 * y / H - 1;
      double zx = cx, zy = cy;
      for (int n = 0; n < 10; ++n) {
        if (zx * zx + zy * zy <= 4) ++iterations[y * W + x];
        const double next = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = next;
      }
    }
  }
  EXPECT_EQ(*std::max_element(iterations.begin(), iterations.end()), 10);
  EXPECT_EQ(*std::min_element(iterations.begin(), iterations.end()), 0);
  ExpectOutput(example, iterations);
}

TEST(IndexExamples, Argmax) {
  constexpr int I = 6, K = 11;
  const Example example("argmax", {{"I", "6"}, {"K", "11"}});
  const Values M = example.Input(0);
  Values value(I), position(I);
  for (int i = 0; i < I; ++i) {
    for (int k = 0; k < K; ++k) {
      if (k > 0 && M[i * K + k] <= value[i]) continue;
      value[i] = M[i * K + k];
      position[i] = k;
    }
  }
  ExpectOutput(example, value, 0, 0);
  ExpectOutput(example, position, 0, 1);
}

TEST(StatisticsExamples, Softmax) {
  constexpr int I = 3, K = 8;
  Example example("softmax_stats", {{"I", "3"}, {"K", "8"}});
  Values X = example.Input(0);
  for (double& x : X) x *= 100;                   // exp of it does not fit in fp32
  for (int k = 0; k < 5; ++k) X[k] = -kInfinity;  // a masked part of a row
  example.SetInput(0, X);
  Values maximum(I, -kInfinity), sum(I);
  for (int i = 0; i < I; ++i) {
    for (int k = 0; k < K; ++k) maximum[i] = std::max(maximum[i], X[i * K + k]);
    for (int k = 0; k < K; ++k) sum[i] += std::exp(X[i * K + k] - maximum[i]);
  }
  ExpectOutput(example, maximum, 0, 0);
  ExpectOutput(example, sum, 1e-6, 1);
}

TEST(StatisticsExamples, SoftmaxOfNothingIsNoNan) {
  Example example("softmax_stats", {{"I", "1"}, {"K", "4"}});
  example.SetInput(0, Values(4, -kInfinity));
  ExpectOutput(example, {-kInfinity}, 0, 0);
  ExpectOutput(example, {4}, 0, 1);
  // Empty parts are combined with each other, too.
  const CombineOperator& combine = example.expression().reduction();
  std::vector<ScalarValue> both = *combine.identity();
  both.insert(both.end(), combine.identity()->begin(), combine.identity()->end());
  EXPECT_EQ(combine.function().Evaluate(both), *combine.identity());
}

TEST(SimulationExamples, NBody) {
  constexpr int N = 9;
  const Example example("nbody", {{"N", "9"}});
  const Values x = example.Input(0, 0), y = example.Input(0, 1), z = example.Input(0, 2),
               mass = example.Input(0, 3);
  Values fx(N), fy(N), fz(N);
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      const double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const double scale = mass[j] / std::pow(dx * dx + dy * dy + dz * dz + 0.01, 1.5);
      fx[i] += scale * dx;
      fy[i] += scale * dy;
      fz[i] += scale * dz;
    }
  }
  ExpectOutput(example, fx, 1e-4, 0, 0);
  ExpectOutput(example, fy, 1e-4, 0, 1);
  ExpectOutput(example, fz, 1e-4, 0, 2);
}

}  // namespace
}  // namespace mdh::pattern_test
