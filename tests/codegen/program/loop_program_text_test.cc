// The text of loop values, where it is not that of C.
#include "codegen/program/loop_program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/program/loop_program.h"
#include "core/decomposition/dot_plan.h"

namespace mdh::loop_program_text_test {
namespace {

using ::testing::HasSubstr;

LoopValue Vector(const char* name, ScalarType type, int lanes) {
  return MakeNamed(name, {type, lanes});
}

TEST(LoopProgramTextTest, SumsOfProductsNameTheirOperands) {
  const LoopValue sum = Vector("s", ScalarType::kInt32, 4), a = Vector("a", ScalarType::kInt8, 16);
  EXPECT_EQ(ToText(MakeAddProducts(sum, a, nullptr)), "add_products(s, a)");
  EXPECT_EQ(ToText(MakeAddProducts(sum, a, Vector("b", ScalarType::kUint8, 16))),
            "add_products(s, a, b)");
}

TEST(LoopProgramTextTest, DotsAreOfWords) {
  const LoopValue sum = Vector("s", ScalarType::kFloat32, 4),
                  a = Vector("a", ScalarType::kUint32, 4);
  EXPECT_EQ(ToText(MakeAddDots(sum, a, Vector("b", ScalarType::kUint32, 4))), "add_dots(s, a, b)");
  EXPECT_EQ(ToText(MakeLoadWords("p", Index(3), 1, 1)), "words p[3]");
}

TEST(LoopProgramTextTest, KeysSayWhereNanIs) {
  const LoopValue halves = Vector("x", ScalarType::kFloat16, 8);
  const LoopValue keys = MakeOrderKeys(halves, /*nan_is_least=*/false);
  EXPECT_TRUE(keys->type == (LoopValueType{ScalarType::kUint16, 8}));
  EXPECT_EQ(ToText(keys), "keys_of_halves(x)");
  EXPECT_EQ(ToText(MakeOrderKeys(halves, /*nan_is_least=*/true)), "keys_of_halves_nan_least(x)");
  const LoopValue back = MakeOrderedHalves(Vector("k", ScalarType::kUint16, 8),
                                           ScalarType::kBfloat16, /*nan_is_least=*/true);
  EXPECT_TRUE(back->type == (LoopValueType{ScalarType::kBfloat16, 8}));
  EXPECT_EQ(ToText(back), "halves_of_keys_nan_least(k)");
}

TEST(LoopProgramTextTest, TilesHaveNumbers) {
  const MatrixInstruction* instruction =
      TileInstruction(ScalarType::kBfloat16, ScalarType::kBfloat16);
  const LoopProgram program = {.functions = {},
                               .stages = {{.comment = "Tiles.",
                                           .body = {{ConfigureTiles{{{16, 16}, {3, 16}}}},
                                                    {ZeroTile{0}},
                                                    {LoadTile{1, "A", Index::Variable("i"), 2048}},
                                                    {MultiplyTiles{instruction, 0, 1, 2}},
                                                    {StoreTile{0, "C", Index(3), 64}},
                                                    {ReleaseTiles{}}}}},
                               .scratch = {}};
  EXPECT_THAT(ToText(program), HasSubstr("configure tiles 16 x 16, 3 x 16\n"
                                         "  tile 0 = 0\n"
                                         "  tile 1 = A[i], rows 2048 bytes apart\n"
                                         "  tile 0 += amx.m16n16k32.bf16 of tiles 1, 2\n"
                                         "  C[3] = tile 0, rows 64 bytes apart\n"
                                         "  release tiles\n"));
}

}  // namespace
}  // namespace mdh::loop_program_text_test
