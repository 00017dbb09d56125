// Schedules of pipelines: what they allow, what is planned under them, and what is wrong in them.
#include "core/pipeline/schedule/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/pipeline/schedule/fusion_conflict.h"
#include "core/pipeline/schedule/pipeline_schedule_builder.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/golden_errors.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_pipeline.h"

namespace mdh::pipeline_schedule_test {
namespace {

using ::testing::HasSubstr;

const Pipeline& Layer() {
  static const auto* layer = new Pipeline(*ParsePipeline(kLayer));
  return *layer;
}

Result<PipelineSchedule> Parse(const std::string& text, const Pipeline& pipeline = Layer(),
                               const SystemModel& model = OpenMpSimdRegistersModel()) {
  return PipelineSchedule::Parse(text, pipeline, model, "p.sched");
}

std::vector<Partition> Planned(const PipelineSchedule& schedule) {
  return PlanPartitions(schedule.pipeline(), schedule.Under(PlanOptions()));
}

TEST(PipelineSchedule, APinnedPartitionIsTheOnlyOneThatIsPlanned) {
  const std::vector<Partition> all = PlanPartitions(Layer());
  ASSERT_EQ(all.size(), 2u);
  const PipelineSchedule epilogue = *Parse("edge matmul -> activation = epilogue");
  ASSERT_EQ(Planned(epilogue).size(), 1u);
  EXPECT_EQ(Planned(epilogue)[0].pipeline.steps().size(), 1u);
  EXPECT_EQ(Planned(*Parse("edge h -> y = !epilogue"))[0].pipeline.steps().size(), 2u);
  EXPECT_EQ(Planned(*Parse("edge 1 -> 2 = {stage, epilogue}")).size(), 2u);
  EXPECT_EQ(Planned(*Parse("edge 1 -> 2 = ?")).size(), 2u);
}

TEST(PipelineSchedule, SiblingsHaveTheLinesOfOneOfThem) {
  const Pipeline both =
      *ParsePipeline(R"(both := pipeline(x) -> (s, m) { s = sums(x); m = means(x) }
    sums := out_view<fp32>( s: (i,k) -> (i) ) o md_hom<64,64>( f, (++, +) ) o
      inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> s { s = x }
    means := out_view<fp32>( m: (i,k) -> (i) ) o md_hom<64,64>( f, (++, +) ) o
      inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> m { m = x * 0.015625 })");
  const std::string one = "siblings (s, m)\nstep s:\nL1: tile k=2\n";
  ASSERT_TRUE(Parse(one, both).ok()) << Parse(one, both).status();
  // A step of which nothing is said may be one with others.
  EXPECT_EQ(Parse(one + "step m:\n", both)->KeyText(), Parse(one, both)->KeyText());
  EXPECT_THAT(Parse(one + "step m:\nL1: tile i=2\n", both).status().message(),
              HasSubstr("is computed together with s"));
}

TEST(PipelineSchedule, SiblingsThatAreOneStepAreNamedOnce) {
  const Pipeline both = *ParsePipeline(R"(both := pipeline(x) -> (s, t) { s = sums(x); t = sums(x) }
    sums := out_view<fp32>( s: (i,k) -> (i) ) o md_hom<64,64>( f, (++, +) ) o
      inp_view<fp32>( x: (i,k) -> (i,k) ) where f(x) -> s { s = x })");
  const Result<PipelineSchedule> schedule =
      Parse("siblings (s, t)\nalone(s, t)\nstep t:\nL1: tile k=2\n", both);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_THAT(schedule->KeyText(), HasSubstr("alone(1)\n"));
  const auto again = PipelineSchedule::OfKey(schedule->KeyText(), both, OpenMpSimdRegistersModel());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->KeyText(), schedule->KeyText());
}

TEST(PipelineSchedule, LinesOfStepsAreOfWhatIsFused) {
  // In the names of the product, with which the activation is one.
  const PipelineSchedule fused = *Parse("edge h -> y = epilogue\nstep y:\nL1: tile k=2\n");
  EXPECT_EQ(fused.CanonicalText(),
            "edge matmul -> activation = epilogue\nstep activation:\nL1: tile k=2\n");
  const std::vector<Partition> partitions = Planned(fused);
  EXPECT_EQ((*fused.OfSteps(partitions[0].pipeline, {}))[0].CanonicalText(), "L1: tile k=2\n");
  EXPECT_EQ(fused.KeyText(), "edge 1 -> 2 = epilogue\nstep 2:\nL1: tile d3=2\n");
  // The activation by itself has no k: only the fused partition is left.
  const PipelineSchedule open = *Parse("step activation:\nL1: tile k=2\n");
  SearchPlanOptions options = open.Under(SearchPlanOptions());
  const SearchPlan plan = PlanSearch(Layer(), options);
  ASSERT_EQ(plan.partitions.size(), 1u);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].schedule, "L1: tile k=2\n");
}

TEST(PipelineSchedule, StepsWithLinesAreSearchedByThemselves) {
  const PipelineSchedule schedule =
      *Parse("edge h -> y = stage\nstep matmul:\nL1: tile i=4\nlanes: along j\n");
  const SearchPlan plan = PlanSearch(Layer(), schedule.Under(SearchPlanOptions()));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].schedule, "L1: tile i=whole\nSIMD: along j\n");
  EXPECT_EQ(plan.steps[1].schedule, "");
  // What runs with others is not searched by itself.
  const PipelineSchedule together = *Parse("edge h -> y = stage\ntogether(matmul, activation)");
  EXPECT_TRUE(PlanSearch(Layer(), together.Under(SearchPlanOptions())).steps.empty());
}

TEST(PipelineSchedule, GroupsAreNamedWithTheirParts) {
  const PipelineSchedule schedule = *Parse(
      "edge h -> y = stage\ntogether(activation, matmul): part i={1, 2}; by (i, j); streamed none");
  EXPECT_EQ(schedule.CanonicalText(),
            "edge matmul -> activation = stage\n"
            "together(matmul, activation): by (i, j); part i={1, 2}; streamed none\n");
  const auto as_it_is = [](const JointGroup& group) { return group; };
  const auto ways = schedule.NamedGroups(Layer(), as_it_is, 8);
  ASSERT_TRUE(ways.ok()) << ways.status();
  ASSERT_EQ(ways->size(), 2u);
  EXPECT_EQ((*ways)[1][0].part, (std::vector<int64_t>{2, 1}));
  EXPECT_TRUE(schedule.AllowsGroups(Layer(), (*ways)[1]).ok());
  JointGroup other = (*ways)[1][0];
  other.part[0] = 4;
  EXPECT_EQ(
      ErrorMessage(schedule.AllowsGroups(Layer(), {&other, 1})),
      "p.sched:2: 'together(activation, matmul): by (i, j); part i={1, 2}; streamed none' does "
      "not allow it: parts of i are 4");
  EXPECT_EQ(
      ErrorMessage(schedule.AllowsGroups(Layer(), {})),
      "p.sched:2: 'together(activation, matmul): by (i, j); part i={1, 2}; streamed none' does "
      "not allow it: they do not run together");
  EXPECT_THAT(ErrorMessage(Parse("edge h -> y = stage\ntogether(matmul, activation): part i=3")),
              HasSubstr("cannot be: parts of 3 points do not divide the 4 of common dimension 1"));
}

TEST(PipelineSchedule, LinesForOtherModelsAreNotRead) {
  const std::string text =
      "for CUDA:\nedge h -> y = stage\nstep matmul:\nTHR: tile i=1\n"
      "for OpenMP+SIMD+RM:\nstep h:\nL1: tile i=4\n";
  EXPECT_EQ(Parse(text)->CanonicalText(), "step matmul:\nL1: tile i=whole\n");
  EXPECT_EQ(Parse(text, Layer(), CudaModel())->CanonicalText(),
            "edge matmul -> activation = stage\nstep matmul:\nTHR: tile i=1\n");
}

TEST(PipelineSchedule, WhatCannotBeFusedIsExplained) {
  const Pipeline centred = *ParsePipeline(kCentred);
  EXPECT_EQ(FindFusionConflict(*Parse("edge m -> y = stage", centred)), std::nullopt);
  const auto conflict =
      FindFusionConflict(*Parse("edge m -> y = stage\nedge 1 -> 2 = inline", centred));
  ASSERT_TRUE(conflict.has_value());
  EXPECT_EQ(conflict->lines, (std::vector<int>{2}));
  EXPECT_THAT(conflict->text, HasSubstr("p.sched:2: 'edge mean -> minus = inline' leaves nothing: "
                                        "inline: "));
  const auto both = FindFusionConflict(*Parse("edge h -> y = stage\nedge 1 -> 2 = epilogue"));
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->lines, (std::vector<int>{1, 2}));
}

TEST(PipelineSchedule, ProgramsWriteThem) {
  const Result<PipelineSchedule> built =
      PipelineScheduleBuilder()
          .Edge("matmul", "activation", "stage")
          .Siblings("none")
          .Split("none")
          .Together({"matmul", "activation"}, "part i=2")
          .Step("matmul", ScheduleBuilder().Tile("L1", "k", 2).Along("j"))
          .Build(Layer(), OpenMpSimdRegistersModel());
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->CanonicalText(),
            "edge matmul -> activation = stage\nsiblings none\nsplit none\n"
            "together(matmul, activation): part i=2\n"
            "step matmul:\nL1: tile k=2\nSIMD: along j\n");
  EXPECT_TRUE(built->SaysEdges());
  EXPECT_EQ(PipelineScheduleBuilder().Alone({"a", "b"}).text(), "alone(a, b)\n");
}

TEST(PipelineSchedule, GoldenErrors) {
  const int cases = CheckGoldenErrors("bad_pipeline_schedules.txt", [](const std::string& text) {
    return ErrorMessage(
        PipelineSchedule::Parse(text, Layer(), OpenMpSimdRegistersModel(), "bad.sched"));
  });
  EXPECT_GE(cases, 30);
}

// Each partition is found by its edges, also where others are cheaper, and pins leave it alone.
TEST(PipelineSchedule, EveryPartitionIsPlannedUnderItsEdges) {
  Rng rng(FreshSeed());
  for (int n = 0; n < 20; ++n) {
    const Pipeline pipeline = RandomPipeline(rng, {.expression = {.max_points = 64}});
    for (const Partition& partition : PlanPartitions(pipeline, {.max_partitions = 8})) {
      const std::string lines = PipelineSchedule::LinesOf(pipeline, partition, {});
      const Result<PipelineSchedule> schedule =
          PipelineSchedule::Parse(lines, pipeline, OpenMpSimdRegistersModel());
      ASSERT_TRUE(schedule.ok()) << lines << schedule.status();
      EXPECT_TRUE(schedule->SaysEdges()) << lines;
      const std::vector<Partition> planned = Planned(*schedule);
      ASSERT_EQ(planned.size(), 1u) << lines;
      EXPECT_EQ(planned[0].edges, partition.edges);
      EXPECT_EQ(planned[0].bytes, partition.bytes);
    }
  }
}

}  // namespace
}  // namespace mdh::pipeline_schedule_test
