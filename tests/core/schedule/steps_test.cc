// MDH's schedules of 2023 as lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/schedule/schedule.h"
#include "tests/core/schedule/matmul.h"
#include "tests/error_message.h"
#include "tests/source_path.h"

namespace mdh::steps_test {
namespace {

using ::testing::HasSubstr;

const Expression& Product() {
  static const auto* const product = new Expression(MatMulOf(300, 200, 100));
  return *product;
}

std::string Figure(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(SourcePath("tests/core/decomposition/figures/") + name + ".txt").rdbuf();
  return text.str();
}

// Listing 5 of MDH's schedule paper.
constexpr char kListing5[] = R"(// initialization
0: (de/re)-comp(16,1000,2048)
   ( A:DM[1,2], B:DM[1,2] ;
     C:DM[1,2] )
   ( GPU.y, GPU.x, GPU.z )

// parallelization over CUDA Blocks
1: (de/re)-comp(8,20,^)
   ( ^,^ ; ^ )
   ( BLK.y, BLK.x, BLK.z )

// tiling 1
6: (de/re)-comp(4,^,^)
   ( ^,^ ; ^ )
   ( FOR.1, FOR.2, FOR.3 )

// parallelization over CUDA Threads & utilization of CUDA Register Memory
2: (de/re)-comp(1,1,^)
   ( ^,^ ; C:RM[1,2] )
   ( THR.y, THR.x, THR.z )

// utilization of CUDA Shared Memory
3: (de/re)-comp(^,^,256)
   ( A:SM[1,2], B:SM[1,2] ; ^ )
   ( FOR.2, FOR.3, FOR.1 )

// tiling 2
4: (de/re)-comp(^,^,2)
   ( ^,^ ; ^ )
   ( ^,^,^ )

// tiling 3
5: (de/re)-comp(^,^,1)
   ( ^,^ ; ^ )
   ( ^,^,^ )
)";

// A size that is that of the step before, but written, puts a loop of one part there, so that what
// cuts it next is a layer further in.
constexpr char kFigure21[] = R"(
1: (de/re)-comp(^,8,^)     (^,^ ; ^)                          (WG.y, WG.x, WG.z)
2: (de/re)-comp(1,^,^)     (^,^ ; C:PM[1,2])                  (WI.y, WI.x, WI.z)
3: (de/re)-comp(^,8,128)   (A:LM[1,2], B:LM[1,2] ; ^)         (FOR.2, FOR.3, FOR.1)
4: (de/re)-comp(^,8,1)     (^,^ ; ^)                          (FOR.2, FOR.3, FOR.1)
5: (de/re)-comp(^,1,^)     (^,^ ; ^)                          (FOR.2, FOR.3, FOR.1)
)";
constexpr char kFigure22[] = R"(
1: (de/re)-comp(1,125,^)   (^,^ ; ^)                          (BLK.y, BLK.x, BLK.z)
2: (de/re)-comp(^,^,1181)  (^,^ ; ^)                          (FOR.1, FOR.2, FOR.3)
3: (de/re)-comp(^,1,^)     (A:SM[1,2], ^ ; C:RM[1,2])         (THR.y, THR.x, THR.z)
4: (de/re)-comp(^,^,1)     (^,^ ; ^)                          (FOR.1, FOR.2, FOR.3)
)";
constexpr char kFigure23[] = R"(
1: (de/re)-comp(2,^,^)     (^,^ ; ^)                          (THR.1, THR.2, THR.3)
2: (de/re)-comp(^,962,218) (^,^ ; ^)                          (FOR.1, FOR.2, FOR.3)
3: (de/re)-comp(1,1,1)     (^,^ ; ^)                          (FOR.1, FOR.2, FOR.3)
)";

struct FigureCase {
  std::string file;  // of the parameters, tests/core/decomposition/figures
  SystemModel model;
  const char* steps;
  std::string lines;
};

std::vector<FigureCase> Figures() {
  return {{"tvm_cuda", CudaModel(), kListing5,
           "BLK: tile i=8, j=20; on i=y, j=x\nDEV: tile i=4, k=256\n"
           "THR: tile i=1, j=1; on i=y, j=x\nSHR: tile k=2\n"
           "order DEV.k, SHR.k, REG.k, DEV.i\ninput A: in SM from SHR.k; layout (i, k)\n"
           "input B: in SM from SHR.k; layout (k, j)\noutput C: in RM from DEV.k\n"},
          {"tvm_opencl", OpenClModel(), kFigure21,
           "WG: tile j=8\nGLB: tile j=8, k=128\nWI: tile i=1\nLCL: tile j=8, k=1\n"
           "order GLB.k, GLB.j, LCL.k, LCL.j, PRV.j\ninput A: in LM from LCL.k; layout (i, k)\n"
           "input B: in LM from LCL.k; layout (k, j)\noutput C: in PM from GLB.k\n"},
          {"ppcg_cuda_resnet", CudaModel(), kFigure22,
           "BLK: tile i=1, j=125; on i=y, j=x\nDEV: tile k=1181\nTHR: tile j=1\nSHR: tile k=1\n"
           "order DEV.k, SHR.k\ninput A: in SM from SHR.k; layout (i, k)\n"
           "output C: in RM from SHR.k\n"},
          {"pluto_openmp_resnet", OpenMpModel(), kFigure23,
           "COR: tile i=2\nMM: tile j=962, k=218\nL2: tile i=1, j=1, k=1\n"
           "order MM.j, MM.k, L2.i, L2.j, L2.k\n"}};
}

// The decompositions of Figures 20 to 23 of the journal's paper, that of Figure 20 in the words of
// Listing 5: their lines, which allow the figure's parameters.
TEST(StepsTest, FiguresOfThePaperAreLines) {
  const Expression product = MatMulOf(16, 1000, 2048);
  for (const FigureCase& figure : Figures()) {
    const Result<Schedule> schedule = Schedule::Parse(figure.steps, product, figure.model);
    ASSERT_TRUE(schedule.ok()) << figure.file << schedule.status();
    EXPECT_EQ(schedule->CanonicalText(), figure.lines);
    const auto parameters = ParseTuningParameters(Figure(figure.file), product);
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    EXPECT_TRUE(schedule->Allows(*parameters).ok()) << figure.file << "\n"
                                                    << schedule->Allows(*parameters);
    // One more part of k, in whatever loop it is cut: another decomposition.
    TuningParameters other = *parameters;
    other.tile[1][2] = 1;
    EXPECT_FALSE(schedule->Allows(other).ok()) << figure.file;
  }
}

TEST(StepsTest, MayLeaveSizesOpen) {
  const Expression product = MatMulOf(300, 200, 100);
  const Result<Schedule> schedule = Schedule::Parse(
      "1: (de/re)-comp({60,100},?,^)(^,^;^)(THR.1,THR.2,THR.3)\n"
      "2: (de/re)-comp(?,100,50)(A:L2[2,1],^;^)(FOR.3,FOR.2,FOR.1)\n"
      "3: (de/re)-comp(6,4,1)(^,^;^)(?)\n",
      product, OpenMpSimdRegistersModel());
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->CanonicalText(),
            "COR: tile i={60, 100}\nMM: tile j=100, k=50\nL2: tile i=6, j=4, k=1\n"
            "order MM.k, MM.j, MM.i, L2.k, L2.j, L2.i\ninput A: copy at MM; layout (k, i)\n");
}

TEST(StepsTest, WrongOnesAreRefused) {
  const auto error = [](const std::string& text) {
    return ErrorMessage(Schedule::Parse(text, Product(), OpenMpModel(), "s.steps"));
  };
  EXPECT_THAT(error("0: (de/re)-comp(3,200,100)(^,^;^)(?)"),
              HasSubstr("1:17: step 0 has the sizes of the expression: i is 300"));
  EXPECT_THAT(error("1: (de/re)-comp(3,2)(^,^;^)(?)"), HasSubstr("1:1: a step has 3 sizes"));
  EXPECT_THAT(error("1: (de/re)-comp(3,2,1)(D:L2;^)(?)"), HasSubstr("unknown input 'D'"));
  EXPECT_THAT(error("1: (de/re)-comp(3,2,1)(A:SM[1,2];^)(?)"),
              HasSubstr("unknown memory region 'SM'; OpenMP has MM, L2, L1"));
  EXPECT_THAT(error("1: (de/re)-comp(3,2,1)(^;^)(GRID.x)"),
              HasSubstr("unknown tag 'GRID'; there are FOR, COR"));
  EXPECT_THAT(error("1: (de/re)-comp(3,2,1)(^;^)(FOR.1, THR.2)"),
              HasSubstr("all tags of a step are of one kind"));
  EXPECT_THAT(error("1: (de/re)-comp(8,^,^)(^;^)(FOR.1)\n2: (de/re)-comp(4,^,^)(^;^)(THR.1)"),
              HasSubstr("s.steps:2:1: there is no layer left for this step"));
  EXPECT_THAT(error("1: (de/re)-comp(8,"), HasSubstr("found the end of the line"));
  EXPECT_THAT(error("1: step"), HasSubstr("expected '(', found 'step'"));
}

}  // namespace
}  // namespace mdh::steps_test
