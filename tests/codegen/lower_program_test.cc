// mdh-lower: what it prints, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/source_path.h"

namespace mdh::lower_program_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Ended {
  int code;
  std::string output;  // both streams
};

Ended MdhLower(const std::string& arguments) {
  const std::string command = BuildPath("bin/mdh-lower ") + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Ended ended{-1, ""};
  std::array<char, 4096> chunk;
  for (size_t n; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    ended.output.append(chunk.data(), n);
  }
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::string MatMul(const std::string& arguments) {
  return SourcePath("client/expressions/matmul.mdh --set I=100 --set J=64 ") + "--set K=30 " +
         arguments;
}

TEST(LowerProgramTest, PrintsEveryStage) {
  const std::string cuda = "--model CUDA --device sm_90 --print ";
  EXPECT_THAT(MdhLower(MatMul(cuda + "parameters")).output, StartsWith("model=CUDA; tile="));
  EXPECT_THAT(MdhLower(MatMul(cuda + "table")).output,
              StartsWith("(De/re)-composition of matmul (i = 100, j = 64, k = 30) for CUDA"));
  EXPECT_THAT(MdhLower(MatMul(cuda + "plan")).output,
              StartsWith("nest of de-composition, scalar, re-composition:"));
  EXPECT_THAT(MdhLower(MatMul(cuda + "program")).output, StartsWith("stage, grid "));
  EXPECT_THAT(MdhLower(MatMul(cuda + "source")).output, HasSubstr("__global__"));
  EXPECT_THAT(MdhLower(MatMul(cuda + "launches")).output, HasSubstr("output C: 6400 elements"));
}

// What the printer shows is what the backend prints: register tiles and passes included.
TEST(LowerProgramTest, ProgramIsThatOfTheSource) {
  const std::string tiles = MdhLower(MatMul("--print program")).output;
  EXPECT_THAT(tiles, HasSubstr("function tile_"));
  EXPECT_THAT(tiles, HasSubstr("keep "));  // what the last pass adds
  EXPECT_THAT(MdhLower(MatMul("--print lowered")).output, Not(HasSubstr("keep ")));
  EXPECT_THAT(MdhLower(MatMul("")).output, HasSubstr(" tile_"));
  const std::string cuda = "--model CUDA --device sm_90 --print ";
  const std::string lowered = MdhLower(MatMul(cuda + "lowered")).output;
  EXPECT_THAT(lowered, StartsWith("stage, grid "));
  EXPECT_NE(lowered, MdhLower(MatMul(cuda + "program")).output);
}

TEST(LowerProgramTest, KnowsAllBackends) {
  EXPECT_THAT(MdhLower(MatMul("")).output, HasSubstr("#pragma omp parallel"));
  EXPECT_THAT(MdhLower(MatMul("--model OpenCL --device sm_80")).output, HasSubstr("__kernel"));
  EXPECT_THAT(MdhLower(MatMul("--model CUDA+WRP --device sm_80")).output, HasSubstr("__global__"));
}

TEST(LowerProgramTest, ReadsItsOwnParameters) {
  const std::string parameters =
      MdhLower(MatMul("--model CUDA --device sm_90 --print parameters")).output;
  const std::string line = parameters.substr(0, parameters.find('\n'));
  const Ended again = MdhLower(
      MatMul("--model CUDA --device sm_90 --print parameters --parameters '" + line + "'"));
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.output, parameters);
}

// A layer of a network, as a file.
class LowerPipelineTest : public testing::Test {
 protected:
  LowerPipelineTest() {
    std::string pattern = testing::TempDir() + "layer-XXXXXX";
    close(mkstemp(pattern.data()));
    path_ = pattern;
    std::ofstream(path_) << kLayer;
  }
  ~LowerPipelineTest() override { std::remove(path_.c_str()); }
  Ended Layer(const std::string& arguments) const { return MdhLower(path_ + " " + arguments); }

  std::string path_;
};

TEST_F(LowerPipelineTest, PrintsPipelinesAndTheirPartitions) {
  const std::string cuda = "--model CUDA --device sm_90 ";
  EXPECT_THAT(Layer(cuda + "--print launches").output,
              AllOf(StartsWith("mdh_layer_0: grid"), HasSubstr("\nmdh_layer_1: grid"),
                    HasSubstr("may start early\nscratch: 128 bytes\ninput x: 24")));
  EXPECT_THAT(Layer("--print program").output, HasSubstr("    tile_i4_j5_1(h, b, y)"));
  EXPECT_THAT(Layer("").output, HasSubstr("int mdh_layer(const float* x"));
  EXPECT_THAT(
      Layer("--print partitions").output,
      StartsWith("partition 0: 1 steps, 316 bytes, 280 operations\n  step 1 to step 2 in the "
                 "store function\npartition 1: 2 steps"));
  EXPECT_THAT(Layer("--partition 0 --print pipeline").output,
              HasSubstr("{\n  y = matmul(x, w, b)"));
  EXPECT_THAT(Layer(cuda + "--partition 0 --print launches").output,
              AllOf(Not(HasSubstr("mdh_layer_1")), HasSubstr("scratch: 0 bytes")));
}

TEST_F(LowerPipelineTest, RunsStepsTogether) {
  EXPECT_EQ(Layer("--joint --model CUDA --device sm_90 --print groups").output,
            "steps 1 to 2 together, 20 parts of 1 x 1 points\n  step 1, matmul, by i, j\n"
            "  step 2, activation, by i, j\n");
  const std::string cuda = "--joint --model CUDA --device sm_90 --print launches";
  EXPECT_THAT(Layer(cuda).output, AllOf(HasSubstr("mdh_layer_0: grid"),
                                        Not(HasSubstr("mdh_layer_1")), HasSubstr("scratch: 0 b")));
  const std::string lines = Layer("--joint --print parameters").output;
  EXPECT_EQ(Layer("--joint --print parameters --parameters '" + lines + "'").output, lines);
  EXPECT_THAT(Layer("--joint --print program").output, HasSubstr("joint_part"));
  const Ended alone = MdhLower(MatMul("--joint"));
  EXPECT_EQ(alone.code, 1);
  EXPECT_THAT(alone.output, HasSubstr("no steps of matmul have a dimension in common"));
}

TEST_F(LowerPipelineTest, ReadsParametersOfEveryStep) {
  const std::string parameters = Layer("--print parameters").output;
  EXPECT_EQ(std::count(parameters.begin(), parameters.end(), '\n'), 2);
  EXPECT_EQ(Layer("--print parameters --parameters '" + parameters + "'").output, parameters);
  const std::string line = parameters.substr(0, parameters.find('\n'));
  EXPECT_EQ(Layer("--parameters '" + line + "'").output,
            "mdh-lower: error: the pipeline has 2 steps, but there are parameters of 1, one line "
            "each\n");
}

TEST_F(LowerPipelineTest, ErrorsSayWhatThereIs) {
  EXPECT_EQ(Layer("--partition 2").output,
            "mdh-lower: error: there is no partition 2: layer has 2, the first is 0\n");
  EXPECT_THAT(Layer("--partition best").output, HasSubstr("needs a number, the first is 0, not"));
  EXPECT_THAT(Layer("--print nest").output,
              HasSubstr("expected pipeline, partitions, groups, parameters"));
  EXPECT_THAT(Layer("--model CUDA --device host").output, HasSubstr("does not fit device host"));
}

TEST(LowerProgramTest, ErrorsAreOneLineThatHelps) {
  const auto expect = [](const std::string& arguments, const std::string& error) {
    const Ended ended = MdhLower(arguments);
    EXPECT_NE(ended.code, 0) << arguments;
    EXPECT_THAT(ended.output, StartsWith("mdh-lower: error: "));
    EXPECT_THAT(ended.output, HasSubstr(error));
  };
  expect("/nowhere.mdh", "cannot read /nowhere.mdh");
  expect(MatMul("--model VLIW"), "there is no system model 'VLIW'");
  expect(MatMul("--device gpu"), "there is no device 'gpu'; expected host or sm_NN");
  expect(MatMul("--model CUDA --device sm_90 --print assembly"), "cannot print 'assembly'");
  expect(MatMul("--print plan"), "register tiles have no nest plan; --print lowered shows");
  expect(MatMul("--model CUDA --device host"), "CUDA");
  expect(MatMul("--set I"), "--set needs NAME=VALUE");
  expect(MatMul("--fast"), "unknown option, or one without its value: '--fast'");
  expect("", "one expression is needed");
  expect(MatMul("--model CUDA --device sm_90 --parameters /nowhere"), "cannot read /nowhere");
}

}  // namespace
}  // namespace mdh::lower_program_test
