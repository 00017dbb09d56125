// Random TeML programs with transformations: what the schedules of their loops allow computes what
// their steps mean. MDH_TEML_SCHEDULES says how many are tried.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/decomposition/low_level_expression.h"
#include "core/expression/interpreter.h"
#include "core/schedule/schedule.h"
#include "core/teml/program.h"
#include "core/teml/to_schedule.h"
#include "gtest/gtest.h"
#include "tests/core/decomposition/low_level_interpreter.h"
#include "tests/fresh_seed.h"
#include "tests/random_teml.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh::teml_schedules_test {
namespace {

struct Tried {
  int programs = 0, steps = 0, empty = 0, refused = 0;
};

class ScheduledStep {
 public:
  ScheduledStep(const Expression& expression, const std::string& text)
      : expression_(expression), text_(text) {}

  void Check(Rng& rng, Tried* tried) const {
    const Result<Schedule> schedule = Schedule::Parse(text_, expression_, model_);
    ASSERT_TRUE(schedule.ok()) << schedule.status() << "\n" << text_;
    const Result<MdhSpace> space = MdhSpace::Create(
        expression_, model_, device_, NumericsPolicy::kReassociate, {}, {}, &*schedule);
    ++tried->steps;
    // Such as parts that do not divide the parts around them.
    if (!space.ok() || space->space().count() == 0) {
      ++tried->empty;
      return;
    }
    const Configuration some = space->space().At(
        Count(static_cast<unsigned long>(Below(rng, 1 << 30))) % space->space().count());
    const TuningParameters parameters = space->Decode(some);
    ASSERT_TRUE(!space->has_exactly_schedule() || schedule->Allows(parameters).ok())
        << schedule->Allows(parameters) << "\n"
        << text_ << "\n"
        << ToText(parameters);
    const Result<LowLevelExpression> low = Lower(expression_, model_, device_, parameters);
    ASSERT_TRUE(low.ok()) << low.status() << "\n" << text_ << "\n" << ToText(parameters);
    const std::vector<BufferBytes> inputs = RandomInputs(rng, expression_);
    const Result<std::vector<BufferBytes>> expected = Interpret(expression_, inputs);
    const Result<std::vector<BufferBytes>> found = InterpretLowLevel(*low, inputs);
    ASSERT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
    ASSERT_EQ(*found, *expected) << text_ << "\n" << ToText(parameters);
  }

 private:
  const Expression& expression_;
  const std::string& text_;
  const SystemModel model_ = OpenMpSimdRegistersModel();
  const DeviceDescription device_ = CpuForSpaces();
};

void CheckProgram(const std::string& text, Rng& rng, Tried* tried) {
  const Result<TemlProgram> program = ParseTemlProgram(text, {}, "random.teml");
  ASSERT_TRUE(program.ok()) << program.status() << "\n" << text;
  const auto detail =
      Below(rng, 2) == 0 ? ScheduleDetail::kWhatIsSaid : ScheduleDetail::kNothingElse;
  const Result<TemlSchedules> scheduled =
      ToSchedules(*program, "random", OpenMpSimdRegistersModel(), detail);
  ++tried->programs;
  // Outputs that are written twice, and loops in too many layers.
  if (!scheduled.ok()) {
    ++tried->refused;
    return;
  }
  ASSERT_EQ(scheduled->schedules.size(), scheduled->pipeline.steps().size());
  for (size_t s = 0; s < scheduled->schedules.size(); ++s) {
    if (scheduled->schedules[s].empty()) continue;
    ScheduledStep(scheduled->pipeline.steps()[s].expression, scheduled->schedules[s])
        .Check(rng, tried);
    if (testing::Test::HasFatalFailure()) break;
  }
  if (testing::Test::HasFatalFailure()) std::printf("%s\n", text.c_str());
}

TEST(TemlSchedules, WhatTheyAllowComputesWhatStepsMean) {
  const char* const wanted = std::getenv("MDH_TEML_SCHEDULES");
  const int programs = wanted != nullptr ? std::atoi(wanted) : 500;
  Rng rng(FreshSeed());
  Tried tried;
  while (tried.programs < programs && !testing::Test::HasFatalFailure()) {
    CheckProgram(RandomTemlProgram(rng, {.max_points = 512}), rng, &tried);
  }
  std::printf("%d programs, %d refused: %d steps with schedules, %d of which leave nothing\n",
              tried.programs, tried.refused, tried.steps, tried.empty);
  if (wanted != nullptr || testing::Test::HasFailure()) return;
  EXPECT_GT(tried.steps, 150);
  EXPECT_LT(tried.empty, tried.steps / 3);
  EXPECT_LT(tried.refused, tried.programs / 4);
}

// In their sizes, and on a machine of two cores: outermost loops over single points are far more
// parts than these would take turns with by themselves.
TEST(TemlSchedules, EveryPathOfTable2LeavesSomethingOnTwoCores) {
  DeviceDescription device = CpuForSpaces();
  device.cores = 2;
  int steps = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(SourcePath("client/expressions/teml/table2"))) {
    const std::string name = file.path().stem().string();
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    for (const auto& model : {OpenMpSimdRegistersModel(), OpenMpL3SimdModel()}) {
      const Result<TemlProgram> program = ParseTemlProgram(text.str(), {}, name);
      ASSERT_TRUE(program.ok()) << program.status();
      const Result<TemlSchedules> scheduled =
          ToSchedules(*program, name, model, ScheduleDetail::kNothingElse);
      ASSERT_TRUE(scheduled.ok()) << scheduled.status();
      for (size_t s = 0; s < scheduled->schedules.size(); ++s) {
        const Expression& step = scheduled->pipeline.steps()[s].expression;
        const auto schedule = Schedule::Parse(scheduled->schedules[s], step, model);
        ASSERT_TRUE(schedule.ok()) << schedule.status();
        const auto check = CheckSchedule(device, *schedule);
        ASSERT_TRUE(check.ok()) << check.status();
        EXPECT_GT(check->count, 0)
            << name << " " << model.name << "\n"
            << scheduled->schedules[s]
            << (check->conflicts.empty() ? "" : check->conflicts[0].ToText());
        ++steps;
      }
    }
  }
  EXPECT_GE(steps, 2 * 7);
}

}  // namespace
}  // namespace mdh::teml_schedules_test
