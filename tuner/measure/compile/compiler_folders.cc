#include "tuner/measure/compile/compiler_folders.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tuner/measure/compile/program_output.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

// What EnterPrivateRoot shows anyway.
constexpr const char* kShown[] = {"/usr/",   "/opt/",    "/lib/", "/lib32/",
                                  "/lib64/", "/libx32/", "/bin/", "/sbin/"};
// Of these all is readable for everybody, and packages refer to each other.
constexpr const char* kStores[] = {"/nix/store", "/gnu/store"};
constexpr int kMostLinks = 40;

bool IsShown(const std::string& path) {
  return std::ranges::any_of(kShown,
                             [&](const char* folder) { return absl::StartsWith(path, folder); });
}

// Collects what one compiler needs.
class Installation {
 public:
  Installation(std::string directory, Supervisor& supervisor)
      : directory_(std::move(directory)), supervisor_(supervisor) {}

  void Add(const std::string& program) {
    is_silent_ = false;
    AddFolderOf(program);
    AddListed(Ask({{program, "-print-search-dirs"}}));
    for (const char* part : {"cc1", "collect2", "lto-wrapper", "as", "ld"}) {
      const std::string path = Ask({{program, absl::StrCat("-print-prog-name=", part)}});
      AddFolderOf(path);
      AddLibrariesOf(path);
    }
    AddPath(Ask({{program, "-print-sysroot"}}));
    AddPath(Ask({{program, "-print-resource-dir"}}));
    AddHeaders(Ask({{program, "-E", "-v", "-x", "c", "/dev/null"}, Streams::kAll}));
    AddLibrariesOf(program);
  }

  std::vector<std::string> paths() const { return {paths_.begin(), paths_.end()}; }

 private:
  std::string Ask(const Question& question) {
    if (is_silent_) return "";
    Result<std::string> answer = AnswerTo(question, directory_, supervisor_);
    is_silent_ = absl::IsDeadlineExceeded(answer.status());
    return std::move(answer).value_or("");
  }

  // With all links on the way. Files and folders that are not there, or are everything, are not
  // meant.
  void AddPath(const std::string& text) {
    fs::path path = fs::path(text).lexically_normal();
    if (!path.is_absolute() || path == path.root_path()) return;
    for (int links = 0; links < kMostLinks; ++links) {
      std::error_code error;
      fs::path link;
      fs::path rest;
      for (const fs::path& part : path) {
        if (!rest.empty() || fs::is_symlink(link, error)) {
          rest /= part;
        } else {
          link /= part;
        }
      }
      if (!fs::is_symlink(link, error)) break;
      Note(link.string());
      path = (link.parent_path() / fs::read_symlink(link, error) / rest).lexically_normal();
    }
    std::error_code error;
    if (fs::exists(path, error)) Note(path.string());
  }

  void Note(std::string path) {
    if (absl::EndsWith(path, "/")) path.pop_back();
    if (path.empty() || IsShown(path)) return;
    for (const char* store : kStores) {
      if (absl::StartsWith(path, absl::StrCat(store, "/"))) path = store;
    }
    paths_.insert(std::move(path));
  }

  void AddFolderOf(const std::string& program) {
    if (!absl::StartsWith(program, "/")) return;
    AddPath(program);
    AddPath(fs::path(program).parent_path().string());
    std::error_code error;
    AddPath(fs::canonical(program, error).parent_path().string());
  }

  // "install: /x/lib/gcc/", "libraries: =/x/lib:/y/lib".
  void AddListed(const std::string& text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const size_t colon = line.find(": ");
      if (colon == absl::string_view::npos) continue;
      absl::string_view folders = line.substr(colon + 2);
      absl::ConsumePrefix(&folders, "=");
      for (const absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
        AddPath(std::string(folder));
      }
    }
  }

  // One folder a line, between "#include <...> search starts here:" and the end of that list.
  void AddHeaders(const std::string& text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (absl::StartsWith(line, " /")) AddPath(std::string(absl::StripAsciiWhitespace(line)));
    }
  }

  // "libgmp.so.10 => /x/lib/libgmp.so.10 (0x7f...)", as the system's loader finds them.
  void AddLibrariesOf(const std::string& program) {
    if (!absl::StartsWith(program, "/") || IsShown(program)) return;
    const std::string loaded = Ask({{program}, Streams::kOutput, "LD_TRACE_LOADED_OBJECTS"});
    for (const absl::string_view line : absl::StrSplit(loaded, '\n')) {
      const std::vector<absl::string_view> sides = absl::StrSplit(line, " => ");
      if (sides.size() == 2) AddPath(std::string(sides[1].substr(0, sides[1].find(" ("))));
    }
  }

  const std::string directory_;
  Supervisor& supervisor_;
  bool is_silent_ = false;  // the compiler did not answer, and is not asked again
  std::set<std::string> paths_;
};

}  // namespace

std::vector<std::string> FoldersOfCompilers(const std::string& path, const std::string& directory,
                                            Supervisor& supervisor) {
  Installation all(directory, supervisor);
  for (const char* name : {"gcc", "cc", "clang"}) {
    for (const std::string& program : FindPrograms(path, name)) {
      std::error_code error;
      const std::string real = fs::canonical(program, error).string();
      if (!error && !(IsShown(program) && IsShown(real))) all.Add(program);
    }
  }
  return all.paths();
}

}  // namespace mdh
