// Every name of a class or type is declared by one header: two classes of one name in programs that
// have both would get each other's functions, and no linker says so.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"

namespace mdh::names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The types that a header defines, with their namespace: those at the beginning of a line; forward
// declarations are none.
std::vector<std::string> DefinedTypes(std::istream& header) {
  static const auto* open = new std::regex(R"(namespace ([\w:]+) \{.*)");
  static const auto* type = new std::regex(
      R"((?:template <.*> )?(?:class|struct|enum class|union|using) (\w+)(?: final)?(?: [:=].*)?(?: \{.*)?)");
  std::vector<std::string> names;
  std::string scope;
  std::smatch match;
  for (std::string line; std::getline(header, line);) {
    if (std::regex_match(line, match, *open)) {
      scope = match[1].str();
    } else if (std::regex_match(line, match, *type)) {
      names.push_back(absl::StrCat(scope, "::", match[1].str()));
    }
  }
  return names;
}

TEST(Names, FindsDefinitions) {
  std::istringstream header(
      "namespace mdh {\nclass Declared;\nclass A final : public B {\n  struct Inner {\n};\n"
      "enum class E : uint8_t { kOne };\nusing F = int;\nusing ::testing::Eq;\nstruct G {\n};\n"
      "namespace detail {\nstruct A {};\n");
  EXPECT_THAT(DefinedTypes(header),
              ElementsAre("mdh::A", "mdh::E", "mdh::F", "mdh::G", "detail::A"));
}

TEST(Names, OfTypesAreUnique) {
  const std::filesystem::path root = SourcePath();
  std::map<std::string, std::string> headers;  // by type
  std::vector<std::string> twice;
  for (const char* folder : {"core", "codegen", "tuner", "proto", "server", "client"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h") continue;
      const std::string name = std::filesystem::relative(entry.path(), root).generic_string();
      std::ifstream header(entry.path());
      for (const std::string& type : DefinedTypes(header)) {
        const auto [known, is_new] = headers.emplace(type, name);
        if (!is_new) twice.push_back(absl::StrCat(type, ": ", known->second, " and ", name));
      }
    }
  }
  EXPECT_THAT(twice, IsEmpty());
  EXPECT_GT(headers.size(), 300u) << "the headers were not found under " << root;
}

}  // namespace
}  // namespace mdh::names_test
