// Kernels that touch what is before or behind their buffers, also where sanitizers do not look.
#include "tests/memory/guarded_bytes.h"

#include "gmock/gmock.h"
#include "tests/memory/written_kernel.h"

namespace mdh::guarded_bytes_test {
namespace {

using ::testing::HasSubstr;

TEST(GuardedBytesTest, BeginsOrEndsAtAForbiddenPage) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{68}, size_t{4096}, size_t{5000}}) {
    const auto page = static_cast<size_t>(4096);
    const GuardedBytes at_end(size, Placement::kAtEnd), at_begin(size, Placement::kAtBegin);
    EXPECT_EQ((reinterpret_cast<uintptr_t>(at_end.data()) + size) % page, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at_begin.data()) % page, 0u);
    for (const GuardedBytes* bytes : {&at_end, &at_begin}) {
      for (size_t n = 0; n < size; ++n) EXPECT_EQ(bytes->data()[n], GuardedBytes::kPoison);
      EXPECT_TRUE(bytes->IsRestIntact());
    }
  }
}

TEST(GuardedBytesTest, SeesWhatIsWrittenInTheRestOfThePage) {
  const GuardedBytes at_end(68, Placement::kAtEnd), at_begin(68, Placement::kAtBegin);
  at_end.data()[-1] = 0;
  EXPECT_FALSE(at_end.IsRestIntact());
  at_begin.data()[68] = 0;
  EXPECT_FALSE(at_begin.IsRestIntact());
}

TEST(GuardedBytesTest, AKernelThatKeepsToItsBuffersIsRight) {
  EXPECT_EQ(Judged(CopyAfter("seen = a[16]; memset(scratch, 1, 128);")), "");
}

TEST(GuardedBytesTest, AccessesBeyondBuffersAreNamed) {
  const struct {
    const char* statements;
    const char* message;
  } kCases[] = {
      {"seen = a[17];", "accesses 0 bytes behind the end of a"},
      {"seen = a[19];", "accesses 8 bytes behind the end of a"},
      {"seen = a[-1];", "accesses 4 bytes before a"},
      {"seen = y[17];", "accesses 0 bytes behind the end of y"},
      {"seen = y[-2];", "accesses 8 bytes before y"},
      {"((float*)a)[3] = 0;", "writes to a"},
      {"if (threads == 3) seen = scratch[128];", "accesses 0 bytes behind the end of its scratch"},
      {"*(volatile int*)0 = 0;", "signal 11 at (nil)"},
  };
  for (const auto& [statements, message] : kCases) {
    EXPECT_THAT(Judged(CopyAfter(statements)), HasSubstr(message)) << statements;
  }
}

// Intrinsics of vectors with masks: elements that are masked off are not accessed.
TEST(GuardedBytesTest, MaskedLoadsMayReachBeyondTheEnd) {
  constexpr char kLoad[] =
      "\n#ifdef __AVX512F__\n"
      "  typedef float v16 __attribute__((vector_size(64)));\n"
      "  __asm__ volatile(\"kmovw %1, %%k1; vmovups %0, %%zmm0%{%%k1%}%{z%}\"\n"
      "                   :: \"m\"(*(const v16*)(a + 15)), \"r\"($0) : \"xmm0\", \"k1\");\n"
      "#endif\n";
  EXPECT_EQ(Judged(CopyAfter(absl::Substitute(kLoad, 3))), "");
  if (__builtin_cpu_supports("avx512f")) {
    EXPECT_THAT(Judged(CopyAfter(absl::Substitute(kLoad, 7))), HasSubstr("behind the end of a"));
  }
}

}  // namespace
}  // namespace mdh::guarded_bytes_test
