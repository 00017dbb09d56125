// Choices of the table (core/decomposition/choices.h) in spaces: all that offer something are
// there, and whatever values they have together with all else can be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/decomposition/dot_plan.h"
#include "core/decomposition/validate.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh::mdh_space_choices_test {
namespace {

using ::testing::IsEmpty;

constexpr int kExpressions = 30, kSamples = 4;
constexpr int64_t kLargestSize = 6;  // so that spaces are made in milliseconds

// The same, and CPUs whose cores multiply words, on vectors and on tile registers.
std::vector<SpaceBackend> Backends() {
  std::vector<SpaceBackend> backends = SpaceBackends();
  for (const char* more :
       {"avx512_bf16 avx512_vnni", "avx512_bf16 avx512_vnni amx_bf16 amx_int8"}) {
    DeviceDescription cpu = CpuForSpaces();
    cpu.simd_bytes = 64;
    cpu.vector_registers = 32;
    cpu.isa = absl::StrCat("x86-64 ", more);
    cpu.features = FeaturesOf(cpu);
    backends.push_back({more, OpenMpSimdRegistersModel(), cpu});
  }
  return backends;
}

// Products that dot instructions compute, beside what ships.
Expression ProductOf(const std::string& a, const std::string& b, const std::string& sum) {
  return *ParseExpression(absl::StrCat(
      "e<T = ", sum, " | I = 4, J = 16, K = 8> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n",
      "md_hom<I,J,K>( f, (++, ++, +) ) o\ninp_view<", a, ",", b,
      ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n",
      "where f(A, B) -> C { C = T(A) * T(B) }\n"));
}

void ExpectRightChoices(const std::string& name, const Expression& expression, Rng& rng) {
  for (const SpaceBackend& target : Backends()) {
    SCOPED_TRACE(absl::StrCat(name, " on ", target.name));
    const Result<ScheduledKind> made = MakeKind(expression, target.model, target.device,
                                                NumericsPolicy::kReassociate, {}, nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(made->kind->ForgottenChoices(), IsEmpty());
    const Result<MdhSpace> space = MdhSpace::Create(expression, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    for (int n = 0; n < kSamples; ++n) {
      const TuningParameters p = space->Decode(space->space().Sample(rng));
      const Status valid = Validate(expression, target.model, target.device, p);
      ASSERT_TRUE(valid.ok()) << valid << "\n" << ToText(p);
    }
  }
}

TEST(MdhSpaceChoicesTest, AllAreThereAndGoTogetherWithTheRest) {
  Rng rng(FreshSeed());
  for (const std::string& name : Drawn(ShippedExpressionNames(SourcePath()), kExpressions)) {
    const auto expression = ShippedExpression(SourcePath(), name, kLargestSize);
    ASSERT_TRUE(expression.ok()) << expression.status();
    ExpectRightChoices(name, *expression, rng);
    if (HasFailure()) return;
  }
}

TEST(MdhSpaceChoicesTest, SoAreThoseOfProductsOfWords) {
  Rng rng(FreshSeed());
  const Expression bytes = ProductOf("uint8", "int8", "int32");
  ExpectRightChoices("bytes", bytes, rng);
  ExpectRightChoices("halves", ProductOf("bf16", "bf16", "fp32"), rng);
  const SpaceBackend tiles = Backends().back();
  EXPECT_EQ(OfferDotUnits({bytes, tiles.device, LoweringTarget::kRegisterTiles}).size(), 2U);
}

// Filters of groups of neighbours, which have strips: 4 g + k of them.
TEST(MdhSpaceChoicesTest, StripsOfGroupsNeedNoDotInstructions) {
  Rng rng(FreshSeed());
  const Expression groups = *ParseExpression(
      "e<| G = 2, K = 4, C = 6, P = 5> := out_view<fp32>( y: (g,k,p,c) -> (g,k,p) ) o\n"
      "md_hom<G,K,P,C>( f, (++, ++, ++, +) ) o\n"
      "inp_view<fp32,fp32>( x: (g,k,p,c) -> (g,p,c), w: (g,k,p,c) -> (c, 4*g + k) )\n"
      "where f(x, w) -> y { y = x * w }\n");
  ExpectRightChoices("groups", groups, rng);
  constexpr int kFilter = 1, kGroups = 1, kMany = 300;
  for (const SpaceBackend& target : Backends()) {
    if (target.model.LayerWith(LayerRole::kRegisters) < 0) continue;
    if (target.device.kind != DeviceKind::kCpu) continue;
    const Result<MdhSpace> space = MdhSpace::Create(groups, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    int strips = 0;
    for (int n = 0; n < kMany; ++n) {
      const TuningParameters p = space->Decode(space->space().Sample(rng));
      strips += p.inputs[kFilter].strip_dimension == kGroups ? 1 : 0;
    }
    EXPECT_GT(strips, 0) << target.name;
  }
}

}  // namespace
}  // namespace mdh::mdh_space_choices_test
