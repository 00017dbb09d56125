// Sources that a build with MDH_UNITY compiles together have no names of their own in common,
// neither with each other nor with the headers that any of them includes: two would clash or,
// worse, be overloads, and a call could silently mean another function than where each source is
// compiled alone.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/build/source_names.h"
#include "tests/source_path.h"

namespace mdh::unity_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct SourceFile {
  std::string path;
  std::string text;
};

// "name: one.cc:3 and other.cc:4" for each own name of a source, and each type of a header, that
// another source or header has, too. Aliases that stand for the same are no clash, nor are names
// that one file has several times.
std::vector<std::string> Clashes(const std::vector<SourceFile>& sources,
                                 const std::vector<SourceFile>& headers) {
  struct Place {
    SourceName name;
    std::string path;
  };
  std::map<std::string, Place> places;  // the first of each name
  std::vector<std::string> clashes;
  const auto add = [&](const SourceName& name, const std::string& path) {
    const Place& first = places.emplace(name.name, Place{name, path}).first->second;
    const bool is_same_alias = !name.alias.empty() && name.alias == first.name.alias;
    const bool is_function = !name.is_own && !first.name.is_own;
    if (first.path == path || is_same_alias || is_function) return;
    clashes.push_back(absl::StrCat(name.name, ": ", first.path, ":", first.name.line, " and ", path,
                                   ":", name.line));
  };
  for (const SourceFile& header : headers) {
    for (const SourceName& name : NamesAtNamespaceScope(header.text)) add(name, header.path);
  }
  for (const SourceFile& source : sources) {
    for (const SourceName& name : NamesAtNamespaceScope(source.text)) {
      if (name.is_own) add(name, source.path);
    }
  }
  return clashes;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The headers of the project that `sources` include, and those that these include.
std::vector<SourceFile> HeadersOf(const std::vector<SourceFile>& sources) {
  static const auto* include = new std::regex(R"(#include "([^"]+)\")");
  std::vector<SourceFile> headers;
  std::set<std::string> known;
  const auto follow = [&](const std::string& text) {
    for (std::sregex_iterator i(text.begin(), text.end(), *include), end; i != end; ++i) {
      const std::string path = (*i)[1].str();
      const std::filesystem::path file = std::filesystem::path(SourcePath()) / path;
      if (!std::filesystem::exists(file) || !known.insert(path).second) continue;
      headers.push_back({path, ReadFile(file)});
    }
  };
  for (const SourceFile& source : sources) follow(source.text);
  for (size_t i = 0; i < headers.size(); ++i) follow(std::string(headers[i].text));
  return headers;
}

// The sources of a library: the build writes one path a line.
std::vector<SourceFile> SourcesOf(const std::filesystem::path& list) {
  std::vector<SourceFile> sources;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::filesystem::exists(line)) << line << ", of " << list;
    const std::filesystem::path path = line;
    sources.push_back({path.lexically_proximate(SourcePath()).generic_string(), ReadFile(path)});
  }
  return sources;
}

TEST(Unity, FindsNamesThatSourcesHaveInCommon) {
  const SourceFile one = {"one.cc",
                          "namespace mdh {\nnamespace {\nint F(int n) { return n; }\n"
                          "using Row = Table::Row;\n}\n}\n"};
  const SourceFile other = {"other.cc",
                            "static void F(double x);\nvoid G() {}\n"
                            "using Row = Table::Row;\n"};
  const SourceFile third = {"third.cc",
                            "using Row = Page::Row;\nstatic int G(); static int G(int);\n"};
  EXPECT_THAT(Clashes({one, other}, {}), ElementsAre("F: one.cc:3 and other.cc:1"));
  EXPECT_THAT(Clashes({one, third}, {}), ElementsAre("Row: one.cc:4 and third.cc:1"));
  // What is not a source's own is the same function wherever it is declared.
  EXPECT_THAT(Clashes({other}, {{"other.h", "void G();\n"}}), IsEmpty());
  EXPECT_THAT(Clashes({third, other}, {{"other.h", "\nvoid G();\n"}}),
              ElementsAre("G: other.h:2 and third.cc:2", "G: other.h:2 and third.cc:2",
                          "Row: third.cc:1 and other.cc:3"));
}

TEST(Unity, FindsTypesOfHeadersThatHideFunctions) {
  const SourceFile type = {"type.h", "struct If {\n};\n"};
  const SourceFile declaration = {"declaration.h", "struct If;\nvoid F();\n"};
  const SourceFile function = {"function.h", "\nint If(int n);\nvoid F(int n);\n"};
  EXPECT_THAT(Clashes({}, {function, type}), ElementsAre("If: function.h:2 and type.h:1"));
  EXPECT_THAT(Clashes({}, {type, function}), ElementsAre("If: type.h:1 and function.h:2"));
  EXPECT_THAT(Clashes({}, {declaration, type}), IsEmpty());
  EXPECT_THAT(Clashes({}, {declaration, function}), IsEmpty());
}

TEST(Unity, SourcesHaveNoNamesInCommon) {
  int libraries = 0, sources = 0;
  for (const auto& list : std::filesystem::directory_iterator(BuildPath("tests/unity"))) {
    const std::vector<SourceFile> files = SourcesOf(list.path());
    ++libraries;
    sources += static_cast<int>(files.size());
    EXPECT_THAT(Clashes(files, HeadersOf(files)), IsEmpty())
        << "in library " << list.path().stem()
        << ", whose sources may be compiled together (MDH_UNITY in CMakeLists.txt). If both mean "
           "the same, put it in one place; else, give one of them a name that says more.";
  }
  EXPECT_GT(libraries, 10);
  EXPECT_GT(sources, 350);
}

}  // namespace
}  // namespace mdh::unity_test
