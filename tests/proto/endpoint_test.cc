#include "proto/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tests/server/temporary_directory.h"

namespace mdh::endpoint_test {
namespace {

// As a daemon leaves it there while it runs.
void MakeSocket(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(socket_fd);
}

TEST(Endpoint, EachUserHasOne) {
  EXPECT_EQ(DefaultEndpoint("/run/user/7", 7), "unix:/run/user/7/mdhd.sock");
  EXPECT_EQ(DefaultEndpoint("", 7), "unix:/tmp/mdhd-7/mdhd.sock");
}

TEST(Endpoint, UnixAddressesHavePaths) {
  EXPECT_EQ(UnixSocketPath("unix:/a/b.sock"), "/a/b.sock");
  EXPECT_EQ(UnixSocketPath("unix:///a/b.sock"), "/a/b.sock");
  EXPECT_EQ(UnixSocketPath("127.0.0.1:80"), "");
}

TEST(Endpoint, ClientsPreferTheirUsersDaemonToTheMachines) {
  const TemporaryDirectory directory;
  const std::string system = directory.File("system.sock");
  const std::string own = "unix:" + directory.File("mdhd.sock");
  const auto server = [&] { return DefaultServer(directory.path().string(), 7, "unix:" + system); };
  EXPECT_EQ(server(), own) << "there is none at all";
  std::ofstream(system) << "no socket";
  EXPECT_EQ(server(), own);
  unlink(system.c_str());
  MakeSocket(system);
  EXPECT_EQ(server(), "unix:" + system);
  MakeSocket(directory.File("mdhd.sock"));
  EXPECT_EQ(server(), own);
  // One that others could have made is none.
  ASSERT_EQ(chmod(directory.path().c_str(), 0777), 0);
  EXPECT_EQ(server(), "unix:" + system);
}

TEST(Endpoint, WhoListensIsLookedAtBeforeAnythingIsSent) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdhd.sock");
  const auto check = [](const std::string& endpoint, const char* trusted = "") {
    return CheckTrustedEndpoint(endpoint, *TrustedUsers::Parse(trusted));
  };
  EXPECT_TRUE(check("127.0.0.1:1").ok());
  EXPECT_TRUE(check("unix:" + path).ok()) << "only this user can make it";
  MakeSocket(path);
  EXPECT_TRUE(check("unix:" + path).ok());
  EXPECT_TRUE(check("unix://" + path).ok());
  ASSERT_EQ(chmod(directory.path().c_str(), 0777), 0);
  const Status refused = check("unix:" + path);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              ::testing::HasSubstr("nothing is sent to the socket " + path + ": "));
  EXPECT_TRUE(check("unix:" + path, "*").ok());
  EXPECT_EQ(check("unix-abstract:mdhd").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(check("unix:/a%2fb").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check("unix:/tmp/no-such-socket").code(), absl::StatusCode::kNotFound);
}

TEST(Endpoint, OnlyThisMachineReachesSocketsAndLoopback) {
  for (const char* local : {"unix:/x", "127.0.0.1:1", "127.9.0.1:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(IsLocalEndpoint(local)) << local;
  }
  for (const char* other : {"0.0.0.0:1", "127.0.0.1.example:1", "10.0.0.1:1", "[::]:1", "host:1"}) {
    EXPECT_FALSE(IsLocalEndpoint(other)) << other;
  }
}

}  // namespace
}  // namespace mdh::endpoint_test
