// Spelling of values.
#include "tuner/space/formula/value.h"

#include <gtest/gtest.h>

#include <limits>

namespace mdh::value_test {
namespace {

TEST(Value, Names) {
  EXPECT_EQ(Name(ValueType::kBool), "bool");
  EXPECT_EQ(Name(ValueType::kInteger), "integer");
  EXPECT_EQ(Name(ValueType::kReal), "real");
  EXPECT_EQ(Name(ValueType::kString), "string");
  EXPECT_EQ(Name(ValueType::kPermutation), "permutation");
}

TEST(Value, Types) {
  EXPECT_EQ(TypeOf(Value(true)), ValueType::kBool);
  EXPECT_EQ(TypeOf(Value(int64_t{1})), ValueType::kInteger);
  EXPECT_EQ(TypeOf(Value(1.0)), ValueType::kReal);
  EXPECT_EQ(TypeOf(Value(std::string("a"))), ValueType::kString);
  EXPECT_EQ(TypeOf(Value(std::vector<std::string>{"a"})), ValueType::kPermutation);
}

TEST(Value, Text) {
  EXPECT_EQ(ToText(Value(true)), "true");
  EXPECT_EQ(ToText(Value(false)), "false");
  EXPECT_EQ(ToText(Value(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(ToText(Value(std::vector<std::string>{"i", "k", "j"})), R"(["i", "k", "j"])");
}

TEST(Value, RealsAreShortAndNeverLookLikeIntegers) {
  EXPECT_EQ(ToText(Value(0.1)), "0.1");
  EXPECT_EQ(ToText(Value(1.0)), "1.0");
  EXPECT_EQ(ToText(Value(-0.0)), "-0.0");
  EXPECT_EQ(ToText(Value(1e300)), "1e+300");
  EXPECT_EQ(ToText(Value(1.0 / 3)), "0.3333333333333333");
}

TEST(Value, StringsAreEscaped) {
  EXPECT_EQ(ToText(Value(std::string("a \"b\" \\ \n\t\r\x01\x7f é"))),
            "\"a \\\"b\\\" \\\\ \\n\\t\\r\\x01\\x7f é\"");
}

}  // namespace
}  // namespace mdh::value_test
