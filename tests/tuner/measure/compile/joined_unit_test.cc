#include "tuner/measure/compile/joined_unit.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/server/temporary_directory.h"
#include "tests/source_path.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/measure/compile/compilers.h"

namespace mdh::joined_unit_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(NamesOfUnit, AreThoseOutsideOfBracesAndParentheses) {
  const UnitNames found = NamesOf(R"(// int in_a_comment(void);
/* int in_another(void) { */
#include <math.h>
#define ONCE(x) \
  twice(x)
#  define INDENTED 1
typedef float f32x8 __attribute__((vector_size(32), aligned(4)));
typedef struct { float inner; } anonymous;
struct record { int field; int fields[3]; };
static const int table[2] = {1, 2};
const char* text = "int quoted(void) { \" }";
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
extern "C" __global__ void __launch_bounds__(256)
mdh_add_0(const struct record* __restrict__ a, float* out) {
  extern __shared__ char shared[];
  for (int i = 0; i < 3; ++i) helper(a[i]);
}
int mdh_call(void* const* a) { return '{'; }
static_assert(sizeof(float) == 4, "");
)");
  EXPECT_THAT(found.names, ElementsAre("f32x8", "anonymous", "record", "table", "text", "least",
                                       "mdh_add_0", "mdh_call"));
  EXPECT_THAT(found.macros, ElementsAre("ONCE", "INDENTED"));
  EXPECT_THAT(NamesOf("").names, IsEmpty());
  EXPECT_THAT(NamesOf("int unfinished(\"").names, ElementsAre("unfinished"));
  EXPECT_THAT(NamesOf("/* unfinished").names, IsEmpty());
}

TEST(JoinUnits, NamesEndWithTheNumberOfTheirUnitAndMacrosWithTheUnit) {
  EXPECT_EQ(JoinUnits({"#define ONE 1\nint f(void) { return ONE; }", "int f(void);"}),
            "#define f f_unit0\n"
            "#define ONE 1\nint f(void) { return ONE; }\n"
            "#undef f\n#undef ONE\n"
            "#define f f_unit1\n"
            "int f(void);\n"
            "#undef f\n");
  EXPECT_EQ(NameSuffix(1), "_unit1");
}

class JoinGoldenUnits : public ::testing::Test {
 protected:
  // Golden kernels, each twice.
  static std::vector<std::string> Units(const std::string& extension) {
    std::vector<std::string> units;
    const std::string folder = SourcePath("tests/codegen/golden");
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const bool is_kernel =
          entry.path().extension() == extension && entry.path().stem() != "scalar";
      if (!is_kernel) continue;
      std::ifstream in(entry.path());
      std::stringstream source;
      source << in.rdbuf();
      units.insert(units.end(), 2, source.str());
    }
    EXPECT_GE(units.size(), 10u);
    return units;
  }
};

TEST_F(JoinGoldenUnits, CompileAsC) {
  PrepareToSupervise();
  const TemporaryDirectory directory;
  PatientSupervisor supervisor;
  Compilers compilers = *Compilers::Find(std::getenv("PATH"), directory.path(), 2, supervisor);
  const std::string unit = JoinUnits(Units(".c"));
  for (const Compiler compiler : {Compiler::kGcc, Compiler::kClang}) {
    if (!compilers.program(compiler)) continue;
    // A warning would say that a macro is still defined, or a name has another meaning.
    const std::vector<std::string> options = {"-O0", "-mavx512f", "-fopenmp", "-Werror",
                                              "-Wno-parentheses"};
    const auto outcomes =
        *compilers.Compile({{compiler, unit, options}}, 60'000'000'000, supervisor);
    EXPECT_FALSE(outcomes[0].library.empty()) << outcomes[0].reason;
  }
}

TEST_F(JoinGoldenUnits, CompileAsCuda) {
  const Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const auto compiled =
      nvrtc->Compile(JoinUnits(Units(".cu")), "joined.cu", 90,
                     {"--std=c++17", "--fmad=false", kTensorMapsOption}, Nvrtc::Output::kPtx);
  EXPECT_EQ(ErrorMessage(compiled), "no error");
}

}  // namespace
}  // namespace mdh::joined_unit_test
