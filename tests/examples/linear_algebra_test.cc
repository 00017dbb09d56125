// Figure 16, subfigures 1 and 3, and other contractions, against loop nests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/examples/example.h"

namespace mdh::linear_algebra_test {
namespace {

using Values = std::vector<double>;

TEST(LinearAlgebraExamples, Dot) {
  for (const char* name : {"dot", "dot_bf16"}) {
    const Example example(name, {{"K", "37"}});
    const Values x = example.Input(0), y = example.Input(1);
    Values s = {0};
    for (int k = 0; k < 37; ++k) s[0] += x[k] * y[k];
    ExpectOutput(example, s);
  }
}

TEST(LinearAlgebraExamples, MatVec) {
  constexpr int I = 5, K = 7;
  const Example example("matvec", {{"I", "5"}, {"K", "7"}});
  const Values M = example.Input(0), v = example.Input(1);
  Values w(I);
  for (int i = 0; i < I; ++i) {
    for (int k = 0; k < K; ++k) w[i] += M[i * K + k] * v[k];
  }
  ExpectOutput(example, w);
}

TEST(LinearAlgebraExamples, MatMul) {
  constexpr int I = 5, J = 6, K = 7;
  for (const char* name : {"matmul", "matmul_fp16"}) {
    const Example example(name, {{"I", "5"}, {"J", "6"}, {"K", "7"}});
    const Values A = example.Input(0), B = example.Input(1);
    Values C(I * J);
    for (int i = 0; i < I; ++i) {
      for (int j = 0; j < J; ++j) {
        for (int k = 0; k < K; ++k) C[i * J + j] += A[i * K + k] * B[k * J + j];
      }
    }
    ExpectOutput(example, C);
  }
}

// What fp16 cannot hold while it is summed up, fp32 can.
TEST(LinearAlgebraExamples, HalfPrecisionIsSummedUpInSinglePrecision) {
  Example example("matmul_fp16", {{"I", "1"}, {"J", "1"}, {"K", "5000"}});
  Values ones(5000, 1);
  Values other(5000, 1);
  for (size_t k = 2500; k < 5000; ++k) other[k] = 0.5;
  example.SetInput(0, ones);
  example.SetInput(1, other);
  ExpectOutput(example, {3750});  // beyond 2048, adding 0.5 changes no fp16
  EXPECT_EQ(example.expression().function().results()[0].type, ScalarType::kFloat32);
}

TEST(LinearAlgebraExamples, MatMulTransposed) {
  constexpr int I = 5, J = 6, K = 7;
  const Example example("matmul_t", {{"I", "5"}, {"J", "6"}, {"K", "7"}});
  const Values A = example.Input(0), B = example.Input(1);
  Values C(J * I);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      for (int k = 0; k < K; ++k) C[j * I + i] += A[k * I + i] * B[j * K + k];
    }
  }
  ExpectOutput(example, C);
}

TEST(LinearAlgebraExamples, BatchedMatMul) {
  constexpr int N = 3, I = 4, J = 5, K = 6;
  const Example example("bmatmul", {{"B", "3"}, {"I", "4"}, {"J", "5"}, {"K", "6"}});
  const Values X = example.Input(0), W = example.Input(1);
  Values Y(N * I * J);
  for (int b = 0; b < N; ++b) {
    for (int i = 0; i < I; ++i) {
      for (int j = 0; j < J; ++j) {
        for (int k = 0; k < K; ++k) {
          Y[(b * I + i) * J + j] += X[(b * I + i) * K + k] * W[(b * K + k) * J + j];
        }
      }
    }
  }
  ExpectOutput(example, Y);
}

TEST(LinearAlgebraExamples, Gram) {
  constexpr int I = 5, K = 9;
  const Example example("gram", {{"I", "5"}, {"K", "9"}});
  const Values X = example.Input(0);
  Values G(I * I);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < I; ++j) {
      for (int k = 0; k < K; ++k) G[i * I + j] += X[k * I + i] * X[k * I + j];
    }
  }
  ExpectOutput(example, G);
}

TEST(LinearAlgebraExamples, Mttkrp) {
  constexpr int I = 3, J = 4, K = 5, L = 6;
  const Example example("mttkrp", {{"I", "3"}, {"J", "4"}, {"K", "5"}, {"L", "6"}});
  const Values B = example.Input(0), C = example.Input(1), D = example.Input(2);
  Values A(I * J);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      for (int k = 0; k < K; ++k) {
        for (int l = 0; l < L; ++l) {
          A[i * J + j] += B[(i * K + k) * L + l] * D[l * J + j] * C[k * J + j];
        }
      }
    }
  }
  ExpectOutput(example, A);
}

TEST(LinearAlgebraExamples, Sddmm) {
  constexpr int I = 4, J = 5, K = 6;
  const Example example("sddmm", {{"I", "4"}, {"J", "5"}, {"K", "6"}});
  const Values S = example.Input(0), A = example.Input(1), B = example.Input(2);
  Values P(I * J);
  for (int i = 0; i < I; ++i) {
    for (int j = 0; j < J; ++j) {
      double product = 0;
      for (int k = 0; k < K; ++k) product += A[i * K + k] * B[k * J + j];
      P[i * J + j] = S[i * J + j] * product;
    }
  }
  ExpectOutput(example, P);
}

constexpr int kSizes[] = {2, 3, 2, 3, 2, 3, 4};  // of a to g

// The offset of an element whose indices are named, e.g. "gdab".
int Offset(const std::string& names, const int (&index)[7]) {
  int offset = 0;
  for (const char name : names) offset = offset * kSizes[name - 'a'] + index[name - 'a'];
  return offset;
}

void CheckContraction(const std::string& left, const std::string& right) {
  Bindings sizes;
  for (int d = 0; d < 7; ++d) {
    sizes[std::string(1, static_cast<char>('A' + d))] = absl::StrCat(kSizes[d]);
  }
  const Example example(absl::StrCat("ccsdt_", left, "_", right), sizes);
  const Values A = example.Input(0), B = example.Input(1);
  Values C(2 * 3 * 2 * 3 * 2 * 3);
  int index[7] = {};
  auto& [a, b, c, d, e, f, g] = index;
  for (a = 0; a < 2; ++a) {
    for (b = 0; b < 3; ++b) {
      for (c = 0; c < 2; ++c) {
        for (d = 0; d < 3; ++d) {
          for (e = 0; e < 2; ++e) {
            for (f = 0; f < 3; ++f) {
              for (g = 0; g < 4; ++g) {
                C[Offset("abcdef", index)] += A[Offset(left, index)] * B[Offset(right, index)];
              }
            }
          }
        }
      }
    }
  }
  ExpectOutput(example, C);
}

TEST(QuantumChemistryExamples, AllContractionsOfCcsdt) {
  CheckContraction("gdab", "efgc");
  CheckContraction("gdac", "efgb");
  CheckContraction("gdbc", "efga");
  CheckContraction("geab", "dfgc");
  CheckContraction("geac", "dfgb");
  CheckContraction("gebc", "dfga");
  CheckContraction("gfab", "degc");
  CheckContraction("gfac", "degb");
  CheckContraction("gfbc", "dega");
}

}  // namespace
}  // namespace mdh::linear_algebra_test
