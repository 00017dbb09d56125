// Buffers with borders on the devices of this machine: rows that exist as a whole or not at all,
// which are copied several elements at once, rows that are left at their ends, and several
// accesses.
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/fresh_seed.h"
#include "tests/property/judged_case.h"

namespace mdh::borders_test {
namespace {

// $0: border; $1: the type of inputs.
constexpr const char* kExpressions[] = {
    R"(
windows := out_view<int32>( y: (p,q,k,r,s,c) -> (p,q,k) ) o
  md_hom<7,5,3,3,3,16>( f, (++, ++, ++, +, +, +) ) o
  inp_view<$1,$1>( x[6,5,16] else $0: (p,q,k,r,s,c) -> (p + r - 1, q + s - 1, c),
                   w: (p,q,k,r,s,c) -> (k,r,s,c) )
where f(x, w) -> y { y = int32(x) * int32(w) }
)",
    R"(
rows := out_view<int32>( y: (p,k,r,c) -> (p,k) ) o
  md_hom<19,3,5,12>( f, (++, ++, +, +) ) o
  inp_view<$1,$1>( x[12,10] else $0: (p,k,r,c) -> (c, 2*p + r - 2), w: (p,k,r,c) -> (k,r,c) )
where f(x, w) -> y { y = int32(x) * int32(w) }
)",
    R"(
stencil := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<13,24>( f, (++, ++) ) o
  inp_view<$1>( x[11,24] else $0: (i,j) -> (i-1,j), (i,j), (i+1,j), (i,j-1), (j,i) )
where f(a, b, c, d, e) -> y { y = int32(a) + 2*int32(b) + 3*int32(c) + 5*int32(d) + 7*int32(e) }
)",
    R"(
lines := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<6,40>( f, (++, ++) ) o
  inp_view<$1>( x[4,40] else $0: (i,j) -> (i-1,j) )
where f(x) -> y { y = int32(x) }
)"};

std::vector<JudgedCase> Cases(uint64_t first_seed, int seeds) {
  std::vector<JudgedCase> cases;
  for (const char* expression : kExpressions) {
    for (const char* border : {"0", "3", "clamp"}) {
      for (const char* type : {"int32", "int8"}) {
        for (int n = 0; n < seeds; ++n) {
          const uint64_t seed = first_seed + cases.size();
          cases.push_back({absl::Substitute(expression, border, type),
                           {},
                           /*choose=*/{},
                           seed,
                           absl::StrCat("seed ", seed)});
        }
      }
    }
  }
  return cases;
}

// Of seeds for which PoCL 3.1 is known to be right.
TEST(BordersTest, AreRightOnOpenCl) { JudgeOn(Backend::kOpenCl, Cases(100, 2)); }
TEST(BordersTest, AreRightOnCuda) { JudgeOn(Backend::kCuda, Cases(FreshSeed(), 8)); }

}  // namespace
}  // namespace mdh::borders_test
