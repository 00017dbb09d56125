#include "server/operate/log_format.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operate/log_context.h"

namespace mdh::log_format_test {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

std::string Logged(LogFormat format, const std::string& message) {
  std::ostringstream stream;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream));
  logger.set_formatter(MakeLogFormatter(format));
  logger.info("{}", message);
  return stream.str();
}

TEST(LogFormatTest, TextHasTheContextThatTheMessageDoesNotSay) {
  EXPECT_THAT(Logged(LogFormat::kText, "hello"),
              MatchesRegex("....-..-..T..:..:..\\.... info hello\n"));
  const LogContext request("request", "r7");
  {
    const LogContext job("job", "17");
    EXPECT_THAT(Logged(LogFormat::kText, "hello"), EndsWith(" info hello request=r7 job=17\n"));
    EXPECT_THAT(Logged(LogFormat::kText, "job=17 ends"), EndsWith("job=17 ends request=r7\n"));
    std::thread([] { EXPECT_THAT(Logged(LogFormat::kText, "x"), EndsWith(" x\n")); }).join();
  }
  EXPECT_THAT(Logged(LogFormat::kText, "hello"), EndsWith(" hello request=r7\n"));
}

TEST(LogFormatTest, JsonIsOneObjectALine) {
  const LogContext request("request", "r\"7");
  const std::string line = Logged(LogFormat::kJson, "two\nlines \xff \"quoted\"");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const nlohmann::json object = nlohmann::json::parse(line);
  EXPECT_EQ(object["level"], "info");
  EXPECT_EQ(object["message"], "two\nlines \xEF\xBF\xBD \"quoted\"");
  EXPECT_EQ(object["request"], "r\"7");
  EXPECT_THAT(object["time"].get<std::string>(), MatchesRegex("....-..-..T..:..:..\\.......Z"));
}

TEST(LogFormatTest, NamesAreParsed) {
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_FALSE(ParseLogFormat("xml").ok());
}

TEST(RequestIdTest, GoodOnesAreTakenOthersReplaced) {
  EXPECT_EQ(RequestIdFrom("build-17/3"), "build-17/3");
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("a\nb"),
                                 std::string(65, 'x'), std::string("\xc3\xa9")}) {
    EXPECT_THAT(RequestIdFrom(bad), MatchesRegex("r[0-9]+"));
  }
  EXPECT_NE(NextRequestId(), NextRequestId());
}

}  // namespace
}  // namespace mdh::log_format_test
