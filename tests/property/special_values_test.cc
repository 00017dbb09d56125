// Kernels from rules where values are nan, infinite or zeros of both signs: every numerics policy
// gives what the interpreter gives, and what numpy and C would. Random kernels are block_campaign's
// and kernel_campaign's, of which every third has such values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/property/kernel_judge.h"
#include "tests/shipped_expression.h"

namespace mdh::special_values_test {
namespace {

constexpr NumericsPolicy kPolicies[] = {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder,
                                        NumericsPolicy::kFixedTree};

BufferBytes Stored(ScalarType type, const std::vector<double>& values) {
  BufferBytes bytes(values.size() * SizeBytes(type));
  for (size_t n = 0; n < values.size(); ++n) {
    ScalarValue::Real(type, values[n]).Store(bytes.data() + n * SizeBytes(type));
  }
  return bytes;
}

double At(const BufferBytes& bytes, ScalarType type, int64_t element) {
  return ScalarValue::Load(type, bytes.data() + element * SizeBytes(type)).as_double();
}

// A row of small numbers, with some values in their place.
std::vector<double> Row(int64_t size, const std::map<int64_t, double>& others) {
  std::vector<double> row;
  for (int64_t k = 0; k < size; ++k) row.push_back(static_cast<double>(k * 7 % 11 - 5));
  for (const auto& [place, value] : others) row[place] = value;
  return row;
}

class SpecialValuesTest : public ::testing::TestWithParam<NumericsPolicy> {
 protected:
  // What the interpreter gives, which the kernel from rules gives, too, or, where exp and the like
  // of vectors may be rounded otherwise, values so many units in the last place from it.
  std::vector<BufferBytes> Results(const Expression& expression,
                                   const std::vector<BufferBytes>& inputs, int units = 0) {
    const auto expected = Interpret(expression, inputs, AccumulationOf(GetParam()));
    EXPECT_TRUE(expected.ok()) << expected.status();
    DeviceDescription device;
    device.cores = 3;
    const SystemModel model = OpenMpSimdRegistersModel();
    const auto low =
        Lower(expression, model, device, DefaultParameters(expression, model, device, GetParam()));
    EXPECT_TRUE(low.ok()) << low.status();
    const Result<Kernel> kernel = GenerateOpenMp(*low, device);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    const std::string library = directory_.path() + "/kernel.so";
    EXPECT_TRUE(CompileKernel(*kernel, directory_.path(), "kernel").ok());
    const Status status = JudgeKernel(expression, *kernel, library, inputs, *expected,
                                      GetParam() == NumericsPolicy::kReassociate ? units : 0);
    EXPECT_TRUE(status.ok()) << status << "\n" << kernel->source;
    return *expected;
  }

  TemporaryDirectory directory_;
};

TEST_P(SpecialValuesTest, MaximaAndMinima) {
  constexpr int64_t kSize = 1001;
  const std::vector<std::vector<double>> rows = {
      Row(kSize, {{333, NAN}}),
      Row(kSize, {{0, NAN}, {5, 50}, {7, -50}}),
      Row(kSize, {{1000, NAN}, {500, HUGE_VAL}, {499, -HUGE_VAL}}),
      std::vector<double>(kSize, -HUGE_VAL),
      std::vector<double>(kSize, NAN),
      Row(kSize, {}),
  };
  for (const char* type : {"fp32", "fp16", "fp8e5m2", "fp8e4m3"}) {
    const Expression expression = *ParseExpression(absl::StrCat(
        "m<T = ", type, "> := out_view<T,T,T,T>( a: (i,k) -> (i), b: (i,k) -> (i), ",
        "c: (i,k) -> (i), d: (i,k) -> (i) ) o md_hom<6,1001>( f, (++, (max, min, fmax, fmin)) ) o ",
        "inp_view<T>( x: (i,k) -> (i,k) ) where f(x) -> (a, b, c, d) { a = x; b = x; c = x; d = x "
        "}"));
    const ScalarType scalar = expression.inputs()[0].type.fields()[0].type;
    std::vector<double> all;
    for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
    const std::vector<BufferBytes> results = Results(expression, {Stored(scalar, all)});
    const auto expect = [&](int64_t row, double max, double min, double fmax, double fmin) {
      const double wanted[] = {max, min, fmax, fmin};
      for (int r = 0; r < 4; ++r) {
        const double got = At(results[r], scalar, row);
        const double is = ScalarValue::Real(scalar, wanted[r]).as_double();
        EXPECT_TRUE(got == is || (std::isnan(got) && std::isnan(is)))
            << type << " row " << row << " result " << r << ": " << got;
      }
    };
    expect(0, NAN, NAN, 5, -5);
    expect(1, NAN, NAN, 50, -50);
    expect(2, NAN, NAN, HUGE_VAL, -HUGE_VAL);
    expect(3, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL);
    expect(4, NAN, NAN, NAN, NAN);
    expect(5, 5, -5, 5, -5);
  }
}

// In vectors and where they end, of every floating-point type, on values at which functions differ.
TEST_P(SpecialValuesTest, FunctionsOfEveryType) {
  for (const char* type : {"fp64", "fp32", "fp16", "bf16", "fp8e5m2"}) {
    const Expression expression = *ParseExpression(absl::StrCat(
        "m<T = ", type, "> := out_view<T,T,T,T,T,T>( a: (i) -> (i), b: (i) -> (i), c: (i) -> (i), ",
        "d: (i) -> (i), e: (i) -> (i), g: (i) -> (i) ) o md_hom<37>( f, (++) ) o ",
        "inp_view<T,T>( x: (i) -> (i), y: (i) -> (i) ) where f(x, y) -> (a, b, c, d, e, g) { ",
        "a = log1p(x); b = expm1(x); c = cbrt(x); d = atan2(x, y); e = fmod(x, y); ",
        "g = copysign(x, y) }"));
    const ScalarType scalar = expression.inputs()[0].type.fields()[0].type;
    const std::map<int64_t, double> others = {{0, 0.0},      {1, -0.0},      {2, NAN},
                                              {3, HUGE_VAL}, {4, -HUGE_VAL}, {5, 0.00048828125},
                                              {6, -1.0},     {7, 0.5}};
    std::vector<double> y = Row(37, others);
    std::reverse(y.begin(), y.begin() + 9);
    const std::vector<BufferBytes> results =
        Results(expression, {Stored(scalar, Row(37, others)), Stored(scalar, y)}, /*units=*/4);
    EXPECT_TRUE(std::signbit(At(results[0], scalar, 1)));
    EXPECT_EQ(At(results[1], scalar, 4), -1);
    EXPECT_EQ(At(results[2], scalar, 15), 1) << "15 * 7 % 11 - 5 is 1";
    EXPECT_TRUE(std::isnan(At(results[4], scalar, 3)));
    EXPECT_EQ(std::fabs(At(results[5], scalar, 3)), HUGE_VAL);
  }
}

// The sign of a zero does not depend on who combines it with whom.
TEST_P(SpecialValuesTest, ExtremesOfZeros) {
  const Expression expression = *ParseExpression(
      "m<T = fp32> := out_view<T,T,T,T>( a: (k) -> (), b: (k) -> (), c: (k) -> (), d: (k) -> () ) "
      "o "
      "md_hom<333>( f, ((max, min, fmax, fmin)) ) o inp_view<T>( x: (k) -> (k) ) "
      "where f(x) -> (a, b, c, d) { a = x; b = x; c = x; d = x }");
  std::vector<double> zeros(333, -0.0);
  zeros[100] = 0.0;
  const std::vector<BufferBytes> results =
      Results(expression, {Stored(ScalarType::kFloat32, zeros)});
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(std::signbit(At(results[r], ScalarType::kFloat32, 0)), r % 2 == 1) << r;
  }
}

TEST_P(SpecialValuesTest, ArgmaxIsThatOfNumpy) {
  constexpr int64_t kSize = 1000;
  const Expression expression = Shipped("argmax.mdh", {{"I", "4"}, {"K", "1000"}});
  std::vector<double> all;
  for (const auto& row : {Row(kSize, {{5, 50}}), Row(kSize, {{5, 50}, {333, NAN}}),
                          Row(kSize, {{5, 50}, {333, NAN}, {700, NAN}}), Row(kSize, {})}) {
    all.insert(all.end(), row.begin(), row.end());
  }
  const std::vector<BufferBytes> results = Results(expression, {Stored(ScalarType::kFloat32, all)});
  const int64_t positions[] = {5, 333, 333, 3};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ScalarValue::Load(ScalarType::kInt64, results[1].data() + 8 * i).as_int64(),
              positions[i]);
    EXPECT_EQ(std::isnan(At(results[0], ScalarType::kFloat32, i)), i == 1 || i == 2);
  }
}

TEST_P(SpecialValuesTest, SoftmaxStatisticsOfNanAreNan) {
  for (const char* size : {"1", "301"}) {
    const Expression expression = Shipped("softmax_stats.mdh", {{"I", "3"}, {"K", size}});
    const int64_t columns = expression.dimensions()[1].size;
    // Factors are 1 and 0: exact.
    std::vector<double> all(3 * columns, 2.0);
    all[columns - 1] = NAN;
    for (int64_t k = 0; k < columns; ++k) all[columns + k] = -HUGE_VAL;
    const std::vector<BufferBytes> results =
        Results(expression, {Stored(ScalarType::kFloat32, all)});
    const auto at = [&](int result, int64_t i) {
      return At(results[result], ScalarType::kFloat32, i);
    };
    EXPECT_TRUE(std::isnan(at(0, 0)) && std::isnan(at(1, 0)));
    EXPECT_EQ(at(0, 1), -HUGE_VAL);
    EXPECT_EQ(at(1, 1), static_cast<double>(columns));
    EXPECT_EQ(at(0, 2), 2);
    EXPECT_EQ(at(1, 2), static_cast<double>(columns));
  }
}

// An operator that forgets nan is applied as a plain loop would.
TEST_P(SpecialValuesTest, ComparisonsAreWhatTheySay) {
  const Expression expression = *ParseExpression(
      "m<T = fp32> := out_view<T>( y: (k) -> () ) o md_hom<1001>( f, (larger) ) o "
      "inp_view<T>( x: (k) -> (k) ) where f(x) -> y { y = x }, "
      "larger(a, b) -> c identity (-inf) { c = a > b ? a : b }");
  const std::vector<double> row = Row(1001, {{5, 50}, {900, NAN}});
  const std::vector<BufferBytes> results = Results(expression, {Stored(ScalarType::kFloat32, row)});
  // Parts of the tree: 64 points each, the last of which is the maximum of what follows nan.
  EXPECT_EQ(At(results[0], ScalarType::kFloat32, 0),
            GetParam() == NumericsPolicy::kFixedTree ? 50 : 5);
}

// Products with the zeros around an image may be left out only where they are zero.
TEST_P(SpecialValuesTest, ZerosAroundAnImageAreMultiplied) {
  const Expression expression = *ParseExpression(
      "c<T = fp32 | N = 32, P = 5, K = 19, R = 3, C = 7> := out_view<T>( y: (n,p,k,r,c) -> (n,p,k) "
      ") o md_hom<N,P,K,R,C>( f, (++, ++, ++, +, +) ) o inp_view<T,T>( x[N,P,C] else 0: "
      "(n,p,k,r,c) "
      "-> (n, p + 2*r - 2, c), w: (n,p,k,r,c) -> (k,r,c) ) where f(x, w) -> y { y = x * w }");
  constexpr int64_t kFilters = 19 * 3 * 7;
  const auto place = [](int64_t k, int64_t r, int64_t c) { return (k * 3 + r) * 7 + c; };
  const BufferBytes image = Stored(ScalarType::kFloat32, Row(32 * 5 * 7, {}));
  Results(expression, {image, Stored(ScalarType::kFloat32, Row(kFilters, {}))});
  for (const double value : {HUGE_VAL, -HUGE_VAL, static_cast<double>(NAN)}) {
    // In front of the first rows, and behind the last ones, in vectors and where they end.
    for (const auto& [k, r, c] : {std::array<int64_t, 3>{0, 0, 0}, {18, 2, 6}, {7, 0, 3}}) {
      const std::vector<double> filters = Row(kFilters, {{place(k, r, c), value}});
      const std::vector<BufferBytes> results =
          Results(expression, {image, Stored(ScalarType::kFloat32, filters)});
      const int64_t at_edge = r == 0 ? 0 : 4;
      for (int64_t n = 0; n < 32; ++n) {
        EXPECT_TRUE(std::isnan(At(results[0], ScalarType::kFloat32, (n * 5 + at_edge) * 19 + k)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SpecialValuesTest, ::testing::ValuesIn(kPolicies),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace mdh::special_values_test
