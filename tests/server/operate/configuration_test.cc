#include "server/operate/configuration.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/daemon_flags.h"
#include "tests/server/temporary_directory.h"

namespace mdh::configuration_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program with some options, as mdhd has them.
class ConfigurationTest : public ::testing::Test {
 protected:
  ~ConfigurationTest() override {
    unsetenv("TEST_LEVEL");
    unsetenv("TEST_CONFIG");
  }

  std::string File(const std::string& text) const {
    std::ofstream(directory_.File("conf")) << text;
    return directory_.File("conf");
  }
  Result<DaemonConfiguration> Parse(std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    level_ = "info";
    listen_ = {"here"};
    number_ = 3;
    loud_ = false;
    CLI::App app;
    std::string config;
    app.add_option("--config", config)->envname("TEST_CONFIG");
    app.add_flag("--print-config", print_);
    app.add_option("--level", level_)->envname("TEST_LEVEL")->capture_default_str();
    app.add_option("--listen", listen_)->delimiter(',')->capture_default_str();
    app.add_option("--number", number_)->check(CLI::Range(0, 9))->capture_default_str();
    app.add_flag("--loud", loud_);
    app.add_option("--trusted-users", trusted_);
    CLI::Option* key = app.add_option("--key", key_);
    app.add_option("--lock", lock_)->needs(key);
    app.add_subcommand("command", "does");
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    return DaemonConfiguration::Parse(app, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string ErrorOf(const std::string& text) {
    const Result<DaemonConfiguration> parsed = Parse({"--config", File(text)});
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(parsed.status().message());
  }

  const TemporaryDirectory directory_;
  std::string level_;
  std::vector<std::string> listen_;
  int number_ = 0;
  bool loud_ = false, print_ = false;
  std::string key_, lock_, trusted_;
};

TEST(ConfigurationFileTest, HasNamesAndValues) {
  const auto lines = ParseConfigurationFile(
      "# a comment\n\n a = b c # more\n  b=\"x # y \"  # and\r\nc =\nd = #7\ne = a#b\n");
  ASSERT_TRUE(lines.ok()) << lines.status();
  std::vector<std::string> seen;
  for (const ConfigurationLine& line : *lines) {
    seen.push_back(std::to_string(line.number) + line.name + "=" + line.value);
  }
  EXPECT_THAT(seen, ElementsAre("3a=b c", "4b=x # y ", "5c=", "6d=#7", "7e=a#b"));
  for (const char* wrong : {"a\n", "= b\n", "a = \"b\n", "a = \"b\" c\n"}) {
    EXPECT_THAT(std::string(ParseConfigurationFile(wrong).status().message()),
                testing::StartsWith("1: "));
  }
}

TEST_F(ConfigurationTest, FlagsComeBeforeTheEnvironmentBeforeTheFile) {
  const std::string file = File("level = file\nnumber = 5\nloud = true\nlisten = a\nlisten = b\n");
  Result<DaemonConfiguration> parsed = Parse({"--config", file, "--number=7"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(level_, "file");
  EXPECT_EQ(number_, 7);
  EXPECT_TRUE(loud_);
  EXPECT_THAT(listen_, ElementsAre("a", "b"));
  EXPECT_EQ(parsed->values().at("level").place, file + ":1");
  EXPECT_EQ(parsed->values().at("number").source, ValueSource::kFlag);
  setenv("TEST_LEVEL", "environment", 1);
  parsed = Parse({"--config", file});
  EXPECT_EQ(level_, "environment");
  EXPECT_EQ(parsed->values().at("level").source, ValueSource::kEnvironment);
  EXPECT_EQ(parsed->values().at("level").place, "TEST_LEVEL");
  parsed = Parse({"--config", file, "--level", "flag"});
  EXPECT_EQ(level_, "flag");
}

TEST_F(ConfigurationTest, AFileIsReadWhereOneIsNamed) {
  EXPECT_TRUE(Parse({}).ok());
  EXPECT_EQ(number_, 3);
  EXPECT_THAT(std::string(Parse({"--config", "/nonexistent/conf"}).status().message()),
              HasSubstr("/nonexistent/conf"));
  setenv("TEST_CONFIG", File("number = 8\n").c_str(), 1);
  EXPECT_TRUE(Parse({}).ok());
  EXPECT_EQ(number_, 8);
}

TEST_F(ConfigurationTest, AFileThatOthersCouldChangeIsRefusedWhateverItSays) {
  const std::string file = File("number = 8\ntrusted-users = *\n");
  ASSERT_EQ(chmod(file.c_str(), 0602), 0);
  const Status refused = Parse({"--config", file}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("conf: others than its owner"));
  EXPECT_TRUE(Parse({"--config", file, "--trusted-users", "*"}).ok());
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(Parse({"--config", file}).ok());
}

TEST_F(ConfigurationTest, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(ErrorOf("\nspeed = 9\n"), HasSubstr("conf:2: there is no option speed"));
  EXPECT_THAT(ErrorOf("config = x\n"), HasSubstr("conf:1: there is no option config"));
  EXPECT_THAT(ErrorOf("number = 1\nnumber = 2\n"), HasSubstr("conf:2: number is there twice"));
  EXPECT_THAT(ErrorOf("number = 12\n"), HasSubstr("--number"));
  EXPECT_THAT(ErrorOf("lock = a\n"), HasSubstr("--key"));
  EXPECT_THAT(ErrorOf("level\n"), HasSubstr("conf:1: expected name = value"));
}

TEST_F(ConfigurationTest, WhatIsPrintedReadsBack) {
  const Result<DaemonConfiguration> first =
      Parse({"--config", File("level = \"a # b\"\nlisten = x\nlisten = y\n"), "--loud"});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->ToText(),
              HasSubstr("level = \"a # b\"  # " + directory_.File("conf") + ":1\n"));
  EXPECT_THAT(first->ToText(), HasSubstr("loud = true  # command line\n"));
  EXPECT_THAT(first->ToText(), HasSubstr("number = 3  # default\n"));
  EXPECT_THAT(Parse({})->ToText(), HasSubstr("listen = here  # default\n"));
  const Result<DaemonConfiguration> again = Parse({"--config", File(first->ToText())});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->DifferencesTo(*first), ElementsAre());
  const Result<DaemonConfiguration> other = Parse({"--config", File("level = c\n")});
  EXPECT_THAT(other->DifferencesTo(*first), ElementsAre("level", "listen", "loud"));
}

TEST_F(ConfigurationTest, OptionsOfTheFileStandBeforeACommand) {
  EXPECT_TRUE(Parse({"--config", File("number = 4\n"), "command"}).ok());
  EXPECT_EQ(number_, 4);
}

TEST(DaemonFlagsTest, EveryFlagHasAVariable) {
  CLI::App app;
  DaemonOptions options = DefaultDaemonOptions({"/run/user/1", "", "/home/x"});
  EXPECT_EQ(options.database, "/home/x/.local/state/mdhd/mdhd.sqlite");
  AddDaemonFlags(app, options);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--help") continue;
    std::string variable = "MDHD_" + option->get_lnames()[0];
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    EXPECT_EQ(option->get_envname(), variable);
  }
}

}  // namespace
}  // namespace mdh::configuration_test
