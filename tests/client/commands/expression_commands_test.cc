// mdh check and mdh print, as the command line calls them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"
#include "core/expression/canonical.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/expression_conversion.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/source_path.h"

namespace mdh::expression_commands_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ended {
  ExitCode code;
  std::string out;
  std::string err;
};

// `words`: after "mdh".
Ended Mdh(std::vector<std::string> words) {
  GlobalOptions options;
  SelectedCommand selected;
  CLI::App app;
  app.add_flag("--json", options.json);
  app.fallthrough();
  AddExpressionCommands(app, options, selected);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return {ExitCode::kUsage, "", error.what()};
  }
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ExitCode code = Report(selected());
  std::fflush(stdout);
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

const std::string kMatMul = SourcePath("client/expressions/matmul.mdh");

TEST(ExpressionCommands, PrintWritesEveryFormat) {
  const Ended text = Mdh({"print", kMatMul, "--set", "I=8"});
  ASSERT_EQ(text.code, ExitCode::kOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("matmul :=\n"));
  EXPECT_EQ(text.out.back(), '\n');
  v1::Expression message;
  const Ended binary = Mdh({"print", kMatMul, "--set", "I=8", "--format", "binpb"});
  ASSERT_TRUE(message.ParseFromString(binary.out));
  EXPECT_EQ(message.dimensions(0).size(), 8);
  const Ended json = Mdh({"print", kMatMul, "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["name"], "matmul");
  const Ended in_json = Mdh({"print", kMatMul, "--set", "I=8", "--json"});
  EXPECT_EQ(std::string(nlohmann::json::parse(in_json.out)["text"]), text.out);
}

TEST(ExpressionCommands, CheckExplains) {
  const Ended text = Mdh({"check", kMatMul, "--set", "I=8"});
  EXPECT_EQ(text.code, ExitCode::kOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("every element serves 8 points along i\n"));
  const Ended json = Mdh({"check", kMatMul, "--set", "I=8", "--json"});
  const nlohmann::json explained = nlohmann::json::parse(json.out);
  EXPECT_EQ(explained["inputs"][1]["reuse"]["factor"], 8);
  EXPECT_THAT(text.out, HasSubstr(std::string(explained["digest"])));
}

TEST(ExpressionCommands, ErrorsHaveTheirCodes) {
  const Ended format = Mdh({"print", kMatMul, "--format", "yaml"});
  EXPECT_EQ(format.code, ExitCode::kUsage);
  EXPECT_THAT(format.err, HasSubstr("'yaml' is no format"));
  for (const char* command : {"print", "check"}) {
    const Ended missing = Mdh({command, "none.binpb"});
    EXPECT_EQ(missing.code, ExitCode::kBadExpression);
    EXPECT_THAT(missing.err, HasSubstr("mdh: error: cannot read none.binpb"));
  }
}

TEST(ExpressionCommands, BindingsMayStandBehindTheFile) {
  const Ended options = Mdh({"print", kMatMul, "--set", "I=8", "--set", "T=fp64"});
  EXPECT_EQ(Mdh({"print", kMatMul, "I=8", "T=fp64"}).out, options.out);
  EXPECT_EQ(Mdh({"print", kMatMul, "T=fp64", "--set", "I=8"}).out, options.out);
  EXPECT_EQ(Mdh({"print", kMatMul, "I"}).code, ExitCode::kUsage);
}

TEST(ExpressionCommands, EinsumTakesShapesAndTypes) {
  const Ended sizes = Mdh({"print", "--einsum", "ik,kj->ij", "--size", "i=8,j=4,k=2"});
  ASSERT_EQ(sizes.code, ExitCode::kOk) << sizes.err;
  EXPECT_EQ(Mdh({"print", "--einsum", "ik,kj->ij", "--shape", "8,2", "--shape", "2,4"}).out,
            sizes.out);
  const Ended batch = Mdh({"print", "--einsum", "...i,i->...", "--shape", "3,5,8", "--shape", "8",
                           "--type", "int8", "--out-type", "int64", "--accumulate", "int32"});
  ASSERT_EQ(batch.code, ExitCode::kOk) << batch.err;
  EXPECT_THAT(batch.out, HasSubstr("out_view<int64>"));
  EXPECT_THAT(batch.out, HasSubstr("int32(A) * int32(B)"));
  EXPECT_THAT(Mdh({"print", "--einsum", "ik,kj->ij", "--size", "i=8,j=4,k=2", "--epilogue",
                   "max(out + bias[j], 0)"})
                  .out,
              HasSubstr("{ stored = max(out + bias, 0) }"));
  const Ended wrong = Mdh({"print", "--einsum", "i->", "--shape", "8x4"});
  EXPECT_EQ(wrong.code, ExitCode::kBadExpression);
  EXPECT_THAT(wrong.err, HasSubstr("'8x4' is no shape"));
  EXPECT_THAT(Mdh({"print", "--einsum", "i->", "--size", "i=3", "--out-type", "fp8"}).err,
              HasSubstr("'fp8' is no type"));
  EXPECT_EQ(Mdh({"print", kMatMul, "--shape", "8"}).code, ExitCode::kUsage);
}

TEST(ExpressionCommands, TakeTemlPrograms) {
  const std::string folder = SourcePath("client/expressions/teml/");
  const Ended printed = Mdh({"print", folder + "mm.teml", "I=8", "--set", "type=fp32"});
  ASSERT_EQ(printed.code, ExitCode::kOk) << printed.err;
  EXPECT_THAT(printed.out, StartsWith("mm :=\n  out_view<fp32>( C[8, 1024]: (i1,i2,k)"));
  EXPECT_THAT(Mdh({"check", folder + "helm.teml", "E=4"}).out, HasSubstr("s = s_step3(c, u, W)"));
  const Ended loops = Mdh({"print", "--loops", folder + "table2/mttkrp.teml", "I=2", "J=3"});
  EXPECT_THAT(loops.out, HasSubstr("#pragma omp parallel for\nfor (int i = 0; i <= 1; i++)\n"
                                   "  for (int k = 0; k <= 249; k++)\n"
                                   "    for (int j = 0; j <= 2; j++)\n"));
  const Ended wrong = Mdh({"print", folder + "mm.teml", "M=8"});
  EXPECT_EQ(wrong.code, ExitCode::kBadExpression);
  EXPECT_THAT(wrong.err, HasSubstr("mm.teml:2:1: the program has no size 'M'; it has I, J, K"));
  EXPECT_THAT(Mdh({"print", "--loops", kMatMul}).err, HasSubstr("only TeML programs"));
  EXPECT_THAT(Mdh({"print", "--loops", "--einsum", "i->", "--size", "i=3"}).err,
              HasSubstr("only TeML programs"));
}

class PipelineCommands : public ::testing::Test {
 protected:
  PipelineCommands() { std::ofstream(file_) << kLayer; }
  ~PipelineCommands() override { std::remove(file_.c_str()); }

  // Of the test's own: tests run beside each other.
  const std::string file_ =
      absl::StrCat(::testing::TempDir(), "/pipeline_commands_", getpid(), ".mdh");
};

TEST_F(PipelineCommands, CheckExplainsAPipeline) {
  const Ended checked = Mdh({"check", file_});
  ASSERT_EQ(checked.code, ExitCode::kOk) << checked.err;
  for (const char* line :
       {"layer\n  buffers\n    x        input, fp32 (4, 6), 96 bytes\n",
        "    h        temporary, fp32 (4, 5), 80 bytes\n",
        "    1        h = matmul(x, w): 120 points, 240 FLOP, digest ", "80 bytes of temporaries\n",
        "    activation in the epilogue of matmul: 1 step, 316 bytes, saves 160 bytes\n",
        "    unfused: 2 steps, 476 bytes\n", "  digest\n    "}) {
    EXPECT_THAT(checked.out, HasSubstr(line));
  }
  const nlohmann::json json = nlohmann::json::parse(Mdh({"check", file_, "--json"}).out);
  EXPECT_EQ(json["name"], "layer");
  EXPECT_EQ(json["buffers"][3]["role"], "output");
  EXPECT_EQ(json["steps"][1]["inputs"], (std::vector<std::string>{"h", "b"}));
  EXPECT_EQ(json["temporary_bytes"], 80);
  EXPECT_EQ(json["compulsory_bytes"], 316);
  EXPECT_EQ(json["partitions"][0]["saved_bytes"], 160);
  EXPECT_EQ(json["partitions"][1]["is_unfused"], true);
  EXPECT_EQ(json["digest"].get<std::string>().size(), 64u);
}

TEST_F(PipelineCommands, PrintWritesAPipelineThatIsTheSame) {
  const Ended text = Mdh({"print", file_, "M=8"});
  ASSERT_EQ(text.code, ExitCode::kOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("layer := pipeline("));
  v1::Pipeline message;
  ASSERT_TRUE(message.ParseFromString(Mdh({"print", file_, "M=8", "--format", "binpb"}).out));
  EXPECT_EQ(message.buffers(0).extents(0), 8);
  const Ended wrong = Mdh({"check", file_, "Q=8"});
  EXPECT_EQ(wrong.code, ExitCode::kBadExpression);
  EXPECT_THAT(wrong.err, HasSubstr("'Q'"));
}

}  // namespace
}  // namespace mdh::expression_commands_test
