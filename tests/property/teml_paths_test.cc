// The paths of TeML's Table 2, replayed as schedules, compiled and run.
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/generate_kernel.h"
#include "core/expression/interpreter.h"
#include "core/schedule/schedule.h"
#include "core/teml/to_schedule.h"
#include "gtest/gtest.h"
#include "tests/core/expect_same.h"
#include "tests/error_message.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh::teml_paths_test {
namespace {

struct Path {
  std::string file;
  Bindings sizes;
};

void PrintTo(const Path& path, std::ostream* out) { *out << path.file; }

DeviceDescription Device() {
  DeviceDescription device;
  device.cores = 2;
  device.simd_bytes = 32;
  device.compiler = "gcc";
  return device;
}

// A step with the first configuration that its schedule leaves.
void ExpectRight(const Expression& step, const std::string& text, const std::string& name) {
  const SystemModel model = OpenMpSimdRegistersModel();
  const Result<Schedule> schedule = Schedule::Parse(text, step, model);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const Result<MdhSpace> space =
      MdhSpace::Create(step, model, Device(), NumericsPolicy::kReassociate, {}, {}, &*schedule);
  ASSERT_TRUE(space.ok()) << space.status() << "\n" << text;
  const TuningParameters parameters = space->Decode(space->space().At(Count(0)));
  EXPECT_TRUE(schedule->Allows(parameters).ok()) << schedule->Allows(parameters);
  const Result<LowLevelExpression> low = Lower(step, model, Device(), parameters);
  ASSERT_TRUE(low.ok()) << low.status();
  const Result<Kernel> kernel = GenerateKernel(*low, Device());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, step);
  const auto expected = Interpret(step, inputs, Accumulation::kDeclared);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const TemporaryDirectory directory;
  ASSERT_EQ(ErrorMessage(CompileKernel(*kernel, directory.path(), name)), "no error");
  EXPECT_EQ(
      ErrorMessage(JudgeKernel(step, *kernel, absl::StrCat(directory.path(), "/", name, ".so"),
                               inputs, *expected, /*units=*/64)),
      "no error")
      << text << ToText(parameters);
}

class TemlPaths : public ::testing::TestWithParam<Path> {};

TEST_P(TemlPaths, ComputeWhatStepsMean) {
  const Path& path = GetParam();
  for (const ScheduleDetail detail : {ScheduleDetail::kWhatIsSaid, ScheduleDetail::kNothingElse}) {
    const Result<ScheduledTeml> scheduled =
        ParseTemlSchedules(ReadFileOf(absl::StrCat("client/expressions/teml/", path.file, ".teml")),
                           path.sizes, path.file, OpenMpSimdRegistersModel(), detail);
    ASSERT_TRUE(scheduled.ok()) << scheduled.status();
    int said = 0;
    for (size_t s = 0; s < scheduled->schedules.size(); ++s) {
      if (scheduled->schedules[s].empty()) continue;
      ExpectRight(scheduled->pipeline.steps()[s].expression, scheduled->schedules[s],
                  absl::StrCat("step", s));
      ++said;
    }
    EXPECT_GT(said, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table2, TemlPaths,
    ::testing::Values(Path{"table2/bmm", {{"N", "34"}, {"I", "35"}, {"J", "36"}, {"K", "6"}}},
                      Path{"table2/coars", {{"I", "72"}, {"J", "70"}}},
                      Path{"table2/gconv",
                           {{"N", "4"},
                            {"G", "2"},
                            {"F", "3"},
                            {"P", "6"},
                            {"Q", "9"},
                            {"C", "2"},
                            {"R", "3"},
                            {"S", "2"}}},
                      Path{"table2/helm", {{"E", "5"}, {"N", "7"}}},
                      Path{"table2/interp", {{"E", "6"}, {"N", "7"}}},
                      Path{"table2/mttkrp", {{"I", "10"}, {"J", "12"}, {"K", "11"}, {"L", "9"}}},
                      Path{"table2/sddmm", {{"I", "24"}, {"J", "40"}, {"K", "10"}}},
                      Path{"mttkrp_transposed",
                           {{"I", "10"}, {"J", "12"}, {"K", "11"}, {"L", "9"}}}));

}  // namespace
}  // namespace mdh::teml_paths_test
