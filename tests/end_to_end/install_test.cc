// What an installation gives to programs outside of the project: find_package(mdh), pkg-config mdh.
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/source_path.h"

namespace mdh::install_test {
namespace {

using ::testing::HasSubstr;

class InstallTest : public DaemonTest {
 protected:
  std::string Prefix() const { return directory_.File("prefix"); }
  std::string Example(const std::string& name) const {
    return SourcePath("client/examples/embed/") + name;
  }
  static void ExpectRuns(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment = {}) {
    const Ended ended = RunProgram(words, environment);
    EXPECT_EQ(ended.code, 0) << words[0] << "\n" << ended.out << ended.err;
  }
  void Install() const { ExpectRuns({"cmake", "--install", BuildPath(), "--prefix", Prefix()}); }
  // The folder of a library, which depends on the distribution.
  std::string FolderOf(const std::string& name) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Prefix())) {
      if (entry.path().filename() == name) return entry.path().parent_path().string();
    }
    ADD_FAILURE() << "there is no " << name;
    return "";
  }
  // Runs an example with a bundle and with a daemon; what it says in the end.
  void ExpectMultiplies(const std::vector<std::string>& with_bundle,
                        const std::vector<std::string>& with_daemon,
                        const std::vector<std::string>& environment) {
    const Ended of_bundle = RunProgram(with_bundle, environment);
    EXPECT_EQ(of_bundle.code, 0) << of_bundle.err;
    EXPECT_THAT(of_bundle.out, HasSubstr(": right\n"));
    const Ended of_daemon = RunProgram(with_daemon, environment);
    EXPECT_EQ(of_daemon.code, 0) << of_daemon.err;
    EXPECT_THAT(of_daemon.out, HasSubstr(": right\n"));
  }
};

TEST_F(InstallTest, AProjectOutsideFindsBothLibraries) {
  Install();
  const std::string build = directory_.File("build");
  ExpectRuns({"cmake", "-S", Example(""), "-B", build, "-DCMAKE_PREFIX_PATH=" + Prefix()});
  ExpectRuns({"cmake", "--build", build, "--parallel", "2"});
  StartDaemon();
  ASSERT_EQ(Mdh(OnMatMul("tune", 48, kFewTrials)).code, 0);
  const std::string bundle = directory_.File("bundle");
  ASSERT_EQ(Mdh({"admin", "export", bundle}).code, 0);
  const std::vector<std::string> environment = {"MDH_SERVER=" + address_,
                                                "XDG_CACHE_HOME=" + directory_.File("caches"),
                                                "LD_LIBRARY_PATH=" + FolderOf("libmdh.so.1")};
  ExpectMultiplies({build + "/matmul_c", bundle}, {build + "/matmul_c"}, environment);
  const std::string cache = directory_.File("cache");
  ExpectMultiplies({build + "/matmul_cpp", cache, bundle}, {build + "/matmul_cpp", cache, address_},
                   environment);
}

TEST_F(InstallTest, ACompilerAndPkgConfigAreEnoughForC) {
  if (RunProgram({"pkg-config", "--version"}).code != 0) GTEST_SKIP() << "there is no pkg-config";
  Install();
  const std::vector<std::string> environment = {
      "PKG_CONFIG_PATH=" + FolderOf("mdh.pc"), "LD_LIBRARY_PATH=" + FolderOf("libmdh.so.1"),
      "XDG_CACHE_HOME=" + directory_.File("caches"), "MDH_SERVER=unix:/nowhere"};
  const std::string program = directory_.File("matmul");
  ExpectRuns({"sh", "-c",
              "cc -std=c99 -Wall -Wextra -Werror " + Example("matmul.c") + " -o " + program +
                  " $(pkg-config --cflags --libs mdh)"},
             environment);
  const Ended ended = RunProgram({program}, environment);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cannot connect to unix:/nowhere; is mdhd running there?"));
}

}  // namespace
}  // namespace mdh::install_test
