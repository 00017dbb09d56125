#include "tuner/measure/compile/compilers.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"
#include "tuner/process/clock.h"

namespace mdh::compilers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr int64_t kCompilersLimit = 30'000'000'000;

class CompilersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareToSupervise(); }

  Result<Compilers> Find(const std::string& path) {
    return Compilers::Find(path, directory_.path(), 2, supervisor_);
  }
  Compilers FindAll() { return *Find(std::getenv("PATH")); }

  // A program in a folder of its own that does `script`.
  std::string FolderWith(const std::string& name, const std::string& script) {
    const std::filesystem::path folder = directory_.path() / ("folder_of_" + name);
    std::filesystem::create_directory(folder);
    std::ofstream(folder / name) << "#!/bin/sh\n" << script << "\n";
    chmod((folder / name).c_str(), 0755);
    return folder;
  }

  TemporaryDirectory directory_;
  PatientSupervisor supervisor_;
};

TEST_F(CompilersTest, FindsAWorkingCompilerAndItsVersion) {
  const Compilers compilers = FindAll();
  EXPECT_THAT(compilers.Description(), MatchesRegex("(gcc|clang) [0-9]+(\\.[0-9]+)*.*"));
}

TEST_F(CompilersTest, NoCompilerIsAnErrorThatSaysWhatToInstall) {
  const auto compilers = Find("");
  EXPECT_EQ(compilers.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(compilers.status().message(), "no C compiler found: install gcc or clang");
}

TEST_F(CompilersTest, LibrariesThatCannotBeNamedAreLeftToTheCompiler) {
  const Compilers all = FindAll();
  if (!all.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  // One that does not tell where libraries are, as other programs in the place of gcc.
  const std::string gcc = all.program(Compiler::kGcc)->path;
  const std::string folder =
      FolderWith("gcc", "case $1 in -print-file-name=*) echo /nowhere/libgomp.so ;; *) exec " +
                            gcc + " \"$@\" ;; esac");
  const Result<Compilers> compilers = Find(folder + ":/usr/bin:/bin");
  ASSERT_TRUE(compilers.ok()) << compilers.status();
  ASSERT_TRUE(compilers->program(Compiler::kGcc));
  EXPECT_EQ(compilers->program(Compiler::kGcc)->libraries, std::vector<std::string>{"-lm"});
}

TEST_F(CompilersTest, ACcThatIsGccWillDo) {
  const Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = compilers.program(Compiler::kGcc)->path;
  const auto found = Find(FolderWith("cc", "exec " + gcc + " \"$@\""));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->program(Compiler::kGcc)->version, compilers.program(Compiler::kGcc)->version);
}

TEST_F(CompilersTest, ACompilerThatDoesNotWorkIsNamedWithItsReason) {
  const auto compilers = Find(FolderWith("gcc", "echo 'gcc: error: broken installation'; exit 1"));
  EXPECT_EQ(compilers.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(compilers.status().message(), HasSubstr("folder_of_gcc/gcc"));
  EXPECT_THAT(compilers.status().message(), HasSubstr("broken installation"));
}

// Modules and environments put theirs before the system's.
TEST_F(CompilersTest, TheNextOneIsTakenIfTheFirstDoesNotWork) {
  const Compilers all = FindAll();
  if (!all.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::filesystem::path good = all.program(Compiler::kGcc)->path;
  const std::string folder = FolderWith("gcc", "echo 'cannot execute cc1'; exit 1");
  const Result<Compilers> found = Find(folder + ":" + good.parent_path().string());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->program(Compiler::kGcc)->path, good);
}

TEST_F(CompilersTest, OneThatDoesNotAnswerIsPassedOver) {
  const int64_t begin_ns = NowNs();
  const Result<Compilers> found = Find(FolderWith("gcc", "sleep 1000"));
  EXPECT_THAT(found.status().message(), HasSubstr("does not answer within 10 s"));
  EXPECT_LT(NowNs() - begin_ns, 14'000'000'000);
}

TEST_F(CompilersTest, OnlyWhatIsPrintedOnStandardOutputIsTheVersion) {
  const Compilers all = FindAll();
  if (!all.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = all.program(Compiler::kGcc)->path;
  const auto found = Find(FolderWith(
      "gcc", "echo 'ERROR: ld.so: object cannot be preloaded' >&2; exec " + gcc + " \"$@\""));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->program(Compiler::kGcc)->version, all.program(Compiler::kGcc)->version);
}

TEST_F(CompilersTest, OfWhatACompilerPrintsLittleIsKept) {
  const Compilers all = FindAll();
  if (!all.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = all.program(Compiler::kGcc)->path;
  // A line of 20 MB, and then more than may be written to a file.
  Compilers loud = *Find(
      FolderWith("gcc",
                 "case \"$*\" in *-DLOUD*) head -c 20000000 /dev/zero | tr '\\0' x >&2; exit 1 ;;"
                 " *-DENDLESS*) exec cat /dev/zero ;; *) exec " +
                     gcc + " \"$@\" ;; esac"));
  const auto outcomes = *loud.Compile(
      {{Compiler::kGcc, "int f;", {"-DLOUD"}}, {Compiler::kGcc, "int f;", {"-DENDLESS"}}},
      kCompilersLimit, supervisor_);
  EXPECT_LT(outcomes[0].reason.size(), 2000u);
  EXPECT_THAT(outcomes[0].reason, HasSubstr("bytes left out"));
  EXPECT_EQ(outcomes[1].reason, "the compiler printed, or wrote, more than 64 MiB");
}

TEST_F(CompilersTest, KernelsForACompilerThatIsNotThereFail) {
  Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  Compilers only_gcc =
      *Find(FolderWith("gcc", "exec " + compilers.program(Compiler::kGcc)->path + " \"$@\""));
  const auto outcomes =
      *only_gcc.Compile({{Compiler::kClang, "int f;", {}}}, kCompilersLimit, supervisor_);
  EXPECT_EQ(outcomes[0].reason, "clang is not installed");
  EXPECT_TRUE(outcomes[0].library.empty());
}

TEST_F(CompilersTest, CompilesManyAndEqualOnesOnce) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  std::vector<CompileJob> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back({compiler, "int f(void) { return " + std::to_string(i % 3) + "; }\n", {"-O1"}});
  }
  const auto outcomes = *compilers.Compile(jobs, kCompilersLimit, supervisor_);
  ASSERT_EQ(outcomes.size(), 5u);
  for (const CompileOutcome& outcome : outcomes) {
    EXPECT_TRUE(std::filesystem::exists(outcome.library)) << outcome.reason;
    EXPECT_GT(outcome.compile_ns, 0);
  }
  EXPECT_EQ(outcomes[0].library, outcomes[3].library);
  EXPECT_NE(outcomes[0].library, outcomes[1].library);
  const auto again = *compilers.Compile(jobs, kCompilersLimit, supervisor_);
  EXPECT_EQ(again[2].library, outcomes[2].library);
  EXPECT_EQ(again[2].compile_ns, 0);
}

TEST_F(CompilersTest, TheFirstErrorIsTheReason) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  const auto outcomes =
      *compilers.Compile({{compiler, "int f(void) {\n  return undeclared_name;\n}\n", {}},
                          {compiler, "int g(void) { return 1; }\n", {}}},
                         kCompilersLimit, supervisor_);
  EXPECT_THAT(outcomes[0].reason, HasSubstr(".c:2:10: error:"));
  EXPECT_THAT(outcomes[0].reason, HasSubstr("undeclared_name"));
  EXPECT_THAT(outcomes[0].reason, Not(HasSubstr(directory_.path().string())));
  EXPECT_FALSE(outcomes[1].library.empty());
}

// The first of two processes takes its share of four jobs.
TEST_F(CompilersTest, JobsThatMayShareAUnitAreOneLibrary) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  const auto job = [&](const std::string& source, bool may_share) {
    return CompileJob{compiler, source, {"-O1"}, may_share};
  };
  const std::string one = "int f(void) { return 1; }\n", two = "int f(void) { return 2; }\n";
  const std::string wrong = "int f(void) { return undeclared_name; }\n";
  const auto outcomes =
      *compilers.Compile({job(one, true), job(two, true), job(two, false), job(one, false)},
                         kCompilersLimit, supervisor_);
  EXPECT_EQ(outcomes[0].library, outcomes[1].library) << outcomes[0].reason;
  EXPECT_EQ(outcomes[0].suffix, "_unit0");
  EXPECT_EQ(outcomes[1].suffix, "_unit1");
  EXPECT_EQ(outcomes[2].suffix, "");
  EXPECT_NE(outcomes[2].library, outcomes[1].library);
  void* const library = dlopen(outcomes[0].library.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto call = [&](const char* name) {
    return reinterpret_cast<int (*)()>(dlsym(library, name))();
  };
  EXPECT_EQ(call("f_unit0"), 1);
  EXPECT_EQ(call("f_unit1"), 2);
  dlclose(library);
  const auto again = *compilers.Compile({job(two, true)}, kCompilersLimit, supervisor_);
  EXPECT_EQ(again[0].library, outcomes[1].library);
  EXPECT_EQ(again[0].suffix, "_unit1");
  EXPECT_EQ(again[0].compile_ns, 0);
  // What is wrong with one of them is not the others' fault.
  const auto mixed = *compilers.Compile(
      {job("int g;", true), job(wrong, true), job("int h;", true), job("int i;", true)},
      kCompilersLimit, supervisor_);
  EXPECT_FALSE(mixed[0].library.empty()) << mixed[0].reason;
  EXPECT_FALSE(mixed[2].library.empty()) << mixed[2].reason;
  EXPECT_TRUE(mixed[1].library.empty());
  EXPECT_THAT(mixed[1].reason, HasSubstr("undeclared_name"));
}

TEST_F(CompilersTest, LibrariesStayAsLongAsOneOfTheirSourcesIsKnown) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  std::vector<CompileJob> jobs;
  for (size_t n = 0; n < Compilers::kMostLibraries + 20; ++n) {
    jobs.push_back({compiler, "int f" + std::to_string(n) + ";\n", {"-O0"}, true});
  }
  const auto outcomes = *compilers.Compile(jobs, kCompilersLimit, supervisor_);
  std::set<std::string> libraries;
  for (const CompileOutcome& outcome : outcomes) libraries.insert(outcome.library);
  EXPECT_LE(libraries.size(), jobs.size() / 3);  // units of four, but for the last ones
  EXPECT_TRUE(std::filesystem::exists(outcomes.back().library));
  ASSERT_TRUE(compilers.Advance().ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    files += entry.path().extension() == ".so" ? 1 : 0;
  }
  EXPECT_LT(files, libraries.size() + 2);  // the probes' libraries are gone, too
  EXPECT_FALSE(std::filesystem::exists(outcomes.front().library));
}

TEST_F(CompilersTest, ACompilationThatLastsTooLongIsStopped) {
  Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = compilers.program(Compiler::kGcc)->path;
  Compilers slow = *Find(FolderWith(
      "gcc", "case \"$*\" in *-DSLOW*) exec sleep 1000;; esac\nexec " + gcc + " \"$@\""));
  const int64_t start = NowNs();
  const auto outcomes =
      *slow.Compile({{Compiler::kGcc, "int f;\n", {"-DSLOW"}}}, 300'000'000, supervisor_);
  EXPECT_LT(NowNs() - start, 10'000'000'000);
  EXPECT_EQ(outcomes[0].reason, "compiling took longer than 0.3 s");
}

TEST_F(CompilersTest, AMissingDirectoryIsAnErrorThatNamesIt) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  std::filesystem::remove_all(directory_.path());
  const auto outcomes =
      compilers.Compile({{compiler, "int f;\n", {}}}, kCompilersLimit, supervisor_);
  EXPECT_EQ(outcomes.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(outcomes.status().message(), HasSubstr(directory_.path().string()));
  EXPECT_THAT(outcomes.status().message(), HasSubstr("No such file or directory"));
}

TEST_F(CompilersTest, AFullDiskIsAnErrorThatNamesTheFile) {
  const Status status = WriteFile("/dev/full", "text");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("/dev/full: No space left on device"));
}

TEST_F(CompilersTest, ACompilerThatFillsTheDiskIsNotACompileError) {
  Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = compilers.program(Compiler::kGcc)->path;
  Compilers full = *Find(FolderWith(
      "gcc", "case \"$*\" in *-DFULL*) echo 'k.s: No space left on device'; exit 1;; esac\nexec " +
                 gcc + " \"$@\""));
  const auto outcomes =
      full.Compile({{Compiler::kGcc, "int f;\n", {"-DFULL"}}}, kCompilersLimit, supervisor_);
  EXPECT_EQ(outcomes.status().code(), absl::StatusCode::kResourceExhausted);
}

// As the runner does, which compiles others meanwhile.
class AdvancingSupervisor final : public Supervisor {
 public:
  void WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) override {
    WaitForChildOrInput(sockets, timeout_ns);
    if (compilers != nullptr) advanced.Update(compilers->Advance());
  }
  bool interrupted() const override { return false; }
  Compilers* compilers = nullptr;
  Status advanced;
};

TEST_F(CompilersTest, WhoWaitsHearsOfALackThatWasMetMeanwhile) {
  Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = compilers.program(Compiler::kGcc)->path;
  Compilers lacking = *Find(FolderWith("gcc",
                                       "case \"$*\" in *-DLACK*) sleep 0.05; echo 'fork: Resource "
                                       "temporarily unavailable'; exit 1;; esac\nexec " +
                                           gcc + " \"$@\""));
  AdvancingSupervisor supervisor;
  supervisor.compilers = &lacking;
  const auto outcomes =
      lacking.Compile({{Compiler::kGcc, "int f;\n", {"-DLACK"}}}, kCompilersLimit, supervisor);
  EXPECT_EQ(outcomes.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(outcomes.status(), supervisor.advanced);
  EXPECT_FALSE(lacking.Compile({{Compiler::kGcc, "int g;\n", {}}}, kCompilersLimit, supervisor)
                   ->at(0)
                   .library.empty());
}

TEST_F(CompilersTest, ACompilerThatASignalEndedIsCalledAgain) {
  Compilers compilers = FindAll();
  if (!compilers.program(Compiler::kGcc)) GTEST_SKIP() << "gcc is not installed";
  const std::string gcc = compilers.program(Compiler::kGcc)->path;
  const std::string once = directory_.path() / "once";
  const std::pair<const char*, const char*> ends[] = {
      {"-DKILL", "kill -KILL $$"},
      {"-DSEGV", "kill -SEGV $$"},
      {"-DCRASH", "echo 'internal compiler error: Segmentation fault' >&2; exit 4"}};
  std::string script;
  for (const auto& [option, end] : ends) {
    script += std::string("case \"$*\" in *") + option + "*) if mkdir " + once + "; then " + end +
              "; fi;; esac\n";
  }
  Compilers crashing = *Find(FolderWith("gcc", script + "exec " + gcc + " \"$@\""));
  for (const auto& [option, end] : ends) {
    const auto outcomes =
        crashing.Compile({{Compiler::kGcc, "int f;\n", {option}}}, kCompilersLimit, supervisor_);
    ASSERT_TRUE(outcomes.ok()) << outcomes.status();
    EXPECT_FALSE(outcomes->at(0).library.empty()) << outcomes->at(0).reason;
    EXPECT_TRUE(std::filesystem::remove(once)) << option;
  }
}

TEST_F(CompilersTest, ACompilerThatWritesNoLibraryIsNotUsed) {
  for (const char* writes : {"exit 0", "while [ $1 != -o ]; do shift; done; echo garbage > $2"}) {
    const std::string script =
        std::string("case \"$*\" in *dump*) echo 12;; *) ") + writes + ";; esac";
    EXPECT_THAT(std::string(Find(FolderWith("gcc", script)).status().message()),
                ::testing::EndsWith("gcc: the compiler wrote no library"));
    std::filesystem::remove_all(directory_.path() / "folder_of_gcc");
  }
}

TEST_F(CompilersTest, ACompilerOfNoVersionIsNotUsed) {
  EXPECT_THAT(std::string(Find(FolderWith("gcc",
                                          "case \"$*\" in *dump*) exit 1;; *) exec $(PATH=/usr/bin:"
                                          "/bin command -v gcc) \"$@\";; esac"))
                              .status()
                              .message()),
              HasSubstr("it does not say its version"));
}

TEST_F(CompilersTest, WhatACompilerSaysIsText) {
  Compilers odd = *Find(FolderWith(
      "gcc",
      "case \"$*\" in *dump*) printf '12\\377\\n; more';; *-DBAD*) printf 'error: \\377'; exit 1;; "
      "*-DLINK*) echo 'ld: no such library'; echo 'collect2: error: ld returned 1 exit status'; "
      "exit 1;; *) exec $(PATH=/usr/bin:/bin command -v gcc) \"$@\";; esac"));
  EXPECT_EQ(odd.Description(), "gcc 12?");
  const auto outcomes = *odd.Compile(
      {{Compiler::kGcc, "int f;\n", {"-DBAD"}}, {Compiler::kGcc, "int f;\n", {"-DLINK"}}},
      kCompilersLimit, supervisor_);
  EXPECT_EQ(outcomes[0].reason, "error: ?");
  EXPECT_EQ(outcomes[1].reason, "ld: no such library");
}

TEST_F(CompilersTest, OnlyLibrariesStayInTheDirectory) {
  Compilers compilers = FindAll();
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  ASSERT_TRUE(compilers
                  .Compile({{compiler, "int f;\n", {}}, {compiler, "error\n", {}}}, kCompilersLimit,
                           supervisor_)
                  .ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_TRUE(entry.path().extension() == ".so" || entry.path().filename() == "version.log")
        << entry.path();
  }
}

}  // namespace
}  // namespace mdh::compilers_test
