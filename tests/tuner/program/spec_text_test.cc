// JSON and YAML as messages, and what is said about errors.
#include "tuner/program/spec_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/program.pb.h"
#include "tests/error_message.h"

namespace mdh::spec_text_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  v1::ProgramSpec spec;
  return ErrorMessage(ReadSpecText("f.yaml", text, spec));
}

v1::ProgramSpec Read(const std::string& text) {
  v1::ProgramSpec spec;
  EXPECT_EQ(ErrorMessage(ReadSpecText("f.yaml", text, spec)), "no error");
  return spec;
}

TEST(SpecText, JsonAndYamlGiveTheSameMessage) {
  const v1::ProgramSpec json = Read(R"({
    "study": {
      "displayName": "both",
      "parameters": [
        {"name": "A", "interval": {"first": 1, "last": "8", "step": 2}},
        {"name": "B", "set": {"values": [true, false]}},
        {"name": "C", "set": {"values": ["1", "x"]}},
        {"name": "D", "set": {"values": [1, 2.5], "real": true}}],
      "definitions": {"N": "64", "M": "N + 1"},
      "seed": 7,
      "start": [{"values": {"A": 3, "B": true, "C": "1", "D": 2.5}}]},
    "command": {"run": "true", "time_limit_seconds": 1.5}})");
  const v1::ProgramSpec yaml = Read(R"(
study:
  display_name: both
  parameters:
    - {name: A, interval: {first: 1, last: 8, step: 2}}
    - name: B
      set: {values: [true, false]}
    - {name: C, set: {values: ["1", x]}}
    - {name: D, set: {values: [1, 2.5], real: true}}
  definitions: {N: 64, M: N + 1}
  seed: 7
  start:
    - values: {A: 3, B: true, C: "1", D: 2.5}
command:
  run: "true"
  time_limit_seconds: 1.5
)");
  EXPECT_EQ(json.DebugString(), yaml.DebugString());
  EXPECT_EQ(json.study().definitions().at("N"), "64");
  EXPECT_EQ(json.study().parameters(2).set().values(0).string_value(), "1");
  EXPECT_EQ(json.study().parameters(3).set().values(0).number_value(), 1);
}

TEST(SpecText, ReadsEnumeratorsAndBytes) {
  const v1::ProgramSpec spec =
      Read("kernel: {language: opencl, arguments: [{type: int8, data: AQID}]}");
  EXPECT_EQ(spec.kernel().language(), v1::OPENCL);
  EXPECT_EQ(spec.kernel().arguments(0).data(), "\x01\x02\x03");
}

TEST(SpecText, SaysWhereFieldsAre) {
  v1::ProgramSpec spec;
  const auto lines = ReadSpecText("f", "study:\n  constraints:\n    - A\n    - B\n", spec);
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->at("study"), 1);
  EXPECT_EQ(lines->at("study.constraints[1]"), 4);
}

TEST(SpecText, ErrorsNameFileLineAndField) {
  EXPECT_EQ(ErrorOf("study:\n  constraint: []\n"),
            "f.yaml:2: study.constraint: there is no such field; did you mean 'constraints'?");
  EXPECT_THAT(ErrorOf("zzzzzz: 1"), HasSubstr("there are study, command, kernel"));
  EXPECT_EQ(ErrorOf("study: {seed: 1, seed: 2}"), "f.yaml:1: study.seed: is given twice");
  EXPECT_EQ(ErrorOf("study:\n  seed: -1\n"),
            "f.yaml:2: study.seed: a non-negative integer of 64 bits is expected, not '-1'");
  EXPECT_EQ(ErrorOf("study: {lookahead: many}"),
            "f.yaml:1: study.lookahead: an integer of 32 bits is expected, not 'many'");
  EXPECT_EQ(ErrorOf("study: {parameters: [{name: A, interval: {first: 1.5}}]}"),
            "f.yaml:1: study.parameters[0].interval.first: an integer of 64 bits is expected, not "
            "'1.5'");
  EXPECT_EQ(ErrorOf("command: {time_limit_seconds: soon}"),
            "f.yaml:1: command.time_limit_seconds: a number is expected, not 'soon'");
  EXPECT_EQ(ErrorOf("study: {parameters: [{set: {real: maybe}}]}"),
            "f.yaml:1: study.parameters[0].set.real: true or false is expected, not 'maybe'");
  EXPECT_EQ(ErrorOf("kernel: {language: METAL}"),
            "f.yaml:1: kernel.language: one of OPENCL, CUDA is expected, not 'METAL'");
  EXPECT_EQ(ErrorOf("kernel: {arguments: [{data: '***'}]}"),
            "f.yaml:1: kernel.arguments[0].data: bytes in base 64 are expected");
  EXPECT_EQ(ErrorOf("command: {run: [a]}"),
            "f.yaml:1: command.run: a text is expected, not a list");
  EXPECT_EQ(ErrorOf("study: {constraints: A}"),
            "f.yaml:1: study.constraints: a list is expected, not 'A'");
  EXPECT_EQ(ErrorOf("study: 3"), "f.yaml:1: study: a map is expected, not '3'");
  EXPECT_EQ(ErrorOf("study: {definitions: [N]}"),
            "f.yaml:1: study.definitions: a map is expected, not a list");
  EXPECT_EQ(ErrorOf("study: {definitions: {N: [1]}}"),
            "f.yaml:1: study.definitions.N: a text is expected, not a list");
  EXPECT_EQ(ErrorOf("study: {definitions: {N: 1, N: 2}}"),
            "f.yaml:1: study.definitions.N: is given twice");
  EXPECT_EQ(ErrorOf("study: {start: [{values: {A: 1, A: 2}}]}"),
            "f.yaml:1: study.start[0].values.A: is given twice");
  EXPECT_EQ(ErrorOf("study: {start: [{values: {A: ~}}]}"),
            "f.yaml:1: study.start[0].values.A: a value is expected, not nothing");
}

TEST(SpecText, OnlyOneOfSeveralFieldsMayBeGiven) {
  EXPECT_EQ(ErrorOf("command: {run: x}\nkernel: {function: f}\n"),
            "f.yaml:2: kernel: only one of this and 'command' may be given");
}

TEST(SpecText, SaysWhatIsNoText) {
  EXPECT_THAT(ErrorOf("{\"study\": {"), StartsWith("f.yaml:1:"));
  EXPECT_THAT(ErrorOf("a: b: c"), StartsWith("f.yaml:1:5: "));
  EXPECT_EQ(ErrorOf("- 1"), "f.yaml:1: a map of fields is expected, not a list");
  EXPECT_EQ(ErrorOf(""), "f.yaml:1: a map of fields is expected, not nothing");
}

TEST(SpecText, AddsLinesToErrorsThatBeginWithAField) {
  const SpecLines lines = {{"kernel", 3}, {"kernel.arguments[1]", 7}};
  const auto located = [&](const std::string& message) {
    return std::string(WithLine(absl::InvalidArgumentError(message), "f.json", lines).message());
  };
  EXPECT_EQ(located("kernel.arguments[1].type: no"), "f.json:7: kernel.arguments[1].type: no");
  EXPECT_EQ(located("kernel.function: is missing"), "f.json:3: kernel.function: is missing");
  EXPECT_EQ(located("study.seed: no"), "f.json: study.seed: no");
  EXPECT_EQ(located("nothing"), "f.json: nothing");
  EXPECT_EQ(WithLine(absl::InternalError("kernel: x"), "f", lines).message(), "kernel: x");
}

}  // namespace
}  // namespace mdh::spec_text_test
