// Malformed schedules. golden/bad_schedules.txt has a case per rule that can be broken.
#include <gmock/gmock.h>

#include <string>

#include "core/device/system_model.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/core/golden_errors.h"
#include "tests/core/schedule/matmul.h"
#include "tests/error_message.h"

namespace mdh::schedule_errors_test {
namespace {

TEST(ScheduleErrors, GoldenErrors) {
  const Expression product = MatMulOf(300, 200, 100);
  const int cases = CheckGoldenErrors("bad_schedules.txt", [&](const std::string& text) {
    return ErrorMessage(Schedule::Parse(text, product, OpenMpSimdRegistersModel(), "bad.sched"));
  });
  EXPECT_GE(cases, 55);
}

TEST(ScheduleErrors, GoldenErrorsWhereMemoryIsExplicit) {
  const Expression product = MatMulOf(300, 200, 100);
  const int cases = CheckGoldenErrors("bad_schedules_cuda.txt", [&](const std::string& text) {
    return ErrorMessage(Schedule::Parse(text, product, CudaModel(), "bad.sched"));
  });
  EXPECT_GE(cases, 9);
}

TEST(ScheduleErrors, TextsOfAnySizeAreRefused) {
  EXPECT_EQ(
      ErrorMessage(Schedule::Parse(std::string(2 << 20, '#'), MatMulOf(4, 4, 4), CudaModel())),
      "the schedule has 2097152 bytes; at most 1048576 are allowed");
  EXPECT_THAT(ErrorMessage(Schedule::Parse("require " + std::string(500, '('), MatMulOf(4, 4, 4),
                                           CudaModel(), "deep.sched")),
              ::testing::HasSubstr("the formula is nested too deeply"));
}

}  // namespace
}  // namespace mdh::schedule_errors_test
