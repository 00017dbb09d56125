#include "tuner/measure/confine/work_directory.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::work_directory_test {
namespace {

using ::testing::HasSubstr;

TEST(WorkDirectory, IsMadeAndRemoved) {
  TemporaryDirectory base;
  const std::string path = base.File("a/b");
  {
    const auto directory = WorkDirectory::Create(path);
    ASSERT_TRUE(directory.ok());
    std::ofstream(directory->files() + "/file") << "text";
    EXPECT_TRUE(std::filesystem::exists(path + "/candidates/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WorkDirectory, LeavesForeignFilesAloneAndEmptiesItsOwn) {
  TemporaryDirectory base;
  std::ofstream(base.File("foreign")) << "text";
  std::filesystem::create_directory(base.File("candidates"));
  std::ofstream(base.File("candidates/old")) << "text";
  {
    const auto directory = WorkDirectory::Create(base.path());
    ASSERT_TRUE(directory.ok());
    EXPECT_FALSE(std::filesystem::exists(base.File("candidates/old")));
  }
  EXPECT_TRUE(std::filesystem::exists(base.File("foreign")));
  EXPECT_FALSE(std::filesystem::exists(base.File("candidates")));
}

TEST(WorkDirectory, HasOneUserAtATime) {
  TemporaryDirectory base;
  std::optional<Result<WorkDirectory>> first = WorkDirectory::Create(base.path());
  ASSERT_TRUE(first->ok());
  const auto second = WorkDirectory::Create(base.path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(), HasSubstr(base.path().string()));
  EXPECT_THAT(second.status().message(), HasSubstr("in use"));
  EXPECT_TRUE(std::filesystem::exists(base.File("candidates")));
  first.reset();
  EXPECT_TRUE(WorkDirectory::Create(base.path()).ok());
}

// Runners find it from another current folder, below another root.
TEST(WorkDirectory, IsWhereItWasMadeWhateverTheCurrentFolder) {
  TemporaryDirectory base;
  const std::string path = base.File("b");
  const auto relative = std::filesystem::relative(path);
  ASSERT_TRUE(relative.is_relative());
  const auto directory = WorkDirectory::Create(relative.string());
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->files(), path + "/candidates");
}

// What is compiled there is run.
TEST(WorkDirectory, OfOthersIsRefused) {
  TemporaryDirectory base;
  ASSERT_EQ(chmod(base.path().c_str(), 0777), 0);
  for (const std::string& path : {base.path().string(), base.File("below")}) {
    const auto directory = WorkDirectory::Create(path);
    EXPECT_EQ(directory.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(directory.status().message(), HasSubstr("may write it (mode 0777)"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path()));
  EXPECT_TRUE(WorkDirectory::Create(base.File("below"), *TrustedUsers::Parse("*")).ok());
}

TEST(WorkDirectory, APathThatCannotBeMadeIsNamed) {
  TemporaryDirectory base;
  std::ofstream(base.File("file")) << "text";
  const auto directory = WorkDirectory::Create(base.File("file/below"));
  EXPECT_EQ(directory.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(directory.status().message(), HasSubstr(base.File("file/below")));
  EXPECT_THAT(directory.status().message(), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace mdh::work_directory_test
