// Which elements no index function reaches, as core says by strides, against every point.
#include "tests/property/output_judge.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/expression/unreached_elements.h"
#include "core/text/printer.h"
#include "tests/random_expression.h"

namespace mdh::output_judge_test {
namespace {

// Where each position is in memory.
int64_t MemoryOf(const Buffer& buffer, int64_t position) {
  const std::vector<int64_t> positions = PositionStrides(buffer), strides = buffer.strides();
  int64_t offset = 0;
  for (size_t x = 0; x < strides.size(); ++x) {
    offset += position / positions[x] % buffer.extents[x] * strides[x];
  }
  return offset;
}

std::vector<int64_t> PositionsOf(const ElementRuns& runs) {
  std::vector<int64_t> starts = {runs.first};
  for (const ElementRuns::Level& level : runs.levels) {
    std::vector<int64_t> more;
    for (const int64_t start : starts) {
      for (int64_t n = 0; n < level.count; ++n) more.push_back(start + n * level.step);
    }
    starts = std::move(more);
  }
  std::vector<int64_t> positions;
  for (const int64_t start : starts) {
    for (int64_t n = 0; n < runs.length; ++n) positions.push_back(start + n);
  }
  return positions;
}

TEST(OutputJudge, StridesSayWhatEveryPointSays) {
  Rng rng(7);
  RandomExpressionOptions options;
  options.max_points = 300;
  options.unreached_one_in = 1;
  options.empty_one_in = 20;
  int exact = 0, around = 0;
  for (int n = 0; n < 1000; ++n) {
    const Expression e = RandomExpression(rng, options);
    const std::vector<std::vector<ElementContent>> expected = ContentsOfOutputs(e);
    for (int b = 0; b < static_cast<int>(e.outputs().size()); ++b) {
      std::vector<ElementContent> contents = ElementContents(e, b);
      contents.resize(expected[b].size(), ElementContent::kResult);
      ASSERT_EQ(contents, expected[b]) << ToText(e);
      const UnreachedElements unreached = FindUnreached(e, b);
      ++(unreached.is_exact ? exact : around);
      std::vector<int> listed(contents.size(), 0);
      for (const ElementRuns& runs : unreached.runs) {
        for (const int64_t position : PositionsOf(runs)) {
          ++listed[MemoryOf(e.outputs()[b], position)];
        }
      }
      int64_t others = 0;
      for (size_t element = 0; element < contents.size(); ++element) {
        const bool is_result = contents[element] == ElementContent::kResult;
        const bool must_be = contents[element] == ElementContent::kZero;
        others += is_result ? 0 : listed[element];
        ASSERT_GE(listed[element], must_be ? 1 : 0) << ToText(e);
        ASSERT_LE(listed[element], is_result && unreached.is_exact ? 0 : 1) << ToText(e);
      }
      ASSERT_EQ(others, UnreachedCount(e, b)) << ToText(e);
    }
  }
  EXPECT_GT(exact, 800);
  EXPECT_GE(around, 5);
}

// What is rounded at other places may be the next value of its type, and not the one after it.
TEST(OutputJudge, OneUnitInTheLastPlaceOfTheTypeThatIsStored) {
  const Buffer buffer{"y", ScalarType::kBfloat16, {1}, {}};
  const auto difference = [&](double got, double expected, int units) {
    std::array<std::byte, 2> is, should_be;
    ScalarValue::Real(ScalarType::kBfloat16, got).Store(is.data());
    ScalarValue::Real(ScalarType::kBfloat16, expected).Store(should_be.data());
    return DifferenceOf(buffer, is.data(), should_be.data(), {ElementContent::kResult},
                        std::byte{0x5A}, units);
  };
  EXPECT_EQ(difference(286, 284, 0), "y[0] is 286, expected 284");
  EXPECT_EQ(difference(286, 284, 1), "");
  EXPECT_EQ(difference(284, 286, 1), "");
  EXPECT_EQ(difference(288, 284, 1), "y[0] is 288, expected 284");
  EXPECT_EQ(difference(-286, 284, 1), "y[0] is -286, expected 284");
}

}  // namespace
}  // namespace mdh::output_judge_test
