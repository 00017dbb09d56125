// mdh check and mdh print, as the command line calls them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "core/canonical.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/expression_conversion.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ended {
  ExitCode code;
  std::string out;
  std::string err;
};

// `words`: after "mdh".
Ended Mdh(std::vector<std::string> words) {
  GlobalOptions options;
  SelectedCommand selected;
  CLI::App app;
  app.add_flag("--json", options.json);
  app.fallthrough();
  AddExpressionCommands(app, options, selected);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return {ExitCode::kUsage, "", error.what()};
  }
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ExitCode code = selected();
  std::fflush(stdout);
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

const char* const kMatMul = MDH_SOURCE_DIR "/client/expressions/matmul.mdh";

TEST(ExpressionCommands, PrintWritesEveryFormat) {
  const Ended text = Mdh({"print", kMatMul, "--set", "I=8"});
  ASSERT_EQ(text.code, ExitCode::kOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("matmul :=\n"));
  EXPECT_EQ(text.out.back(), '\n');
  v1::Expression message;
  const Ended binary = Mdh({"print", kMatMul, "--set", "I=8", "--format", "binpb"});
  ASSERT_TRUE(message.ParseFromString(binary.out));
  EXPECT_EQ(message.dimensions(0).size(), 8);
  const Ended json = Mdh({"print", kMatMul, "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["name"], "matmul");
  const Ended in_json = Mdh({"print", kMatMul, "--set", "I=8", "--json"});
  EXPECT_EQ(std::string(nlohmann::json::parse(in_json.out)["text"]), text.out);
}

TEST(ExpressionCommands, CheckExplains) {
  const Ended text = Mdh({"check", kMatMul, "--set", "I=8"});
  EXPECT_EQ(text.code, ExitCode::kOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("every element serves 8 points along i\n"));
  const Ended json = Mdh({"check", kMatMul, "--set", "I=8", "--json"});
  const nlohmann::json explained = nlohmann::json::parse(json.out);
  EXPECT_EQ(explained["inputs"][1]["reuse"]["factor"], 8);
  EXPECT_THAT(text.out, HasSubstr(std::string(explained["digest"])));
}

TEST(ExpressionCommands, ErrorsHaveTheirCodes) {
  const Ended format = Mdh({"print", kMatMul, "--format", "yaml"});
  EXPECT_EQ(format.code, ExitCode::kUsage);
  EXPECT_THAT(format.err, HasSubstr("'yaml' is no format"));
  for (const char* command : {"print", "check"}) {
    const Ended missing = Mdh({command, "none.binpb"});
    EXPECT_EQ(missing.code, ExitCode::kBadExpression);
    EXPECT_THAT(missing.err, HasSubstr("mdh: error: cannot read none.binpb"));
  }
}

}  // namespace
}  // namespace mdh
