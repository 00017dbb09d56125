#include "core/base/trusted_path.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::trusted_path_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kOther = 54'322;

class TrustedPathTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name) const {
    const std::string path = directory_.File(name);
    std::ofstream(path) << "text";
    return path;
  }
  std::string MakeFolder(const std::string& name, mode_t mode = 0700) const {
    const std::string path = directory_.File(name);
    std::filesystem::create_directories(path);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string MakeSocket(const std::string& name) const {
    const std::string path = directory_.File(name);
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(listener);
    return path;
  }
  static void GiveAway(const std::string& path) {
    EXPECT_EQ(lchown(path.c_str(), kOther, kOther), 0);
  }
  static bool IsRefused(const std::string& path, PathUse use = PathUse::kFile) {
    const Status status = CheckTrustedPath(path, {}, use);
    EXPECT_TRUE(status.ok() || absl::IsPermissionDenied(status)) << status;
    return !status.ok();
  }

  const TemporaryDirectory directory_;
};

TEST_F(TrustedPathTest, WhatIsOnesOwnIsTrusted) {
  EXPECT_FALSE(IsRefused(Make("file")));
  EXPECT_FALSE(IsRefused(directory_.File("not/yet/there")));
  EXPECT_FALSE(IsRefused(directory_.path().string() + "/./folder/../file"));
  EXPECT_FALSE(IsRefused("/etc/passwd"));
  EXPECT_FALSE(IsRefused(MakeSocket("socket"), PathUse::kSocket));
  EXPECT_EQ(CheckTrustedPath(Make("file") + "/below").code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrustedPathTest, WhereOthersMayWriteNothingIs) {
  const std::string open = MakeFolder("open", 0777);
  const Status refused = CheckTrustedPath(Make("open/file"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(open + "/file"), HasSubstr("may write it (mode 0777)"),
                    HasSubstr("chmod go-w " + open)));
  EXPECT_TRUE(IsRefused(directory_.File("open/not/there")));
  EXPECT_TRUE(IsRefused(directory_.File("open/../file"))) << "it could be a link";
  const std::string file = Make("file");
  ASSERT_EQ(chmod(file.c_str(), 0646), 0);
  EXPECT_TRUE(IsRefused(file));
  EXPECT_TRUE(IsRefused(MakeFolder("folder", 01777))) << "of which the contents are used";
}

// As in /tmp: what is there is its owner's, but a name that is free is anybody's.
TEST_F(TrustedPathTest, InSharedFoldersWhatIsOnesOwnIsTrustedWhileItIsThere) {
  MakeFolder("shared", 01777);
  EXPECT_FALSE(IsRefused(Make("shared/file")));
  EXPECT_FALSE(IsRefused(directory_.File("shared/new")));
  EXPECT_FALSE(IsRefused(MakeSocket("shared/socket"), PathUse::kSocket));
  EXPECT_TRUE(IsNameShared(directory_.File("shared/socket")));
  EXPECT_EQ(CheckTrustedPath(directory_.File("shared/new"), {}, PathUse::kSocket).code(),
            absl::StatusCode::kNotFound);
  MakeFolder("shared/own");
  EXPECT_FALSE(IsRefused(MakeSocket("shared/own/socket"), PathUse::kSocket));
  EXPECT_FALSE(IsNameShared(directory_.File("shared/own/socket")));
}

TEST_F(TrustedPathTest, LinksAreFollowedAndCounted) {
  std::filesystem::create_symlink("target", directory_.File("link"));
  EXPECT_FALSE(IsRefused(directory_.File("link")));
  MakeFolder("open", 0777);
  std::filesystem::create_symlink(directory_.File("open"), directory_.File("to_open"));
  EXPECT_TRUE(IsRefused(directory_.File("to_open/file")));
  std::filesystem::create_symlink("round", directory_.File("round"));
  EXPECT_EQ(CheckTrustedPath(directory_.File("round")).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrustedPathTest, WhatOthersOwnIsRefusedByTheirName) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make what others own";
  const std::string file = Make("file");
  GiveAway(file);
  const Status refused = CheckTrustedPath(file);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(file + " belongs to uid 54322, not to root;"),
                    HasSubstr("--trusted-users 54322"), HasSubstr("$MDH_TRUSTED_USERS")));
  GiveAway(MakeFolder("folder"));
  EXPECT_TRUE(IsRefused(Make("folder/mine")));
  MakeFolder("shared", 01777);
  std::filesystem::create_symlink(Make("mine"), directory_.File("shared/link"));
  GiveAway(directory_.File("shared/link"));
  EXPECT_TRUE(IsRefused(directory_.File("shared/link")));
  GiveAway(MakeSocket("socket"));
  EXPECT_TRUE(IsRefused(directory_.File("socket"), PathUse::kSocket));

  EXPECT_TRUE(CheckTrustedPath(file, *TrustedUsers::Parse("54322")).ok());
  EXPECT_TRUE(CheckTrustedPath(file, *TrustedUsers::Parse("1, *")).ok());
  EXPECT_FALSE(CheckTrustedPath(file, *TrustedUsers::Parse("54321,daemon")).ok());
}

TEST(TrustedUsersTest, AreNamesAndNumbers) {
  EXPECT_FALSE(TrustedUsers::Parse("")->Includes(7));
  EXPECT_TRUE(TrustedUsers::Parse("root,7")->Includes(0));
  EXPECT_TRUE(TrustedUsers::Parse("root,7")->Includes(7));
  EXPECT_FALSE(TrustedUsers::Parse("root,7")->Includes(8));
  const auto wrong = TrustedUsers::Parse("nobody-of-this-name");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("nobody-of-this-name"));
}

}  // namespace
}  // namespace mdh::trusted_path_test
