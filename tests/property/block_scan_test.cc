// Prefix sums in blocks of threads (codegen/lower/scan/scan_in_registers.h) on the devices of this
// machine, half of them in each run where a CPU emulates a GPU: lines that fill tiles and do not,
// many and few of them, along memory and across, an operator that is not commutative and has no
// identity, and elements that are vectors.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/drawn.h"
#include "tests/property/judged_case.h"

namespace mdh::block_scan_test {
namespace {

constexpr char kComposition[] = R"(
composition<T = int64 | I = 1, J = 1> :=
  out_view<T,T>( A: (i,j) -> (i,j), B: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(compose)) ) o
  inp_view<T,T>( a: (i,j) -> (i,j), b: (i,j) -> (i,j) )
where f(a, b) -> (A, B) { A = a; B = b },
      compose(a1, b1, a2, b2) -> (a, b) { a = a2 * a1; b = a2 * b1 + b2 }
)";

constexpr char kAcross[] = R"(
composition<T = int64 | I = 1, J = 1> :=
  out_view<T,T>( A: (j,i) -> (j,i), B: (j,i) -> (j,i) ) o
  md_hom<J,I>( f, (ps(compose), ++) ) o
  inp_view<T,T>( a: (j,i) -> (j,i), b: (j,i) -> (j,i) )
where f(a, b) -> (A, B) { A = a; B = b },
      compose(a1, b1, a2, b2) -> (a, b) { a = a2 * a1; b = a2 * b1 + b2 }
)";

constexpr char kWeighted[] = R"(
weighted<T = int32 | I = 1, J = 1> :=
  out_view<int32>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(+)) ) o
  inp_view<int32,int16>( x: (i,j) -> (i,j), w: (i,j) -> (j) )
where f(x, w) -> y { y = x * int32(w) }
)";

// Elements are sums themselves, and prefix sums are taken along both other dimensions.
constexpr char kTable[] = R"(
table<T = int32 | I = 1, J = 1> :=
  out_view<int32>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,J,3>( f, (ps(+), ps(+), +) ) o
  inp_view<int32>( x: (i,j,k) -> (i,j + k) )
where f(x) -> y { y = x }
)";

struct Lines {
  int64_t count, size;
};
constexpr Lines kLines[] = {{1, 2},     {1, 31},     {7, 33},    {70, 100},   {1, 2'048},
                            {2, 2'049}, {3, 70'001}, {5'000, 3}, {1, 600'000}};
constexpr ScanParameters kScans[] = {{32, 1, 1}, {64, 2, 4}, {128, 4, 2}};

std::vector<JudgedCase> Cases() {
  std::vector<JudgedCase> cases;
  const auto add = [&](const char* expression, const Lines& lines, const ScanParameters& scan) {
    cases.push_back({expression,
                     {{"I", std::to_string(lines.count)}, {"J", std::to_string(lines.size)}},
                     [scan](TuningParameters& parameters) { parameters.scan = scan; },
                     static_cast<uint64_t>(lines.size),
                     absl::StrCat(lines.count, " lines of ", lines.size, " elements, ",
                                  scan.threads, ":", scan.rounds, ":", scan.run)});
  };
  for (const Lines& lines : kLines) {
    add(kComposition, lines, {});
    for (const char* expression : {kComposition, kAcross, kWeighted, kTable}) {
      add(expression, lines, kScans[cases.size() % std::size(kScans)]);
    }
  }
  return cases;
}

TEST(BlockScanTest, IsRightOnOpenCl) {
  const std::vector<JudgedCase> cases = Cases();
  JudgeOn(Backend::kOpenCl, Drawn(cases, cases.size() / 2));
}
TEST(BlockScanTest, IsRightOnCuda) { JudgeOn(Backend::kCuda, Cases()); }

}  // namespace
}  // namespace mdh::block_scan_test
