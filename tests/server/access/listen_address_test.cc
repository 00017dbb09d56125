#include "server/access/listen_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::listen_address_test {
namespace {

using ::testing::HasSubstr;

// A bound Unix socket; whoever is to connect needs Listen.
class BoundSocket {
 public:
  explicit BoundSocket(const std::string& path) : descriptor_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~BoundSocket() { close(descriptor_); }
  void Listen() const { EXPECT_EQ(listen(descriptor_, 1), 0); }

 private:
  int descriptor_;
};

TEST(ListenAddress, LoopbackIsAllowedAndTheRestOnRequest) {
  EXPECT_TRUE(CheckListenAddress("unix:/a.sock", false).ok());
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:0", false).ok());
  EXPECT_TRUE(CheckListenAddress("localhost:5000", false).ok());
  EXPECT_TRUE(CheckListenAddress("[::1]:5000", false).ok());
  const Status refused = CheckListenAddress("0.0.0.0:5000", false);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--insecure-listen"));
  EXPECT_TRUE(CheckListenAddress("0.0.0.0:5000", true).ok());
  EXPECT_FALSE(CheckListenAddress("127.0.0.1.example.org:5000", false).ok());
}

TEST(ListenAddress, MalformedAddressesAreNamed) {
  for (const char* address : {"", "host", ":80", "host:", "host:port", "host:65536", "unix:a"}) {
    const Status status = CheckListenAddress(address, true);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr(address));
  }
  EXPECT_THAT(std::string(CheckListenAddress("unix:/" + std::string(200, 'x'), true).message()),
              HasSubstr("longer than 107 bytes"));
}

TEST(ListenAddress, AFreePathIsClaimedAndItsFolderMade) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(ClaimUnixSocket(directory.File("new/folder/a.sock")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(directory.File("new/folder")));
}

TEST(ListenAddress, WhereOthersCouldMakeItNothingIsClaimed) {
  const TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0777), 0);
  EXPECT_EQ(ClaimUnixSocket(directory.File("a.sock")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ClaimUnixSocket(directory.File("new/a.sock")).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ListenAddress, AStaleSocketIsRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.sock");
  { const BoundSocket dead(path); }
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(ClaimUnixSocket(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListenAddress, ALiveSocketIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.sock");
  const BoundSocket live(path);
  live.Listen();
  const Status status = ClaimUnixSocket(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "another mdhd is listening on unix:" + path);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ListenAddress, OtherFilesAreLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("letter");
  std::ofstream(path) << "precious";
  EXPECT_THAT(std::string(ClaimUnixSocket(path).message()), HasSubstr("is no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace mdh::listen_address_test
