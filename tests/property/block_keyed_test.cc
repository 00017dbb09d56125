// Results by key (codegen/lower/keyed/keyed_program.h) on the devices of this machine: sizes that
// fill tiles and do not, keys that several results have, elements without a result and results
// without elements, batches, several reduced dimensions, and every operator that is combined
// atomically.
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/property/judged_case.h"
#include "tests/source_path.h"

namespace mdh::block_keyed_test {
namespace {

// Keys are from -4 to 4, so bins are given several times, and indices go beyond all elements.
constexpr char kByIndex[] = R"(
h<T = int32 | E = 1, B = 1> :=
  out_view<int32,int32>( n: (e,b) -> (b), m: (e,b) -> (2*b + 1) ) o
  md_hom<E,B>( f, ((+, |), ++) ) o
  inp_view<T,int8>( x: (e,b) -> (e), w: (e,b) -> (e) )
where f(x, w) -> (n: int32, m: int32) {
  n = x == int32(b) ? 1 : 0; m = int32(b) != x || w < 0 ? 0 : int32(w) }
)";

constexpr char kBatches[] = R"(
h<T = int16 | E = 1, B = 1> :=
  out_view<fp32>( y: (e,i,b,g) -> (b,i) ) o
  md_hom<E,3,B,5>( f, (+, ++, ++, +) ) o
  inp_view<T,fp32,T>( x: (e,i,b,g) -> (i,e,g), w: (e,i,b,g) -> (g,e),
                              bins: (e,i,b,g) -> (i,b) )
where f(x, w, bin) -> y { y = bin == x ? w : 0 }
)";

constexpr char kLargest[] = R"(
h<T = uint8 | E = 1, B = 1> :=
  out_view<fp32>( y: (e,b) -> (b) ) o md_hom<E,B>( f, (OP, ++) ) o
  inp_view<{bin: uint8, value: fp32},T>( x: (e,b) -> (e + 1), bins: (e,b) -> (b) )
where f(x, bin) -> y { y = x.bin / 2 == bin ? x.value : NONE }
)";

constexpr char kProducts[] = R"(
h<T = int8 | E = 1, B = 1> :=
  out_view<uint32,uint32,int32>( p: (e,b) -> (b), q: (e,b) -> (b), r: (e,b) -> (b) ) o
  md_hom<E,B>( f, ((*, &, min), ++) ) o
  inp_view<uint32,T,T>( w: (e,b) -> (e), x: (e,b) -> (e), bins: (e,b) -> (b) )
where f(w, x, bin) -> (p: uint32, q: uint32, r: int32) {
  p = x == bin ? w : 1; q = x == bin ? w : 4294967295; r = x == bin ? int32(w) : 2147483647 }
)";

std::vector<JudgedCase> Cases() {
  const auto shipped = [](const char* name) {
    std::ifstream file(absl::StrCat(SourcePath("client/expressions/"), name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto largest = [](const char* op, const char* none) {
    return absl::StrReplaceAll(kLargest, {{"OP", op}, {"NONE", none}});
  };
  const std::string expressions[] = {
      shipped("histo.mdh"),   shipped("gen_histo.mdh"), kByIndex, kBatches,
      largest("max", "-inf"), largest("min", "inf"),    kProducts};
  const std::pair<int, int> sizes[] = {{1, 2}, {31, 7}, {1000, 3}, {4099, 100}};
  const KeyedParameters keyed[] = {
      {32, 1, 1, 1, 1}, {64, 2, 4, 1, 2}, {16, 1, 8, 3, 1}, {128, 4, 2, 2, 8}};
  std::vector<JudgedCase> cases;
  for (const std::string& expression : expressions) {
    for (const auto& [elements, bins] : sizes) {
      const KeyedParameters k = keyed[cases.size() * 3 / 2 % 4];
      cases.push_back({expression,
                       {{"E", std::to_string(elements)}, {"B", std::to_string(bins)}},
                       [k](TuningParameters& parameters) { parameters.keyed = k; },
                       static_cast<uint64_t>(elements),
                       absl::StrCat(elements, " elements, ", bins, " bins, ", k.threads, ":",
                                    k.rounds, ":", k.run, ":", k.tiles, ":", k.copies)});
    }
  }
  return cases;
}

// Half of them in each run, as PoCL takes long to compile.
TEST(BlockKeyedTest, IsRightOnOpenCl) {
  const std::vector<JudgedCase> cases = Cases();
  JudgeOn(Backend::kOpenCl, Drawn(cases, cases.size() / 2));
}
TEST(BlockKeyedTest, IsRightOnCuda) { JudgeOn(Backend::kCuda, Cases()); }

// Random ones, which rarely have keys elsewhere.
TEST(BlockKeyedTest, RandomExpressionsCompileForTwoArchitectures) {
  BlockPairOptions options;
  options.backend.backend = Backend::kNvrtc;
  options.backend.toolkit_folders = Nvrtc::ToolkitFolders("");
  options.count = 24;
  options.seed = FreshSeed();
  options.only_keyed = true;
  if (const auto name = FindBackend(options.backend); !name.ok()) {
    GTEST_SKIP() << name.status().message();
  }
  const BlockPairReport report =
      JudgeBlockPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_EQ(report.failures, 0);
  EXPECT_GE(report.features.at("results by key"), 4);
}

}  // namespace
}  // namespace mdh::block_keyed_test
