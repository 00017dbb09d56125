// Ranges: positions, codes and values; what is refused.
#include "tuner/space/formula/range.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/error_message.h"

namespace mdh::range_test {
namespace {

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// Positions, codes and values of a range belong together; no code is there twice.
void ExpectConsistent(const Range& range) {
  std::set<int64_t> codes;
  bool increasing = true;
  for (uint32_t position = 0; position < range.size(); ++position) {
    const int64_t code = range.CodeAt(position);
    if (!codes.empty() && code <= range.CodeAt(position - 1)) increasing = false;
    EXPECT_TRUE(codes.insert(code).second);
    EXPECT_EQ(range.PositionOf(code), position);
    const auto again = range.CodeOf(range.ValueOf(code));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, code);
    EXPECT_EQ(TypeOf(range.ValueOf(code)), range.type());
  }
  EXPECT_EQ(range.is_increasing(), increasing);
  EXPECT_EQ(range.smallest_code(), *codes.begin());
  for (int64_t code = *codes.begin() - 2; code <= *codes.begin() + 20; ++code) {
    EXPECT_EQ(range.PositionOf(code).has_value(), codes.count(code) > 0) << code;
  }
}

TEST(Range, Interval) {
  const Range range = *Range::Interval(1, 1000);
  ExpectConsistent(range);
  EXPECT_EQ(range.size(), 1000);
  EXPECT_EQ(range.step(), 1);
  EXPECT_EQ(range.ToText(), "1..1000");
}

TEST(Range, IntervalWithStepEndsAtLastElement) {
  const Range range = *Range::Interval(-5, 5, 4);
  ExpectConsistent(range);
  EXPECT_EQ(range.size(), 3);
  EXPECT_EQ(range.step(), 4);
  EXPECT_EQ(range.ToText(), "-5..3 step 4");
}

TEST(Range, IntervalsAtTheEndsOfIntegers) {
  const Range wide = *Range::Interval(kSmallest, kLargest, kLargest);
  EXPECT_EQ(wide.size(), 3);
  EXPECT_EQ(wide.CodeAt(1), -1);
  EXPECT_EQ(wide.CodeAt(2), kLargest - 1);
  EXPECT_EQ(wide.PositionOf(kLargest - 1), 2);
  EXPECT_EQ(wide.PositionOf(kLargest), std::nullopt);
  const Range high = *Range::Interval(kLargest - 1, kLargest);
  EXPECT_EQ(high.PositionOf(kLargest), 1);
  EXPECT_EQ(high.PositionOf(kSmallest), std::nullopt);
  const Range largest = *Range::Interval(0, Range::kMaxSize - 1);
  EXPECT_EQ(largest.size(), Range::kMaxSize);
}

TEST(Range, IntervalErrors) {
  EXPECT_EQ(ErrorMessage(Range::Interval(1, 10, 0)), "the step is 0, but must be positive");
  EXPECT_EQ(ErrorMessage(Range::Interval(2, 1)), "the interval 2..1 is empty");
  EXPECT_EQ(ErrorMessage(Range::Interval(0, Range::kMaxSize)),
            "the interval 0..4294967295 has more than 4294967295 values");
  EXPECT_EQ(ErrorMessage(Range::Interval(kSmallest, kLargest, 2)),
            "the interval -9223372036854775808..9223372036854775807 step 2 has more than "
            "4294967295 values");
}

TEST(Range, Generated) {
  const Range range =
      *Range::Generated(0, 10, 2, [](int64_t n) { return Result<int64_t>(int64_t{1} << n); });
  ExpectConsistent(range);
  EXPECT_EQ(range.ToText(), "{1, 4, 16, 64, 256, 1024}");
  EXPECT_EQ(range.step(), 0);
}

TEST(Range, GeneratorErrors) {
  const auto half = [](int64_t n) { return Result<int64_t>(n / 2); };
  EXPECT_EQ(ErrorMessage(Range::Generated(2, 9, 1, half)), "the generator gives 1 for 2 and for 3");
  const auto failing = [](int64_t n) -> Result<int64_t> {
    if (n == 3) return absl::OutOfRangeError("no value for 3");
    return n;
  };
  EXPECT_EQ(ErrorMessage(Range::Generated(1, 5, 1, failing)), "no value for 3");
  EXPECT_EQ(ErrorMessage(Range::Generated(1, (1 << 20) + 1, 1, half)),
            "the interval 1..1048577 has more than 1048576 values");
  EXPECT_FALSE(Range::Generated(1, 5, -1, half).ok());
}

TEST(Range, SetsKeepTheirOrder) {
  const Range range = *Range::Integers({8, -2, 4});
  ExpectConsistent(range);
  EXPECT_EQ(range.CodeAt(0), 8);
  EXPECT_FALSE(range.is_increasing());
  EXPECT_EQ(range.ToText(), "{8, -2, 4}");
  ExpectConsistent(*Range::Integers({1, 2, 4, 8}));
  ExpectConsistent(Range::Bool());
  ExpectConsistent(*Range::Of({Value(true), Value(false)}));
  ExpectConsistent(*Range::Of({Value(0.5), Value(-1.5), Value(0.25)}));
  ExpectConsistent(*Range::Of({Value(std::string("b")), Value(std::string("a"))}));
  ExpectConsistent(*Range::Of({Value(int64_t{3}), Value(int64_t{1})}));
}

TEST(Range, LongSetsAreCutInText) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 100; ++i) values.push_back(i);
  EXPECT_EQ(Range::Integers(values)->ToText(), "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..., 99}");
  values.resize(12);
  EXPECT_EQ(Range::Integers(values)->ToText(), "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}");
}

TEST(Range, SetErrors) {
  EXPECT_EQ(ErrorMessage(Range::Of({})), "a range needs at least one value");
  EXPECT_EQ(ErrorMessage(Range::Integers({})), "a range needs at least one value");
  EXPECT_EQ(ErrorMessage(Range::Integers({4, 2, 4})), "the value 4 is given twice");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(true), Value(true)})), "the value true is given twice");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(0.0), Value(-0.0)})), "the value -0.0 is given twice");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(std::string("a")), Value(std::string("a"))})),
            "the value \"a\" is given twice");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(1.5), Value(int64_t{1})})),
            "the values 1.5 (real) and 1 (integer) are of different types");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(1.5), Value(std::numeric_limits<double>::infinity())})),
            "the value inf is not finite");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(std::vector<std::string>{"a"})})),
            "a set has no permutations as values; use a range of all permutations");
}

TEST(Range, Permutations) {
  const Range range = *Range::Permutations({"i", "k", "j"});
  ExpectConsistent(range);
  EXPECT_EQ(range.size(), 6);
  EXPECT_EQ(ToText(range.ValueOf(0)), R"(["i", "k", "j"])");
  EXPECT_EQ(ToText(range.ValueOf(1)), R"(["i", "j", "k"])");
  EXPECT_EQ(ToText(range.ValueOf(5)), R"(["j", "k", "i"])");
  EXPECT_EQ(range.ToText(), "permutations of i, k, j");
  EXPECT_EQ(range.items(), (std::vector<std::string>{"i", "k", "j"}));
  EXPECT_TRUE(Range::Bool().items().empty());
}

TEST(Range, LargestPermutations) {
  std::vector<std::string> items;
  for (int i = 0; i < 12; ++i) items.push_back(std::string(1, static_cast<char>('a' + i)));
  const Range range = *Range::Permutations(items);
  EXPECT_EQ(range.size(), 479001600);
  for (const int64_t code : {0, 1, 123456789, 479001599}) {
    EXPECT_EQ(*range.CodeOf(range.ValueOf(code)), code);
  }
}

TEST(Range, PermutationErrors) {
  EXPECT_EQ(ErrorMessage(Range::Permutations({})), "a permutation needs at least one item");
  EXPECT_EQ(ErrorMessage(Range::Permutations({"a", "b", "a"})), "the item \"a\" is given twice");
  EXPECT_EQ(ErrorMessage(Range::Permutations(std::vector<std::string>(13, "a"))),
            "a permutation has at most 12 items, but 13 are given");
}

TEST(Range, CodeErrors) {
  EXPECT_EQ(ErrorMessage(Range::Interval(1, 9, 2)->CodeOf(Value(int64_t{2}))),
            "2 is not in the range 1..9 step 2");
  EXPECT_EQ(ErrorMessage(Range::Interval(1, 9, 2)->CodeOf(Value(1.0))),
            "1.0 is of type real, but values are of type integer");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(true)})->CodeOf(Value(false))),
            "false is not in the range {true}");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(0.5)})->CodeOf(Value(0.25))),
            "0.25 is not in the range {0.5}");
  EXPECT_EQ(ErrorMessage(Range::Of({Value(std::string("a"))})->CodeOf(Value(std::string("b")))),
            "\"b\" is not in the range {\"a\"}");
  const Range order = *Range::Permutations({"i", "j"});
  EXPECT_EQ(ErrorMessage(order.CodeOf(Value(std::vector<std::string>{"i"}))),
            R"(["i"] is not in the range permutations of i, j)");
  EXPECT_EQ(ErrorMessage(order.CodeOf(Value(std::vector<std::string>{"i", "i"}))),
            R"(["i", "i"] is not in the range permutations of i, j)");
}

TEST(Range, ParameterNames) {
  for (const char* name : {"a", "_", "TILE_1", "min", "In"}) EXPECT_TRUE(IsParameterName(name));
  for (const char* name : {"", "1a", "a-b", "a b", "é", "and", "or", "not", "if", "else", "in",
                           "True", "False", "true", "false"}) {
    EXPECT_FALSE(IsParameterName(name)) << name;
  }
  EXPECT_TRUE(IsParameterName(std::string(128, 'a')));
  EXPECT_FALSE(IsParameterName(std::string(129, 'a')));
}

}  // namespace
}  // namespace mdh::range_test
