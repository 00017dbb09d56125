// Vectors of elements of a row that may be outside of it, as gcc and clang compile their loads:
// lanes inside have their elements, the others the constant, and nothing beside the row is touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "tests/codegen/compiled_prelude.h"

namespace mdh::inside_loads_test {
namespace {

constexpr ScalarType kTypes[] = {ScalarType::kInt8, ScalarType::kInt32, ScalarType::kFloat32,
                                 ScalarType::kFloat64};
constexpr int kLaneCounts[] = {2, 4, 8, 16};
constexpr int kSteps[] = {-4, -2, -1, 1, 2, 3, 4, 7};
constexpr int64_t kExtent = 13;
constexpr int kOutside = 99;

struct Load {
  LoopValueType type;
  int step;
  int stride;
};

std::string FunctionName(const Load& load) {
  return absl::StrCat("inside_", Name(load.type.scalar), "x", load.type.lanes,
                      load.step < 0 ? "_back" : "_", std::abs(load.step), "_by", load.stride);
}

template <typename F>
void ForEachLoad(F visit) {
  for (const ScalarType scalar : kTypes) {
    for (const int lanes : kLaneCounts) {
      for (const int step : kSteps) {
        for (const int stride : {1, 3}) visit(Load{{scalar, lanes}, step, stride});
      }
    }
  }
}

// Functions of the row, whether the condition holds, which element lane 0 has, and the lanes.
std::string Loads() {
  CPrelude prelude;
  std::string functions;
  ForEachLoad([&](const Load& load) {
    const std::string element = CType(load.type.scalar, GnuC());
    absl::StrAppend(&functions, "void ", FunctionName(load), "(const ", element,
                    "* p, int condition, int64_t first, ", element, "* r) { ",
                    prelude.StoreFunction(load.type, 1), "(r, ",
                    CPrelude::CanMaskInside(load.type, load.step, load.stride)
                        ? prelude.MaskedInsideFunction(load.type, load.step)
                        : prelude.InsideLoadFunction(load.type),
                    "(condition, p, first, ", load.step, ", ", kExtent, ", ", load.stride, ", ",
                    kOutside, ")); }\n");
  });
  return absl::StrCat(IndexFunctions(GnuC(), "int64_t", "mdh_inside("), prelude.ToString(),
                      functions);
}

// A page between others that must not be touched.
class GuardedPage {
 public:
  GuardedPage() {
    begin_ =
        static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(begin_, MAP_FAILED);
    EXPECT_EQ(mprotect(begin_ + page_, page_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedPage() { munmap(begin_, 3 * page_); }
  char* begin() const { return begin_ + page_; }
  char* end() const { return begin_ + 2 * page_; }

 private:
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* begin_;
};

template <typename T>
void ExpectLanes(void* library, const std::string& how, const Load& load, const GuardedPage& page) {
  const std::string name = FunctionName(load);
  auto* function =
      reinterpret_cast<void (*)(const T*, int, int64_t, T*)>(dlsym(library, name.c_str()));
  ASSERT_NE(function, nullptr) << name;
  const int64_t span = (kExtent - 1) * load.stride + 1;
  for (T* const row :
       {reinterpret_cast<T*>(page.begin()), reinterpret_cast<T*>(page.end()) - span}) {
    for (int64_t n = 0; n < span; ++n) row[n] = static_cast<T>(n + 1);
    for (int64_t first = -70; first < 70; ++first) {
      for (const int condition : {0, 1}) {
        T lanes[16];
        function(row, condition, first, lanes);
        for (int l = 0; l < load.type.lanes; ++l) {
          const int64_t at = first + int64_t{l} * load.step;
          const bool is_inside = condition != 0 && at >= 0 && at < kExtent;
          const T want = is_inside ? row[at * load.stride] : static_cast<T>(kOutside);
          ASSERT_EQ(lanes[l], want) << how << " " << name << " from " << first << " lane " << l;
        }
      }
    }
  }
}

TEST(InsideLoadsTest, LanesInsideOfTheRowAreLoadedAndNothingElseIsTouched) {
  const GuardedPage page;
  ForEachCompiler(Loads(), [&](void* library, const std::string& how) {
    ForEachLoad([&](const Load& load) {
      switch (load.type.scalar) {
        case ScalarType::kInt8:
          return ExpectLanes<int8_t>(library, how, load, page);
        case ScalarType::kInt32:
          return ExpectLanes<int32_t>(library, how, load, page);
        case ScalarType::kFloat32:
          return ExpectLanes<float>(library, how, load, page);
        default:
          return ExpectLanes<double>(library, how, load, page);
      }
    });
  });
}

}  // namespace
}  // namespace mdh::inside_loads_test
