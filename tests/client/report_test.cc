// The pages of `mdh report`: their data, their size, and that texts cannot leave their places.
#include <nlohmann/json.hpp>

#include "client/report/report_page.h"
#include "client/report/study_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report_samples.h"
#include "tests/core/pipeline/sample_pipelines.h"

namespace mdh::report_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// The data inside of a page.
json DataOf(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(ReportTest, APageHasTheTrialsInTheOrderInWhichTheyEnded) {
  JobReport report = SampleJob(30);
  std::swap(report.runs[0].trials[3], report.runs[0].trials[20]);
  report.runs[0].trials[25].clear_outcome();
  const json data = DataOf(JobReportPage(report));
  EXPECT_EQ(data["title"], "matmul");
  const json& run = data["runs"][0];
  EXPECT_EQ(run["number"].size(), 29u);
  EXPECT_EQ(data["not_ended"], 1);
  EXPECT_TRUE(std::is_sorted(run["elapsed_us"].begin(), run["elapsed_us"].end()));
  EXPECT_EQ(data["outcomes"][0]["name"], "ok");
  EXPECT_EQ(data["outcomes"][0]["trials"], 26);
  EXPECT_EQ(data["outcomes"][1]["name"], "wrong result");
  EXPECT_EQ(data["outcomes"][1]["reasons"][0]["text"], "C[3, 7] is 1.5, should be 1.25");
  EXPECT_EQ(data["outcomes"][2]["reasons"][0]["text"], "kernel.c:7:3: error: spilled");
  EXPECT_EQ(data["result"]["time_ns"], 79'108);
  EXPECT_FALSE(data["result"]["bound_is_bandwidth"]);
  EXPECT_NEAR(data["result"]["bound_ns"], 33'554'432 / 435.0, 1);
}

TEST(ReportTest, ThePageSaysWhatNoKernelCanBeFasterThan) {
  JobReport report = SampleJob(5);
  const json certificate = DataOf(JobReportPage(report))["certificate"];
  EXPECT_EQ(certificate["bound_ns"], 51'200);
  EXPECT_EQ(certificate["floors"][1]["resource"], "issue");
  EXPECT_EQ(certificate["assumptions"][0], "no core is clocked above 5.12 GHz");
  report.record->clear_certificate();
  EXPECT_TRUE(DataOf(JobReportPage(report))["certificate"].is_null());
}

TEST(ReportTest, ThePageHasTheBoundsOfWhatIsSearched) {
  JobReport report = SampleJob(5);
  const json bounds = DataOf(JobReportPage(report))["bounds"];
  EXPECT_EQ(bounds["time_ns"], 79'108);
  EXPECT_EQ(bounds["configurations"], 10'000);
  EXPECT_EQ(bounds["is_exact"], false);
  EXPECT_EQ(bounds["left_share_high"], 0.4298);
  ASSERT_EQ(bounds["classes"].size(), 6u);
  EXPECT_EQ(bounds["classes"][5]["name"], "1 and more");
  EXPECT_EQ(bounds["classes"][5]["configurations"], 5'800);
  report.bounds->clear_configurations();
  EXPECT_TRUE(DataOf(JobReportPage(report))["bounds"].is_null());
  report.bounds.reset();
  EXPECT_TRUE(DataOf(JobReportPage(report))["bounds"].is_null());
}

TEST(ReportTest, WhatAJobSearchesIsACandidate) {
  v1::TuningJob job = SampleJob(5).runs[0].job;
  job.mutable_options()->set_schedule("THR: parts i 2\n");
  job.mutable_options()->add_restrictions()->set_parameter("lanes");
  const v1::Candidate searched = SearchedBy(job);
  EXPECT_EQ(searched.expression().text().text(), job.expression_text());
  EXPECT_EQ(searched.device().name(), "devices/cpu");
  EXPECT_EQ(searched.numerics_policy(), v1::NUMERICS_POLICY_REASSOCIATE);
  EXPECT_EQ(searched.schedule(), "THR: parts i 2\n");
  ASSERT_EQ(searched.restrictions_size(), 1);
  EXPECT_EQ(searched.restrictions(0).parameter(), "lanes");
  job.add_running_devices("devices/cuda0");
  EXPECT_EQ(SearchedBy(job).device().name(), "devices/cuda0");
  job.clear_devices();
  job.clear_running_devices();
  EXPECT_FALSE(SearchedBy(job).has_device());
}

TEST(ReportTest, TheBestTimeIsThatOfTheRecordOrOfTheSearch) {
  JobReport report = SampleJob(5);
  report.runs[0].job.mutable_progress()->set_best_time_ns(90'000);
  EXPECT_EQ(BestTimeNs(report), 79'108);
  report.record.reset();
  EXPECT_EQ(BestTimeNs(report), 90'000);
  EXPECT_EQ(BestTimeNs(EmptyJob()), 0);
}

TEST(ReportTest, TheDecompositionHasTilesWithSizesAndRegions) {
  const json data = DataOf(JobReportPage(SampleJob(5)))["decomposition"];
  EXPECT_EQ(data["model"], "OpenMP+SIMD+RM");
  EXPECT_EQ(data["regions"], (std::vector<std::string>{"MM", "L2", "L1", "RM"}));
  EXPECT_TRUE(data["is_nested"]);
  const json& rows = data["rows"];
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["parts"], (std::vector<int>{1, 2, 1}));
  EXPECT_EQ(rows[3]["tile"], (std::vector<int>{14, 32, 4}));
  EXPECT_EQ(rows[3]["order"], (std::vector<int>{1, 0, 2}));
  const json& c = data["buffers"][0];
  EXPECT_EQ(c["name"], "C");
  EXPECT_TRUE(c["is_output"]);
  EXPECT_EQ(c["tiles"][3]["extents"], (std::vector<int>{14, 32}));
  EXPECT_EQ(c["tiles"][3]["bytes"], 14 * 32 * 4);
  EXPECT_EQ(c["tiles"][4]["region"], 3);
  const json& a = data["buffers"][1];
  EXPECT_EQ(a["access"], "(i,j,k) -> (i, k)");
  EXPECT_EQ(a["uses"], (std::vector<std::vector<int>>{{0}, {2}}));
  EXPECT_EQ(a["tiles"][0]["extents"], (std::vector<int>{256, 256}));
}

TEST(ReportTest, ExplicitMemoryHasRegionsOfItsOwn) {
  const json data = DataOf(JobReportPage(SampleGpuJob(5)))["decomposition"];
  EXPECT_EQ(data["model"], "CUDA");
  EXPECT_EQ(data["regions"], (std::vector<std::string>{"DM", "SM", "RM"}));
  EXPECT_FALSE(data["has_caches"]);
  EXPECT_FALSE(data["is_nested"]);
  // Of layers that interleave, the order counts: i and j in blocks, all in threads, then k on DEV,
  // SHR.
  std::vector<int> layers;
  for (const json& row : data["rows"]) layers.push_back(row["layer"]);
  EXPECT_EQ(layers, (std::vector<int>{0, 2, 1, 3, 1, 3, 4}));
  EXPECT_EQ(data["rows"][1]["parts"], (std::vector<int>{4, 32, 8}));
  // Regions only get faster.
  for (const json& buffer : data["buffers"]) {
    int region = 0;
    for (const json& tile : buffer["tiles"]) {
      EXPECT_GE(tile["region"], region);
      region = tile["region"];
    }
  }
}

TEST(ReportTest, TheIndexMapSaysWhichElementIsMeant) {
  const json map = DataOf(JobReportPage(SampleJob(5)))["index_map"];
  ASSERT_EQ(map.size(), 3u);
  EXPECT_EQ(map[0]["role"], "result");
  EXPECT_THAT(map[1]["element"], HasSubstr("256*i"));
}

TEST(ReportTest, AJobWithoutAnythingHasAPageThatSaysSo) {
  const json data = DataOf(JobReportPage(EmptyJob()));
  EXPECT_TRUE(data["decomposition"].is_null());
  EXPECT_THAT(data["decomposition_missing"], HasSubstr("no valid configuration yet"));
  EXPECT_EQ(data["result"]["flops"], 33'554'432);
  EXPECT_EQ(data["job"]["state"], "queued");
  EXPECT_TRUE(data["kernel"].is_null());
}

TEST(ReportTest, OfAPipelineWholeKernelsAreShown) {
  JobReport report = SampleJob(1);
  report.runs[0].trials.clear();
  report.runs[0].job.set_expression_text(kLayer);
  json data = DataOf(JobReportPage(report));
  EXPECT_TRUE(data["is_pipeline"]);
  EXPECT_TRUE(data["turns"].empty());
  v1::PipelineTurns& turns = *report.record->mutable_pipeline();
  turns.set_unfused_time_ns(900'000);
  v1::PipelineTurn& fused = *turns.add_kernels();
  fused.set_partition("activation in the epilogue of matmul");
  fused.set_time_ns(600'000);
  fused.set_steps_time_ns(590'000);
  fused.add_steps()->set_expression_name("matmul");
  v1::PipelineTurn& wrong = *turns.add_kernels();
  wrong.set_outcome("wrong result");
  wrong.set_reason(kHostileText);
  const std::string page = JobReportPage(report);
  data = DataOf(page);
  EXPECT_EQ(data["result"]["unfused_time_ns"], 900'000);
  ASSERT_EQ(data["turns"].size(), 2u);
  EXPECT_EQ(data["turns"][0]["steps_time_ns"], 590'000);
  EXPECT_EQ(data["turns"][0]["steps"][0]["name"], "matmul");
  EXPECT_EQ(data["turns"][1]["reason"], kHostileText);
  EXPECT_THAT(page, Not(HasSubstr(kHostileText)));
  EXPECT_FALSE(data.contains("decomposition"));
}

TEST(ReportTest, SchedulesAreThatOfTheSearchAndThatOfTheRecord) {
  JobReport report = SampleJob(1);
  EXPECT_EQ(DataOf(JobReportPage(report))["job"]["schedule"], "");
  report.runs[0].job.mutable_options()->set_schedule("L1: tile i=4\n");
  report.record->set_schedule(kHostileText);
  const std::string page = JobReportPage(report);
  const json data = DataOf(page);
  EXPECT_EQ(data["job"]["schedule"], "L1: tile i=4\n");
  EXPECT_EQ(data["schedule"], kHostileText);
  EXPECT_THAT(page, Not(HasSubstr(kHostileText)));
}

TEST(ReportTest, WhatCannotBeReadIsMissingAndNamed) {
  JobReport report = SampleJob(5);
  report.record->set_parameters("nonsense");
  EXPECT_THAT(DataOf(JobReportPage(report))["decomposition_missing"],
              HasSubstr("'model' is missing"));
  report.runs[0].job.set_expression_text("from another version");
  const json data = DataOf(JobReportPage(report));
  EXPECT_THAT(data["decomposition_missing"], HasSubstr("cannot be read by this version"));
  EXPECT_TRUE(data["index_map"].empty());
}

TEST(ReportTest, TenThousandTrialsStaySmall) {
  EXPECT_LE(JobReportPage(SampleJob(10'000)).size(), size_t{3} << 20);
}

TEST(ReportTest, HostileTextsStayText) {
  const std::string page = JobReportPage(HostileJob());
  EXPECT_THAT(page, Not(HasSubstr("<script>window.hacked")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  // Only the template's own comment and scripts.
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;"));
  const json data = DataOf(page);
  EXPECT_EQ(data["title"], kHostileText);
  EXPECT_EQ(data["job"]["error"], kHostileText);
  EXPECT_THAT(CacheReportPage(SampleCache(3)), Not(HasSubstr("<img")));
}

TEST(ReportTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(DataOf(ReportPage("t", {{"page", "job"}, {"x", "a\xff"}}))["x"], "a\xEF\xBF\xBD");
}

TEST(ReportTest, ThePageOfTheStoreHasEveryRecord) {
  const json data = DataOf(CacheReportPage(SampleCache(7)));
  EXPECT_EQ(data["records"].size(), 7u);
  EXPECT_EQ(data["records"][0]["sizes"], "256 × 256 × 256");
  EXPECT_EQ(data["records"][0]["state"], "pinned");
  EXPECT_NEAR(data["records"][0]["share"], 33'554'432 / 435.0 / 79'000, 1e-3);
  EXPECT_EQ(data["lookups"]["outcomes"][0]["count"], 90'000);
}

TEST(StudyReport, HasTrialsOutcomesAndTheBest) {
  StudyReport report;
  report.study.set_name("studies/3");
  report.study.mutable_spec()->set_display_name("a <b>parabola</b>");
  report.study.mutable_spec()->add_parameters()->set_name("X");
  report.study.set_state(v1::STUDY_STATE_FINISHED);
  report.study.set_evaluations(4);
  report.study.set_valid_evaluations(2);
  for (int n = 1; n <= 4; ++n) {
    v1::StudyTrial& trial = report.trials.emplace_back();
    trial.set_number(n);
    if (n % 2 == 0) trial.set_cost(10.5 - n);
    if (n % 2 == 1) trial.set_failure("compile error: no foo.h\nmore");
  }
  auto& values = *report.study.mutable_best()->mutable_configuration()->mutable_values();
  (*values.mutable_fields())["X"].set_string_value("fast");
  report.study.mutable_best()->set_number(4);
  report.study.mutable_best()->set_cost(6.5);

  const nlohmann::json data = StudyReportData(report);
  EXPECT_EQ(data["state"], "finished");
  EXPECT_EQ(data["costs"], nlohmann::json({nullptr, 8.5, nullptr, 6.5}));
  EXPECT_EQ(data["best"], nlohmann::json({{{"name", "X"}, {"value", "fast"}}}));
  EXPECT_EQ(data["best_cost"], 6.5);
  EXPECT_EQ(data["outcomes"].size(), 2u);
  EXPECT_EQ(data["outcomes"][0]["name"], "compile error");
  EXPECT_EQ(data["outcomes"][0]["reasons"][0]["text"], "compile error: no foo.h");
  const std::string page = StudyReportPage(report);
  EXPECT_THAT(page, ::testing::HasSubstr("a &lt;b&gt;parabola&lt;/b&gt;, studies/3"));
  EXPECT_THAT(page, ::testing::HasSubstr("drawStudyPage"));
}

}  // namespace
}  // namespace mdh::report_test
