// The arrows between folders: who may include whom, and what the lower folders may link.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Headers of the project and of the libraries that not every folder may use, by prefix.
constexpr std::string_view kGuarded[] = {"core/",    "codegen/", "tuner/",  "proto/",    "server/",
                                         "client/",  "tests/",   "deploy/", "mdh/",      "grpc",
                                         "google/",  "sqlite3",  "CLI/",    "nlohmann/", "spdlog/",
                                         "openssl/", "cuda",     "nvrtc",   "CL/"};

struct Arrow {
  std::string_view from;                  // files under this prefix; the first that matches counts
  std::vector<std::string_view> allowed;  // guarded headers that they may include, by prefix
};

const std::vector<Arrow>& Arrows() {
  static const auto* arrows = new std::vector<Arrow>{
      {"core/command_line/", {"core/command_line/", "CLI/"}},
      {"core/", {"core/", "openssl/"}},
      {"codegen/", {"core/", "codegen/"}},
      {"tuner/space/", {"core/base/start_thread.h", "core/base/status.h", "tuner/space/"}},
      {"tuner/search/", {"core/base/status.h", "tuner/space/", "tuner/search/"}},
      {"tuner/study/",
       {"core/base/status.h", "tuner/space/", "tuner/search/", "tuner/study/", "mdh/v1/study.pb.h",
        "google/protobuf/"}},
      {"tuner/program/",
       {"core/base/shortened.h", "core/base/status.h", "tuner/space/", "tuner/search/",
        "tuner/study/", "tuner/program/", "tuner/device/", "tuner/measure/", "mdh/v1/",
        "google/protobuf/"}},
      {"tuner/", {"core/", "codegen/", "tuner/", "mdh/v1/runner.pb.h", "google/protobuf/"}},
      {"proto/", {"core/", "proto/", "mdh/v1/", "grpc", "google/"}},
      {"client/",
       {"core/", "client/", "proto/", "mdh/v1/", "grpc", "google/", "CLI/", "nlohmann/",
        "tuner/space/", "tuner/search/", "tuner/study/", "tuner/program/"}},
      {"server/",
       {"core/", "codegen/", "tuner/", "proto/", "server/", "mdh/v1/", "grpc", "google/", "CLI/",
        "sqlite3", "spdlog/", "nlohmann/", "openssl/"}},
  };
  return *arrows;
}

bool StartsWithOneOf(std::string_view text, const std::vector<std::string_view>& prefixes) {
  for (std::string_view prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

bool IsGuarded(std::string_view header) {
  for (std::string_view prefix : kGuarded) {
    if (header.starts_with(prefix)) return true;
  }
  return false;
}

// The header that an #include line names, between quotes or angle brackets; empty for other lines.
std::string IncludedHeader(const std::string& line) {
  static const auto* include = new std::regex(R"(\s*#\s*include\s*["<]([^">]+)[">].*)");
  std::smatch match;
  return std::regex_match(line, match, *include) ? match[1].str() : "";
}

// One entry "file:line: ..." per include of `text` that `file` (a path from the root) may not have.
std::vector<std::string> ForbiddenIncludes(const std::string& file, const std::string& text) {
  const Arrow* arrow = nullptr;
  for (const Arrow& candidate : Arrows()) {
    if (arrow == nullptr && file.starts_with(candidate.from)) arrow = &candidate;
  }
  std::vector<std::string> found;
  if (arrow == nullptr) return found;
  int number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string header = IncludedHeader(line);
    if (header.empty()) continue;
    if (header.starts_with(".")) {
      found.push_back(absl::StrCat(file, ":", number, ": include from the root, not ", header));
    } else if (IsGuarded(header) && !StartsWithOneOf(header, arrow->allowed)) {
      found.push_back(
          absl::StrCat(file, ":", number, ": ", std::string(arrow->from), " may not use ", header));
    }
  }
  return found;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Arrows, FindsWhatIsForbidden) {
  EXPECT_THAT(ForbiddenIncludes("core/a.cc",
                                "#include <vector>\n  # include \"codegen/program/kernel.h\"\n"),
              ElementsAre("core/a.cc:2: core/ may not use codegen/program/kernel.h"));
  EXPECT_THAT(ForbiddenIncludes("tuner/search/a.h", "#include \"core/expression/expression.h\"\n"),
              SizeIs(1));
  EXPECT_THAT(ForbiddenIncludes("tuner/measure/a.h", "#include \"core/expression/expression.h\"\n"),
              IsEmpty());
  EXPECT_THAT(ForbiddenIncludes("codegen/a.cc", "#include <grpcpp/grpcpp.h>\n"), SizeIs(1));
  EXPECT_THAT(ForbiddenIncludes("server/a.cc", "#include \"client/client.h\"\n"), SizeIs(1));
  EXPECT_THAT(ForbiddenIncludes("server/a.cc", "#include \"../core/base/status.h\"\n"), SizeIs(1));
}

TEST(Arrows, EveryIncludeFollowsAnArrow) {
  const std::filesystem::path root = MDH_SOURCE_DIR;
  int files = 0;
  std::vector<std::string> found;
  for (const char* folder : {"core", "codegen", "tuner", "proto", "server", "client"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      const std::string name = std::filesystem::relative(entry.path(), root).generic_string();
      for (std::string& line : ForbiddenIncludes(name, ReadFile(entry.path()))) {
        found.push_back(std::move(line));
      }
    }
  }
  EXPECT_THAT(found, IsEmpty());
  EXPECT_GT(files, 20) << "the sources were not found under " << root;
}

// What a target links, itself left out, transitively: the build writes one name a line.
std::vector<std::string> LinkClosure(const std::string& target) {
  const std::string path = absl::StrCat(MDH_BINARY_DIR, "/tests/links/", target, ".txt");
  std::ifstream lines(path);
  std::vector<std::string> libraries;
  for (std::string line; std::getline(lines, line);) libraries.push_back(line);
  EXPECT_FALSE(libraries.empty()) << path << " is missing or empty";
  return libraries;
}

void ExpectLinksOnly(const std::string& target, const std::vector<std::string_view>& allowed) {
  for (const std::string& library : LinkClosure(target)) {
    EXPECT_TRUE(StartsWithOneOf(library, allowed)) << target << " may not link " << library;
  }
}

TEST(Arrows, LowerFoldersLinkNoServiceAndNoGpuLibrary) {
  ExpectLinksOnly("mdh_core", {"absl::", "OpenSSL::Crypto"});
  ExpectLinksOnly("mdh_codegen", {"absl::", "OpenSSL::Crypto", "mdh_core"});
}

TEST(Arrows, DevicesLinkNoLibraryOfAVendor) {
  ExpectLinksOnly("mdh_device", {"absl::", "OpenSSL::Crypto", "mdh_core", "mdh_codegen", "dl"});
}

TEST(Arrows, ConversionOfExpressionsLinksNoService) {
  ExpectLinksOnly("mdh_expression_proto",
                  {"absl::", "OpenSSL::Crypto", "mdh_core", "mdh_proto", "protobuf::"});
}

TEST(Arrows, BundlesAreReadWithoutMessagesAndServices) {
  ExpectLinksOnly("mdh_bundle", {"absl::", "OpenSSL::Crypto", "mdh_core"});
}

TEST(Arrows, SpacesAndSearchKnowNothingOfMdh) {
  ExpectLinksOnly("mdh_space", {"absl::", "PkgConfig::GMPXX", "Threads::"});
  ExpectLinksOnly("mdh_search", {"absl::", "PkgConfig::GMPXX", "Threads::", "mdh_space"});
}

}  // namespace
}  // namespace mdh
