// Paths in commands, and names that macros would break.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/program/declared_names.h"
#include "tuner/program/shell_command.h"
#include "tuner/program/text_template.h"

namespace mdh::shell_and_names_test {
namespace {

// What the shell prints for the template with {spec} = `path` and {X} = "two words".
std::string Printed(const std::string& text, const std::string& path) {
  const TextTemplate parsed = *TextTemplate::Parse(text, {"spec", "X"});
  ShellCommand command;
  command.directory = "/";
  command.time_limit_ns = 20'000'000'000;
  command.command = parsed.FillForShell({{"spec", path}, {"X", "two words"}}, {"spec"});
  return RunShellCommand(command)->out;
}

TEST(FillForShell, PathsReachCommandsAsTheyAre) {
  AdoptOrphans();
  for (const std::string path :
       {"/plain/path-1", "/my files/it's \"here\"", "/a$HOME/`b`\\c", "/x;y&z|(w)*?"}) {
    EXPECT_EQ(Printed("printf '%s.' {spec}/a.c", path), path + "/a.c.");
    EXPECT_EQ(Printed("printf '%s.' \"{spec}/a.c\"", path), path + "/a.c.");
    EXPECT_EQ(Printed("printf '%s.' '{spec}/a.c'", path), path + "/a.c.");
    EXPECT_EQ(Printed("printf '%s.' -I{spec} \\\" {spec}", path),
              "-I" + path + ".\"." + path + ".");
  }
}

TEST(FillForShell, OtherValuesAreAPartOfTheCommand) {
  AdoptOrphans();
  EXPECT_EQ(Printed("printf '%s.' {X} \"{X}\"", "/"), "two.words.two words.");
}

TEST(FillForShell, PlainPathsLookAsTheyAre) {
  const TextTemplate text = *TextTemplate::Parse("cc {spec}/a.c", {"spec"});
  EXPECT_EQ(text.FillForShell({{"spec", "/usr/src"}}, {"spec"}), "cc /usr/src/a.c");
}

TEST(DeclaresVariable, FindsWhatAMacroWouldBreak) {
  constexpr std::string_view source = R"(
    // int commented;
    #define TILE 8
    /* float also; */
    __kernel void saxpy(const int n, const float a, __global float* x, __global const float *y) {
      for (int i = 0, k = 3; i < n; ++i) y[i] = a * x[i] + SCALE;
      typed_t local = {0}; unsigned bits[4];
      return WIDTH;
    })";
  for (const char* name : {"n", "a", "x", "y", "i", "local", "bits"}) {
    EXPECT_TRUE(DeclaresVariable(source, name)) << name;
  }
  for (const char* name : {"SCALE", "TILE", "WIDTH", "commented", "also", "saxpy", "N"}) {
    EXPECT_FALSE(DeclaresVariable(source, name)) << name;
  }
  EXPECT_FALSE(DeclaresVariable("int f() { return b * N; }", "N"));
  EXPECT_FALSE(DeclaresVariable("#ifdef N\nint x = N;\n#endif\n", "N"));
}

}  // namespace
}  // namespace mdh::shell_and_names_test
