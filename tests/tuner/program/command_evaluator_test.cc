// Programs of commands: costs, and every way to fail.
#include "tuner/program/command_evaluator.h"

#include <signal.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/tuner/program/program_fixture.h"

namespace mdh::command_evaluator_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kStudy = R"(
study:
  definitions: {N: X * 10, Q: 100 // (X - 1)}
  parameters:
    - {name: X, interval: {first: 1, last: 8}}
    - {name: MODE, set: {values: [fast, small one]}}
    - {name: FLAG, set: {values: [true, false]}}
    - {name: ORDER, permutation: {items: [i, j, k]}}
command:
  time_limit_seconds: 20
)";

class CommandEvaluatorTest : public ::testing::Test {
 protected:
  void SetUp() override { AdoptOrphans(); }

  // Of X = 3 and the first values of all others.
  std::string Evaluate(const std::string& commands, int x = 3) {
    program_ = ProgramFrom(std::string(kStudy) + commands, "/the spec");
    CommandEvaluator evaluator(program_, directory_.path().string());
    const std::string outcome = Outcome(evaluator.Evaluate(ConfigurationFrom(
        absl::StrCat("X: ", x, ", MODE: small one, FLAG: true, ORDER: [k, i, j]"))));
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << "a trial left its folder";
    return outcome;
  }

  TemporaryDirectory directory_;
  TunableProgram program_;
};

TEST_F(CommandEvaluatorTest, FillsInValuesAndReadsTheLastCost) {
  EXPECT_EQ(Evaluate("  run: 'echo cost 1; echo cost {N}.5'\n  cost_pattern: 'cost ([0-9.]+)'\n"),
            "cost 30.5");
}

TEST_F(CommandEvaluatorTest, CompilesOnceAndRunsOften) {
  EXPECT_EQ(Evaluate("  compile: echo 9 > count\n"
                     "  run: 'n=$(cat count); n=$((n - 1)); echo $n | tee count'\n"
                     "  cost_pattern: '([0-9]+)'\n  repetitions: 4\n"),
            "cost 5");
}

TEST_F(CommandEvaluatorTest, CommandsSeeFoldersAndEnvironment) {
  const std::string run =
      "  run: >-\n    test \"$(pwd)\" = {work} && test \"{spec}\" = '/the spec' && test $X = 3 &&\n"
      "    test \"$MODE\" = 'small one' && test {FLAG} = 1 && test {ORDER} = k,i,j &&\n"
      "    test {Q} = 50 && test \"$ORDER\" = k,i,j && test \"{{x\" = \"$(printf '\\173x')\"\n";
  EXPECT_THAT(Evaluate(run), StartsWith("cost "));
}

TEST_F(CommandEvaluatorTest, WithoutPatternTheTimeIsTheCost) {
  double time_ns = 0;
  const std::string outcome = Evaluate("  run: sleep 0.05\n");
  ASSERT_TRUE(absl::SimpleAtod(outcome.substr(5), &time_ns)) << outcome;
  EXPECT_GE(time_ns, 50e6);
}

TEST_F(CommandEvaluatorTest, CostsMayBeOnStandardError) {
  EXPECT_EQ(Evaluate("  run: 'echo 7 >&2'\n  cost_pattern: '([0-9]+)'\n"), "cost 7");
}

TEST_F(CommandEvaluatorTest, PatternsMayHaveAnchorsPerLine) {
  EXPECT_EQ(Evaluate("  run: 'echo 1; echo 2 s; echo 3x'\n  cost_pattern: '^([0-9]+)( s)?$'\n"),
            "cost 2");
}

TEST_F(CommandEvaluatorTest, CompileErrors) {
  EXPECT_EQ(Evaluate("  compile: 'echo bad >&2; exit 2'\n  run: 'true'\n"),
            "compile error: exit status 2:\nbad");
  EXPECT_EQ(Evaluate("  compile: 'kill -SEGV $$'\n  run: 'true'\n"),
            "compile error: SIGSEGV (segmentation fault)");
}

TEST_F(CommandEvaluatorTest, LaunchErrors) {
  EXPECT_THAT(Evaluate("  run: ./missing\n"),
              AllOf(StartsWith("launch error: exit status 127"), HasSubstr("missing")));
  EXPECT_THAT(Evaluate("  run: /etc/passwd\n"), StartsWith("launch error: exit status 126"));
  EXPECT_THAT(Evaluate("  run: echo {Q}\n", 1),
              AllOf(StartsWith("launch error: Q: division by"), HasSubstr("X = 1")));
}

TEST_F(CommandEvaluatorTest, Crashes) {
  EXPECT_EQ(Evaluate("  run: 'echo why; exit 3'\n"), "crash: exit status 3:\nwhy");
  EXPECT_EQ(Evaluate("  run: 'kill -SEGV $$'\n"), "crash: SIGSEGV (segmentation fault)");
  EXPECT_EQ(Evaluate("  run: \"sh -c 'kill -FPE $$'; exit $?\"\n").substr(0, 13), "crash: SIGFPE");
}

TEST_F(CommandEvaluatorTest, WrongResultsAndMissingCosts) {
  EXPECT_EQ(Evaluate("  run: echo sum 4\n  expected_output: sum 5\n"),
            "wrong result: the output does not contain 'sum 5':\nsum 4");
  EXPECT_THAT(Evaluate("  run: echo sum 5\n  expected_output: sum 5\n"), StartsWith("cost "));
  EXPECT_EQ(Evaluate("  run: echo none\n  cost_pattern: 'cost (.*)'\n"),
            "no cost: the output has no cost_pattern with a number:\nnone");
  EXPECT_THAT(Evaluate("  run: echo cost much\n  cost_pattern: 'cost (.*)'\n"),
              StartsWith("no cost: "));
  EXPECT_EQ(Evaluate("  run: echo cost inf\n  cost_pattern: 'cost (.*)'\n"),
            "no cost: it is not finite");
}

TEST_F(CommandEvaluatorTest, OutputIsBounded) {
  const std::string run = "  run: 'yes | head -c 20000000'\n";
  EXPECT_EQ(Evaluate(run + "  cost_pattern: '([0-9]+)'\n"), "no cost: it prints more than 16 MiB");
  EXPECT_THAT(Evaluate(run), StartsWith("cost "));
  // Longer lines than a regular expression can take.
  EXPECT_EQ(Evaluate("  run: \"head -c 3000000 /dev/zero | tr '\\\\0' x; echo; echo 4\"\n"
                     "  cost_pattern: '.*([0-9]+)'\n"),
            "cost 4");
}

// Whether the process whose number a file holds is gone.
bool IsGone(const std::string& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  return pid > 0 && kill(pid, 0) != 0;
}

TEST_F(CommandEvaluatorTest, TimeOutsEndTheWholeTree) {
  TemporaryDirectory pids;
  program_ = ProgramFrom(
      absl::StrCat("study: {parameters: [{name: X, interval: {first: 1, last: 2}}]}\ncommand:\n"
                   "  time_limit_seconds: 0.5\n  run: >-\n    sleep 1000 & echo $! > ",
                   pids.File("child"), "; setsid sh -c 'echo $$ > ", pids.File("other"),
                   "; exec sleep 1000' & sleep 1000\n"));
  CommandEvaluator evaluator(program_, directory_.path().string());
  EXPECT_EQ(Outcome(evaluator.Evaluate(ConfigurationFrom("X: 1"))),
            "time-out: the run takes longer than 0.5 s");
  EXPECT_TRUE(IsGone(pids.File("child")));
  EXPECT_TRUE(IsGone(pids.File("other"))) << "a process in another session was left";
}

TEST_F(CommandEvaluatorTest, CompilationsTimeOut) {
  program_ = ProgramFrom(
      "study: {parameters: [{name: X, interval: {first: 1, last: 2}}]}\n"
      "command: {compile: sleep 1000, run: 'true', time_limit_seconds: 0.2}\n");
  CommandEvaluator evaluator(program_, directory_.path().string());
  EXPECT_EQ(Outcome(evaluator.Evaluate(ConfigurationFrom("X: 1"))),
            "time-out: the compilation takes longer than 0.2 s");
}

TEST_F(CommandEvaluatorTest, WhatRunsInTheBackgroundEndsWithTheRun) {
  TemporaryDirectory pids;
  EXPECT_THAT(Evaluate("  run: 'sleep 1000 & echo $! > " + pids.File("child") + "'\n"),
              StartsWith("cost "));
  EXPECT_TRUE(IsGone(pids.File("child")));
}

TEST_F(CommandEvaluatorTest, ConfigurationsOfOtherPrograms) {
  program_ = ProgramFrom(std::string(kStudy) + "  run: 'true'\n");
  CommandEvaluator evaluator(program_, directory_.path().string());
  const auto response = evaluator.Evaluate(ConfigurationFrom("X: 99"));
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CommandEvaluatorTest, FoldersThatCannotBeMade) {
  program_ = ProgramFrom(
      "study: {parameters: [{name: X, interval: {first: 1, last: 2}}]}\n"
      "command: {run: 'true'}\n");
  CommandEvaluator evaluator(program_, directory_.File("missing"));
  EXPECT_THAT(Outcome(evaluator.Evaluate(ConfigurationFrom("X: 1"))),
              HasSubstr("cannot make a folder in"));
}

}  // namespace
}  // namespace mdh::command_evaluator_test
