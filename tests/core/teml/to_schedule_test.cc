// What transformations say of kernels.
#include "core/teml/to_schedule.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/schedule/schedule.h"
#include "core/teml/teml.h"
#include "gtest/gtest.h"
#include "tests/core/expect_same.h"
#include "tests/core/golden_errors.h"
#include "tests/error_message.h"

namespace mdh::to_schedule_test {
namespace {

const SystemModel& Cpu() {
  static const auto* model = new SystemModel(OpenMpSimdRegistersModel());
  return *model;
}

Result<ScheduledTeml> Scheduled(const std::string& text,
                                ScheduleDetail detail = ScheduleDetail::kWhatIsSaid,
                                const SystemModel& model = Cpu()) {
  return ParseTemlSchedules(text, {}, "test.teml", model, detail);
}

// A product of 64 x 32 and 16 reduced points, whose nest is called l before.
std::string Product(const std::string& transformations) {
  return absl::StrCat(
      "A = tensor([64, 16])\nB = tensor([16, 32])\nC = tensor([64, 32])\n"
      "t = vmul(A, B, [[i, k], [k, j]])\nC = add(C, t, [[i, j], ] -> [i, j])\nl = build(C)\n",
      transformations);
}

// Schedules of all steps, notices in front of them; every schedule can be read.
std::string TextOf(const Result<ScheduledTeml>& scheduled) {
  if (!scheduled.ok()) return std::string(scheduled.status().message());
  std::string text;
  for (const std::string& notice : scheduled->notices) absl::StrAppend(&text, notice, "\n");
  for (size_t s = 0; s < scheduled->schedules.size(); ++s) {
    const std::string& schedule = scheduled->schedules[s];
    const Expression& step = scheduled->pipeline.steps()[s].expression;
    const Result<Schedule> read = Schedule::Parse(schedule, step, Cpu());
    EXPECT_TRUE(read.ok()) << read.status() << "\n" << schedule;
    if (scheduled->schedules.size() > 1) absl::StrAppend(&text, "# ", step.name(), "\n");
    absl::StrAppend(&text, schedule.empty() ? "(nothing)\n" : schedule);
  }
  return text;
}

TEST(TemlSchedules, LoopsOfBuildSayNothing) {
  EXPECT_EQ(TextOf(Scheduled(Product(""))), "(nothing)\n");
  EXPECT_EQ(TextOf(Scheduled(Product(""), ScheduleDetail::kNothingElse)), "(nothing)\n");
  EXPECT_EQ(TextOf(Scheduled(Product("l = interchange(l, 1, 2)\nl = interchange(l, 2, 1)"))),
            "(nothing)\n");
}

TEST(TemlSchedules, TheOrderOfLoopsIsThatOfTheInnermostLayer) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = interchange(l, 2, 3)"))),
            R"(for OpenMP+SIMD+RM:
MM: tile i=^, j=^, k=^
L2: tile i=^, j=^, k=^
L1: order i, k, j
)");
}

TEST(TemlSchedules, TilesAreLayersFromTheInsideOut) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = tile(l, 8)\nl = parallelize(l, 1)\n"
                                     "l = vectorize(l, 5)"))),
            R"(for OpenMP+SIMD+RM:
cores: tile i=8, j=whole, k=whole
MM: tile i=^, j=^, k=^
L2: tile i=1, j=8, k=8; order j, k, i
L1: tile i=^; order j, k, ..
lanes: along j
)");
  // 64 points in parts of 16, these in parts of 4, these in single points.
  EXPECT_EQ(TextOf(Scheduled(Product("l = stripmine(l, 1, 16)\nl = stripmine(l, 2, 4)"))),
            R"(for OpenMP+SIMD+RM:
MM: tile i=16, j=^, k=^
L2: tile i=4, j=^, k=^
L1: order i, j, k
)");
}

TEST(TemlSchedules, PartsBeyondTheDimensionAreWhole) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = tile(l, 32)"))),
            R"(for OpenMP+SIMD+RM:
MM: tile i=^, j=^, k=^
L2: tile i=32, j=whole, k=whole; order i, j, k
L1: order i, j, k
)");
}

TEST(TemlSchedules, ThreadsHaveRunsOfAParallelLoopOverPoints) {
  const std::string text = Product("l = parallelize(l, 1)\nl = interchange(l, 2, 3)");
  EXPECT_EQ(TextOf(Scheduled(text)), R"(for OpenMP+SIMD+RM:
cores: tile j=whole, k=whole
MM: tile j=^, k=^
L2: tile j=^, k=^
L1: order i, k, j
)");
  EXPECT_EQ(TextOf(Scheduled(text, ScheduleDetail::kNothingElse)), R"(for OpenMP+SIMD+RM:
cores: tile i=1, j=whole, k=whole
MM: tile i=^, j=^, k=^
L2: tile i=^, j=^, k=^
L1: tile i=^, k=1; order k, j, ..
input A: copy never
input B: copy never
accumulate=output
chains=one
prefetch=0
stores=cached
remainder=variants
)");
}

TEST(TemlSchedules, UnrolledInsideOfAllLoopsAreTilesOfRegisters) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = stripmine(l, 1, 4)\nl = interchange(l, 2, 3)\n"
                                     "l = interchange(l, 3, 4)\nl = unroll(l, 4)"))),
            R"(for OpenMP+SIMD+RM:
MM: tile i=^, j=^, k=^
L2: tile i=^, j=^, k=^
L1: tile i=4, j=1, k=1; order i, j, k
)");
}

TEST(TemlSchedules, UnrolledAndJammedLoopsAre) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = stripmine(l, 1, 4)\nl = unroll(l, 2)\n"
                                     "l = fuse_inner(l, 2)\nl = fuse_inner(l, 3)"))),
            R"(for OpenMP+SIMD+RM:
MM: tile i=^, j=^, k=^
L2: tile i=^, j=^, k=^
L1: tile i=4, j=1, k=1; order i, j, k
)");
}

TEST(TemlSchedules, WhatIsDoneInAnotherWayIsNoticed) {
  const auto first_line = [](const std::string& transformations) {
    const Result<ScheduledTeml> scheduled = Scheduled(Product(transformations));
    if (!scheduled.ok()) return std::string(scheduled.status().message());
    return scheduled->notices.empty()
               ? "no notice"
               : scheduled->notices[0].substr(0, scheduled->notices[0].find('\n'));
  };
  EXPECT_EQ(first_line("l = parallelize(l, 2)"),
            "test.teml:7:1: the loop over 'j' is parallel inside of a sequential loop; it is moved "
            "out, with the same result");
  EXPECT_EQ(first_line("l = stripmine(l, 1, 4)\nl = parallelize(l, 2)"),
            "test.teml:8:1: the loop over 'i' is parallel inside of the loop over its blocks; one "
            "thread runs it");
  EXPECT_EQ(first_line("l = stripmine(l, 1, 4)\nl = parallelize(l, 1)\nl = parallelize(l, 2)"),
            "test.teml:9:1: the loop over 'i' is parallel twice; one thread runs the inner one");
  EXPECT_EQ(first_line("l = stripmine(l, 2, 4)\nl = vectorize(l, 2)"),
            "test.teml:8:1: the loop over 'j' is vectorized over blocks; vectors are along single "
            "points");
  EXPECT_EQ(first_line("l = vectorize(l, 1)\nl = vectorize(l, 2)"),
            "test.teml:8:1: the loop over 'j' is vectorized inside of 'i'; vectors are along one "
            "loop, the innermost one");
  EXPECT_EQ(first_line("l = stripmine(l, 1, 4)\nl = unroll(l, 2)"),
            "test.teml:5:1: the loop over 'i' is unrolled around other loops; it is a loop again, "
            "with the same result");
}

TEST(TemlSchedules, MoreGroupsThanLayersAreAnError) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = stripmine(l, 1, 32)\nl = stripmine(l, 2, 16)\n"
                                     "l = stripmine(l, 3, 4)"))),
            "test.teml:9:1: 4 groups of sequential loops, OpenMP+SIMD+RM has 3 memory layers (MM, "
            "L2, L1); a group is loops of different iterators, so stripmine or tile less often\n"
            "l = stripmine(l, 3, 4)\n^");
}

TEST(TemlSchedules, PartsThatDoNotDivideThoseAroundThemAreAnError) {
  EXPECT_EQ(TextOf(Scheduled(Product("l = stripmine(l, 1, 32)\nl = stripmine(l, 2, 5)"))),
            "test.teml:8:1: parts of 5 points of 'i' do not divide the parts of 32 around them, as "
            "they must in kernels\nl = stripmine(l, 2, 5)\n^");
}

TEST(TemlSchedules, OtherErrorsAreThoseOfPrograms) {
  EXPECT_EQ(ErrorMessage(Scheduled("A = ")),
            ErrorMessage(ParseTemlPipeline("A = ", {}, "test.teml")));
}

TEST(TemlSchedules, DevicesWithExplicitMemoryHaveNoneOfTheseLoops) {
  const Result<ScheduledTeml> scheduled =
      Scheduled(Product("l = interchange(l, 2, 3)"), ScheduleDetail::kWhatIsSaid, CudaModel());
  ASSERT_TRUE(scheduled.ok()) << scheduled.status();
  EXPECT_EQ(scheduled->schedules, std::vector<std::string>{""});
  ASSERT_EQ(scheduled->notices.size(), 1u);
  EXPECT_NE(scheduled->notices[0].find("the loops of 'C' say nothing of CUDA"), std::string::npos);
}

// Two results of the same loops are one step.
TEST(TemlSchedules, AllLoopsFusedAreOneStep) {
  const std::string both =
      "x = tensor([8, 4])\ny = add(x, x, [[i, j], [i, j]] -> [i, j])\n"
      "z = mul(x, x, [[i, j], [i, j]] -> [i, j])\na = build(y)\nb = build(z)\n";
  EXPECT_EQ(TextOf(Scheduled(both + "l = fuse_outer(a, b, 2)\nl = interchange(l, 1, 2)")),
            R"(for OpenMP+SIMD+RM:
MM: tile i=^, j=^
L2: tile i=^, j=^
L1: order j, i
)");
  const Result<ScheduledTeml> part = Scheduled(both + "l = fuse_outer(a, b, 1)\n");
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->pipeline.steps().size(), 2u);
  ASSERT_EQ(part->notices.size(), 1u);
  EXPECT_NE(part->notices[0].find("'z' and 'y' are fused, but are steps of their own: loops around "
                                  "some of them are not fused"),
            std::string::npos);
}

TEST(TemlSchedules, GoldenPathsOfTable2) {
  const int cases = CheckGoldenErrors("teml_schedules.txt", [](const std::string& text) {
    const std::string file = text.substr(0, text.find('\n'));
    const auto of = [&](ScheduleDetail detail) {
      return TextOf(ParseTemlSchedules(ReadFileOf(absl::StrCat("client/expressions/teml/", file)),
                                       {}, file, Cpu(), detail));
    };
    return absl::StrCat(of(ScheduleDetail::kWhatIsSaid), "---- complete\n",
                        of(ScheduleDetail::kNothingElse));
  });
  EXPECT_EQ(cases, 8);
}

}  // namespace
}  // namespace mdh::to_schedule_test
