// A real mdhd on a Unix socket of its own, and real mdh programs that talk to it.
#pragma once

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/programs.h"

namespace mdh {

class DaemonTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (daemon_ != nullptr) StopDaemon();
  }

  std::vector<std::string> DaemonWords(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {ProgramPath("mdhd"), "--listen", address_, "--work-directory",
                                      directory_.File("work")};
    if (std::find(more.begin(), more.end(), "--database") == more.end()) {
      words.insert(words.end(), {"--database", database_});
    }
    if (std::find(more.begin(), more.end(), "--devices") == more.end()) {
      words.insert(words.end(), devices_.begin(), devices_.end());
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Starts mdhd and waits until it has logged `until`.
  void StartDaemon(const std::vector<std::string>& more = {},
                   const std::vector<std::string>& environment = {},
                   const std::string& until = "devices are open") {
    daemon_ = std::make_unique<Program>(DaemonWords(more), environment);
    ASSERT_TRUE(Eventually(
        [&] { return daemon_->HasEnded() || daemon_->err().find(until) != std::string::npos; }));
    ASSERT_FALSE(daemon_->HasEnded()) << daemon_->err();
  }
  // Stops mdhd as a service manager does.
  void StopDaemon() {
    daemon_->Signal(SIGTERM);
    EXPECT_TRUE(Eventually([this] { return daemon_->HasEnded(); })) << "mdhd did not stop";
    EXPECT_EQ(daemon_->Wait(), 0) << daemon_->err();
    EXPECT_FALSE(std::filesystem::exists(socket_));
    daemon_.reset();
  }

  std::vector<std::string> MdhWords(std::vector<std::string> words) const {
    words.insert(words.begin(), {ProgramPath("mdh"), "--server", address_});
    return words;
  }
  Ended Mdh(const std::vector<std::string>& words) const { return RunProgram(MdhWords(words)); }
  // Runs mdh with --json, expects success and parses what it prints.
  nlohmann::json MdhJson(std::vector<std::string> words) const {
    words.push_back("--json");
    const Ended ended = Mdh(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    nlohmann::json json = nlohmann::json::parse(ended.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(json.is_discarded()) << ended.out;
    return json;
  }

  // `command` on a matrix multiplication of this size.
  static std::vector<std::string> OnMatMul(const std::string& command, int size,
                                           const std::vector<std::string>& more = {}) {
    const std::string value = std::to_string(size);
    std::vector<std::string> words = {command, ExpressionPath("matmul.mdh"),
                                      "--set", "I=" + value,
                                      "--set", "J=" + value,
                                      "--set", "K=" + value};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Creates a job and gives its name.
  std::string Detached(int size, const std::string& budget) const {
    const Ended ended = Mdh(OnMatMul("tune", size, {"--budget", budget, "--detach"}));
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out.substr(0, ended.out.find('\n'));
  }
  // Waits until the job has a first valid trial.
  void WaitForFirstResult(const std::string& job) const {
    EXPECT_TRUE(Eventually([&] {
      const nlohmann::json jobs = MdhJson({"jobs"});
      for (const nlohmann::json& entry : jobs["jobs"]) {
        if (entry["name"] == job) return entry["progress"]["best_time_ns"] != "0";
      }
      return false;
    })) << job;
  }
  nlohmann::json Job(const std::string& name) const {
    const nlohmann::json jobs = MdhJson({"jobs"});
    for (const nlohmann::json& entry : jobs["jobs"]) {
      if (entry["name"] == name) return entry;
    }
    ADD_FAILURE() << "there is no " << name;
    return {};
  }

  // For tests that need a record, whatever is in it.
  inline static const std::vector<std::string> kFewTrials = {"--budget", "10s", "--trials", "2"};

  // Unless a test says otherwise. Opening OpenCL where a CPU emulates it takes seconds of all
  // cores; empty: all devices, as without these options.
  std::vector<std::string> devices_ = {"--devices", "cpu"};
  TemporaryDirectory directory_;
  const std::string socket_ = directory_.File("mdhd.sock");
  const std::string address_ = "unix:" + socket_;
  const std::string database_ = directory_.File("state/mdhd.sqlite");
  std::unique_ptr<Program> daemon_;
};

}  // namespace mdh
