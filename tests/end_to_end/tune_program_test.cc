// mdh tune-program against a real daemon, and evaluate-program by its messages.
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "mdh/v1/program.pb.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/source_path.h"

namespace mdh::tune_program_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Costs 1..100; the best is X = 7, Y = 3. Of the others some are wrong, crash or do not compile.
constexpr const char* kSpec = R"(
study:
  display_name: a parabola
  parameters:
    - {name: X, interval: {first: 0, last: 9}}
    - {name: Y, interval: {first: 0, last: 9}}
  technique: exhaustive
  abort: evaluations(100)
command:
  compile: test {X} != 1
  run: >-
    if test {X} = 2; then kill -SEGV $$; fi; if test {X} = 3; then exit 3; fi;
    if test {X} = 4; then echo sorry; fi; if test {X} = 5; then kill -9 $PPID; sleep 1; fi;
    echo right; if test {X} != 6; then echo cost $((1 + ({X} - 7) * ({X} - 7) + ({Y} - 3) * ({Y} - 3)));
    fi
  cost_pattern: cost (.*)
)";

class TuneProgramTest : public DaemonTest {
 protected:
  std::string WriteSpec(const std::string& text, const std::string& name = "spec.yaml") const {
    std::ofstream(directory_.File(name)) << text;
    return directory_.File(name);
  }
};

TEST_F(TuneProgramTest, FindsTheBestAmongBadCandidates) {
  StartDaemon();
  const std::string best = directory_.File("best.json");
  const Ended tuned = Mdh({"tune-program", WriteSpec(kSpec), "--output", best});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out,
              StartsWith("a parabola (studies/1)\n  best       X=7, Y=3\n  cost       1"));
  EXPECT_THAT(tuned.out, HasSubstr("trials     100, of 100 configurations"));
  EXPECT_THAT(tuned.out, HasSubstr("10 compile error, 30 crash, 10 no cost"));
  EXPECT_THAT(tuned.out, Not(HasSubstr("\r")));
  const nlohmann::json written = nlohmann::json::parse(ReadFile(best));
  EXPECT_EQ(written["configuration"], (nlohmann::json{{"X", 7}, {"Y", 3}}));
  EXPECT_EQ(written["cost"], 1);
  EXPECT_EQ(written["study"], "studies/1");
  EXPECT_EQ(written["failed_trials"], 50);
  EXPECT_EQ(written["failures"]["crash"], 30);
  EXPECT_EQ(written["state"], "finished");
}

TEST_F(TuneProgramTest, ADryRunShowsTheSpaceAndOneWholeCommand) {
  const std::string folder = directory_.File("it's \"a\" folder");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/spec.yaml") << R"(
study:
  parameters:
    - {name: X, interval: {first: 1, last: 9}}
    - {name: Y, set: {values: [7]}}
command:
  compile: cp {spec}/spec.yaml "{work}/copy"
  run: test -s copy && echo {X}
  cost_pattern: (.*)
)";
  const Ended dry = RunProgram(
      {ProgramPath("mdh"), "tune-program", folder + "/spec.yaml", "--dry-run", "--trials", "5"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("  space      9 configurations\n"));
  EXPECT_THAT(dry.out, HasSubstr("until evaluations(5)"));
  EXPECT_THAT(dry.out, HasSubstr("it'\\''s \"a\" folder'/spec.yaml \"TRIAL_FOLDER/copy\""));
  EXPECT_THAT(dry.out, HasSubstr("Y=7"));
  // And this is how it runs.
  const Ended tuned = RunProgram({ProgramPath("mdh"), "tune-program", folder + "/spec.yaml",
                                  "--local", "--technique", "exhaustive", "--json"});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  const nlohmann::json report = nlohmann::json::parse(tuned.out);
  EXPECT_EQ(report["cost"], 1);
  EXPECT_EQ(report["cost_unit"], "as printed");
}

TEST_F(TuneProgramTest, WhatNeverCompilesEndsTheSearchWithItsError) {
  const Ended tuned = RunProgram({ProgramPath("mdh"), "tune-program", WriteSpec(R"(
study:
  parameters:
    - {name: X, interval: {first: 1, last: 100000}}
  technique: random
  abort: duration(1h)
command:
  compile: 'echo "a.c:{X}:1: fatal error: no such header" >&2; exit 1'
  run: echo 1
)"),
                                  "--local"});
  EXPECT_EQ(tuned.code, 1) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("all of its first 8 configurations fail alike"));
  EXPECT_THAT(tuned.err, HasSubstr("no such header"));
}

TEST_F(TuneProgramTest, AStudyHasAReport) {
  StartDaemon();
  ASSERT_EQ(Mdh({"tune-program", WriteSpec(kSpec), "--trials", "20"}).code, 0);
  const std::string page = directory_.File("study.html");
  const Ended report = Mdh({"report", "studies/1", "--output", page});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(ReadFile(page), HasSubstr("a parabola, studies/1"));
}

TEST_F(TuneProgramTest, WithoutADaemonTheResultIsTheSame) {
  StartDaemon();
  const std::string spec = WriteSpec(kSpec);
  const std::vector<std::string> words = {"tune-program", spec,     "--trials", "40",
                                          "--technique",  "random", "--seed",   "5"};
  nlohmann::json kept = MdhJson(words);
  std::vector<std::string> local = words;
  local.emplace_back("--local");
  nlohmann::json here = MdhJson(local);
  EXPECT_EQ(kept["trials"], 40);
  EXPECT_EQ(kept["study"], "studies/1");
  EXPECT_EQ(here["study"], "");
  kept.erase("study");
  here.erase("study");
  EXPECT_EQ(kept, here);
}

TEST_F(TuneProgramTest, SeveralEvaluationsAtATimeDoNotChangeTheTrials) {
  StartDaemon();
  const std::string spec = WriteSpec(kSpec);
  const nlohmann::json one =
      MdhJson({"tune-program", spec, "--local", "--trials", "30", "--technique", "random"});
  const nlohmann::json four = MdhJson(
      {"tune-program", spec, "--local", "--trials", "30", "--technique", "random", "--jobs", "4"});
  EXPECT_EQ(one, four);
}

TEST_F(TuneProgramTest, KernelsThroughTheDaemon) {
  StartDaemon();
  const std::string example = SourcePath("client/examples/saxpy_opencl.json");
  const Ended tuned = Mdh({"tune-program", example, "--trials", "12", "--json"});
  if (tuned.code == 1 && tuned.err.find("the program cannot be run") != std::string::npos) {
    ASSERT_THAT(tuned.err, HasSubstr("there is no ")) << "everything but a missing driver is wrong";
    EXPECT_EQ(Mdh({"study", "list", "--json"}).out.find("studies/1"), std::string::npos);
    GTEST_SKIP() << tuned.err;
  }
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const nlohmann::json found = nlohmann::json::parse(tuned.out);
  EXPECT_EQ(found["trials"], 12);
  EXPECT_EQ(found["failed_trials"], 0) << found["commonest_failure"];
  EXPECT_GT(found["cost"], 0);
}

TEST_F(TuneProgramTest, TheExampleInC) {
  const std::string example = SourcePath("client/examples/matmul.yaml");
  const nlohmann::json found = MdhJson({"tune-program", example, "--trials", "4", "--local"});
  EXPECT_EQ(found["failed_trials"], 0) << found["commonest_failure"];
}

// As many trials go on as the file `allowed` says; the others wait.
constexpr const char* kPatientSpec = R"(
study:
  parameters:
    - {name: X, interval: {first: 1, last: 12}}
  technique: exhaustive
command:
  run: >-
    echo {X} >> {spec}/started; n=$(wc -l < {spec}/started);
    while test $n -gt $(cat {spec}/allowed); do sleep 0.02; done; echo cost {X}
  cost_pattern: cost (.*)
)";

class PatientProgramTest : public TuneProgramTest {
 protected:
  void Allow(int trials) const {
    std::ofstream(directory_.File("new")) << trials;
    std::filesystem::rename(directory_.File("new"), directory_.File("allowed"));
  }
  void WaitUntilStarted(int trials) const {
    EXPECT_TRUE(Eventually([&] {
      const std::string started = ReadFile(directory_.File("started"));
      return std::count(started.begin(), started.end(), '\n') >= trials;
    }));
  }
};

TEST_F(PatientProgramTest, CtrlCKeepsWhatWasFoundAndSaysHowToGoOn) {
  StartDaemon();
  Allow(2);
  Program tuning(MdhWords({"tune-program", WriteSpec(kPatientSpec)}));
  WaitUntilStarted(3);
  tuning.Signal(SIGINT);
  EXPECT_EQ(tuning.Wait(), 6) << tuning.err();
  EXPECT_THAT(tuning.out(), AllOf(HasSubstr("best       X="), HasSubstr("trials     2, of 12")));
  EXPECT_THAT(tuning.err(), AllOf(HasSubstr("interrupted"), HasSubstr("--resume studies/1")));
}

TEST_F(PatientProgramTest, GoesOnWhenTheDaemonWasKilled) {
  StartDaemon();
  Allow(2);
  Program tuning(MdhWords({"tune-program", WriteSpec(kPatientSpec), "--json"}));
  WaitUntilStarted(3);
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  Allow(100);
  EXPECT_TRUE(
      Eventually([&] { return tuning.err().find("waiting for the daemon") != std::string::npos; }));
  std::filesystem::remove(socket_);
  StartDaemon();
  EXPECT_EQ(tuning.Wait(), 0) << tuning.err();
  const nlohmann::json found = nlohmann::json::parse(tuning.out());
  EXPECT_EQ(found["trials"], 12);
  EXPECT_EQ(found["cost"], 1);
}

TEST_F(PatientProgramTest, ResumesAfterClientAndDaemonWereStopped) {
  StartDaemon();
  const std::string spec = WriteSpec(kPatientSpec);
  Allow(100);
  const nlohmann::json whole = MdhJson({"tune-program", spec, "--local"});
  std::filesystem::remove(directory_.File("started"));
  Allow(3);
  Program tuning(MdhWords({"tune-program", spec, "--lease", "1s"}));
  WaitUntilStarted(4);
  tuning.Signal(SIGINT);
  EXPECT_EQ(tuning.Wait(), 6) << tuning.err();
  StopDaemon();
  StartDaemon();
  Allow(100);
  nlohmann::json resumed = MdhJson({"tune-program", spec, "--resume", "1"});
  EXPECT_EQ(resumed["study"], "studies/1");
  resumed["study"] = "";
  EXPECT_EQ(resumed, whole);
  // A study that has ended shows what it found.
  EXPECT_EQ(MdhJson({"tune-program", spec, "--resume", "studies/1"})["trials"], 12);
}

TEST_F(PatientProgramTest, ResumesAfterTheClientWasKilled) {
  StartDaemon();
  const std::string spec = WriteSpec(kPatientSpec);
  Allow(3);
  const std::string temporary = directory_.File("temporary");
  std::filesystem::create_directory(temporary);
  Program tuning(MdhWords({"tune-program", spec, "--lease", "1s"}), {"TMPDIR=" + temporary});
  WaitUntilStarted(4);
  tuning.Signal(SIGKILL);
  tuning.Wait();
  // What evaluated for it goes, too, with the command that runs and its folder.
  EXPECT_TRUE(Eventually([&] { return std::filesystem::is_empty(temporary); }));
  EXPECT_EQ(MdhJson({"study", "show", "1"})["outstanding"], "1");
  Allow(100);
  const nlohmann::json resumed = MdhJson({"tune-program", spec, "--resume", "1"});
  EXPECT_EQ(resumed["trials"], 12);
  EXPECT_EQ(resumed["cost"], 1);
  EXPECT_EQ(MdhJson({"study", "show", "1"})["outstanding"], "0");
  // The one that was lost was evaluated again after its lease, and no other.
  const std::string all = ReadFile(directory_.File("started"));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 13);
}

TEST_F(TuneProgramTest, CostsAreTimesWithoutAPattern) {
  const nlohmann::json found =
      MdhJson({"tune-program",
               WriteSpec("study: {parameters: [{name: X, interval: {first: 0, last: 1}}]}\n"
                         "command: {run: 'if test {X} = 1; then sleep 0.3; fi'}"),
               "--local"});
  EXPECT_EQ(found["configuration"]["X"], 0);
  EXPECT_GT(found["cost"], 0);
  EXPECT_LT(found["cost"], 0.3e9);
}

TEST_F(TuneProgramTest, CommandsThatHangEndWithAllThatTheyStarted) {
  const Ended tuned = Mdh(
      {"tune-program",
       WriteSpec(absl::StrCat("study: {parameters: [{name: X, interval: {first: 0, last: 3}}]}\n"
                              "command:\n  time_limit_seconds: 5\n  cost_pattern: cost (.*)\n"
                              "  run: >-\n    if test {X} = 2; then sleep 1000 & echo $! > ",
                              directory_.File("pid"), "; wait; fi; echo cost {X}")),
       "--local", "--json"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const nlohmann::json found = nlohmann::json::parse(tuned.out);
  EXPECT_EQ(found["trials"], 4);
  EXPECT_EQ(found["failures"], (nlohmann::json{{"time-out", 1}}));
  EXPECT_EQ(found["commonest_failure"], "time-out: the run takes longer than 5 s");
  EXPECT_NE(kill(std::stoi(ReadFile(directory_.File("pid"))), 0), 0) << "it still runs";
}

TEST_F(TuneProgramTest, OtherSpecificationsDoNotResume) {
  StartDaemon();
  const std::string spec = WriteSpec(kSpec);
  ASSERT_EQ(Mdh({"tune-program", spec, "--trials", "2"}).code, 0);
  const Ended other = Mdh({"tune-program", WriteSpec(kPatientSpec, "other"), "--resume", "1"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("studies/1 searches another space than"));
  EXPECT_EQ(Mdh({"tune-program", spec, "--resume", "77"}).code, 4);
  EXPECT_EQ(Mdh({"tune-program", spec, "--resume", "1", "--local"}).code, 2);
  EXPECT_EQ(Mdh({"tune-program", spec, "--resume", "1", "--trials", "3"}).code, 2);
}

TEST_F(TuneProgramTest, ErrorsAndTheirExitCodes) {
  const std::string spec = WriteSpec(kSpec);
  EXPECT_EQ(Mdh({"tune-program", spec}).code, 5);
  EXPECT_EQ(Mdh({"tune-program", directory_.File("none")}).code, 3);
  EXPECT_EQ(Mdh({"tune-program", spec, "--budget", "soon", "--local"}).code, 2);
  EXPECT_EQ(Mdh({"tune-program", spec, "--trials", "2", "--local", "--output", "/none/x"}).code, 7);
  const Ended wrong = Mdh({"tune-program", WriteSpec("study: {parameters: 3}", "w"), "--local"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("w:1: study.parameters: a list is expected, not '3'"));
  const std::string empty =
      "study: {parameters: [{name: X, interval: {first: 1, last: 3}}], constraints: [X > 3]}\n"
      "command: {run: x}";
  const Ended none = Mdh({"tune-program", WriteSpec(empty, "e"), "--local"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("X > 3"));
  const std::string failing =
      "study: {parameters: [{name: X, interval: {first: 1, last: 3}}]}\ncommand: {run: exit 1}";
  const Ended failed = Mdh({"tune-program", WriteSpec(failing, "f"), "--local"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("all trials failed"));
  EXPECT_THAT(failed.out, HasSubstr("most often crash: exit status 1"));
}

TEST_F(TuneProgramTest, AnswersOtherProgramsByMessages) {
  v1::EvaluateRequest first;
  auto& parameter = *first.mutable_program()->mutable_study()->add_parameters();
  parameter.set_name("X");
  parameter.mutable_interval()->set_first(1);
  parameter.mutable_interval()->set_last(5);
  first.mutable_program()->mutable_command()->set_run(
      "if test $X = 2; then kill -9 $PPID; fi; echo cost $X");
  first.mutable_program()->mutable_command()->set_cost_pattern("cost (.*)");
  std::ofstream requests(directory_.File("requests"), std::ios::binary);
  for (const int x : {1, 2, 3, 9}) {
    v1::EvaluateRequest request;
    if (x == 1) request = first;
    (*request.mutable_configuration()->mutable_values()->mutable_fields())["X"].set_number_value(x);
    google::protobuf::util::SerializeDelimitedToOstream(request, &requests);
  }
  requests.close();
  const Ended ended = RunProgram(
      {"/bin/sh", "-c",
       absl::StrCat(ProgramPath("mdh"), " evaluate-program < ", directory_.File("requests"))});
  EXPECT_EQ(ended.code, 0) << ended.err;
  google::protobuf::io::ArrayInputStream answers(ended.out.data(),
                                                 static_cast<int>(ended.out.size()));
  std::vector<std::string> outcomes;
  v1::EvaluateResponse response;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&response, &answers, nullptr)) {
    outcomes.push_back(response.has_cost() ? absl::StrCat(response.cost()) : response.failure());
    response.Clear();
  }
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_EQ(outcomes[0], "1");
  EXPECT_THAT(outcomes[1], StartsWith("crash: "));
  EXPECT_EQ(outcomes[2], "3");
  EXPECT_THAT(outcomes[3], StartsWith("cannot run: "));
  const Ended garbage = RunProgram(
      {"/bin/sh", "-c", absl::StrCat("echo garbage | ", ProgramPath("mdh"), " evaluate-program")});
  EXPECT_EQ(garbage.code, 2);
}

TEST_F(TuneProgramTest, TheEvaluatorByHandSaysWhatItIs) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--socket-fd=x", "--folder=/tmp"}, {"--help"}}) {
    std::vector<std::string> words = {ProgramPath("mdh-evaluator")};
    words.insert(words.end(), options.begin(), options.end());
    const Ended ended = RunProgram(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("usage: mdh-evaluator --socket-fd=NUMBER"));
  }
}

}  // namespace
}  // namespace mdh::tune_program_test
