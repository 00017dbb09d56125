// The library as a file: what it exports, and that its header is C.
#include <regex>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_interface/c_interface_fixture.h"
#include "tests/source_path.h"

namespace mdh::library_test {
namespace {

const std::string kHeader = SourcePath("client/c/mdh.h");
const std::string kLibrary = BuildPath("client/c/libmdh.so");

// The functions that the header declares.
std::set<std::string> Declared() {
  const std::string header = ReadFile(kHeader);
  const std::regex declaration(R"(MDH_API [^(;]*?\b(mdh_\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator match(header.begin(), header.end(), declaration), end; match != end;
       ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

TEST(CLibraryTest, ExportsWhatTheHeaderDeclaresAndNothingElse) {
  const Ended nm = RunProgram({"nm", "--dynamic", "--defined-only", kLibrary});
  if (nm.code == 127) GTEST_SKIP() << "there is no nm";
  ASSERT_EQ(nm.code, 0) << nm.err;
  std::set<std::string> exported;
  std::istringstream lines(nm.out);
  for (std::string address, kind, name; lines >> address >> kind >> name;) {
    if (kind != "A") exported.insert(name.substr(0, name.find('@')));  // A: the version's name
  }
  EXPECT_EQ(exported, Declared());
  EXPECT_GT(exported.size(), 50u);
}

TEST(CLibraryTest, HasASonameWithAVersion) {
  const Ended dump = RunProgram({"objdump", "-p", kLibrary});
  if (dump.code == 127) GTEST_SKIP() << "there is no objdump";
  EXPECT_THAT(dump.out, ::testing::ContainsRegex("SONAME +libmdh.so.1\n"));
}

TEST(CLibraryTest, TheHeaderIsPlainC) {
  const Ended compiled = RunProgram({"cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                                     "-fsyntax-only", "-x", "c", kHeader});
  EXPECT_EQ(compiled.code, 0) << compiled.err;
}

}  // namespace
}  // namespace mdh::library_test
