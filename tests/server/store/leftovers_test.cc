// What dead daemons leave, and what must not be taken for it.
#include "server/store/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/store/file_lock.h"
#include "tests/server/temporary_directory.h"
#include "tuner/measure/confine/work_directory.h"
#include "tuner/process/process_state.h"

namespace mdh::leftovers_test {
namespace {

namespace fs = std::filesystem;

// Of a process that has ended.
pid_t DeadPid() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

class Leftovers : public ::testing::Test {
 protected:
  // A work directory with what a runner had in it.
  std::string WorkDirectoryOf(pid_t pid) const {
    std::string path = directory_.File(absl::StrCat("mdhd-", pid));
    fs::create_directories(path + "/cpu/candidates");
    std::ofstream(path + "/cpu/candidates/unit1.so") << "code";
    return path;
  }
  int Remove() const { return RemoveDeadWorkDirectories(directory_.path().string()); }

  const TemporaryDirectory directory_;
};

TEST_F(Leftovers, WorkDirectoriesOfDeadDaemonsAreRemoved) {
  const std::string dead = WorkDirectoryOf(DeadPid());
  const std::string other = directory_.File("mdhd-notes");
  fs::create_directory(other);
  fs::create_directory_symlink(other, directory_.File(absl::StrCat("mdhd-", DeadPid())));
  EXPECT_EQ(Remove(), 1);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(Leftovers, OneWhoseRunnersFoldersAreHeldStays) {
  const std::string path = WorkDirectoryOf(DeadPid());
  const Result<WorkDirectory> held = WorkDirectory::Create(path + "/cpu");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(Leftovers, WhatElseIsInAWorkDirectoryStays) {
  const std::string path = WorkDirectoryOf(DeadPid());
  std::ofstream(path + "/notes") << "of somebody";
  fs::create_directory(path + "/empty");
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(fs::exists(path + "/notes"));
  EXPECT_TRUE(fs::exists(path + "/empty"));
  EXPECT_FALSE(fs::exists(path + "/cpu"));
}

TEST_F(Leftovers, ARunnerThatHangsIsEndedAndNoOtherProcess) {
  const pid_t runner = fork();
  if (runner == 0) {
    setsid();
    while (true) pause();
  }
  const std::string path = WorkDirectoryOf(DeadPid());
  const int64_t start = ReadProcessState(runner)->start;
  std::ofstream(path + "/cpu/" + kWorkerFile) << runner << " " << start + 1;
  EXPECT_TRUE(ClearWorkDirectory(path));
  EXPECT_EQ(waitpid(runner, nullptr, WNOHANG), 0) << "it was another process of that number";
  fs::create_directories(path + "/cpu/candidates");
  std::ofstream(path + "/cpu/" + kWorkerFile) << runner << " " << start;
  EXPECT_TRUE(ClearWorkDirectory(path));
  int status = 0;
  EXPECT_EQ(waitpid(runner, &status, 0), runner);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(Leftovers, CopiesThatNobodyWritesAreRemoved) {
  const auto touch = [&](const std::string& name) { std::ofstream(directory_.File(name)) << "x"; };
  touch("mdhd-1.sqlite.part");
  touch("mdhd-1.sqlite.part-journal");
  touch("mdhd-2.sqlite.part");
  touch("mdhd-3.sqlite");
  const auto writer = *FileLock::Acquire(directory_.File("mdhd-2.sqlite.part"));
  EXPECT_EQ(RemoveUnfinishedCopies(directory_.path().string()), 1);
  EXPECT_FALSE(fs::exists(directory_.File("mdhd-1.sqlite.part")));
  EXPECT_FALSE(fs::exists(directory_.File("mdhd-1.sqlite.part-journal")));
  EXPECT_TRUE(fs::exists(directory_.File("mdhd-2.sqlite.part")));
  EXPECT_TRUE(fs::exists(directory_.File("mdhd-3.sqlite")));
}

}  // namespace
}  // namespace mdh::leftovers_test
