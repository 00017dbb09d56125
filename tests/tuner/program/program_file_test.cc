// Specifications that are checked before anything runs.
#include "tuner/program/program_file.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/error_message.h"
#include "tests/source_path.h"
#include "tests/tuner/program/program_fixture.h"

namespace mdh::program_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kStudy = R"(
study:
  definitions: {N: 64}
  parameters:
    - {name: X, interval: {first: 1, last: 8}}
    - {name: MODE, set: {values: [fast, small]}}
)";

class ProgramFileTest : public ::testing::Test {
 protected:
  // Of the study above with this program.
  std::string ErrorOf(const std::string& program) {
    const std::string path = directory_.File("spec.yaml");
    std::ofstream(path) << kStudy << program;
    const std::string message = ErrorMessage(ReadProgramFile(path));
    // Without the folder's name.
    const size_t at = message.find(directory_.File(""));
    return at == std::string::npos
               ? message
               : message.substr(0, at) + message.substr(at + directory_.File("").size());
  }
  std::string KernelError(const std::string& fields) {
    const std::string needed =
        "  language: OPENCL\n  source: text\n  function: f\n  global_size: [N]\n";
    return ErrorOf("kernel:\n" + needed + fields);
  }

  TemporaryDirectory directory_;
};

TEST_F(ProgramFileTest, ReadsTheExamples) {
  const std::string folder = SourcePath("client/examples/");
  for (const char* name : {"matmul.yaml", "saxpy_opencl.json", "saxpy_cuda.yaml"}) {
    const auto file = ReadProgramFile(folder + name);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE(std::filesystem::equivalent(file->folder, folder));
    EXPECT_FALSE(file->program.study.parameters.empty());
  }
}

TEST_F(ProgramFileTest, FilesThatCannotBeRead) {
  const auto missing = ReadProgramFile(directory_.File("none.json"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorMessage(missing), HasSubstr("none.json: No such file"));
  EXPECT_EQ(ReadProgramFile(directory_.File("")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ProgramFileTest, ErrorsOfTheStudyHaveLines) {
  const std::string path = directory_.File("spec.yaml");
  std::ofstream(path) << kStudy << "  constraints:\n    - X > 1\n    - Y > 1\ncommand: {run: x}\n";
  EXPECT_THAT(ErrorMessage(ReadProgramFile(path)), HasSubstr("spec.yaml:9: study.constraints[1]"));
}

TEST_F(ProgramFileTest, Commands) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("'command' or 'kernel' is missing"));
  EXPECT_EQ(ErrorOf("command: {compile: x}"), "spec.yaml:7: command.run: is missing");
  EXPECT_THAT(ErrorOf("command:\n  run: echo {Z}\n"),
              StartsWith("spec.yaml:8: command.run: {Z} is no parameter or definition"));
  EXPECT_THAT(ErrorOf("command: {compile: 'echo {MODES}', run: x}"),
              HasSubstr("did you mean 'MODE'?"));
  EXPECT_THAT(ErrorOf("command: {run: 'awk {print'}"), HasSubstr("has no }"));
  EXPECT_THAT(ErrorOf("command: {run: x, cost_pattern: '(['}"),
              HasSubstr("command.cost_pattern: is no regular expression"));
  EXPECT_THAT(ErrorOf("command: {run: x, cost_pattern: 'cost'}"), HasSubstr("has no group"));
  EXPECT_THAT(ErrorOf("command: {run: x, repetitions: -1}"),
              HasSubstr("command.repetitions: must be 1..1000"));
  EXPECT_THAT(ErrorOf("command: {run: x, time_limit_seconds: -1}"),
              HasSubstr("command.time_limit_seconds: must be more than 0"));
  EXPECT_THAT(ErrorOf("command: {run: x, time_limit_seconds: nan}"),
              HasSubstr("command.time_limit_seconds: must be more than 0"));
}

TEST_F(ProgramFileTest, KernelsSourceAndGeometry) {
  EXPECT_THAT(ErrorOf("kernel: {function: f}"), HasSubstr("must be OPENCL or CUDA"));
  EXPECT_THAT(ErrorOf("kernel: {language: CUDA, function: f}"),
              HasSubstr("'source' or 'source_file' is missing or empty"));
  EXPECT_THAT(ErrorOf("kernel: {language: CUDA, function: f, source_file: none.cu}"),
              HasSubstr("kernel.source_file: cannot read none.cu: No such file"));
  EXPECT_THAT(ErrorOf("kernel: {language: CUDA, source: x}"),
              HasSubstr("kernel.function: is missing"));
  EXPECT_THAT(ErrorOf("kernel: {language: CUDA, source: x, function: f}"),
              HasSubstr("kernel.global_size: has 0 dimensions, it must have 1 to 3"));
  EXPECT_THAT(ErrorOf("kernel: {language: CUDA, source: x, function: f, global_size: [N]}"),
              HasSubstr("kernel.local_size: has 0 dimensions, global_size has 1"));
  EXPECT_THAT(KernelError("  local_size: [X, X]\n"),
              HasSubstr("kernel.local_size: has 2 dimensions, global_size has 1"));
  EXPECT_THAT(KernelError("  local_size: [Q]\n"), StartsWith("spec.yaml:12: kernel.local_size[0]"));
  EXPECT_THAT(KernelError("  local_size: [X > 1]\n"), HasSubstr("kernel.local_size[0]"));
  EXPECT_THAT(KernelError("  shared_bytes: X\n"), HasSubstr("is for CUDA only"));
  EXPECT_THAT(KernelError("  options: ['-D{Q}']\n"), HasSubstr("kernel.options[0]: {Q} is no"));
  EXPECT_THAT(KernelError("  repetitions: 5000\n"), HasSubstr("kernel.repetitions: must be"));
  EXPECT_THAT(KernelError("  time_limit_seconds: 1e9\n"), HasSubstr("kernel.time_limit_seconds"));
}

TEST_F(ProgramFileTest, KernelsArguments) {
  EXPECT_THAT(KernelError("  arguments: [{type: int, value: 1}]\n"),
              HasSubstr("kernel.arguments[0].type: there is no type 'int'; there are int8, "));
  EXPECT_THAT(KernelError("  arguments: [{type: int32}]\n"),
              HasSubstr("one of value, random, zeros, file and data is missing"));
  EXPECT_THAT(KernelError("  arguments: [{type: int32, value: Q}]\n"),
              HasSubstr("kernel.arguments[0].value: "));
  EXPECT_THAT(KernelError("  arguments: [{type: int32, value: MODE}]\n"),
              HasSubstr("kernel.arguments[0].value: "));
  EXPECT_THAT(KernelError("  arguments: [{type: int32, zeros: 'X >'}]\n"),
              HasSubstr("kernel.arguments[0].zeros: "));
  EXPECT_THAT(KernelError("  arguments: [{type: int32, file: none}]\n"),
              HasSubstr("kernel.arguments[0].file: cannot read none"));
  EXPECT_THAT(KernelError("  arguments: [{type: int32, data: AQID}]\n"),
              HasSubstr("kernel.arguments[0].data: 3 bytes are no elements of int32"));
  EXPECT_THAT(KernelError("  arguments: [{name: a, type: int32, value: 1}, "
                          "{name: a, type: int32, value: 1}]\n"),
              HasSubstr("there are two arguments called 'a'"));
}

TEST_F(ProgramFileTest, KernelsReferences) {
  const std::string arguments =
      "  arguments: [{name: a, type: int32, value: 1}, {name: x, type: int32, data: AQIDBA==}]\n";
  const auto error = [&](const std::string& expected) {
    return KernelError(arguments + "  expected: [" + expected + "]\n");
  };
  EXPECT_THAT(error("{argument: a, elements: x}"), HasSubstr("there is no buffer called 'a'"));
  EXPECT_THAT(error("{argument: x}"), HasSubstr("one of elements, file and data is missing"));
  EXPECT_THAT(error("{argument: x, elements: x > 1}"), HasSubstr("is no number but a bool"));
  EXPECT_THAT(error("{argument: x, elements: x + q}"), HasSubstr("kernel.expected[0].elements: "));
  EXPECT_THAT(error("{argument: x, elements: MODE}"), HasSubstr("kernel.expected[0].elements: "));
  EXPECT_THAT(error("{argument: x, data: AQI=}"), HasSubstr("2 bytes are no elements of int32"));
  EXPECT_THAT(error("{argument: x, data: AQIDBAECAwQ=}"), HasSubstr("has 8 bytes, the buffer 4"));
  EXPECT_THAT(error("{argument: x, file: none}"), HasSubstr("cannot read none"));
  EXPECT_THAT(error("{argument: x, elements: x, tolerance: -1}"),
              HasSubstr("kernel.expected[0].tolerance: must not be negative"));
  EXPECT_EQ(error("{argument: x, elements: a * x + N + X}"), "no error");
}

}  // namespace
}  // namespace mdh::program_file_test
