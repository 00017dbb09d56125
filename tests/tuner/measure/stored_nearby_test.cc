// How far off what store functions make of results may be, element by element.
#include "tuner/measure/stored_nearby.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/measure/problem.h"

namespace mdh::stored_nearby_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Sums of products of random signs, divided by what is now and then nearly zero.
constexpr char kQuotients[] = R"(quotients<| I = 64, E = 64, K = 128> :=
  out_view<fp32>( o: (i,e,k) -> (i,e) ) o
  md_hom<I,E,K>( f, (++, ++, +), store share<fp32>( l: (i,e,k) -> (i,e) ) ) o
  inp_view<fp32,fp32>( p: (i,e,k) -> (i,k), v: (i,e,k) -> (e,k) )
where f(p, v) -> (c: fp32) { c = p * v },
      share(c, l) -> o { o = c / l }
)";
constexpr int64_t kRows = 64, kColumns = 64, kKeys = 128;

// The same as a step of a pipeline that no step before it makes more inexact.
constexpr char kPipeline[] = R"(shares := pipeline(p, v, l) -> (o, h) {
  o = quotients(p, v, l);
  h = halves(p)
}
halves := out_view<fp32>( h: (i,k) -> (i,k) ) o md_hom<64,128>( f, (++, ++) ) o
  inp_view<fp32>( p: (i,k) -> (i,k) ) where f(p) -> h { h = p / 2 }
quotients :=
  out_view<fp32>( o: (i,e,k) -> (i,e) ) o
  md_hom<64,64,128>( f, (++, ++, +), store share<fp32>( l: (i,e,k) -> (i,e) ) ) o
  inp_view<fp32,fp32>( p: (i,e,k) -> (i,k), v: (i,e,k) -> (e,k) )
where f(p, v) -> (c: fp32) { c = p * v },
      share(c, l) -> o { o = c / l }
)";

std::vector<BufferBytes> InputsOf(const Problem& problem) {
  std::vector<BufferBytes> inputs;
  for (const InputBuffer& input : problem.MakeRun("", "", 1, {}).inputs) {
    inputs.emplace_back(input.data, input.data + input.size_bytes);
  }
  return inputs;
}

const float* Floats(const BufferBytes& bytes) {
  return reinterpret_cast<const float*>(bytes.data());
}

float WithTenBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

// Sums in fp64, of operands as `round` leaves them.
template <typename Round>
std::vector<double> Sums(const float* p, const float* v, const Round& round) {
  std::vector<double> sums;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t e = 0; e < kColumns; ++e) {
      double sum = 0;
      for (int64_t k = 0; k < kKeys; ++k) {
        sum += static_cast<double>(round(p[i * kKeys + k])) * round(v[e * kKeys + k]);
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

class Quotients : public ::testing::Test {
 protected:
  void SetUpFor(Computation computation) {
    Result<std::unique_ptr<Problem>> problem = Problem::Create(std::move(computation), {});
    ASSERT_TRUE(problem.ok()) << problem.status();
    problem_ = *std::move(problem);
    inputs_ = InputsOf(*problem_);
    ASSERT_EQ(inputs_.size(), 3u);
    sums_ = Sums(Floats(inputs_[0]), Floats(inputs_[1]), [](float x) { return x; });
    double squares = 0;
    for (const double sum : sums_) squares += sum * sum;
    rms_ = std::sqrt(squares / static_cast<double>(sums_.size()));
    for (int64_t n = 0; n < std::ssize(sums_); ++n) {
      if (std::abs(Divisor(n)) < std::abs(Divisor(smallest_))) smallest_ = n;
    }
  }
  double Divisor(int64_t element) const { return Floats(inputs_[2])[element]; }
  // What a kernel gives for such sums.
  bool AreRight(const std::vector<double>& sums) const {
    std::vector<float> got;
    for (size_t n = 0; n < sums.size(); ++n) {
      got.push_back(static_cast<float>(sums[n] / Divisor(static_cast<int64_t>(n))));
    }
    return !FirstMismatch(problem_->references()[0], reinterpret_cast<const std::byte*>(got.data()),
                          std::byte{0xA5})
                .has_value();
  }
  void ExpectSumsOffByRoundingAreRightAndOthersAreNot() {
    ASSERT_LT(std::abs(Divisor(smallest_)), 0.01);
    EXPECT_TRUE(AreRight(sums_));
    // Each sum off by a few units in the last place of partial sums.
    for (const double sign : {-1, 1}) {
      std::vector<double> off = sums_;
      for (double& sum : off) sum += sign * 16 * 0x1p-23 * rms_;
      EXPECT_TRUE(AreRight(off)) << sign;
    }
    // Not by more, and be it only where the divisor is smallest.
    std::vector<double> wrong = sums_;
    wrong[static_cast<size_t>(smallest_)] += 0x1p-12 * rms_;
    EXPECT_FALSE(AreRight(wrong));
    // The sum of a neighbour.
    wrong = sums_;
    const size_t place = static_cast<size_t>(smallest_);
    wrong[place] = sums_[place ^ 1];
    EXPECT_FALSE(AreRight(wrong));
    // Products of operands with ten bits.
    const std::vector<double> inexact = Sums(Floats(inputs_[0]), Floats(inputs_[1]), WithTenBits);
    EXPECT_FALSE(AreRight(inexact));
    wrong = sums_;
    wrong[place] = inexact[place];
    EXPECT_FALSE(AreRight(wrong));
  }

  std::unique_ptr<Problem> problem_;
  std::vector<BufferBytes> inputs_;
  std::vector<double> sums_;
  double rms_ = 0;
  int64_t smallest_ = 0;
};

TEST_F(Quotients, MayBeAsFarOffAsTheirDividendsAre) {
  SetUpFor(*ParseExpression(kQuotients));
  ExpectSumsOffByRoundingAreRightAndOthersAreNot();
}

TEST_F(Quotients, OfPipelinesToo) {
  SetUpFor(*ParsePipeline(kPipeline));
  ExpectSumsOffByRoundingAreRightAndOthersAreNot();
}

TEST_F(Quotients, AToleranceThatWasAskedForIsAllThatCounts) {
  for (const Numerics& numerics :
       {Numerics{.policy = NumericsPolicy::kExactOrder}, Numerics{.tolerance = 1e-6}}) {
    const auto problem = Problem::Create(*ParseExpression(kQuotients), {.numerics = numerics});
    ASSERT_TRUE(problem.ok()) << problem.status();
    EXPECT_FALSE((*problem)->references()[0].nearby);
  }
}

// max(c, 0) and the number of its sign, of sums that are 2 at element 0 and 0.25 at element 1.
constexpr char kSigns[] = R"(signs :=
  out_view<fp32,int32>( y: (i,k) -> (i), s: (i,k) -> (i) ) o
  md_hom<2,2>( f, (++, +), store both ) o
  inp_view<fp32>( x: (i,k) -> (i,k) )
where f(x) -> (c: fp32) { c = x },
      both(c) -> (y: fp32, s: int32) { y = c > 0 ? c : 0; s = c > 0 ? 1 : -1 }
)";

double Real(const ScalarValue& value) { return value.as_double(); }

TEST(StoredNearby, HasEachResultSmallerAndLarger) {
  const Expression signs = *ParseExpression(kSigns);
  const std::vector<float> x = {1.5F, 0.5F, 0.5F, -0.25F};
  const std::vector<const std::byte*> inputs = {reinterpret_cast<const std::byte*>(x.data())};
  const StoredNearby::Options options = {
      .tolerances = {0.25, 0.25}, .scales = {2}, .most_elements = 2};
  StoredNearby largest(signs, inputs, 0, options);
  std::vector<double> values;
  for (const ScalarValue& value : largest.At(0, 0)) values.push_back(Real(value));
  for (const ScalarValue& value : largest.At(1, 0)) values.push_back(Real(value));
  EXPECT_THAT(values, ElementsAre(1.5, 2.5, 0, 0.75));
  // Of the output that is a number of its own.
  StoredNearby sign(signs, inputs, 1, options);
  const std::vector<ScalarValue> either = sign.At(1, 0);
  ASSERT_EQ(either.size(), 2u);
  EXPECT_EQ(either[0], ScalarValue::Integer(ScalarType::kInt32, -1));
  EXPECT_EQ(either[1], ScalarValue::Integer(ScalarType::kInt32, 1));
}

TEST(StoredNearby, SaysNothingOfMoreThanItMay) {
  const Expression signs = *ParseExpression(kSigns);
  const std::vector<float> x = {1.5F, 0.5F, 0.5F, -0.25F};
  const std::vector<const std::byte*> inputs = {reinterpret_cast<const std::byte*>(x.data())};
  StoredNearby nearby(signs, inputs, 0,
                      {.tolerances = {0.25, 0.25}, .scales = {2}, .most_elements = 1});
  EXPECT_EQ(nearby.At(1, 0).size(), 2u);
  EXPECT_THAT(nearby.At(0, 0), IsEmpty());
  EXPECT_EQ(nearby.At(1, 0).size(), 2u);
}

}  // namespace
}  // namespace mdh::stored_nearby_test
