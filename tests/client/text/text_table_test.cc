#include "client/text/text_table.h"

#include "client/commands/format/job_format.h"
#include "core/base/wrap_lines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::text_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<TextColumn>& Table() {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "N", .is_number = true, .usual = 3},
                                  {.heading = "WHEN", .dispensable = 1},
                                  {.heading = "NAME", .least = 8}};
  return *table;
}

TEST(TextTableTest, ColumnsAreAsWideAsTheirCells) {
  EXPECT_THAT(LayOutTable(Table(), {{"1", "today", "matmul"}, {"22", "now", "dot"}}, 80),
              ElementsAre("  N  WHEN   NAME", "  1  today  matmul", " 22  now    dot"));
  EXPECT_THAT(LayOutTable(Table(), {}, 80), ElementsAre("  N  WHEN  NAME"));
}

TEST(TextTableTest, LongNamesLoseTheirMiddleThenColumnsGo) {
  const std::vector<std::vector<std::string>> rows = {{"1", "today", "a_long_name_of_something"}};
  EXPECT_THAT(LayOutTable(Table(), rows, 26),
              ElementsAre("  N  WHEN   NAME", "  1  today  a_long...thing"));
  EXPECT_THAT(LayOutTable(Table(), rows, 18), ElementsAre("  N  NAME", "  1  a_lon...thing"));
  EXPECT_THAT(LayOutTable(Table(), rows, 7), ElementsAre("  N ...", "  1 ..."));
}

TEST(TextTableTest, NothingMovesTheCursor) {
  EXPECT_THAT(LayOutTable(Table(), {{"1", "a\tb", "x\033[2J"}}, 80)[1], "  1  a b   x [2J");
}

TEST(TextTableTest, JobsFitAnyTerminalWhateverTheirNames) {
  v1::TuningJob job;
  job.set_name("tuningJobs/1234567");
  job.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
  job.mutable_progress()->set_trials(123'456);
  job.mutable_progress()->set_best_time_ns(123'456'789);
  job.mutable_create_time()->set_seconds(1'790'000'000);
  job.set_expression_name("ccsdt_g\u00e4b" + std::string(200, 'x') + "_end");
  for (const char* device : {"devices/cuda0", "devices/cuda1", "devices/cuda2", "devices/cuda3"}) {
    job.add_devices(device);
  }
  for (int columns = 0; columns <= 120; ++columns) {
    for (const std::string& line : LayOutTable(JobTable(), {JobRow(job)}, columns)) {
      EXPECT_LE(CharactersIn(line), columns) << line;
    }
  }
  const std::string line = LayOutTable(JobTable(), {JobRow(job)}, 80)[1];
  EXPECT_THAT(line, HasSubstr("1234567  succeeded  123456   123 ms"));
  EXPECT_THAT(line, HasSubstr("..."));
  EXPECT_THAT(line, HasSubstr("_end"));
  EXPECT_THAT(LayOutTable(JobTable(), {JobRow(job)}, 100'000)[1], Not(HasSubstr("...")));
}

}  // namespace
}  // namespace mdh::text_table_test
