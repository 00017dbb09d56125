// Where a search in a space of decompositions starts: default parameters, and those of other sizes,
// devices and numerics policies.
#include <gtest/gtest.h>

#include "codegen/choose/default_parameters.h"
#include "core/decomposition/low_level_expression.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh::mdh_space_starts_test {
namespace {

class MdhSpaceStarts : public ::testing::TestWithParam<int> {
 protected:
  SpaceBackend backend() const { return SpaceBackends()[GetParam()]; }
};

void ExpectValid(const Expression& expression, const SpaceBackend& target, const MdhSpace& space,
                 const Configuration& configuration) {
  EXPECT_TRUE(space.space().Contains(configuration));
  const TuningParameters p = space.Decode(configuration);
  const Status valid = Validate(expression, target.model, target.device, p);
  EXPECT_TRUE(valid.ok()) << valid << "\n" << ToText(p);
}

// Extents that differ.
int Differences(const std::vector<std::vector<int64_t>>& a,
                const std::vector<std::vector<int64_t>>& b) {
  int differences = 0;
  for (size_t l = 0; l < a.size(); ++l) {
    for (size_t d = 0; d < a[l].size(); ++d) differences += a[l][d] == b[l][d] ? 0 : 1;
  }
  return differences;
}

// Small sizes: the spaces of usual ones are built by the tests of what they hold.
TEST_P(MdhSpaceStarts, DefaultsAreMembersOrNearOnes) {
  const SpaceBackend target = backend();
  for (const std::string& name : Drawn(ShippedExpressionNames(SourcePath()), 16)) {
    const auto expression = ShippedExpression(SourcePath(), name, 6);
    ASSERT_TRUE(expression.ok()) << expression.status();
    const TuningParameters p = DefaultParameters(*expression, target.model, target.device);
    const auto space = MdhSpace::Create(*expression, target.model, target.device,
                                        NumericsPolicy::kReassociate, {}, p.fused);
    ASSERT_TRUE(space.ok()) << space.status();
    const Configuration nearest = space->EncodeNearest(p);
    ExpectValid(*expression, target, *space, nearest);
    const auto member = space->Encode(p);
    if (member) {
      EXPECT_EQ(*member, nearest) << name;
      continue;
    }
    EXPECT_NE(space->WhyNot(p), "");
    // Some defaults for sizes as small as these unroll whole reductions, which the space leaves
    // out: the extents of one dimension change. Over many dimensions limits are coarser: up to half
    // of the extents change.
    const int layers = static_cast<int>(p.tile.size());
    const int most = expression->rank() <= 3 ? layers : layers * expression->rank() / 2;
    EXPECT_LE(Differences(space->Decode(nearest).tile, p.tile), most)
        << name << ": " << space->WhyNot(p) << "\n"
        << ToText(p) << "\n"
        << ToText(space->Decode(nearest));
  }
}

// Rows of three channels are searched as rows, whatever the configuration was found for.
TEST_P(MdhSpaceStarts, OtherFusedDimensionsAreRepaired) {
  const SpaceBackend target = backend();
  const Expression expression = *ShippedExpression(SourcePath(), "ccsdt_gdab_efgc", 6);
  const FusedDimensions groups = {{0, 1}, {4, 5}};
  const auto apart = MdhSpace::Create(expression, target.model, target.device);
  const auto fused = MdhSpace::Create(expression, target.model, target.device,
                                      NumericsPolicy::kReassociate, {}, groups);
  ASSERT_TRUE(apart.ok() && fused.ok());
  EXPECT_EQ(fused->fused(), groups);
  Rng rng(4);
  for (int n = 0; n < 20; ++n) {
    const TuningParameters p = apart->Decode(apart->space().Sample(rng));
    EXPECT_EQ(fused->WhyNot(p), "they run through other dimensions as one");
    ExpectValid(expression, target, *fused, fused->EncodeNearest(p));
    const TuningParameters q = fused->Decode(fused->space().Sample(rng));
    EXPECT_EQ(q.fused, groups);
    ExpectValid(expression, target, *apart, apart->EncodeNearest(q));
    ExpectValid(expression, target, *fused, fused->EncodeNearest(q));
  }
}

TEST_P(MdhSpaceStarts, OtherSizesAreRepaired) {
  const SpaceBackend target = backend();
  const Expression small = MatMul(7, 20, 33), large = MatMul(64, 48, 40);
  const auto from = MdhSpace::Create(small, target.model, target.device);
  const auto to = MdhSpace::Create(large, target.model, target.device);
  ASSERT_TRUE(from.ok() && to.ok());
  Rng rng(3);
  for (int n = 0; n < 20; ++n) {
    const TuningParameters p = from->Decode(from->space().Sample(rng));
    ExpectValid(large, target, *to, to->EncodeNearest(p, std::vector<int64_t>{7, 20, 33}));
    const TuningParameters q = to->Decode(to->space().Sample(rng));
    ExpectValid(small, target, *from, from->EncodeNearest(q));
  }
}

TEST_P(MdhSpaceStarts, OtherPoliciesHaveSpacesOfTheirOwn) {
  const SpaceBackend target = backend();
  const Expression expression = MatMul(12, 9, 40);
  const auto free = MdhSpace::Create(expression, target.model, target.device);
  ASSERT_TRUE(free.ok()) << free.status();
  for (const auto policy : {NumericsPolicy::kExactOrder, NumericsPolicy::kFixedTree}) {
    const auto fixed = MdhSpace::Create(expression, target.model, target.device, policy);
    ASSERT_TRUE(fixed.ok()) << fixed.status();
    Rng rng(5);
    for (int n = 0; n < 50; ++n) {
      const Configuration c = fixed->space().Sample(rng);
      ExpectValid(expression, target, *fixed, c);
      const TuningParameters p = fixed->Decode(c);
      EXPECT_EQ(p.numerics, policy);
      EXPECT_FALSE(p.independent_accumulators);
      EXPECT_FALSE(free->Encode(p).has_value());
      EXPECT_NE(free->WhyNot(p), "");
      ExpectValid(expression, target, *free, free->EncodeNearest(p));
      TuningParameters q = free->Decode(free->space().Sample(rng));
      ExpectValid(expression, target, *fixed, fixed->EncodeNearest(q));
    }
  }
}

TEST(MdhSpaceErrors, ModelAndDeviceBelongTogether) {
  const auto space = MdhSpace::Create(MatMul(4, 4, 4), CudaModel(), CpuForSpaces());
  EXPECT_EQ(space.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MdhSpaceErrors, SystemsOfDevicesAreNotTuned) {
  const auto space =
      MdhSpace::Create(MatMul(4, 4, 4), MultiGpuModel(), *DescribeCudaArchitecture(90));
  EXPECT_EQ(space.status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(All, MdhSpaceStarts,
                         ::testing::Range(0, static_cast<int>(SpaceBackends().size())),
                         [](const auto& info) { return SpaceBackends()[info.param].name; });

// Tables of keys that rules start from are values of the space.
TEST(MdhSpaceStartsTest, TablesOfKeysReadBack) {
  const SystemModel model = CudaModel();
  const DeviceDescription device = DeviceFor(model);
  const bool is_turned = FreshSeed() % 2 == 1;  // few elements with few bins, or with many
  for (const bool has_many : {false, true}) {
    const Expression histo = Shipped("histo.mdh", {{"E", has_many ? "1073741824" : "7000"},
                                                   {"B", has_many != is_turned ? "5000" : "9"}});
    const auto space = MdhSpace::Create(histo, model, device);
    ASSERT_TRUE(space.ok()) << space.status();
    int with_tables = 0;
    for (const TuningParameters& p : StartingParameters(histo, model, device)) {
      EXPECT_EQ(space->Decode(space->EncodeNearest(p)).keyed, p.keyed) << ToText(p);
      with_tables += p.keyed.threads > 0;
    }
    EXPECT_GT(with_tables, 0);
  }
}

}  // namespace
}  // namespace mdh::mdh_space_starts_test
