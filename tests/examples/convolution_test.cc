// Figure 16, subfigure 2, and other convolutions, against loop nests.
#include <gtest/gtest.h>

#include <vector>

#include "tests/examples/example.h"

namespace mdh::convolution_test {
namespace {

using Values = std::vector<double>;

TEST(ConvolutionExamples, Conv2D) {
  constexpr int P = 5, Q = 4, R = 3, S = 2;
  const Example example("conv2d", {{"P", "5"}, {"Q", "4"}, {"R", "3"}, {"S", "2"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(P * Q);
  for (int p = 0; p < P; ++p) {
    for (int q = 0; q < Q; ++q) {
      for (int r = 0; r < R; ++r) {
        for (int s = 0; s < S; ++s) {
          out[p * Q + q] += image[(p + r) * (Q + S - 1) + q + s] * filter[r * S + s];
        }
      }
    }
  }
  ExpectOutput(example, out);
}

TEST(ConvolutionExamples, Conv2DWithZerosAround) {
  constexpr int P = 5, Q = 4, R = 3, S = 5;
  const Example example("conv2d_padded", {{"P", "5"}, {"Q", "4"}, {"R", "3"}, {"S", "5"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(P * Q);
  for (int p = 0; p < P; ++p) {
    for (int q = 0; q < Q; ++q) {
      for (int r = 0; r < R; ++r) {
        for (int s = 0; s < S; ++s) {
          const int y = p + r - 1, x = q + s - 2;
          if (y < 0 || y >= P || x < 0 || x >= Q) continue;
          out[p * Q + q] += image[y * Q + x] * filter[r * S + s];
        }
      }
    }
  }
  ExpectOutput(example, out);
}

TEST(ConvolutionExamples, Mcc) {
  constexpr int N = 2, P = 3, Q = 2, K = 3, R = 2, S = 3, C = 2, SH = 2, SW = 3;
  constexpr int H = (P - 1) * SH + R, W = (Q - 1) * SW + S;
  const Example example("mcc", {{"N", "2"},
                                {"P", "3"},
                                {"Q", "2"},
                                {"K", "3"},
                                {"R", "2"},
                                {"S", "3"},
                                {"C", "2"},
                                {"SW", "3"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(N * P * Q * K);
  for (int n = 0; n < N; ++n) {
    for (int p = 0; p < P; ++p) {
      for (int q = 0; q < Q; ++q) {
        for (int k = 0; k < K; ++k) {
          double& sum = out[((n * P + p) * Q + q) * K + k];
          for (int r = 0; r < R; ++r) {
            for (int s = 0; s < S; ++s) {
              for (int c = 0; c < C; ++c) {
                sum += image[((n * H + SH * p + r) * W + SW * q + s) * C + c] *
                       filter[((k * R + r) * S + s) * C + c];
              }
            }
          }
        }
      }
    }
  }
  ExpectOutput(example, out);
}

TEST(ConvolutionExamples, MccCapsule) {
  constexpr int P = 2, Q = 2, K = 2, R = 2, S = 3, C = 2, MI = 2, MJ = 3, MK = 2;
  constexpr int H = (P - 1) * 2 + R, W = (Q - 1) * 2 + S;
  const Example example("mcc_capsule", {{"N", "1"},
                                        {"P", "2"},
                                        {"Q", "2"},
                                        {"K", "2"},
                                        {"R", "2"},
                                        {"S", "3"},
                                        {"C", "2"},
                                        {"MI", "2"},
                                        {"MJ", "3"},
                                        {"MK", "2"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(P * Q * K * MI * MJ);
  const auto pixel = [&](int y, int x, int c, int mi, int mk) {
    return image[(((y * W + x) * C + c) * MI + mi) * MK + mk];
  };
  const auto weight = [&](int k, int r, int s, int c, int mk, int mj) {
    return filter[((((k * R + r) * S + s) * C + c) * MK + mk) * MJ + mj];
  };
  size_t element = 0;
  for (int p = 0; p < P; ++p) {
    for (int q = 0; q < Q; ++q) {
      for (int k = 0; k < K; ++k) {
        for (int mi = 0; mi < MI; ++mi) {
          for (int mj = 0; mj < MJ; ++mj, ++element) {
            for (int r = 0; r < R; ++r) {
              for (int s = 0; s < S; ++s) {
                for (int c = 0; c < C; ++c) {
                  for (int mk = 0; mk < MK; ++mk) {
                    out[element] +=
                        pixel(2 * p + r, 2 * q + s, c, mi, mk) * weight(k, r, s, c, mk, mj);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(example.expression().rank(), 10);
  EXPECT_EQ(example.expression().inputs()[0].extents, (std::vector<int64_t>{1, H, W, C, MI, MK}));
  ExpectOutput(example, out);
}

TEST(ConvolutionExamples, Depthwise) {
  constexpr int N = 2, P = 3, Q = 4, C = 3, R = 2, S = 3, H = P + R - 1, W = Q + S - 1;
  const Example example("depthwise",
                        {{"N", "2"}, {"P", "3"}, {"Q", "4"}, {"C", "3"}, {"R", "2"}, {"S", "3"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(N * P * Q * C);
  for (int n = 0; n < N; ++n) {
    for (int p = 0; p < P; ++p) {
      for (int q = 0; q < Q; ++q) {
        for (int c = 0; c < C; ++c) {
          for (int r = 0; r < R; ++r) {
            for (int s = 0; s < S; ++s) {
              out[((n * P + p) * Q + q) * C + c] +=
                  image[((n * H + p + r) * W + q + s) * C + c] * filter[(r * S + s) * C + c];
            }
          }
        }
      }
    }
  }
  ExpectOutput(example, out);
}

TEST(ConvolutionExamples, Grouped) {
  constexpr int N = 2, G = 2, K = 3, P = 2, Q = 3, C = 2, R = 2, S = 3;
  constexpr int H = P + R - 1, W = Q + S - 1;
  const Example example("gconv", {{"N", "2"},
                                  {"G", "2"},
                                  {"K", "3"},
                                  {"P", "2"},
                                  {"Q", "3"},
                                  {"C", "2"},
                                  {"R", "2"},
                                  {"S", "3"}});
  const Values image = example.Input(0), filter = example.Input(1);
  Values out(N * G * K * P * Q);
  for (int n = 0; n < N; ++n) {
    for (int g = 0; g < G; ++g) {
      for (int k = 0; k < K; ++k) {
        for (int p = 0; p < P; ++p) {
          for (int q = 0; q < Q; ++q) {
            double& sum = out[(((n * G + g) * K + k) * P + p) * Q + q];
            for (int c = 0; c < C; ++c) {
              for (int r = 0; r < R; ++r) {
                for (int s = 0; s < S; ++s) {
                  sum += image[(((n * G + g) * C + c) * H + p + r) * W + q + s] *
                         filter[(((g * K + k) * C + c) * R + r) * S + s];
                }
              }
            }
          }
        }
      }
    }
  }
  ExpectOutput(example, out);
}

}  // namespace
}  // namespace mdh::convolution_test
