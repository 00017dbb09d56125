// Loads and stores of vectors whose elements are a stride apart, as gcc and clang compile them:
// each lane has its element, what is between elements stays, and nothing beyond the first and the
// last is touched. Lanes that are off are zero, and their elements stay.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "tests/codegen/compiled_prelude.h"

namespace mdh::strided_vectors_test {
namespace {

constexpr ScalarType kTypes[] = {ScalarType::kInt8,    ScalarType::kFloat16, ScalarType::kInt32,
                                 ScalarType::kFloat32, ScalarType::kInt64,   ScalarType::kFloat64};
constexpr int kLaneCounts[] = {2, 4, 8, 16, 64};
constexpr int kStrides[] = {-5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 9};

// How many lanes are off.
std::set<int> OffCounts(int lanes) { return {0, lanes / 2 - 1, lanes / 4}; }

std::string FunctionName(absl::string_view what, LoopValueType type, int stride, int off) {
  return absl::StrCat(what, "_", Name(type.scalar), "x", type.lanes, stride < 0 ? "_back" : "_",
                      std::abs(stride), "_off", off);
}

// Functions load_TxL_S_offO(from, to) and store_TxL_S_offO(to, from) of elements, beside
// neighbours.
std::string LoadAndStore(CPrelude& prelude, LoopValueType type, int stride, int off) {
  const std::string element = CType(type.scalar, GnuC());
  const std::string distance =
      prelude.TakesStride(type, stride, off) ? absl::StrCat(", ", stride) : "";
  const AddressSpace space = AddressSpace::kGlobal;
  return absl::StrCat("void ", FunctionName("load", type, stride, off), "(const ", element, "* p, ",
                      element, "* r) { ", prelude.StoreFunction(type, 1), "(r, ",
                      prelude.LoadFunction(type, stride, space, off), "(p", distance,
                      ")); }\nvoid ", FunctionName("store", type, stride, off), "(", element,
                      "* p, const ", element, "* r) { ",
                      prelude.StoreFunction(type, stride, space, off), "(p", distance, ", ",
                      prelude.LoadFunction(type, 1), "(r)); }\n");
}

std::string LoadsAndStores() {
  CPrelude prelude;
  std::string functions;
  for (const ScalarType scalar : kTypes) {
    for (const int lanes : kLaneCounts) {
      for (const int stride : kStrides) {
        for (const int off : OffCounts(lanes))
          functions += LoadAndStore(prelude, {scalar, lanes}, stride, off);
      }
    }
  }
  return prelude.ToString() + functions;
}

// Pages of which what lies before and behind must not be touched.
class GuardedPages {
 public:
  GuardedPages() {
    begin_ =
        static_cast<char*>(mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(begin_, MAP_FAILED);
    EXPECT_EQ(mprotect(begin_ + page_, 2 * page_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedPages() { munmap(begin_, 4 * page_); }
  char* begin() const { return begin_ + page_; }
  size_t size() const { return 2 * page_; }

 private:
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* begin_;
};

// T: any type of as many bytes.
template <typename T>
void ExpectLanes(void* library, const std::string& how, LoopValueType type, int stride, int off,
                 const GuardedPages& pages) {
  const std::string load = FunctionName("load", type, stride, off);
  const std::string store = FunctionName("store", type, stride, off);
  auto* load_lanes = reinterpret_cast<void (*)(const T*, T*)>(dlsym(library, load.c_str()));
  auto* store_lanes = reinterpret_cast<void (*)(T*, const T*)>(dlsym(library, store.c_str()));
  ASSERT_TRUE(load_lanes != nullptr && store_lanes != nullptr) << load;
  const int on = type.lanes - off;
  const int64_t span = (on - 1) * std::abs(stride) + 1;
  const int64_t count = static_cast<int64_t>(pages.size() / sizeof(T));
  T* const memory = reinterpret_cast<T*>(pages.begin());
  for (const int64_t lowest : {int64_t{0}, count - span}) {  // at both ends of the pages
    T* const first = memory + lowest + (stride < 0 ? span - 1 : 0);
    for (int64_t n = 0; n < span; ++n) memory[lowest + n] = static_cast<T>(n + 1);
    T lanes[64];
    load_lanes(first, lanes);
    for (int l = 0; l < type.lanes; ++l) {
      EXPECT_EQ(lanes[l], l < on ? first[l * stride] : T{0}) << how << " " << load << " lane " << l;
      lanes[l] = static_cast<T>(-1 - l);
    }
    store_lanes(first, lanes);
    for (int64_t n = 0; n < span; ++n) {
      const int64_t from_first = &memory[lowest + n] - first;
      const T want = from_first % stride == 0 ? static_cast<T>(-1 - from_first / stride)
                                              : static_cast<T>(n + 1);
      EXPECT_EQ(memory[lowest + n], want) << how << " " << store << " element " << n;
    }
  }
}

void ExpectLanesOf(void* library, const std::string& how, LoopValueType type, int stride, int off,
                   const GuardedPages& pages) {
  switch (SizeBytes(type.scalar)) {
    case 1:
      return ExpectLanes<uint8_t>(library, how, type, stride, off, pages);
    case 2:
      return ExpectLanes<uint16_t>(library, how, type, stride, off, pages);
    case 4:
      return ExpectLanes<uint32_t>(library, how, type, stride, off, pages);
    default:
      return ExpectLanes<uint64_t>(library, how, type, stride, off, pages);
  }
}

TEST(StridedVectorsTest, AreThoseOfSingleElements) {
  ForEachCompiler(LoadsAndStores(), [](void* library, const std::string& how) {
    const GuardedPages pages;
    for (const ScalarType scalar : kTypes) {
      for (const int lanes : kLaneCounts) {
        for (const int stride : kStrides) {
          for (const int off : OffCounts(lanes))
            ExpectLanesOf(library, how, {scalar, lanes}, stride, off, pages);
        }
      }
    }
  });
}

}  // namespace
}  // namespace mdh::strided_vectors_test
