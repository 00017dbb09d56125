// Programs in networks of their own, which are joined by a bridge and can be cut off from it. All
// of it is gone when the processes that hold the networks have ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/end_to_end/programs.h"

namespace mdh {

// A network that lasts as long as this.
class NetworkOfProcess {
 public:
  NetworkOfProcess() : holder_({"unshare", "--net", "sleep", "600"}) {}
  // Whether the kernel has made it; else why not.
  bool AwaitMade(std::string& problem) {
    const std::string outer = std::filesystem::read_symlink("/proc/self/ns/net").string();
    const bool is_made = Eventually([&] {
      std::error_code error;
      const std::string inner = std::filesystem::read_symlink(Path(), error).string();
      return holder_.HasEnded() || (!error && inner != outer);
    });
    if (!is_made || holder_.HasEnded()) problem = "no network namespace: " + holder_.err();
    return is_made && !holder_.HasEnded();
  }
  std::string Path() const { return absl::StrCat("/proc/", holder_.pid(), "/ns/net"); }
  pid_t pid() const { return holder_.pid(); }
  // What goes before the words of a program that is to run in it.
  std::vector<std::string> Within() const { return {"nsenter", "--net=" + Path()}; }
  // Runs "ip ..." in it.
  void Ip(const std::string& words) const {
    const Ended ended = TryIp(words);
    EXPECT_EQ(ended.code, 0) << "ip " << words << ": " << ended.err;
  }
  Ended TryIp(const std::string& words) const {
    std::vector<std::string> all = Within();
    all.emplace_back("ip");
    for (const absl::string_view word : absl::StrSplit(words, ' ')) all.emplace_back(word);
    return RunProgram(all);
  }

 private:
  Program holder_;
};

// The middle, with the bridge, and those around it. Addresses are of a net for documents.
class CutNetwork {
 public:
  static constexpr const char* kMiddle = "198.51.100.1";

  // An empty string if there are the networks; else why this machine does not allow them.
  std::string Make(int around) {
    std::string problem;
    for (int n = 0; n <= around; ++n) {
      networks_.push_back(std::make_unique<NetworkOfProcess>());
      if (!networks_.back()->AwaitMade(problem)) return problem;
    }
    const Ended bridge = middle().TryIp("link add bridge type bridge");
    if (bridge.code != 0) return "no bridge: " + bridge.err;
    middle().Ip("link set lo up");
    middle().Ip(absl::StrCat("addr add ", kMiddle, "/24 dev bridge"));
    middle().Ip("link set bridge up");
    for (int n = 0; n < around; ++n) {
      const Ended pair = middle().TryIp(
          absl::StrCat("link add end", n, " type veth peer name out", " netns ", at(n).pid()));
      if (pair.code != 0) return "no pair of links: " + pair.err;
      middle().Ip(absl::StrCat("link set end", n, " master bridge"));
      middle().Ip(absl::StrCat("link set end", n, " up"));
      at(n).Ip("link set lo up");
      at(n).Ip(absl::StrCat("addr add ", AddressOf(n), "/24 dev out"));
      at(n).Ip("link set out up");
    }
    return "";
  }
  NetworkOfProcess& middle() { return *networks_[0]; }
  NetworkOfProcess& at(int n) { return *networks_[n + 1]; }
  static std::string AddressOf(int n) { return absl::StrCat("198.51.100.", n + 10); }

 private:
  std::vector<std::unique_ptr<NetworkOfProcess>> networks_;
};

}  // namespace mdh
