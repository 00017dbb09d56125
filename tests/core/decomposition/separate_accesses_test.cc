// Inputs whose accesses differ in more than constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/random_expression.h"

namespace mdh::separate_accesses_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A has two kinds of accesses, and two of the first kind.
constexpr char kTurned[] = R"(
turned :=
  out_view<fp64>( C: (i,k) -> (i) ) o
  md_hom<4,4>( f, (++, +) ) o
  inp_view<fp64,fp64>( A: (i,k) -> (i,k), (i,k) -> (k,i), (i,k) -> (i + 1,k), B: (i,k) -> (k) )
where f(a, turned, below, b) -> c { c = a - 2 * turned + 3 * below * b }
)";

TEST(SeparateAccessesTest, InputsOfTheSameName) {
  const Expression e = WithSeparateAccesses(*ParseExpression(kTurned));
  std::vector<std::string> names, parameters;
  std::vector<size_t> accesses;
  for (const Buffer& input : e.inputs()) {
    names.push_back(input.name);
    accesses.push_back(input.accesses.size());
    EXPECT_TRUE(CanStage(input));
  }
  for (const TypedName& p : e.function().parameters()) parameters.push_back(p.name);
  EXPECT_THAT(names, ElementsAre("A", "B", "A"));
  EXPECT_THAT(accesses, ElementsAre(2, 1, 1));
  EXPECT_THAT(parameters, ElementsAre("a", "below", "b", "turned"));
  EXPECT_EQ(OwnerOf(e, 1), 1);
  EXPECT_EQ(OwnerOf(e, 2), 0);
}

TEST(SeparateAccessesTest, ResultsAreTheSame) {
  const Expression e = *ParseExpression(kTurned);
  Rng rng(1);
  std::vector<BufferBytes> inputs = RandomInputs(rng, e);
  const std::vector<BufferBytes> results = Interpret(e, inputs).value();
  inputs.push_back(inputs[0]);
  EXPECT_EQ(Interpret(WithSeparateAccesses(e), inputs).value(), results);
}

TEST(SeparateAccessesTest, OthersStayAsTheyAre) {
  Rng rng(2);
  for (int n = 0; n < 50; ++n) {
    const Expression e = RandomExpression(rng);
    const Expression separate = WithSeparateAccesses(e);
    if (std::all_of(e.inputs().begin(), e.inputs().end(), CanStage)) {
      EXPECT_EQ(ToText(separate), ToText(e));
    }
    TuningParameters p;
    for (const Buffer& input : e.inputs()) p.inputs.push_back(ReadInPlace(input));
    EXPECT_EQ(WithSeparateAccesses(p, separate).inputs.size(), separate.inputs().size());
  }
}

// Of a Gram matrix, in register tiles with lanes along one dimension.
class GramTest : public ::testing::Test {
 protected:
  TuningParameters WithLanes(int d) const {
    TuningParameters p = SinglePoints(gram_, model_, NumericsPolicy::kReassociate);
    for (int l = 0; l < InnermostMemoryLayer(model_); ++l) p.tile[l] = {8, 8, 8};
    for (int l = InnermostMemoryLayer(model_); l < model_.LayerWith(LayerRole::kLanes); ++l) {
      p.tile[l][d] = 8;
    }
    return p;
  }

  static TuningParameters Copied(TuningParameters p, int strips) {
    p.inputs[0] = {
        .stage_layer = InputParameters::kWholeBuffer, .layout = {0, 1}, .strip_dimension = strips};
    return p;
  }

  const Expression gram_ = *ParseExpression(R"(
gram :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<8,8,8>( f, (++, ++, +) ) o
  inp_view<fp32>( A: (i,j,k) -> (i,k), (i,j,k) -> (j,k) )
where f(a, b) -> c { c = a * b }
)");
  const SystemModel model_ = OpenMpSimdRegistersModel();
};

TEST_F(GramTest, CopiesInStripsAreOfTheAccessesWithLanes) {
  const Expression separate = WithSeparateAccesses(gram_);
  for (const int d : {0, 1}) {
    const TuningParameters p = Copied(WithLanes(d), 0);
    EXPECT_EQ(LaneDimension(model_, p), d);
    EXPECT_TRUE(HasSeparateStrips(gram_, p));
    EXPECT_FALSE(HasSeparateStrips(gram_, WithLanes(d)));
    const TuningParameters apart = WithSeparateStrips(p, separate, model_);
    ASSERT_EQ(apart.inputs.size(), 2u);
    EXPECT_EQ(apart.inputs[d], p.inputs[0]);
    EXPECT_EQ(apart.inputs[1 - d], ReadInPlace(gram_.inputs()[0]));
    EXPECT_TRUE(Validate(gram_, model_, DeviceDescription(), p).ok())
        << Validate(gram_, model_, DeviceDescription(), p).message();
  }
}

TEST_F(GramTest, OtherCopiesAreRefused) {
  for (const int strips : {-1, 1}) {
    const TuningParameters p = Copied(WithLanes(1), strips);
    EXPECT_THAT(std::string(Validate(gram_, model_, DeviceDescription(), p).message()),
                HasSubstr("none of them has lanes along strips of the copy"));
  }
}

}  // namespace
}  // namespace mdh::separate_accesses_test
