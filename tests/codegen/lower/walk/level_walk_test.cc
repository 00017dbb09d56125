// The walk over levels: what emitters are asked for, and in which order.
#include "codegen/lower/walk/level_walk.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh::level_walk_test {
namespace {

// i and k have three and two parts on cores; L2 has a loop over i, L1 loops over both.
constexpr char kMatVec[] = R"(
matvec :=
  out_view<fp32>( w: (i,k) -> (i) ) o
  md_hom<12,8>( f, (++, +) ) o
  inp_view<fp32,fp32>( A: (i,k) -> (i,k), x: (i,k) -> (k) )
where f(a, b) -> c { c = a * b }
)";
constexpr char kParameters[] =
    "model=OpenMP; lowering=levels; tile=4,4|4,4|2,4|1,1; order=0,1|0,1|0,1|0,1; "
    "inputs=in_place:0,1:-1|in_place:0:-1; accumulate=registers; chains=one; compiler=gcc";

LowLevelExpression LowLevel(const std::string& parameters) {
  const Expression expression = *ParseExpression(kMatVec);
  const Result<TuningParameters> parsed = ParseTuningParameters(parameters, expression);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  DeviceDescription device;
  device.cores = 2;
  device.compiler = "gcc";
  const Result<LowLevelExpression> low = Lower(expression, OpenMpModel(), device, *parsed);
  EXPECT_TRUE(low.ok()) << low.status();
  return *low;
}

// Says what it is asked for.
class Speaker : public LevelWalk {
 public:
  explicit Speaker(const LowLevelExpression& low) : LevelWalk(low.shape()) {}

 private:
  static void Say(const std::string& text, Block* block) { block->push_back({Comment{text}}); }

  void Prepare() override { program_.stages.push_back({"Prepare.", {}}); }
  bool UsesArrays() const override { return shape().Slots() > 1; }
  ResultArrays Arrays() override { return {}; }
  void Finish(const ResultArrays& arrays) override {
    program_.stages.push_back({absl::StrCat("Finish ", arrays.slots, " slots, parts of ",
                                            arrays.part[0], " and ", arrays.part[1], " points."),
                               {}});
  }
  Block Views() override { return {}; }

  void DeclareParts(Block* block) override {
    for (const int n : CorePlaces()) Say(absl::StrCat("core level ", n), block);
  }
  void DeclareSlots(Block* block) override {
    Say(absl::StrCat(
            "slot ",
            SlotNumber(shape(), [](int n) { return Index::Variable(absl::StrCat("p", n)); })
                .ToString()),
        block);
  }
  void Enter(int n, Block* block) override { Say(absl::StrCat("enter ", n), block); }
  void Leave(int n, Block* block) override { Say(absl::StrCat("leave ", n), block); }
  bool HasLoop(int n) const override {
    return !shape().is_parallel(n) && shape().levels()[n].parts > 1;
  }
  void EmitLoop(int n, Block* block) override {
    Block body;
    EmitLevel(n + 1, &body);
    block->push_back({For{absl::StrCat("p", n), Index(0), Index(shape().levels()[n].parts), 1,
                          false, ShareBlock(std::move(body))}});
  }
  void EmitInnermost(Block* block) override { Say("point", block); }
};

TEST(LevelWalk, GoesFromCoresOverLoopsToWhatIsInside) {
  EXPECT_EQ(ToText(Speaker(LowLevel(kParameters)).Build().stages[1].body), R"(share part = 0 .. 6
  // core level 0
  // core level 1
  // slot p1
  // enter 0
  // enter 1
  // enter 2
  // enter 3
  // enter 4
  for p4 = 0 .. 2
    // enter 5
    // enter 6
    for p6 = 0 .. 2
      // enter 7
      for p7 = 0 .. 4
        // enter 8
        // point
        // leave 8
      // leave 7
    // leave 6
    // leave 5
  // leave 4
  // leave 3
  // leave 2
  // leave 1
  // leave 0
)");
}

TEST(LevelWalk, HasStagesBeforeAndBehind) {
  const LoopProgram program = Speaker(LowLevel(kParameters)).Build();
  ASSERT_EQ(program.stages.size(), 3u);
  EXPECT_EQ(program.stages[0].comment, "Prepare.");
  EXPECT_EQ(program.stages[1].comment, "Compute, each thread its share of the parts.");
  EXPECT_EQ(program.stages[2].comment, "Finish 2 slots, parts of 4 and 4 points.");
}

TEST(LevelWalk, GivesOnePartToTheFirstThread) {
  std::string parameters = kParameters;
  parameters.replace(parameters.find("tile=4,4"), 8, "tile=12,8");
  const LoopProgram program = Speaker(LowLevel(parameters)).Build();
  ASSERT_EQ(program.stages.size(), 2u);  // nothing is left to finish
  const std::vector<Statement>& body = program.stages[1].body;
  ASSERT_EQ(body.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<If>(body[0].form));
}

TEST(NestShape, KnowsPartsOfCoresAndTheOrderOfSlots) {
  const LowLevelExpression low = LowLevel(kParameters);
  EXPECT_EQ(low.shape().CorePart(0), 4);
  EXPECT_EQ(low.shape().CorePart(1), 4);
  EXPECT_EQ(low.shape().SlotPlaces(), std::vector<int>{1});
}

}  // namespace
}  // namespace mdh::level_walk_test
