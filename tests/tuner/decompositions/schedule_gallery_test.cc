// The schedules of deploy/docs/schedule-gallery.md: each leaves something.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh::schedule_gallery_test {
namespace {

TEST(ScheduleGallery, LeavesSomethingToSearch) {
  std::stringstream page;
  page << std::ifstream(SourcePath("deploy/docs/schedule-gallery.md")).rdbuf();
  const std::string text = page.str();
  const std::regex block("```sched expression=(\\S+) model=(\\S+) file=\\S+\n([^`]*)```");
  int schedules = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), block), end; at != end; ++at) {
    const std::smatch& match = *at;
    const Result<Expression> expression = ShippedExpression(SourcePath(), match[1]);
    ASSERT_TRUE(expression.ok()) << expression.status();
    const SystemModel model = *SystemModelNamed(match[2].str());
    const auto schedule = Schedule::Parse(match[3].str(), *expression, model, match[1].str());
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const DeviceDescription device =
        model.kind == DeviceKind::kCuda ? *DescribeCudaArchitecture(90) : CpuForSpaces();
    const Result<ScheduleCheck> check = CheckSchedule(device, *schedule);
    ASSERT_TRUE(check.ok()) << check.status();
    for (const ScheduleConflict& conflict : check->conflicts) ADD_FAILURE() << conflict.ToText();
    EXPECT_NE(check->example, "") << match[3];
    ++schedules;
  }
  EXPECT_EQ(schedules, 8);
}

}  // namespace
}  // namespace mdh::schedule_gallery_test
