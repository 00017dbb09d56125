// Kernels under gcc's sanitizers: what these find, and that they find nothing in some random
// kernels; kernel_campaign and block_campaign run more. This program starts itself again for it.
#include "tests/memory/kernel_sanitizers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/fresh_seed.h"
#include "tests/memory/written_kernel.h"
#include "tests/property/block_pairs.h"
#include "tests/property/random_pairs.h"

namespace mdh::kernel_sanitizers_test {
namespace {

using ::testing::HasSubstr;

// Whether this process has the sanitizers, and goes on with the test. Else one that has is started
// for this test alone, and what it says is the result.
bool RunsHere() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter = absl::StrCat("--gtest_filter=KernelSanitizersTest.", test->name());
  char* argv[] = {program.data(), filter.data(), nullptr};
  if (HasKernelSanitizers()) return EnterKernelSanitizers(argv).ok();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(EnterKernelSanitizers(argv).ok() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "its output is above";
  return false;
}

TEST(KernelSanitizersTest, FindWhatIsWrong) {
  if (const auto found = FindKernelSanitizers(); !found.ok()) {
    GTEST_SKIP() << found.status().message();
  }
  if (!RunsHere()) return;
  EXPECT_EQ(Judged(CopyAfter("seen = a[16]; memset(scratch, 1, 128);")), "");
  const struct {
    const char* statements;
    const char* message;
  } kCases[] = {
      {"seen = a[16 + one];", "AddressSanitizer"},
      {"if (threads == 1) seen = scratch[127 + one];", "heap-buffer-overflow"},
      {"float few[4]; memset(few, 0, sizeof few); seen = few[3 + one];", "out of bounds"},
      {"float few[4]; float* volatile f = few; memset(f, 0, 16); seen = f[3 + one];",
       "stack-buffer-overflow"},
      {"char* block = malloc(8); free(block); free(block + one - 1);", "double-free"},
      {"char* block = malloc(8); free(block); seen = block[one];", "heap-use-after-free"},
      {"char* restrict p = (char*)(scratch + 0);\n"
       "  char* restrict q = (char*)(scratch + 64);\n"
       "  p[63 + one] = 0, seen = q[0];",
       "use-after-poison"},
      {"seen = *(float*)(scratch + one);", "misaligned address"},
      {"seen = (float)(large + one);", "signed integer overflow"},
      {"seen = 1 << (31 + one);", "shift exponent 32"},
  };
  for (const auto& [statements, message] : kCases) {
    EXPECT_THAT(Judged(CopyAfter(statements)), HasSubstr(message)) << statements;
  }
}

void Fail(const std::string& failure) { ADD_FAILURE() << failure; }

TEST(KernelSanitizersTest, FindNothingInRandomKernels) {
  if (const auto found = FindKernelSanitizers(); !found.ok()) {
    GTEST_SKIP() << found.status().message();
  }
  if (!RunsHere()) return;
  JudgeRandomPairs({.pairs = 2, .seed = FreshSeed()}, Fail);
  JudgeRandomPairs({.pairs = 1, .seed = FreshSeed(), .only_tiles = true}, Fail);
  JudgeRandomPairs({.pairs = 2, .seed = FreshSeed(), .only_products = true}, Fail);
  JudgeBlockPairs({.count = 1, .seed = FreshSeed()}, Fail);
  JudgeBlockPairs({.count = 1, .seed = FreshSeed(), .pipelines = true}, Fail);
}

}  // namespace
}  // namespace mdh::kernel_sanitizers_test
