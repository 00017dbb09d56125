// The command line: exit codes, messages, JSON.
#include <fstream>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::command_line_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandLineTest : public DaemonTest {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.File(name)) << text;
    return directory_.File(name);
  }
};

TEST_F(CommandLineTest, HelpListsCommandsAndExitCodes) {
  const Ended help = Mdh({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* text : {"tune", "watch", "lookup", "kernel", "jobs", "cancel", "devices",
                           "check", "print", "version", "Exit codes:", "MDH_SERVER"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
  EXPECT_THAT(Mdh({"tune", "--help"}).out, HasSubstr("--budget"));
}

TEST_F(CommandLineTest, WrongUsageIsOneLine) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"dance"},
                                                {"tune"},
                                                {"jobs", "--limit", "none"},
                                                {"check", "a.mdh", "--set", "I"},
                                                {"tune", "a.mdh", "--budget", "soon"},
                                                {"tune", "a.mdh", "--budget", "-3s"},
                                                {"tune", "a.mdh", "--trials", "0"},
                                                {"tune", "a.mdh", "--decide", "copy_A"},
                                                {"explore", "a.mdh", "--forbid", "=1"},
                                                {"explore", "a.mdh", "--bounds", "soon"},
                                                {"explore", "a.mdh", "--finish", "soon"}}) {
    const Ended ended = Mdh(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, StartsWith("mdh: error: "));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CommandLineTest, ASyntaxErrorHasPositionAndCaret) {
  const std::string file =
      Write("bad.mdh", "matvec<T = fp32 | I = 4, K = 4> :=\n  out_view<T>( w (i,k) -> (i) ) o\n");
  for (const char* command : {"check", "print", "tune", "lookup", "kernel"}) {
    const Ended ended = Mdh({command, file});
    EXPECT_EQ(ended.code, 3) << command;
    EXPECT_THAT(ended.err, StartsWith("mdh: error: " + file + ":2:"));
    EXPECT_THAT(ended.err, HasSubstr("out_view<T>( w (i,k) -> (i) ) o\n"));
    EXPECT_THAT(ended.err, HasSubstr("^"));
    EXPECT_EQ(ended.out, "");
  }
}

TEST_F(CommandLineTest, WrongSizesAreNamed) {
  const Ended negative = Mdh(OnMatMul("check", -1));
  EXPECT_EQ(negative.code, 3);
  EXPECT_THAT(negative.err, HasSubstr("I"));
  const Ended zero = Mdh(OnMatMul("check", 0));
  EXPECT_EQ(zero.code, 0);
  EXPECT_THAT(zero.out, HasSubstr("nothing to compute"));
  const Ended unknown = Mdh({"check", ExpressionPath("matmul.mdh"), "--set", "Z=4"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("Z"));
  const Ended huge = Mdh(OnMatMul("check", 2'000'000'000));
  EXPECT_EQ(huge.code, 3);
}

TEST_F(CommandLineTest, AFileThatCannotBeReadIsNamed) {
  const Ended ended = Mdh({"check", directory_.File("none.mdh")});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("cannot read " + directory_.File("none.mdh")));
}

TEST_F(CommandLineTest, WithoutADaemonTheTargetIsNamed) {
  for (const std::vector<std::string>& words : {OnMatMul("tune", 8),
                                                OnMatMul("lookup", 8),
                                                OnMatMul("kernel", 8),
                                                std::vector<std::string>{"jobs"},
                                                {"cancel", "1"},
                                                {"watch", "1"},
                                                {"devices"}}) {
    const Ended ended = Mdh(words);
    EXPECT_EQ(ended.code, 5) << words[0];
    EXPECT_THAT(ended.err, HasSubstr("cannot connect to " + address_));
  }
}

TEST_F(CommandLineTest, CheckExplains) {
  const Ended check = Mdh(OnMatMul("check", 64));
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("64 points, concatenated (++)"));
  EXPECT_THAT(check.out, HasSubstr("64 points, reduced with +"));
  EXPECT_THAT(check.out, HasSubstr("fp32[64,64], 16.0 KiB"));
  EXPECT_THAT(check.out, HasSubstr("524288 floating-point operations"));
  const nlohmann::json json = MdhJson(OnMatMul("check", 64));
  EXPECT_EQ(json["flops"], 524288);
  EXPECT_EQ(json["dimensions"][2]["operator"], "+");
  EXPECT_EQ(json["inputs"][0]["extents"], nlohmann::json({64, 64}));
  EXPECT_THAT(check.out, HasSubstr(std::string(json["digest"])));
}

TEST_F(CommandLineTest, WhatIsPrintedIsParsedAgain) {
  const Ended printed = Mdh(OnMatMul("print", 64));
  ASSERT_EQ(printed.code, 0) << printed.err;
  const std::string file = Write("printed.mdh", printed.out);
  EXPECT_EQ(Mdh({"print", file}).out, printed.out);
  EXPECT_EQ(MdhJson({"check", file})["digest"], MdhJson(OnMatMul("check", 64))["digest"]);
  EXPECT_EQ(std::string(MdhJson({"print", file})["text"]), printed.out);
}

TEST_F(CommandLineTest, VersionNeedsNoDaemon) {
  EXPECT_THAT(Mdh({"version"}).out, StartsWith("mdh "));
  EXPECT_TRUE(MdhJson({"version"}).contains("version"));
}

TEST_F(CommandLineTest, WhatIsNotThereIsNotFound) {
  StartDaemon();
  EXPECT_EQ(Mdh(OnMatMul("lookup", 8)).code, 4);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 8)).code, 4);
  EXPECT_EQ(Mdh({"lookup", std::string(64, 'a')}).code, 4);
  EXPECT_EQ(Mdh({"cancel", "17"}).code, 4);
  EXPECT_EQ(Mdh({"watch", "17"}).code, 4);
  EXPECT_EQ(Mdh({"cancel", "tuningJobs/none"}).code, 1);
  EXPECT_EQ(Mdh(OnMatMul("tune", 8, {"--technique", "guessing"})).code, 4);
}

TEST_F(CommandLineTest, EveryCommandPrintsJson) {
  StartDaemon();
  EXPECT_TRUE(MdhJson({"jobs"})["jobs"].empty());
  const nlohmann::json device = MdhJson({"devices"})["devices"][0];
  EXPECT_EQ(device["can_tune"], true);
  EXPECT_GT(device["peaks"]["fp32_flops_per_s"], 1e9);
  const nlohmann::json tuned = MdhJson(OnMatMul("tune", 32, kFewTrials));
  EXPECT_EQ(tuned["job"]["state"], "TUNING_JOB_STATE_SUCCEEDED");
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 32))["match"], "MATCH_KIND_EXACT");
  const nlohmann::json written =
      MdhJson(OnMatMul("kernel", 32, {"--output", directory_.File("k"), "--name", "mine"}));
  EXPECT_EQ(written["files"][0], directory_.File("k/mine.c"));
  EXPECT_TRUE(std::filesystem::exists(directory_.File("k/mine.json")));
  EXPECT_EQ(MdhJson({
                "watch",
                "1",
            })["job"]["name"],
            "tuningJobs/1");
  EXPECT_EQ(MdhJson({"cancel", "1"})["state"], "TUNING_JOB_STATE_SUCCEEDED");
  EXPECT_EQ(MdhJson({"jobs", "--limit", "1"})["jobs"].size(), 1u);
}

TEST_F(CommandLineTest, AFolderThatCannotBeWrittenIsNamed) {
  StartDaemon();
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  const std::string file = Write("file", "no folder");
  const Ended ended = Mdh(OnMatMul("kernel", 32, {"--output", file + "/k"}));
  EXPECT_EQ(ended.code, 7);
  EXPECT_THAT(ended.err, HasSubstr(file));
}

}  // namespace
}  // namespace mdh::command_line_test
