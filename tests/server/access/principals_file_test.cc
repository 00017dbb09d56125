#include "server/access/principals_file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::principals_file_test {
namespace {

using ::testing::HasSubstr;

class PrincipalsFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("principals");
};

TEST_F(PrincipalsFileTest, AChangeHoldsFromTheNextReloadOn) {
  Write("certificate ann tuner\n");
  const auto file = *PrincipalsFile::Open(path_);
  const auto before = file->current();
  EXPECT_FALSE(*file->Reload()) << "nothing has changed";
  Write("certificate ann admin\n");
  EXPECT_TRUE(*file->Reload());
  EXPECT_EQ(file->current()->FindCertificate("ann")->role, Role::kAdmin);
  EXPECT_EQ(before->FindCertificate("ann")->role, Role::kTuner) << "for calls that hold it";
}

TEST_F(PrincipalsFileTest, ABrokenFileChangesNothingAndIsComplainedOfOnce) {
  Write("certificate ann tuner\n");
  const auto file = *PrincipalsFile::Open(path_);
  Write("certificate ann tuner\ncertificate bob ad");
  EXPECT_THAT(std::string(file->Reload().status().message()), HasSubstr("line 2"));
  EXPECT_FALSE(*file->Reload());
  EXPECT_EQ(file->current()->FindCertificate("ann")->role, Role::kTuner);
  Write("certificate ann tuner\ncertificate bob admin\n");
  EXPECT_TRUE(*file->Reload());
  EXPECT_EQ(file->current()->certificates(), 2U);
}

TEST_F(PrincipalsFileTest, AFileThatGoesAwayLeavesWhatItSaid) {
  Write("certificate ann tuner\n");
  const auto file = *PrincipalsFile::Open(path_);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_THAT(std::string(file->Reload().status().message()), HasSubstr(path_));
  EXPECT_EQ(file->current()->certificates(), 1U);
}

TEST_F(PrincipalsFileTest, FilesThatCannotBeTrustedAreRefused) {
  EXPECT_EQ(PrincipalsFile::Open(path_).status().code(), absl::StatusCode::kInvalidArgument);
  Write("certificate ann tuner\n");
  ASSERT_EQ(chmod(path_.c_str(), 0602), 0);
  EXPECT_THAT(std::string(PrincipalsFile::Open(path_).status().message()), HasSubstr("may write"));
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  EXPECT_TRUE(PrincipalsFile::Open(path_).ok());
  EXPECT_FALSE(PrincipalsFile::Open(directory_.File("")).ok()) << "a folder";
}

}  // namespace
}  // namespace mdh::principals_file_test
