#include "client/commands/call/duration_argument.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::duration_argument_test {
namespace {

using ::testing::HasSubstr;

TEST(DurationArgument, HasUnitsOrIsANumberOfSeconds) {
  for (const auto& [text, seconds] :
       std::initializer_list<std::pair<const char*, double>>{{"60s", 60},
                                                             {"2m", 120},
                                                             {"2min", 120},
                                                             {"1h30min", 5400},
                                                             {"1.5", 1.5},
                                                             {"24h", 86400}}) {
    int64_t nanoseconds = 0;
    EXPECT_EQ(ParseDurationArgument(text, nanoseconds), "") << text;
    EXPECT_EQ(nanoseconds, static_cast<int64_t>(seconds * 1e9)) << text;
  }
}

TEST(DurationArgument, WhatIsNoneIsSaid) {
  for (const char* text : {"", "soon", "0", "-1s", "25h", "3 days", "2mint", "1e3"}) {
    int64_t nanoseconds = 7;
    EXPECT_THAT(ParseDurationArgument(text, nanoseconds), HasSubstr("is no duration")) << text;
    EXPECT_EQ(nanoseconds, 7) << text;
  }
}

}  // namespace
}  // namespace mdh::duration_argument_test
