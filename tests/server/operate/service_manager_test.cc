#include "server/operate/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::service_manager_test {
namespace {

using ::testing::StartsWith;

// The end of the manager.
class ManagersSocket {
 public:
  explicit ManagersSocket(const std::string& name) : file_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(bind(file_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
  }
  ~ManagersSocket() { close(file_); }
  std::string Receive() const {
    char buffer[256];
    const ssize_t size = recv(file_, buffer, sizeof buffer, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(buffer, static_cast<size_t>(size));
  }

 private:
  const int file_;
};

TEST(ServiceManagerTest, IsToldWhatHappens) {
  const TemporaryDirectory directory;
  for (const std::string& name :
       {directory.File("notify"), "@mdhd-test-" + std::to_string(getpid())}) {
    const ManagersSocket socket(name);
    const ServiceManager manager(name, "", "");
    EXPECT_TRUE(manager.TellReady("listens").ok());
    EXPECT_EQ(socket.Receive(), "READY=1\nSTATUS=listens");
    EXPECT_TRUE(manager.TellReloading().ok());
    EXPECT_THAT(socket.Receive(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_TRUE(manager.TellAlive().ok());
    EXPECT_EQ(socket.Receive(), "WATCHDOG=1");
    EXPECT_TRUE(manager.TellStopping().ok());
    EXPECT_EQ(socket.Receive(), "STOPPING=1");
  }
}

TEST(ServiceManagerTest, WithoutOneNothingIsSent) {
  const ServiceManager manager("", "1000", "");
  EXPECT_TRUE(manager.TellReady("x").ok());
  EXPECT_EQ(manager.watchdog_interval(), absl::InfiniteDuration());
}

TEST(ServiceManagerTest, OneThatIsGoneIsAnError) {
  EXPECT_EQ(ServiceManager("/nonexistent/socket", "", "").TellAlive().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(ServiceManager(std::string(200, 'x'), "", "").TellAlive().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ServiceManagerTest, AWatchdogOfThisProcessIsFedTwiceAsOftenAsItAsks) {
  const std::string mine = std::to_string(getpid());
  EXPECT_EQ(ServiceManager("/s", "30000000", mine).watchdog_interval(), absl::Seconds(15));
  EXPECT_EQ(ServiceManager("/s", "30000000", "").watchdog_interval(), absl::Seconds(15));
  for (const auto& [us, pid] : {std::pair<std::string, std::string>{"30000000", "1"},
                                {"0", mine},
                                {"soon", mine},
                                {"", mine}}) {
    EXPECT_EQ(ServiceManager("/s", us, pid).watchdog_interval(), absl::InfiniteDuration());
  }
}

}  // namespace
}  // namespace mdh::service_manager_test
