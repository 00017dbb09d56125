// One of several real daemons that share a PostgreSQL database.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/programs.h"

namespace mdh {

// Not thread-safe, but for `address`.
class FleetMember {
 public:
  // `before`: what goes before the words of the daemon, as a program that runs it elsewhere.
  FleetMember(const std::string& folder, const std::string& name, std::vector<std::string> before,
              const std::string& database, const std::vector<std::string>& more = {})
      : address_("unix:" + folder + "/" + name + ".sock"), words_(std::move(before)) {
    const std::vector<std::string> own = {ProgramPath("mdhd"),
                                          "--listen",
                                          address_,
                                          "--work-directory",
                                          folder + "/" + name,
                                          "--database",
                                          database,
                                          "--devices",
                                          "cpu",
                                          "--daemon-name",
                                          name};
    words_.insert(words_.end(), own.begin(), own.end());
    words_.insert(words_.end(), more.begin(), more.end());
  }

  const std::string& address() const { return address_; }
  Program& program() { return *program_; }
  // Returns at once.
  void Start() { program_ = std::make_unique<Program>(words_); }
  void AwaitDevices() {
    ASSERT_TRUE(Eventually([&] {
      return program_->HasEnded() || program_->err().find("devices are open") != std::string::npos;
    })) << program_->err();
    ASSERT_FALSE(program_->HasEnded()) << program_->err();
  }
  void Kill() {
    program_->Signal(SIGKILL);
    EXPECT_EQ(program_->Wait(), 128 + SIGKILL) << program_->err();
  }
  // Starts it again if the server went away while it started (code 4), as a service manager does.
  // Gives whether it did.
  bool Tend() {
    if (!program_->HasEnded()) return false;
    EXPECT_EQ(program_->Wait(), 4) << program_->err();
    Start();
    return true;
  }
  void Stop() {
    if (program_ == nullptr || program_->HasEnded()) return;
    program_->Signal(SIGTERM);
    EXPECT_TRUE(Eventually([this] { return program_->HasEnded(); })) << "mdhd did not stop";
    EXPECT_EQ(program_->Wait(), 0) << program_->err();
  }

 private:
  const std::string address_;
  std::vector<std::string> words_;
  std::unique_ptr<Program> program_;
};

}  // namespace mdh
