// The arrows between folders: who may include whom, and what the lower folders may link. Which
// folders of the project a folder may use, its CMakeLists.txt says (mdh_add_folder).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"

namespace mdh::arrows_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
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
      {"tuner/space/", {"core/base/", "tuner/space/"}},
      {"tuner/search/", {"core/base/", "tuner/space/", "tuner/search/"}},
      {"tuner/study/",
       {"core/base/", "tuner/space/", "tuner/search/", "tuner/study/", "mdh/v1/study.pb.h",
        "mdh/v1/restriction.pb.h", "google/protobuf/"}},
      {"tuner/program/",
       {"core/base/", "tuner/space/", "tuner/search/", "tuner/study/", "tuner/program/",
        "tuner/device/", "tuner/process/", "mdh/v1/", "google/protobuf/"}},
      {"tuner/",
       {"core/", "codegen/", "tuner/", "proto/device_conversion.h", "mdh/v1/runner.pb.h",
        "google/protobuf/"}},
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
  const std::filesystem::path root = SourcePath();
  int files = 0;
  std::vector<std::string> found;
  for (const char* folder : {"core", "codegen", "tuner", "proto", "server", "client"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".proto") continue;
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

std::vector<std::string> Lines(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << path << " is missing or empty";
  return lines;
}

// What a target links, transitively: the build writes one name a line.
std::vector<std::string> LinkClosure(const std::string& target) {
  return Lines(absl::StrCat(BuildPath("tests/links/"), target, ".txt"));
}

void ExpectLinksOnly(const std::string& target, const std::vector<std::string_view>& allowed) {
  for (const std::string& library : LinkClosure(target)) {
    EXPECT_TRUE(StartsWithOneOf(library, allowed)) << target << " may not link " << library;
  }
}

// Folders that are libraries, by path; the build writes them.
std::vector<std::string> Folders() {
  return Lines(std::filesystem::path(BuildPath("tests/folders.txt")));
}

std::string LibraryOf(const std::string& folder) {
  return absl::StrCat("mdh_", absl::StrReplaceAll(folder, {{"/", "_"}}));
}

// The folders whose headers the files of each folder include, its own left out. A main function may
// use what its program links besides.
std::map<std::string, std::set<std::string>> IncludedFolders() {
  const std::vector<std::string> folders = Folders();
  const std::set<std::string> known(folders.begin(), folders.end());
  std::map<std::string, std::set<std::string>> included;
  for (const std::string& folder : folders) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(SourcePath()) / folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".h") && (!name.ends_with(".cc") || name.ends_with("main.cc"))) continue;
      std::istringstream lines(ReadFile(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        const std::string from = std::filesystem::path(IncludedHeader(line)).parent_path().string();
        if (from != folder && known.count(from) > 0) included[folder].insert(from);
      }
    }
  }
  return included;
}

TEST(Arrows, EveryFolderIncludesOnlyWhatItsLibraryLinks) {
  for (const auto& [folder, included] : IncludedFolders()) {
    const std::vector<std::string> linked = LinkClosure(LibraryOf(folder));
    for (const std::string& from : included) {
      EXPECT_THAT(linked, Contains(LibraryOf(from))) << folder << " includes headers of " << from;
    }
  }
}

TEST(Arrows, NoFolderUsesItself) {
  for (const std::string& folder : Folders()) {
    const std::string library = LibraryOf(folder);
    EXPECT_THAT(LinkClosure(library), Not(Contains(library)));
  }
}

// A floor is above all floors that it stands on.
TEST(Arrows, HousesAreNotHigh) {
  const std::map<std::string, std::set<std::string>> included = IncludedFolders();
  const std::function<int(const std::string&, const std::string&)> floor =
      [&](const std::string& top, const std::string& folder) {
        int below = 0;
        const auto found = included.find(folder);
        if (found == included.end()) return 1;
        for (const std::string& from : found->second) {
          if (from == top || from.starts_with(top + "/")) below = std::max(below, floor(top, from));
        }
        return below + 1;
      };
  for (const auto& [top, most] : {std::pair("core", 6), {"codegen", 6}, {"server", 9}}) {
    for (const std::string& folder : Folders()) {
      if (folder == top || folder.starts_with(absl::StrCat(top, "/"))) {
        EXPECT_LE(floor(top, folder), most) << folder;
      }
    }
  }
}

// Folders with tests, of which not all are libraries.
std::vector<std::string> TestFolders() {
  const std::filesystem::path root = SourcePath();
  std::vector<std::string> folders = {"tests"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tests")) {
    if (!entry.is_directory()) continue;
    folders.push_back(std::filesystem::relative(entry.path(), root).generic_string());
  }
  return folders;
}

// What one looks for is found at a glance.
TEST(Arrows, FoldersAndFilesAreSmall) {
  constexpr int kMostFiles = 40, kMostLines = 500;
  std::vector<std::string> folders = Folders();
  folders.push_back("proto/mdh/v1");
  for (std::string& folder : TestFolders()) folders.push_back(std::move(folder));
  for (const std::string& folder : folders) {
    int files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(SourcePath()) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".proto") continue;
      ++files;
      const std::string text = ReadFile(entry.path());
      EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMostLines) << entry.path();
    }
    EXPECT_LE(files, kMostFiles) << folder;
  }
}

TEST(Arrows, LowerFoldersLinkNoServiceAndNoGpuLibrary) {
  ExpectLinksOnly("mdh_core_decomposition", {"absl::", "OpenSSL::Crypto", "mdh_core_"});
  ExpectLinksOnly("mdh_core_einsum", {"absl::", "OpenSSL::Crypto", "mdh_core_"});
  ExpectLinksOnly("mdh_core_teml", {"absl::", "OpenSSL::Crypto", "mdh_core_"});
  ExpectLinksOnly("mdh_codegen", {"absl::", "OpenSSL::Crypto", "mdh_core_", "mdh_codegen_"});
}

TEST(Arrows, DevicesLinkNoLibraryOfAVendor) {
  for (const char* const library : {"mdh_tuner_device_cuda", "mdh_tuner_device_opencl"}) {
    ExpectLinksOnly(library, {"absl::", "OpenSSL::Crypto", "mdh_core_", "mdh_codegen_program",
                              "mdh_tuner_device", "dl"});
  }
}

TEST(Arrows, ConversionOfExpressionsLinksNoService) {
  ExpectLinksOnly("mdh_expression_proto",
                  {"absl::", "OpenSSL::Crypto", "mdh_core", "mdh_proto", "protobuf::"});
}

TEST(Arrows, BundlesAreReadWithoutMessagesAndServices) {
  ExpectLinksOnly("mdh_bundle", {"absl::", "OpenSSL::Crypto", "mdh_core"});
}

TEST(Arrows, SpacesAndSearchKnowNothingOfMdh) {
  ExpectLinksOnly("mdh_tuner_search", {"absl::", "OpenSSL::Crypto", "PkgConfig::GMPXX", "Threads::",
                                       "mdh_core_base", "mdh_tuner_space", "mdh_tuner_search"});
}

}  // namespace
}  // namespace mdh::arrows_test
