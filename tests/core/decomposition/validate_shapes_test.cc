// Every constraint on configurations that are lowered level by level, with its message.
#include <gtest/gtest.h>

#include "tests/core/decomposition/validate_fixture.h"

namespace mdh::validate_shapes_test {
namespace {

using ShapesTest = ValidateTest;
using CopiesTest = ValidateTest;

TEST_F(ShapesTest, TilesAndOrders) {
  EXPECT_EQ(Error([](auto&) {}), "no error");
  EXPECT_EQ(Error([](auto& p) { p.tile.pop_back(); }), "tile (0): 4 layers, model CUDA has 5");
  EXPECT_EQ(Error([](auto& p) { p.tile[1].pop_back(); }),
            "tile (0): layer DEV has 2 values, the expression has 3 dimensions");
  EXPECT_EQ(Error([](auto& p) { p.phase.order.pop_back(); }),
            "order (D1): 14 levels, there are 15");
  EXPECT_EQ(Error([](auto& p) {
              p.phase.order[0] = {5, 0};
            }),
            "order (D1): level (6,1) is beyond the last one, (5,3)");
  EXPECT_EQ(Error([](auto& p) {
              p.phase.order[0] = {0, 1};
            }),
            "order (D1): level (1,2) comes twice, it is no permutation");
  EXPECT_EQ(Error([](auto& p) { p.scalar_phase.emplace(); }), "order (S1): 0 levels, there are 15");
  EXPECT_EQ(Error([](auto& p) { p.recomposition_phase.emplace(); }),
            "order (R1): 0 levels, there are 15");
}

TEST_F(ShapesTest, Assignments) {
  const auto assigned = [](TuningParameters& p) -> LevelTable<AsmLevel>& {
    for (int l = 0; l < 5; ++l) p.phase.assignment.push_back({{l, 0}, {l, 1}, {l, 2}});
    return p.phase.assignment;
  };
  EXPECT_EQ(Error([&](auto& p) { assigned(p); }), "no error");
  EXPECT_EQ(Error([&](auto& p) { assigned(p).pop_back(); }),
            "assignment (D2): 4 layers, model CUDA has 5");
  EXPECT_EQ(Error([&](auto& p) { assigned(p)[0].pop_back(); }),
            "assignment (D2): layer BLK has 2 values, the expression has 3 dimensions");
  EXPECT_EQ(Error([&](auto& p) {
              assigned(p)[0][0] = {0, 3};
            }),
            "assignment (D2): ASM level (1,4) is beyond the last one, (5,3)");
  EXPECT_EQ(Error([&](auto& p) {
              assigned(p)[1][0] = {0, 0};
            }),
            "assignment (D2): levels (1,1) and (2,1) are both assigned to (1,1), it is no "
            "bijection");
}

TEST_F(ShapesTest, Memory) {
  EXPECT_EQ(Error([](auto& p) { p.inputs.pop_back(); }), "there are 2 inputs, parameters for 1");
  EXPECT_EQ(Error([](auto& p) { p.outputs.emplace_back(); }),
            "there are 1 outputs, parameters for 2");
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].stage_layer = 2; }),
            "input A is packed at layer 2, which is for register tiles; level by level, D3 says "
            "what is copied");
  EXPECT_EQ(Error([](auto& p) { p.inputs[1].memory.regions.pop_back(); }),
            "memory regions of B (D3): 4 layers, model CUDA has 5");
  EXPECT_EQ(Error([](auto& p) { p.inputs[1].memory.regions[4][2] = 3; }),
            "memory regions of B (D3): region 3, model CUDA has 0..2");
  EXPECT_EQ(Error([](auto& p) { p.outputs[0].regions[4][2] = -1; }),
            "memory regions of C (R3): region -1, model CUDA has 0..2");
  const LevelTable<std::vector<int>> layouts(5, std::vector<std::vector<int>>(3, {0, 1}));
  EXPECT_EQ(Error([&](auto& p) { p.inputs[0].memory.layouts = layouts; }), "no error");
  EXPECT_EQ(Error([&](auto& p) {
              p.inputs[0].memory.layouts = layouts;
              p.inputs[0].memory.layouts[4][2] = {1, 1};
            }),
            "layouts of A (D4): [1,1] is no permutation of the buffer's 2 dimensions");
  EXPECT_EQ(Error([&](auto& p) {
              p.outputs[0].layouts = layouts;
              p.outputs[0].layouts[4][2] = {0};
            }),
            "layouts of C (R4): [0] is no permutation of the buffer's 2 dimensions");
  EXPECT_EQ(Error([&](auto& p) {
              p.scalar_inputs = {{2, {0, 1}}};
            }),
            "scalar inputs (S3, S4): 1 buffers, the expression has 2");
  EXPECT_EQ(Error([&](auto& p) {
              p.scalar_outputs = {{4, {0, 1}}};
            }),
            "scalar outputs (S5, S6): region 4, model CUDA has 0..2");
  EXPECT_EQ(Error([&](auto& p) {
              p.scalar_inputs = {{2, {0, 1}}, {2, {0, 0}}};
            }),
            "layout of B (S4): [0,0] is no permutation of the buffer's 2 dimensions");
}

TEST_F(ShapesTest, Extents) {
  EXPECT_EQ(Error([](auto& p) { p.tile[0][0] = 65; }),
            "tile of layer BLK in dimension i is 65, not in 1..64");
  EXPECT_EQ(Error([](auto& p) { p.tile[1][2] = 0; }),
            "tile of layer DEV in dimension k is 0, not in 1..40");
  EXPECT_EQ(Error([](auto& p) { p.tile[1][0] = 3; }),
            "tile of layer DEV in dimension i is 3, which does not divide 16, the tile around it");
  EXPECT_EQ(Error([](auto& p) { p.tile[3][2] = p.tile[4][2] = 2; }),
            "tile of the innermost layer in dimension k is 2, it must be 1");
}

TEST_F(CopiesTest, RegionsGetFasterInwards) {
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].memory.regions[4][0] = 0; }),
            "memory regions of A (D3): DM at level (5,1) inside of SM at level (4,3), regions must "
            "get faster inwards");
  EXPECT_EQ(Error([](auto& p) { p.outputs[0].regions[4][2] = 1; }),
            "memory regions of C (R3): SM at level (5,3) inside of RM at level (5,2), regions must "
            "get faster inwards");
}

TEST_F(CopiesTest, LayoutsOfTheUsersBuffersAreGiven) {
  const LevelTable<std::vector<int>> layouts(5, std::vector<std::vector<int>>(3, {1, 0}));
  EXPECT_EQ(Error([&](auto& p) { p.inputs[0].memory.layouts = layouts; }),
            "layouts of A (D4): [2,1] at level (1,1) for the user's buffer, which is in ascending "
            "order");
  EXPECT_EQ(Error([&](auto& p) { p.outputs[0].layouts = layouts; }),
            "layouts of C (R4): [2,1] at level (1,1) for the user's buffer, which is in ascending "
            "order");
}

TEST_F(CopiesTest, ResultsOfAllOutputsAreTogether) {
  expression_ = *ParseExpression(
      "two := out_view<fp32,fp32>( C: (i,k) -> (i), D: (i,k) -> (i) ) o md_hom<16,8>( f, (++, +) ) "
      "o inp_view<fp32>( A: (i,k) -> (i,k) ) where f(a) -> (c, d) { c = a; d = a * a }");
  EXPECT_EQ(ErrorOf("model=CUDA; parts=1,1|1,1|16,1|1,1|1,8; order=0,1|0,1|0,1|0,1|0,1; "
                    "inputs=in_place:0,1:-1; results=0,0|0,0|0,0|0,0|2,2/0,0|0,0|0,0|1,1|2,2"),
            "memory regions of D (R3): SM at level (4,1), but DM of C; results are combined "
            "together");
}

TEST_F(CopiesTest, AccessesThatMoveOtherwiseHaveCopiesOfTheirOwn) {
  const auto error = [&](const std::string& extent, const std::string& second) {
    expression_ =
        *ParseExpression("d := out_view<fp32>( C: (i,k) -> (i) ) o md_hom<" + extent +
                         ">( f, (++, +) ) o " + "inp_view<fp32>( A: (i,k) -> (i,k), (i,k) -> " +
                         second + " ) where f(a, b) -> c { c = a * b }");
    return ErrorOf(
        "model=CUDA; parts=1,1|1,1|8,1|1,1|1,8; order=0,1|0,1|0,1|0,1|0,1; "
        "inputs=in_place:0,1:-1; memory=0,0|0,0|0,0|1,1|1,1");
  };
  EXPECT_EQ(error("8,8", "(k,i)"), "no error");
  EXPECT_EQ(error("8,8", "(7 - i,k)"),
            "copy of A (D3): its accesses run backwards or are of records");
  // Each of them has room in shared memory, but both have not.
  device_.blocks.shared_bytes_per_block = 64 * 4;
  EXPECT_EQ(error("8,8", "(i,k)"), "no error");
  EXPECT_EQ(error("8,8", "(k,i)"), "bytes of shared memory of a block (D3, R3): 512 > 256");
}

TEST_F(CopiesTest, ParametersOfCopies) {
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].padding = 65; }), "padding of A: 65 is not in 0..64");
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].padding = -1; }), "padding of A: -1 is not in 0..64");
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].copy_stages = 3; }),
            "stages of the copy of A: 3 is not in 1..2");
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].copy_width = 3; }),
            "width of the copy of A: 3 is no power of two");
  EXPECT_EQ(Error([](auto& p) {
              p.inputs[1].memory = {};
              p.inputs[1].padding = 4;
            }),
            "padding 4, width 1 and stages 1 of the copy of B: there is no copy in shared memory");
  EXPECT_EQ(Error([](auto& p) { p.inputs[0].copy_stages = 2; }), "no error");
  EXPECT_EQ(Error([](auto& p) {
              p.inputs[0].copy_stages = 2;
              p.inputs[0].memory.regions[1] = {1, 1, 1};  // outside of the loop along k
            }),
            "stages of the copy of A: 2 > 1, but level (3,2) around it is parallel, not a loop");
  EXPECT_EQ(Error([](auto& p) {
              p.inputs[0].copy_stages = 2;
              p.inputs[0].memory.regions.assign(5, {1, 1, 1});
            }),
            "stages of the copy of A: 2 > 1, but no level with several parts is around it");
}

TEST_F(CopiesTest, StagesOfAsynchronousCopies) {
  const auto stages = [&](int stages) {
    return Error([&](auto& p) {
      p.inputs[0].copy_stages = stages;
      p.inputs[0].copy_mode = CopyMode::kAsynchronous;
    });
  };
  EXPECT_EQ(stages(1), "stages of the asynchronous copy of A: 1 is not in 2..4");
  for (const int valid : {2, 3, 4}) EXPECT_EQ(stages(valid), "no error");
  EXPECT_EQ(stages(5), "stages of the asynchronous copy of A: 5 is not in 2..4");
  EXPECT_EQ(
      Error([](auto& p) {
        p.inputs[1] = {.layout = {0, 1}, .copy_stages = 2, .copy_mode = CopyMode::kAsynchronous};
      }),
      "padding 0, width 1 and stages 2 of the copy of B: there is no copy in shared memory");
  // A of 16 x 8 elements three times, B of 8 x 16 once.
  device_.blocks.shared_bytes_per_block = 2047;
  EXPECT_EQ(stages(3), "bytes of shared memory of a block (D3, R3): 2048 > 2047");
  EXPECT_EQ(stages(2), "no error");
}

TEST_F(CopiesTest, DevicesWithAsynchronousCopies) {
  const auto asynchronous = [](auto& p) {
    p.inputs[0].copy_stages = 2;
    p.inputs[0].copy_mode = CopyMode::kAsynchronous;
  };
  EXPECT_EQ(Error(asynchronous), "no error");
  device_.isa = "sm_75";
  device_.features = FeaturesOf(device_);
  EXPECT_EQ(Error(asynchronous),
            "asynchronous copy of A: NVIDIA A100 has none, which CUDA has from compute capability "
            "8.0 on");
  device_.name = "";
  EXPECT_EQ(Error(asynchronous),
            "asynchronous copy of A: the device has none, which CUDA has from compute capability "
            "8.0 on");
  device_ = DeviceFor(OpenClModel());
  std::string text = kParameters;
  parameters_ = Parsed(text.replace(text.find("CUDA"), 4, "OpenCL"), expression_);
  EXPECT_EQ(Error(asynchronous),
            "asynchronous copy of A: NVIDIA A100 has none, which CUDA has from compute capability "
            "8.0 on");
}

TEST_F(CopiesTest, ElementsOfAsynchronousCopies) {
  const auto copy = [&](int width, int padding, const std::vector<int>& layout) {
    return Error([&](auto& p) {
      InputParameters& input = p.inputs[0];
      input.copy_stages = 2;
      input.copy_mode = CopyMode::kAsynchronous;
      input.copy_width = width;
      input.padding = padding;
      input.memory.layouts.assign(5, {3, std::vector<int>{0, 1}});
      for (const int l : {3, 4}) input.memory.layouts[l].assign(3, layout);
    });
  };
  EXPECT_EQ(copy(1, 3, {1, 0}), "no error");
  EXPECT_EQ(copy(4, 4, {0, 1}), "no error");
  EXPECT_EQ(copy(4, 2, {0, 1}),
            "asynchronous copy of A: its rows are padded by 2 elements, no multiple of 4");
  EXPECT_EQ(copy(4, 0, {1, 0}),
            "asynchronous copy of A: elements that are copied at once are no neighbours in the "
            "copy, where dimension 1 is innermost");
}

TEST_F(CopiesTest, BuffersOfAsynchronousCopies) {
  const auto copy = [&](const std::string& type, const std::string& view, int width,
                        const std::string& layouts = "") {
    expression_ = *ParseExpression(
        "w := out_view<fp32>( C: (i,k) -> (i) ) o md_hom<8,8>( f, (++, +) ) o inp_view<" + type +
        ">( " + view + " ) where f(a) -> c { c = fp32(a) }");
    return ErrorOf(
        "model=CUDA; parts=2,1|1,2|4,1|1,4|1,1; "
        "order=(1,1)(1,2)(3,1)(3,2)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2); inputs=in_place:0,1:-1; "
        "memory=0,0|0,0|0,0|1,1|1,1" +
        layouts + "; copy=0:" + std::to_string(width) + ":2:async");
  };
  const std::string plain = "A: (i,k) -> (i,k)";
  EXPECT_EQ(copy("fp32", plain, 1), "no error");
  EXPECT_EQ(copy("fp64", plain, 2), "no error");
  EXPECT_EQ(copy("fp16", plain, 2), "no error");
  EXPECT_EQ(copy("fp16", plain, 1),
            "asynchronous copy of A: elements that are copied at once have 2 bytes, not 4, 8 or "
            "16");
  EXPECT_EQ(copy("uint8", plain, 2),
            "asynchronous copy of A: elements that are copied at once have 2 bytes, not 4, 8 or "
            "16");
  EXPECT_EQ(copy("fp32", "A[8,8] else 0: (i,k) -> (i,k+2)", 1), "no error");
  EXPECT_EQ(copy("fp32", "A[8,8] else 0: (i,k) -> (i-1,k)", 4), "no error");
  for (const char* border : {"1", "-0.0", "clamp"}) {
    EXPECT_EQ(copy("fp32", absl::StrCat("A[8,8] else ", border, ": (i,k) -> (i-1,k)"), 1),
              "asynchronous copy of A: it has a boundary other than 0")
        << border;
  }
  EXPECT_EQ(copy("fp32", plain, 1, "@0.1,0.1|0.1,0.1|0.1,0.1|0.1,0.1|1.0,1.0"),
            "asynchronous copy of A: it is from another copy in shared memory");
}

TEST_F(CopiesTest, WidthOfCopies) {
  const auto width = [&](int width) {
    return Error([&](auto& p) { p.inputs[0].copy_width = width; });
  };
  EXPECT_EQ(width(4), "no error");
  EXPECT_EQ(width(8), "width of the copy of A: 8 elements, but that is 32 bytes > 16");
  expression_ = MatMul(64, 48, 42);
  const std::string with_42 =
      std::string(kParameters).replace(std::string(kParameters).find("1,1,5"), 5, "1,1,6");
  parameters_ = Parsed(with_42, expression_);
  EXPECT_EQ(width(4),
            "width of the copy of A: 4 elements, but its rows have 42 elements, no "
            "multiple");
  expression_ = MatMul(64, 48, 40);
  parameters_ = Parsed(kParameters, expression_);
  parameters_.tile[1][2] = 2;
  parameters_.tile[2][2] = 2;
  EXPECT_EQ(width(2), "no error");
  EXPECT_EQ(width(4),
            "width of the copy of A: 4 elements, but parts of level (2,3) begin 2 "
            "elements apart, no multiple");
}

TEST_F(CopiesTest, WidthOfCopiesOfOtherBuffers) {
  const auto width_two = [&](const std::string& view) {
    expression_ = *ParseExpression(
        "w := out_view<fp32>( C: (i,k) -> (i,k) ) o md_hom<8,8>( f, (++, ++) ) o inp_view<fp32>( " +
        view + " ) where f(a) -> c { c = a }");
    return ErrorOf(
        "model=CUDA; parts=2,2|1,1|4,1|1,1|1,4; order=0,1|0,1|0,1|0,1|0,1; "
        "inputs=in_place:0,1:-1; memory=0,0|0,0|0,0|1,1|1,1; copy=0:2:1");
  };
  EXPECT_EQ(width_two("A: (i,k) -> (i,k)"), "no error");
  EXPECT_EQ(width_two("A[8,11]: (i,k) -> (i,k+1)"),
            "width of the copy of A: 2 elements, but its rows have 11 elements, no multiple");
  EXPECT_EQ(width_two("A[8,10]: (i,k) -> (i,k+1)"),
            "width of the copy of A: 2 elements, but its smallest constant is 1, no multiple");
  EXPECT_EQ(width_two("A[8,16]: (i,k) -> (i,2*k)"),
            "width of the copy of A: 2 elements, but its rows are copied in steps of 2, not 1");
  EXPECT_EQ(width_two("A[8,8] else 0: (i,k) -> (i,k+2)"),
            "width of the copy of A: 2 elements, but its rows have a boundary, which is read");
  EXPECT_EQ(width_two("A[8,8] else 0: (i,k) -> (i,k-2)"),
            "width of the copy of A: 2 elements, but its rows have a boundary, which is read");
  EXPECT_EQ(width_two("A[0,8] else 0: (i,k) -> (i,k)"),
            "width of the copy of A: 2 elements, but its rows have a boundary, which is read");
  for (const char* border : {"0", "7", "clamp"}) {
    EXPECT_EQ(width_two(absl::StrCat("A[6,8] else ", border, ": (i,k) -> (i-1,k)")), "no error");
  }
  EXPECT_EQ(width_two("A[8,8] strides (9,1): (i,k) -> (i,k)"),
            "width of the copy of A: 2 elements, but its dimension 1 has stride 9, no multiple");
  EXPECT_EQ(width_two("A[8,8] strides (1,8): (i,k) -> (i,k)"),
            "width of the copy of A: 2 elements, but elements of its rows are 8 apart, not 1");
}

}  // namespace
}  // namespace mdh::validate_shapes_test
