// What is left of spaces, and which lines of schedules contradict each other.
#include "tuner/decompositions/schedule_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/schedule/matmul.h"
#include "tests/fresh_seed.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh::schedule_check_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Expression& Product() {
  static const auto* const product = new Expression(MatMulOf(60, 40, 24));
  return *product;
}

Schedule Parsed(const std::string& text) {
  const auto schedule = Schedule::Parse(text, Product(), OpenMpSimdRegistersModel(), "s.sched");
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *schedule;
}

ScheduleCheck Checked(const std::string& text) {
  const Result<ScheduleCheck> check =
      CheckSchedule(CpuForSpaces(), Parsed(text), NumericsPolicy::kReassociate, 60'000);
  EXPECT_TRUE(check.ok()) << check.status();
  return *check;
}

TEST(ScheduleCheckTest, CountsWhatIsLeft) {
  const ScheduleCheck free = Checked("");
  EXPECT_EQ(free.canonical, "");
  EXPECT_TRUE(free.is_exact);
  const auto space = MdhSpace::Create(Product(), OpenMpSimdRegistersModel(), CpuForSpaces());
  EXPECT_EQ(free.count, space->space().count());
  const std::string text = "L1: tile i=6, j=8\nlanes: along j\n";
  const ScheduleCheck some = Checked(text);
  EXPECT_EQ(some.canonical, "L1: tile i=6, j=8\nSIMD: along j\n");
  EXPECT_LT(some.count, free.count);
  EXPECT_THAT(some.conflicts, IsEmpty());
  const auto example = ParseTuningParameters(some.example);
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_TRUE(Parsed(text).Allows(*example).ok());
}

TEST(ScheduleCheckTest, WhatIsCompleteIsOne) {
  const ScheduleCheck some = Checked("L1: tile i=6, j=8\n");
  const Schedule whole =
      Schedule::Of(*ParseTuningParameters(some.example), Product(), OpenMpSimdRegistersModel());
  const Result<ScheduleCheck> check = CheckSchedule(CpuForSpaces(), whole);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->count, 1);
}

TEST(ScheduleCheckTest, WhatIsCompleteAndBreaksARuleNamesItsLine) {
  TuningParameters p = *ParseTuningParameters(Checked("lanes: along j\n").example);
  p.tile = {{60, 40, 24}, {60, 40, 24}, {60, 40, 24}, {6, 5, 1}, {1, 5, 1}, {1, 1, 1}};
  const Schedule broken =
      Parsed(Schedule::Of(p, Product(), OpenMpSimdRegistersModel()).CanonicalText());
  const Result<ScheduleCheck> check = CheckSchedule(CpuForSpaces(), broken);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->count, 0);
  ASSERT_EQ(check->conflicts.size(), 1u);
  EXPECT_EQ(check->conflicts[0].lines.size(), 1u);
  EXPECT_THAT(
      check->conflicts[0].ToText(),
      HasSubstr("RM: tile j=5' breaks a rule: lanes must be a power of two up to 64, not 5"));
}

TEST(ScheduleCheckTest, NamesLinesThatContradictEachOther) {
  const ScheduleCheck check = Checked(
      "L1: tile i=6, j=8\ncores: parts i=2\ninput A: copy never\nlanes: along j\n"
      "require parts(COR, i) >= 3\nremainder=variants\n");
  EXPECT_EQ(check.count, 0);
  ASSERT_EQ(check.conflicts.size(), 1u);
  const ScheduleConflict& conflict = check.conflicts[0];
  EXPECT_THAT(conflict.lines, ElementsAre(2, 5));
  EXPECT_TRUE(conflict.is_minimal);
  EXPECT_THAT(conflict.ToText(), HasSubstr("lines 2 and 5 contradict each other under 'line "));
  EXPECT_THAT(conflict.ToText(), HasSubstr("; without line "));
}

TEST(ScheduleCheckTest, ALineThatIsImpossibleStandsAlone) {
  const ScheduleCheck check = Checked("cores: parts i=2\nlanes: along k; along j\nMM: tile j=^\n");
  ASSERT_EQ(check.conflicts.size(), 1u);
  EXPECT_THAT(check.conflicts[0].lines, ElementsAre(2));
  EXPECT_THAT(check.conflicts[0].ToText(), HasSubstr("line 2 leaves nothing under "));
}

TEST(ScheduleCheckTest, WithoutTimeItSaysThatMoreMayBeNamed) {
  const Result<ScheduleCheck> check =
      CheckSchedule(CpuForSpaces(), Parsed("cores: parts i=2\nlanes: along j\ncores: parts i=3\n"),
                    NumericsPolicy::kReassociate, /*most_ms=*/0);
  ASSERT_TRUE(check.ok());
  ASSERT_EQ(check->conflicts.size(), 1u);
  EXPECT_THAT(check->conflicts[0].ToText(), HasSubstr("(not shown to be minimal)"));
}

// Without any of its lines something remains; with them nothing.
TEST(ScheduleCheckTest, ConflictsAreMinimal) {
  Rng rng(FreshSeed());
  const auto any = [&](const std::vector<std::string>& lines) {
    return lines[rng() % lines.size()];
  };
  constexpr int kConflicts = 3;
  int conflicts = 0;
  for (int n = 0; n < 100 && conflicts < kConflicts; ++n) {
    std::string text;
    for (int line = 0; line < 5; ++line) {
      text += any({"cores: parts i={2, 3}", "cores: parts i={3, 4}", "L1: tile i=6",
                   "L1: tile i={5, 7}", "lanes: along j", "lanes: along {i, none}",
                   "L2: order k, .., j", "L2: order j, k", "L2: parts k=4, j=2",
                   "MM: tile j=20, k=8", "require tile(L2, j) * tile(L2, k) <= 60",
                   "input B: copy at L2; strips j", "threads=1", "require bytes(A, L2) >= 4000"}) +
              "\n";
    }
    const Schedule schedule = Parsed(text);
    const Result<ScheduleCheck> check =
        CheckSchedule(CpuForSpaces(), schedule, NumericsPolicy::kReassociate, 60'000);
    ASSERT_TRUE(check.ok()) << check.status();
    if (check->conflicts.empty()) continue;
    ++conflicts;
    const std::vector<int>& lines = check->conflicts[0].lines;
    for (int left_out = -1; left_out < std::ssize(lines); ++left_out) {
      std::vector<Decision> decisions;
      for (const Decision& decision : schedule.decisions()) {
        const bool is_named = std::find(lines.begin(), lines.end(), decision.line) != lines.end();
        const bool is_out = left_out >= 0 && decision.line == lines[left_out];
        if (is_named && !is_out) decisions.push_back(decision);
      }
      const Schedule part = schedule.With(decisions);
      const auto space = MdhSpace::Create(Product(), OpenMpSimdRegistersModel(), CpuForSpaces(),
                                          NumericsPolicy::kReassociate, {}, {}, &part);
      EXPECT_EQ(space.ok(), left_out >= 0) << text << check->conflicts[0].ToText();
    }
  }
  EXPECT_EQ(conflicts, kConflicts);
}

// The lines of a conflict, of which one may be left out.
Schedule LinesOf(const Schedule& schedule, const std::vector<int>& lines, int but_not = 0) {
  std::vector<Decision> decisions;
  for (const Decision& decision : schedule.decisions()) {
    const bool is_named = std::find(lines.begin(), lines.end(), decision.line) != lines.end();
    if (is_named && decision.line != but_not) decisions.push_back(decision);
  }
  return schedule.With(std::move(decisions));
}

// Lines of two configurations each. The judge looks at configurations, not at constraints: all that
// are left without a line of a conflict are ones that the line does not allow.
TEST(ScheduleCheckTest, ConflictsOnGpusAreThoseOfTheJudge) {
  Rng rng(FreshSeed());
  const Expression product = MatMulOf(6, 4, 5);
  for (const SpaceBackend& backend : SpaceBackends()) {
    if (backend.model.memory != MemoryKind::kExplicit) continue;
    const auto space = MdhSpace::Create(product, backend.model, backend.device);
    ASSERT_TRUE(space.ok()) << space.status();
    const auto left_by = [&](const Schedule& schedule) {
      return MdhSpace::Create(product, backend.model, backend.device, NumericsPolicy::kReassociate,
                              {.names_what_empties = false}, {}, &schedule);
    };
    constexpr int kConflicts = 4;
    int conflicts = 0;
    for (int n = 0; n < 100 && conflicts < kConflicts; ++n) {
      std::vector<Decision> decisions;
      for (int configuration = 0; configuration < 2; ++configuration) {
        const TuningParameters p = space->Decode(space->space().Sample(rng));
        const Schedule whole = Schedule::Of(p, product, backend.model);
        for (const Decision& decision : whole.decisions()) {
          if (rng() % 5 == 0) decisions.push_back(decision);
        }
      }
      for (size_t d = 0; d < decisions.size(); ++d) decisions[d].line = static_cast<int>(d) + 1;
      const Schedule mixed = Schedule::Parse("", product, backend.model)->With(decisions);
      const auto check = CheckSchedule(backend.device, mixed, NumericsPolicy::kReassociate, 60'000);
      ASSERT_TRUE(check.ok()) << check.status();
      EXPECT_EQ(check->conflicts.empty(), left_by(mixed).ok()) << mixed.CanonicalText();
      if (check->conflicts.empty()) continue;
      ++conflicts;
      const ScheduleConflict& conflict = check->conflicts[0];
      EXPECT_TRUE(conflict.is_minimal) << conflict.ToText();
      const Schedule named = LinesOf(mixed, conflict.lines);
      for (const int line : conflict.lines) {
        const auto others = left_by(LinesOf(mixed, conflict.lines, line));
        ASSERT_TRUE(others.ok()) << mixed.CanonicalText() << conflict.ToText();
        for (int sample = 0; sample < 100; ++sample) {
          const TuningParameters p = others->Decode(others->space().Sample(rng));
          EXPECT_FALSE(named.Allows(p).ok()) << named.CanonicalText() << ToText(p);
        }
      }
    }
    EXPECT_EQ(conflicts, kConflicts) << backend.name;
  }
}

}  // namespace
}  // namespace mdh::schedule_check_test
