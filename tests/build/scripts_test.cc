// The scripts of deploy/ refuse what they do not understand, before they install or build anything.
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"

namespace mdh::scripts_test {
namespace {

using ::testing::HasSubstr;

struct ScriptEnd {
  int exit_code;
  std::string output;  // standard output and error
};

ScriptEnd RunScript(const std::string& words) {
  FILE* pipe = popen((SourcePath("deploy/") + words + " 2>&1 </dev/null").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    output.append(buffer, count);
  }
  const int state = pclose(pipe);
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, output};
}

TEST(Scripts, PackagesListsAndNamesAnUnknownSet) {
  const ScriptEnd list = RunScript("packages --list build test benchmarks");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("libgrpc++-dev\n"));
  EXPECT_THAT(list.output, HasSubstr("libdnnl-dev\n"));
  const ScriptEnd failover = RunScript("packages --list fleet failover");
  EXPECT_THAT(failover.output, HasSubstr("postgresql\n"));
  EXPECT_THAT(failover.output, HasSubstr("patroni\n"));
  EXPECT_THAT(failover.output, HasSubstr("etcd-server\n"));
  const ScriptEnd unknown = RunScript("packages nothing");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("packages: error: there is no set 'nothing'"));
}

TEST(Scripts, BenchNamesAnUnknownGroupAndOption) {
  const ScriptEnd group = RunScript("bench tpu");
  EXPECT_EQ(group.exit_code, 2);
  EXPECT_THAT(
      group.output,
      HasSubstr("bench: error: there is no group 'tpu' (groups: bounds bundle busy conflicts cpu "
                "decompositions defaults dots fleet fusion gpu pinned portability pytorch search "
                "service spaces teml tuners tuning)"));
  EXPECT_THAT(RunScript("bench cpu --family gram").output,
              HasSubstr("bench: error: --family needs --sample"));
  EXPECT_THAT(RunScript("bench cpu --sample 2 --family dots").output,
              HasSubstr("there is no family 'dots'; there are products"));
  EXPECT_THAT(RunScript("bench bounds --sample 2").output, HasSubstr("unknown option '--sample'"));
  EXPECT_THAT(RunScript("bench cpu --fast").output, HasSubstr("unknown option '--fast'"));
  EXPECT_THAT(RunScript("bench cpu --json").output, HasSubstr("--json needs a value"));
  EXPECT_THAT(RunScript("bench cpu --json /nowhere/f").output,
              HasSubstr("the folder of /nowhere/f is not there"));
}

TEST(Scripts, BenchReportsResultsOfTheCpuAlone) {
  const ScriptEnd missing = RunScript("bench cpu --report /nowhere/results.json");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("report: error: cannot read /nowhere/results.json"));
  EXPECT_THAT(RunScript("bench cpu --report").output, HasSubstr("--report needs a value"));
  EXPECT_THAT(RunScript("bench search --report x").output, HasSubstr("unknown option '--report'"));
}

TEST(Scripts, BenchGpuChecksItsOptionsAndListsCases) {
  const ScriptEnd wrong = RunScript("bench gpu --budget soon");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("'soon' is no number of seconds"));
  const ScriptEnd list = RunScript("bench gpu --dry-run --cases 'dot_*' --budget 7");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("dot_16777216"));
  EXPECT_THAT(list.output, HasSubstr("cuBLAS, torch.compile"));
  EXPECT_THAT(list.output, HasSubstr("2 cases, 14 s of tuning"));
  const ScriptEnd none = RunScript("bench gpu --dry-run --cases nothing");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.output, HasSubstr("bench gpu: error: no case matches 'nothing'"));
  const ScriptEnd outside = RunScript("bench-gpu --dry-run");
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_THAT(outside.output, HasSubstr("run this from the unpacked package"));
}

TEST(Scripts, BenchPytorchChecksItsOptions) {
  EXPECT_EQ(RunScript("bench dots --threads many").exit_code, 2);
  const ScriptEnd wrong = RunScript("bench pytorch --budget 0");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("--budget must be positive"));
  EXPECT_EQ(RunScript("bench pytorch --cases nothing").exit_code, 1);
}

TEST(Scripts, QuickstartRefusesABudgetThatIsNoNumber) {
  const ScriptEnd end = RunScript("quickstart --budget soon");
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("--budget needs a number of seconds"));
  EXPECT_EQ(RunScript("quickstart --slow").exit_code, 2);
}

TEST(Scripts, TestNamesAnUnknownOptionAndLabel) {
  EXPECT_THAT(RunScript("test --slow").output, HasSubstr("unknown option '--slow'"));
  const ScriptEnd end = RunScript("test --label nothing");
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("there are no tests called nothing"));
}

TEST(Scripts, FuzzRefusesATimeThatIsNoNumber) {
  const ScriptEnd end = RunScript("fuzz soon");
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("fuzz: error: 'soon' is no number of seconds"));
}

TEST(Scripts, PackageNamesAnUnknownOptionAndAFolderThatIsNoBuild) {
  EXPECT_THAT(RunScript("package --fast").output, HasSubstr("unknown option '--fast'"));
  EXPECT_THAT(RunScript("package --build").output, HasSubstr("--build needs a folder"));
  const ScriptEnd end = RunScript("package --build /nowhere");
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("package: error: /nowhere is no build folder"));
}

TEST(Scripts, GpuCheckRefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(RunScript("gpu-check --fast logs").output, HasSubstr("unknown option '--fast'"));
  EXPECT_THAT(RunScript("gpu-check --cuda many logs").output, HasSubstr("--cuda needs a number"));
  EXPECT_THAT(RunScript("gpu-check").output, HasSubstr("the folder for the logs is missing"));
  const ScriptEnd end = RunScript("gpu-check /tmp/logs");
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("run this from the unpacked package"));
}

TEST(Scripts, HelpShowsTheOptions) {
  EXPECT_THAT(RunScript("quickstart --help").output, HasSubstr("--budget SECONDS"));
  EXPECT_THAT(RunScript("bench --help").output, HasSubstr("--cases PATTERN"));
  EXPECT_THAT(RunScript("test --help").output, HasSubstr("--everything"));
  EXPECT_THAT(RunScript("packages --help").output, HasSubstr("skipped without it"));
  EXPECT_THAT(RunScript("package --help").output, HasSubstr("--build FOLDER"));
  EXPECT_THAT(RunScript("gpu-check --help").output, HasSubstr("--budget SECONDS"));
  EXPECT_THAT(RunScript("fuzz --help").output, HasSubstr("fuzz [SECONDS]"));
}

}  // namespace
}  // namespace mdh::scripts_test
