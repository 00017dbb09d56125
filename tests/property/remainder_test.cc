// Tiles that end with a dimension and begin earlier than what is left over: the values are those of
// smaller tiles, bit for bit, and threads keep to their own elements.
#include <dlfcn.h>

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/program/kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"

namespace mdh::remainder_test {
namespace {

constexpr char kProduct[] = R"(
product<T = fp32 | I = 61, J = 53, K = 47> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = A * B }
)";

constexpr char kStencil[] = R"(
stencil<T = fp32 | I = 7, J = 5, K = 11, L = 37> :=
  out_view<T>( y: (i,j,k,l) -> (i,j,k,l) ) o
  md_hom<I,J,K,L>( f, (++, ++, ++, ++) ) o
  inp_view<T>( x[7,5,11,37] else 0: (i,j,k,l) -> (i,j-1,k,l-1), (i,j,k,l), (i,j+2,k,l+2) )
where f(x0, x1, x2) -> y { y = x0 + 2 * (x1 + x2) }
)";

constexpr char kSums[] = R"(
sums<T = fp32 | I = 13, J = 45> :=
  out_view<T>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(+)) ) o
  inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> y { y = x + 1 }
)";

constexpr char kDiagonal[] = R"(
diagonal<T = fp32 | I = 29, J = 13> :=
  out_view<T>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ++) ) o
  inp_view<T>( x: (i,j) -> (i,i,j) )
where f(x) -> y { y = x + 1 }
)";

// Rows as long as no vector, with a boundary along them, and a store function that reads some.
constexpr char kShort[] = R"(
short<T = fp32 | I = 29, J = 7, K = 5> :=
  out_view<T>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +), store s<T>( bias: (i,j,k) -> (j) ) ) o
  inp_view<T,T>( x[29,7] else 0: (i,j,k) -> (i,j+k-2), w: (i,j,k) -> (k,j) )
where f(x, w) -> r { r = x * w },
      s(r, bias) -> y { y = 1 / (r * bias + fp32(0 * j)) }
)";

DeviceDescription Device() {
  DeviceDescription device;
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.compiler = "gcc";
  return device;
}

struct RemainderCase {
  const char* expression;
  const char* parameters;  // but for the remainder
};

Result<Kernel> KernelOf(const Expression& expression, const std::string& text) {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters, ParseTuningParameters(text, expression));
  MDH_ASSIGN_OR_RETURN(
      const LowLevelExpression low,
      Lower(expression, *SystemModelNamed(parameters.system_model), Device(), parameters));
  return GenerateOpenMp(low, Device());
}

class RemainderTest : public ::testing::TestWithParam<RemainderCase> {};

TEST_P(RemainderTest, EveryOneComputesWhatTheInterpreterComputes) {
  const auto expression = ParseExpression(GetParam().expression, {});
  ASSERT_TRUE(expression.ok()) << expression.status();
  Rng rng(1);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, *expression);
  const auto expected = Interpret(*expression, inputs, Accumulation::kDeclared);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const TemporaryDirectory directory;
  for (const char* remainder : {"variants", "vectors", "overlap"}) {
    SCOPED_TRACE(remainder);
    const Result<Kernel> kernel =
        KernelOf(*expression, absl::StrCat(GetParam().parameters, "; remainder=", remainder));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ASSERT_EQ(ErrorMessage(CompileKernel(*kernel, directory.path(), remainder)), "no error");
    EXPECT_EQ(ErrorMessage(JudgeKernel(*expression, *kernel,
                                       absl::StrCat(directory.path(), "/", remainder, ".so"),
                                       inputs, *expected)),
              "no error");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, RemainderTest,
    ::testing::Values(
        // each core's last part has room for a tile
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        // not along i, where the last core has one row
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=12,53,47|12,53,47|12,53,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        // parts of caches that are smaller than a tile, with and without copies of them
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,47|12,32,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,47|12,32,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=2:0,1:-1|2:0,1:-1"},
        // strips along both, whole and in parts; of parts, the last one shorter than a tile
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,47|12,32,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=2:0,1:0|2:1,0:1"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=whole:0,1:0|2:1,0:1"},
        // results that accumulate: in the output, and because of a loop around
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|4,32,8|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=output"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,16|32,53,16|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; prefetch=2"},
        // the same with fewer points than lanes, which the tile before has to add to; with strips
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,47|32,53,47|4,48,8|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=output"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,47|32,53,16|32,53,16|4,24,1|1,8,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=whole:0,1:0|whole:1,0:1; prefetch=2"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,48,47|32,48,16|32,24,16|4,24,1|1,8,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=2:0,1:0|1:1,0:1"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,16|61,53,16|4,24,1|1,8,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=2:0,1:0|1:1,0:1"},
        // results of parts of the reduction, and lanes along it
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,24|32,53,24|32,53,24|4,32,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,47|61,53,47|4,4,16|1,1,16|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        // a tile of a whole dimension, and one whose size is no multiple of the lanes
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=61,53,47|61,53,47|61,53,47|3,53,1|1,16,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"}));

INSTANTIATE_TEST_SUITE_P(
    Others, RemainderTest,
    ::testing::Values(
        RemainderCase{kStencil,
                      "model=OpenMP+SIMD+RM; tile=4,5,11,37|4,5,11,37|4,5,11,37|2,2,3,16|1,1,1,8|"
                      "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                      "inputs=in_place:0,1,2,3:-1"},
        RemainderCase{kStencil,
                      "model=OpenMP+SIMD+RM; tile=7,5,11,37|7,5,11,37|7,5,11,37|3,1,4,16|1,1,1,16|"
                      "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                      "inputs=2:0,1,2,3:-1; stores=streaming"},
        // a dimension that places strips, and elements beside them
        RemainderCase{kDiagonal,
                      "model=OpenMP+SIMD+RM; tile=29,13|29,13|29,13|8,2|4,1|1,1; "
                      "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=whole:1,0,2:0"},
        RemainderCase{kSums,
                      "model=OpenMP+SIMD+RM; tile=8,30|8,30|8,30|4,10|1,2|1,1; "
                      "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1"}));

INSTANTIATE_TEST_SUITE_P(
    LanesOff, RemainderTest,
    ::testing::Values(
        // of rows, in place and in strips, in turns with other parts of the reduction, and in
        // chains
        RemainderCase{kShort,
                      "model=OpenMP+SIMD+RM; tile=16,7,5|16,7,5|16,7,5|4,7,1|1,7,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1"},
        RemainderCase{kShort,
                      "model=OpenMP+SIMD+RM; tile=16,7,5|16,7,5|16,7,5|4,7,2|1,7,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|whole:1,0:1; chains=independent"},
        RemainderCase{kShort,
                      "model=OpenMP+SIMD+RM; tile=29,7,5|29,7,5|29,7,5|4,7,2|1,7,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|2,1,0|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=output"},
        // more than a register has
        RemainderCase{kProduct,
                      "model=OpenMP+SIMD+RM; tile=32,53,24|32,53,24|32,53,24|4,53,1|1,53,1|1,1,1; "
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|2:1,0:1"},
        // along each of the dimensions of a buffer with a boundary
        RemainderCase{kStencil,
                      "model=OpenMP+SIMD+RM; tile=4,5,11,37|4,5,11,37|4,5,11,37|2,1,1,37|1,1,1,37|"
                      "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                      "inputs=in_place:0,1,2,3:-1; stores=streaming"},
        RemainderCase{kStencil,
                      "model=OpenMP+SIMD+RM; tile=7,5,11,37|7,5,11,37|7,5,11,37|1,2,11,3|1,1,11,1|"
                      "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                      "inputs=in_place:0,1,2,3:-1"},
        RemainderCase{kStencil,
                      "model=OpenMP+SIMD+RM; tile=7,5,11,37|7,5,11,37|7,5,11,37|1,5,1,3|1,5,1,1|"
                      "1,1,1,1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                      "inputs=in_place:0,1,2,3:-1"},
        RemainderCase{kDiagonal,
                      "model=OpenMP+SIMD+RM; tile=29,13|29,13|29,13|8,13|1,13|1,1; "
                      "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=whole:1,0,2:2"}));

// A compiled kernel of kProduct that has one stage and no scratch memory.
class ProductKernel {
 public:
  ProductKernel(const std::string& directory, const std::string& name, const std::string& text) {
    const auto expression = ParseExpression(kProduct, {});
    const Result<Kernel> kernel = KernelOf(*expression, text);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(kernel->stages, 1);
    EXPECT_EQ(ErrorMessage(CompileKernel(*kernel, directory, name)), "no error");
    library_ = dlopen(absl::StrCat(directory, "/", name, ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr);
    body_ = reinterpret_cast<Body>(dlsym(library_, (kernel->entry + "_body").c_str()));
  }
  ~ProductKernel() { dlclose(library_); }
  ProductKernel(const ProductKernel&) = delete;
  ProductKernel& operator=(const ProductKernel&) = delete;

  // What one of `threads` threads leaves in a matrix full of `empty`.
  std::vector<float> Run(int thread, int threads, float empty) const {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<float> a(61 * 47), b(47 * 53), c(61 * 53, empty);
    for (float& value : a) value = values(random);
    for (float& value : b) value = values(random);
    body_(0, thread, threads, a.data(), b.data(), c.data(), nullptr);
    return c;
  }

 private:
  using Body = void (*)(int, int, int, const float*, const float*, float*, void*);
  void* library_;
  Body body_;
};

constexpr char kOwnParts[] =
    "model=OpenMP+SIMD+RM; tile=32,32,47|32,32,47|32,32,47|4,16,1|1,16,1|1,1,1; "
    "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|in_place:0,1:-1";

TEST(RemainderOfProductTest, HasTheBitsOfVariants) {
  const TemporaryDirectory directory;
  const ProductKernel variants(directory.path(), "variants", kOwnParts);
  const std::vector<float> expected = variants.Run(0, 1, 0);
  for (const char* remainder : {"vectors", "overlap"}) {
    const ProductKernel kernel(directory.path(), remainder,
                               absl::StrCat(kOwnParts, "; remainder=", remainder));
    EXPECT_EQ(kernel.Run(0, 1, 0), expected) << remainder;
  }
}

TEST(RemainderOfProductTest, EveryElementIsOfOneThread) {
  constexpr float kEmpty = -1000;
  const TemporaryDirectory directory;
  const ProductKernel kernel(directory.path(), "kernel",
                             absl::StrCat(kOwnParts, "; remainder=overlap"));
  std::vector<int> writers(61 * 53, 0);
  for (int thread = 0; thread < 4; ++thread) {
    const std::vector<float> own = kernel.Run(thread, 4, kEmpty);
    for (size_t n = 0; n < own.size(); ++n) writers[n] += own[n] == kEmpty ? 0 : 1;
  }
  EXPECT_EQ(writers, std::vector<int>(61 * 53, 1));
}

}  // namespace
}  // namespace mdh::remainder_test
