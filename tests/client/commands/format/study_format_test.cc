#include "client/commands/format/study_format.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::study_format_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"WPT", "ratio", "fast", "mode", "order", "big"};

v1::StudyTrial Trial() {
  v1::StudyTrial trial;
  trial.set_number(7);
  trial.set_cost(0.1);
  auto& values = *trial.mutable_configuration()->mutable_values()->mutable_fields();
  values["WPT"].set_number_value(16);
  values["ratio"].set_number_value(1.0 / 3);
  values["fast"].set_bool_value(true);
  values["mode"].set_string_value("slow, \"safe\"");
  for (const char* item : {"i", "k"}) {
    values["order"].mutable_list_value()->add_values()->set_string_value(item);
  }
  values["big"].set_string_value("9223372036854775807");
  return trial;
}

v1::StudyTrial FailedTrial() {
  v1::StudyTrial trial = Trial();
  trial.clear_cost();
  trial.set_failure("line 1: error\nline 2, too");
  return trial;
}

TEST(StudyFormatTest, ConfigurationsAreInOrder) {
  EXPECT_EQ(FormatConfiguration(Trial().configuration(), {"order", "WPT", "fast"}),
            R"(order=["i","k"], WPT=16, fast=true)");
}

TEST(StudyFormatTest, CsvQuotesWhatItMust) {
  EXPECT_EQ(CsvHeader(kNames), "number,cost,failure,WPT,ratio,fast,mode,order,big\n");
  EXPECT_EQ(CsvLine(Trial(), kNames),
            "7,0.1,,16,0.3333333333333333,true,\"slow, \"\"safe\"\"\",\"[\"\"i\"\",\"\"k\"\"]\","
            "9223372036854775807\n");
  EXPECT_THAT(CsvLine(FailedTrial(), kNames),
              ::testing::StartsWith("7,,\"line 1: error\nline 2, too\",16,"));
}

TEST(StudyFormatTest, JsonReadsBack) {
  const nlohmann::json json = nlohmann::json::parse(JsonLine(Trial(), kNames));
  EXPECT_EQ(json["number"], 7);
  EXPECT_EQ(json["cost"], 0.1);
  EXPECT_EQ(json["failure"], "");
  EXPECT_EQ(json["configuration"]["WPT"], 16);
  EXPECT_EQ(json["configuration"]["ratio"], 1.0 / 3);
  EXPECT_EQ(json["configuration"]["order"], nlohmann::json({"i", "k"}));
  EXPECT_EQ(json["configuration"]["mode"], "slow, \"safe\"");
  EXPECT_TRUE(nlohmann::json::parse(JsonLine(FailedTrial(), kNames))["cost"].is_null());
}

TEST(StudyFormatTest, TrialsAreOneLine) {
  EXPECT_EQ(FormatTrialLine(Trial(), {"WPT"}), "       7  0.1           WPT=16\n");
  EXPECT_EQ(FormatTrialLine(FailedTrial(), {"WPT"}),
            "       7  failed        WPT=16: line 1: error\n");
}

TEST(StudyFormatTest, AStudyInWords) {
  v1::Study study;
  study.set_name("studies/3");
  study.set_state(v1::STUDY_STATE_FINISHED);
  study.set_state_reason("every configuration was evaluated");
  study.set_space_count("24");
  study.set_evaluations(24);
  study.set_valid_evaluations(20);
  study.set_active_ns(1'500'000'000);
  study.mutable_spec()->set_display_name("saxpy");
  study.mutable_spec()->set_technique("auc_bandit");
  study.mutable_spec()->set_seed(1);
  study.mutable_spec()->set_lookahead(4);
  study.mutable_spec()->set_abort("duration(1min)");
  study.mutable_spec()->add_parameters()->set_name("WPT");
  study.add_notices("7 % WPT divides by zero");
  *study.mutable_best() = Trial();
  EXPECT_EQ(FormatStudy(study),
            "studies/3 saxpy: finished, every configuration was evaluated\n"
            "  space        24 configurations of 1 parameter\n"
            "  technique    auc_bandit, seed 1, lookahead 4\n"
            "  ends         duration(1min)\n"
            "  evaluations  24, 20 valid, 0 outstanding, in 1.50 s\n"
            "  best         0.1, trial 7\n"
            "    WPT = 16\n"
            "  notice       7 % WPT divides by zero\n");
  EXPECT_EQ(StudyRow(study), (std::vector<std::string>{"studies/3", "finished", "24", "0", "0.1",
                                                       "1970-01-01 00:00", "saxpy"}));
  EXPECT_EQ(StudyTable().size(), StudyRow(study).size());
  study.mutable_spec()->set_lower_bound("8 / WPT");
  study.set_left_out(7);
  study.set_lower_bound_violation("trial 3 cost 1");
  EXPECT_THAT(FormatStudy(study), HasSubstr("  lower bound  8 / WPT, which left out 7\n"));
  EXPECT_THAT(FormatStudy(study), HasSubstr("  wrong bound  trial 3 cost 1\n"));
  study.clear_space_count();
  EXPECT_THAT(FormatStudy(study), HasSubstr("  space        too large to be counted of 1"));
}

TEST(StudyFormatTest, StatesAreWords) {
  EXPECT_EQ(FormatStudyState(v1::STUDY_STATE_ACTIVE), "active");
  EXPECT_EQ(FormatStudyState(v1::STUDY_STATE_CANCELLED), "cancelled");
}

}  // namespace
}  // namespace mdh::study_format_test
