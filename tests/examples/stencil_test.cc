// Figure 16, subfigure 4, and stencils with boundaries, against loop nests.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/examples/example.h"

namespace mdh::stencil_test {
namespace {

using Values = std::vector<double>;

TEST(StencilExamples, Jacobi1D) {
  constexpr int I = 17;
  const Example example("jacobi1d", {{"I", "17"}, {"T", "fp64"}});
  const Values x = example.Input(0);
  ASSERT_EQ(x.size(), I + 2u);
  Values y(I);
  for (int i = 0; i < I; ++i) y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3;
  ExpectOutput(example, y, 1e-12);
}

TEST(StencilExamples, Jacobi2D) {
  constexpr int I = 5, J = 7, W = J + 2;
  const Example example("jacobi2d", {{"I1", "5"}, {"I2", "7"}, {"T", "fp64"}});
  const Values x = example.Input(0);
  Values y(I * J);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      const int centre = (i + 1) * W + j + 1;
      y[i * J + j] =
          (x[centre - 1] + x[centre + 1] + x[centre - W] + x[centre + W] + x[centre]) / 5;
    }
  }
  ExpectOutput(example, y, 1e-12);
}

TEST(StencilExamples, Jacobi3D) {
  constexpr int I = 3, J = 4, K = 5, H = J + 2, W = K + 2;
  const Example example("jacobi3d", {{"I1", "3"}, {"I2", "4"}, {"I3", "5"}, {"T", "fp64"}});
  const Values x = example.Input(0);
  Values y(I * J * K);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      for (int k = 0; k < K; ++k) {
        const int c = ((i + 1) * H + j + 1) * W + k + 1;
        y[(i * J + j) * K + k] = 0.161 * x[c - 1] + 0.162 * x[c + 1] + 0.163 * x[c - W] +
                                 0.164 * x[c + W] + 0.165 * x[c - H * W] + 0.166 * x[c + H * W] -
                                 1.67 * x[c];
      }
    }
  }
  ExpectOutput(example, y, 1e-12);
}

TEST(StencilExamples, BlurWithTheNearestPixelBeyondTheEdges) {
  constexpr int I = 4, J = 6;
  const Example example("blur", {{"I", "4"}, {"J", "6"}});
  const Values image = example.Input(0);
  const double weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
  Values out(I * J);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) {
          const int y = std::clamp(i + r - 1, 0, I - 1), x = std::clamp(j + s - 1, 0, J - 1);
          out[i * J + j] += weights[r][s] * image[y * J + x] / 16;
        }
      }
    }
  }
  ExpectOutput(example, out);
}

}  // namespace
}  // namespace mdh::stencil_test
