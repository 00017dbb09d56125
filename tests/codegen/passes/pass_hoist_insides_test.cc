#include "codegen/passes/pass_hoist_insides.h"

#include <optional>
#include <string>

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_hoist_insides_test {
namespace {

const Index q = Var("q"), r = Var("r"), s = Var("s"), c = Var("c");

// Of an image of 4 rows, 5 columns and 8 channels, beyond which there is 7.
LoopValue Pixel(const Index& row, const Index& column, const Index& channel,
                std::optional<int64_t> outside = 7, bool has_all_channels = true) {
  LoadInside load{
      "x",
      {{row, 0, 4, 40}, {column, 0, 5, 8}, {channel, 0, 8, 1, /*is_inside=*/has_all_channels}},
      0,
      std::nullopt};
  if (outside.has_value()) load.outside = ScalarValue::Integer(ScalarType::kInt32, *outside);
  return std::make_shared<const ValueNode>(ValueNode{{ScalarType::kInt32, 1}, load});
}

// Sums over windows and channels, two columns at a time, as tiles of a convolution have them.
LoopProgram Windows(Block of_channels, int64_t channels = 8) {
  Block window = {Loop("c", Index(channels), std::move(of_channels))};
  Block body;
  body.push_back(BlockNumber("b"));
  body.push_back(Loop("q", 4, {Loop("r", 3, {Loop("s", 3, std::move(window))})}));
  return Program(std::move(body), {{1, 1, 1}, {1, 1, 1}});
}

LoopProgram Convolution(std::optional<int64_t> outside, bool has_all_channels = true) {
  const auto add = [&](const Index& column) {
    return Set("y", column,
               Sum(Element("y", column),
                   Pixel(r - Index(1), s + column - Index(1), c, outside, has_all_channels)));
  };
  return Windows({add(q), add(q + Index(1))});
}

TEST(HoistInsidesTest, PlacesAreAskedForInFrontOfTheLoopOverChannels) {
  const LoopProgram before = Convolution(7), after = HoistInsides(before);
  ExpectGoldenPass("hoist_insides", before, after);
  ExpectSameResults(before, after, {{"x", Numbered(160)}, {"y", Numbered(8)}});
}

TEST(HoistInsidesTest, ElementsThatDifferInChannelsOnlyHaveOnePointer) {
  Block two_channels;
  for (const int64_t further : {0, 1}) {
    const LoopValue pixel = Pixel(r - Index(1), s, c * 2 + Index(further));
    two_channels.push_back(Set("y", q, Sum(Element("y", q), pixel)));
  }
  const LoopProgram before = Windows(std::move(two_channels), 4), after = HoistInsides(before);
  EXPECT_NE(ToText(after).find("pointer const int32 x_row = x"), std::string::npos);
  EXPECT_EQ(ToText(after).find("x_row_1"), std::string::npos) << ToText(after);
  ExpectSameResults(before, after, {{"x", Numbered(160)}, {"y", Numbered(8)}});
}

void ExpectUnchanged(const LoopProgram& program) {
  EXPECT_EQ(ToText(HoistInsides(program)), ToText(program));
}

TEST(HoistInsidesTest, NotIfTheLoopDecidesWhatIsInside) {
  ExpectUnchanged(Convolution(7, /*has_all_channels=*/false));
}

TEST(HoistInsidesTest, NotIfTheNearestElementIsOutside) {
  ExpectUnchanged(Convolution(std::nullopt));
}

TEST(HoistInsidesTest, NotIfTheLoopReachesManyElements) {
  LoadInside load{"x", {{r - Index(1), 0, 4, 1}, {c, 0, 4000, 4, true}}, 0, std::nullopt};
  load.outside = ScalarValue::Integer(ScalarType::kInt32, 0);
  ExpectUnchanged(Windows(
      {Set("y", q, std::make_shared<const ValueNode>(ValueNode{{ScalarType::kInt32, 1}, load}))}));
}

}  // namespace
}  // namespace mdh::pass_hoist_insides_test
