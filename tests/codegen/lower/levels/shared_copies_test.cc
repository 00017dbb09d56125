// How the threads of a block copy parts of inputs to shared memory.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "codegen/lower/nest_program.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"

namespace mdh::shared_copies_test {
namespace {

// Of y[I, J] = a[K, I] a[K, J]: blocks copy parts of 16 rows and `points` columns. A thread takes
// `own` x 4 of them.
struct Case {
  int64_t i, k, points;
  std::string type = "fp32";
  int padding = 0;
  int own = 1;
};

std::string ProgramOf(const Case& c) {
  const Result<Expression> expression = ParseExpression(absl::Substitute(R"(
gram :=
  out_view<fp32>( y: (i,j,k) -> (i,j) ) o
  md_hom<$0,$0,$1>( f, (++, ++, +) ) o
  inp_view<$2>( a: (i,j,k) -> (k,i), (k,j) )
where f(a, b) -> (y: fp32) { y = fp32(a) * fp32(b) })",
                                                                         c.i, c.k, c.type));
  EXPECT_TRUE(expression.ok()) << expression.status();
  const Result<TuningParameters> parameters = ParseTuningParameters(absl::Substitute(
      "model=CUDA; tile=$1,$1,$0|$1,$1,16|$3,$1,4|1,1,1|1,1,1; "
      "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
      "inputs=in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
      "memory=0,0,0|1,1,0|0,0,0|1,1,1|1,1,1; copy=$2:1:2; results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2",
      c.k, c.points, c.padding, c.own));
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const Result<LowLevelExpression> low =
      Lower(*expression, *SystemModelNamed("CUDA"), device, *parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  const Result<LoopProgram> program = BuildNestProgram(*low, device);
  EXPECT_TRUE(program.ok()) << program.status();
  return ToText(*program);
}

bool Has(const std::string& program, const std::string& part) {
  return program.find(part) != std::string::npos;
}

TEST(SharedCopies, MoveRowsThatFollowEachOtherAsOne) {
  const std::string program = ProgramOf({23, 64, 23});
  EXPECT_TRUE(Has(program,
                  "for lane = 0 .. 4\n"
                  "        a_sm[tid * 4 + lane] = a[k_dev * 16 * 23 + tid * 4 + lane]"))
      << program;
  const std::string halves = ProgramOf({23, 64, 23, "bf16"});
  EXPECT_TRUE(Has(halves,
                  "for lane = 0 .. 8\n"
                  "          a_sm[tid * 8 + lane] = a[k_dev * 16 * 23 + tid * 8 + lane]"))
      << halves;
}

TEST(SharedCopies, MoveSingleElementsOfPartsOfRowsAndOfRowsWithGaps) {
  for (const Case& c : {Case{46, 64, 23}, Case{23, 64, 23, "fp32", 1}}) {
    EXPECT_FALSE(Has(ProgramOf(c), "lane")) << ProgramOf(c);
  }
}

TEST(SharedCopies, MoveRowsOfWhichSomeDoNotExistOneByOne) {
  const std::string program = ProgramOf({23, 60, 23});
  const size_t last = program.find("The last part, of which some points do not exist.");
  ASSERT_NE(last, std::string::npos) << program;
  EXPECT_TRUE(Has(program.substr(0, last), "lane = 0 .. 4")) << program;
  EXPECT_FALSE(Has(program.substr(last), "lane")) << program;
  EXPECT_TRUE(Has(program.substr(last), "a[mdh_min(a_sm_round * 4 + tid / 23 + 48, 59) * 23"))
      << program;
}

TEST(SharedCopies, AddUpPlacesOfRoundsAndThreadsWhereRoundsAreWholeRows) {
  const std::string program = ProgramOf({40, 64, 20});
  EXPECT_TRUE(Has(program, "a_sm[(a_sm_round * 4 + tid / 20) * 20 + tid % 20]")) << program;
  const std::string others = ProgramOf({40, 64, 20, "fp32", 0, 5});  // 16 threads
  EXPECT_TRUE(Has(others, "index a_sm_at = a_sm_round * 16 + tid")) << others;
  EXPECT_TRUE(Has(others, "a_sm[a_sm_at / 20 * 20 + a_sm_at % 20]")) << others;
}

// Of C[I, J] = A[I, K] B[K, J]: 64 threads copy 32 x 16 elements of A so that its columns are rows.
std::string TransposingProgram(int64_t i) {
  const Result<Expression> expression = ParseExpression(absl::Substitute(R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<$0,64,64>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b })",
                                                                         i));
  EXPECT_TRUE(expression.ok()) << expression.status();
  const Result<TuningParameters> parameters = ParseTuningParameters(
      "model=CUDA; tile=32,32,64|32,32,16|4,4,16|1,1,1|1,1,1; "
      "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
      "memory=0,0,0|1,1,0|0,0,0|1,1,1|1,1,1@0.1,0.1,0.1|1.0,1.0,0.1|0.1,0.1,0.1|1.0,1.0,1.0|"
      "1.0,1.0,1.0/; copy=4:1:2|0:1:1; results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2");
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const Result<LowLevelExpression> low =
      Lower(*expression, *SystemModelNamed("CUDA"), device, *parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  const Result<LoopProgram> program = BuildNestProgram(*low, device);
  EXPECT_TRUE(program.ok()) << program.status();
  return ToText(*program);
}

// Eight threads take eight neighbours of a row; the next eight the same of the next row, which are
// in other banks. So do rounds, whose places are apart by constants.
TEST(SharedCopies, TurnRowsIntoColumnsByRuns) {
  const std::string program = TransposingProgram(64);
  EXPECT_TRUE(Has(program,
                  "A_sm[A_sm_round % 4 * 8 + tid / 8 + (tid % 8 + A_sm_round / 4 * 8) * 36] = "
                  "A[(i_blk * 32 + A_sm_round % 4 * 8 + tid / 8) * 64 + k_dev * 16 + tid % 8 + "
                  "A_sm_round / 4 * 8]"))
      << program;
}

}  // namespace
}  // namespace mdh::shared_copies_test
