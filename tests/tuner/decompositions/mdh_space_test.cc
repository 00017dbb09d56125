// Spaces of decompositions: what they hold is valid and reads back, for all shipped expressions on
// all kinds of models.
#include "tuner/decompositions/mdh_space.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/decomposition/low_level_expression.h"
#include "tests/drawn.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"

namespace mdh::mdh_space_test {
namespace {

constexpr int kSamples = 100;
constexpr int kJudged = 30;  // other ones in every run

// What is wrong with a configuration of a space; empty if nothing is.
std::string Judge(const Expression& expression, const SpaceBackend& backend, const MdhSpace& space,
                  const Configuration& configuration) {
  const TuningParameters p = space.Decode(configuration);
  const Status valid = Validate(expression, backend.model, backend.device, p);
  if (!valid.ok()) return absl::StrCat("invalid: ", std::string(valid.message()));
  const auto low = Lower(expression, backend.model, backend.device, p);
  if (!low.ok()) return absl::StrCat("lowering: ", std::string(low.status().message()));
  if (!(ParseTuningParameters(ToText(p)).value_or(TuningParameters{}) == p)) {
    return "the text does not read back";
  }
  const auto again = space.Encode(p);
  if (!again) return absl::StrCat("not a member: ", space.WhyNot(p));
  if (!space.space().Contains(*again)) return "what it reads as is not in the space";
  const auto third = space.Encode(space.Decode(*again));
  if (!third || *third != *again) return "reads as something else the second time";
  if (!(space.EncodeNearest(p) == *again)) return "the nearest member is another one";
  return "";
}

void ExpectSamplesReadBack(const Expression& expression, const SpaceBackend& target, Rng& rng) {
  const auto space = MdhSpace::Create(expression, target.model, target.device);
  ASSERT_TRUE(space.ok()) << space.status();
  ASSERT_FALSE(space->space().is_lazy());
  int failures = 0;
  for (int n = 0; n < kJudged && failures < 3; ++n) {
    const Configuration configuration = space->space().Sample(rng);
    const std::string wrong = Judge(expression, target, *space, configuration);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << wrong << "\n"
                  << ToText(space->Decode(configuration)) << "\n"
                  << space->space().ToText(configuration);
  }
}

// Its parameter is the number of a backend.
class MdhSpaceTest : public ::testing::TestWithParam<int> {};

// Expressions of usual and of small sizes.
TEST_P(MdhSpaceTest, HoldsValidDecompositionsThatReadBack) {
  const SpaceBackend target = SpaceBackends()[GetParam()];
  Rng rng(FreshSeed());
  for (const std::string& name : Drawn(ShippedExpressionNames(SourcePath()), 12)) {
    for (const int64_t largest_size : {int64_t{6}, INT64_MAX}) {
      SCOPED_TRACE(absl::StrCat(name, " of sizes up to ", largest_size));
      const auto expression = ShippedExpression(SourcePath(), name, largest_size);
      ASSERT_TRUE(expression.ok()) << expression.status();
      ExpectSamplesReadBack(*expression, target, rng);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MdhSpaceTest,
                         ::testing::Range(0, static_cast<int>(SpaceBackends().size())),
                         [](const auto& info) { return SpaceBackends()[info.param].name; });

void ExpectValidOnAllBackends(const std::string& text) {
  const auto expression = ParseExpression(text, {}, "expression");
  ASSERT_TRUE(expression.ok()) << expression.status();
  for (const SpaceBackend& target : SpaceBackends()) {
    const auto space = MdhSpace::Create(*expression, target.model, target.device);
    ASSERT_TRUE(space.ok()) << target.name << ": " << space.status();
    Rng rng(FreshSeed());
    for (int n = 0; n < 10 * kJudged; ++n) {
      const Configuration configuration = space->space().Sample(rng);
      ASSERT_EQ(Judge(*expression, target, *space, configuration), "") << target.name;
    }
  }
}

// The many part counts of a long reduction come last: those of results, copies and order are few by
// then, and the space is counted instead of lazy.
TEST(MdhSpaceCountsTest, LongReductions) {
  for (const std::string text : {
           R"(product := out_view<fp32>( C: (i,j,k) -> (i,j) ) o
             md_hom<512,512,8192>( f, (++, ++, +) ) o
             inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
           where f(A, B) -> C { C = A * B })",
           R"(gram := out_view<fp32>( G: (i,j,k) -> (i,j) ) o
             md_hom<512,512,8192>( f, (++, ++, +) ) o
             inp_view<fp32>( X: (i,j,k) -> (k,i), (k,j) )
           where f(left, right) -> G { G = left * right })"}) {
    const auto expression = ParseExpression(text, {}, "expression");
    ASSERT_TRUE(expression.ok()) << expression.status();
    const auto space = MdhSpace::Create(*expression, CudaModel(), *DescribeCudaArchitecture(90));
    ASSERT_TRUE(space.ok()) << space.status();
    EXPECT_FALSE(space->space().is_lazy()) << text;
  }
}

// Rows whose elements only accesses tell apart are copied in steps, never several at once.
TEST(MdhSpaceCopiesTest, RowsInSteps) {
  ExpectValidOnAllBackends(R"(
    steps := out_view<fp32>( y: (i) -> (i) ) o
      md_hom<17>( f, (++) ) o
      inp_view<fp32,fp32>( a[4]: (i) -> (0), (2), b: (i) -> (i) )
    where f(a0, a2, b) -> y { y = a0 + a2 + b })");
}

// A copy for a few points of a diagonal is a box of many elements.
TEST(MdhSpaceCopiesTest, Diagonals) {
  ExpectValidOnAllBackends(R"(
    diagonals := out_view<fp32>( y: (i) -> (i) ) o
      md_hom<32>( f, (++) ) o
      inp_view<fp32,fp32>( a: (i) -> (i, i, i), b: (i) -> (i) )
    where f(a, b) -> y { y = a + b })");
}

// How many of the samples combine by atomics.
int AtomicSamples(const Expression& expression, const SpaceBackend& target) {
  const auto space = MdhSpace::Create(expression, target.model, target.device);
  EXPECT_TRUE(space.ok()) << space.status();
  Rng rng(1);
  int samples = 0;
  for (int n = 0; space.ok() && n < kSamples; ++n) {
    const TuningParameters p = space->Decode(space->space().Sample(rng));
    samples += p.combine_blocks == CombineBlocks::kAtomics ? 1 : 0;
  }
  return samples;
}

// On every CPU, with every policy.
TEST(MdhSpaceThreadsTest, OneThreadIsInTheSpacesOfCpusForOnePart) {
  const Expression product = *ShippedExpression(SourcePath(), "matmul", 16);
  for (const SystemModel& model : {OpenMpSimdRegistersModel(), OpenMpModel()}) {
    for (const int cores : {1, 2, 16}) {
      DeviceDescription device;
      device.cores = cores;
      for (const auto numerics : {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder}) {
        const auto space = MdhSpace::Create(product, model, device, numerics);
        ASSERT_TRUE(space.ok()) << space.status();
        std::set<int> counts;
        Rng rng(1);
        for (int n = 0; n < 2000; ++n) {
          const TuningParameters p = space->Decode(space->space().Sample(rng));
          const bool is_one_part = p.tile[0] == std::vector<int64_t>(3, 16);
          EXPECT_EQ(p.threads == 1, is_one_part) << ToText(p);
          counts.insert(p.threads);
        }
        EXPECT_TRUE(counts.contains(1));
        EXPECT_TRUE(counts.contains(TuningParameters::kAllThreads));
        EXPECT_EQ(counts.contains(4), cores > 4);
      }
    }
  }
}

TEST(MdhSpaceAtomicsTest, AreInTheSpacesOfCuda) {
  const Expression sums = *ParseExpression(R"(
    sums := out_view<fp32>( y: (i,k) -> (i) ) o
      md_hom<16,4096>( f, (++, +) ) o
      inp_view<fp32>( x: (i,k) -> (i,k) )
    where f(x) -> y { y = x })");
  for (const SpaceBackend& target : SpaceBackends()) {
    const int samples = AtomicSamples(sums, target);
    if (target.model.kind == DeviceKind::kCuda) {
      EXPECT_GT(samples, kSamples / 10) << target.name;
      EXPECT_LT(samples, kSamples) << target.name;
    } else {
      EXPECT_EQ(samples, 0) << target.name;
    }
  }
}

TEST(MdhSpaceResidencyTest, NumbersOfResidentBlocksAreInTheSpacesOfCuda) {
  const auto product = ShippedExpression(SourcePath(), "matmul", 256);
  ASSERT_TRUE(product.ok()) << product.status();
  for (const SpaceBackend& target : SpaceBackends()) {
    const auto space = MdhSpace::Create(*product, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    Rng rng(1);
    std::set<int> numbers;
    for (int n = 0; n < 20 * kSamples; ++n) {
      numbers.insert(space->Decode(space->space().Sample(rng)).resident_blocks);
    }
    EXPECT_EQ(numbers, target.name == "CUDA" ? std::set<int>({0, 2, 4}) : std::set<int>({0}))
        << target.name;
  }
}

TEST(MdhSpaceLanesTest, TilesOfLanesAreInTheSpacesOfGpusWithTwoKeptDimensions) {
  const Expression sums = *ParseExpression(R"(
    sums := out_view<fp32>( y: (i,j) -> (i,j) ) o
      md_hom<256,512>( f, (++, ++) ) o
      inp_view<fp32,fp32>( a: (i,j) -> (i,j), b: (i,j) -> (j,i) )
    where f(a, b) -> y { y = a + b })");
  for (const SpaceBackend& target : SpaceBackends()) {
    const auto space = MdhSpace::Create(sums, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    EXPECT_FALSE(space->space().is_lazy()) << target.name;
    Rng fresh(FreshSeed());
    for (int n = 0; n < 2 * kSamples; ++n) {
      const Configuration configuration = space->space().Sample(fresh);
      ASSERT_EQ(Judge(sums, target, *space, configuration), "")
          << target.name << " " << ToText(space->Decode(configuration));
    }
    Rng rng(1);
    std::set<std::vector<int64_t>> tiles;
    for (int n = 0; n < 20 * kSamples; ++n) {
      const Configuration configuration = space->space().Sample(rng);
      tiles.insert(space->Decode(configuration).lanes);
    }
    const bool has_tiles = target.name == "CUDA" || target.name == "OpenCL";
    const std::set<std::vector<int64_t>> all = {{}, {1, 2}, {2, 2}, {4, 8}, {8, 4}};
    EXPECT_EQ(tiles, has_tiles ? all : std::set<std::vector<int64_t>>({{}})) << target.name;
  }
}

}  // namespace
}  // namespace mdh::mdh_space_test
