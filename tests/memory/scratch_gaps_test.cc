#include "tests/memory/scratch_gaps.h"

#include "gmock/gmock.h"

namespace mdh::scratch_gaps_test {
namespace {

constexpr char kFunctions[] =
    "void __asan_poison_memory_region(void const volatile*, unsigned long);\n"
    "void __asan_unpoison_memory_region(void const volatile*, unsigned long);\n"
    "#line 1\n";

TEST(ScratchGapsTest, EveryBufferIsBehindAGap) {
  EXPECT_EQ(WithScratchGaps("static void stage_0(const int64_t thread, char* restrict scratch) {\n"
                            "  float* restrict a = (float*)(scratch + 0);\n"
                            "  float* restrict b = (float*)(scratch + 128);\n"
                            "  f();\n"
                            "}\n"
                            "static void stage_1(const int64_t thread, char* restrict scratch) {\n"
                            "  float* restrict b = (float*)(scratch + 128);\n"
                            "  int8_t* restrict c = (int8_t*)(scratch + 192 + thread * 320);\n"
                            "  int8_t* restrict d = (int8_t*)(scratch + 256 + thread * 320);\n"
                            "}\n"
                            "int64_t mdh_x_scratch_bytes(int threads) { return 192 + "
                            "(int64_t)threads * 320; }\n"),
            std::string(kFunctions) +
                "static void stage_0(const int64_t thread, char* restrict scratch) {\n"
                "  float* restrict a = (float*)(scratch + 64); "
                "__asan_poison_memory_region((char*)a - 64, 64);\n"
                "  float* restrict b = (float*)(scratch + 256); "
                "__asan_poison_memory_region((char*)b - 64, 64);\n"
                "  f();\n"
                "__asan_unpoison_memory_region((char*)a - 64, 64); "
                "__asan_unpoison_memory_region((char*)b - 64, 64); "
                "}\n"
                "static void stage_1(const int64_t thread, char* restrict scratch) {\n"
                "  float* restrict b = (float*)(scratch + 256); "
                "__asan_poison_memory_region((char*)b - 64, 64);\n"
                "  int8_t* restrict c = (int8_t*)(scratch + 384 + thread * 448); "
                "__asan_poison_memory_region((char*)c - 64, 64);\n"
                "  int8_t* restrict d = (int8_t*)(scratch + 512 + thread * 448); "
                "__asan_poison_memory_region((char*)d - 64, 64);\n"
                "__asan_unpoison_memory_region((char*)b - 64, 64); "
                "__asan_unpoison_memory_region((char*)c - 64, 64); "
                "__asan_unpoison_memory_region((char*)d - 64, 64); "
                "}\n"
                "int64_t mdh_x_scratch_bytes(int threads) { return 320 + (int64_t)threads * 448; "
                "}\n");
}

TEST(ScratchGapsTest, OfOneThread) {
  EXPECT_EQ(WithScratchGaps("static void stage_0(char* restrict scratch) {\n"
                            "  const int64_t thread = 0;\n"
                            "  float* restrict c = (float*)(scratch + 64 + thread * 128);\n"
                            "}\n"
                            "int64_t mdh_x_scratch_bytes(int threads) {\n"
                            "  (void)threads;\n"
                            "  return 192;\n"
                            "}\n"
                            "  _Alignas(64) char own[192];\n"
                            "    own = aligned_alloc(64, 192);\n"),
            std::string(kFunctions) +
                "static void stage_0(char* restrict scratch) {\n"
                "  const int64_t thread = 0;\n"
                "  float* restrict c = (float*)(scratch + 128 + thread * 192); "
                "__asan_poison_memory_region((char*)c - 64, 64);\n"
                "__asan_unpoison_memory_region((char*)c - 64, 64); "
                "}\n"
                "int64_t mdh_x_scratch_bytes(int threads) {\n"
                "  (void)threads;\n"
                "  return 256;\n"
                "}\n"
                "  _Alignas(64) char own[256];\n"
                "    own = aligned_alloc(64, 256);\n");
}

TEST(ScratchGapsTest, WithoutScratchMemoryNothingChanges) {
  constexpr char kSource[] = "int64_t mdh_x_scratch_bytes(int threads) {\n  return 0;\n}\n";
  EXPECT_EQ(WithScratchGaps(kSource), kSource);
}

}  // namespace
}  // namespace mdh::scratch_gaps_test
