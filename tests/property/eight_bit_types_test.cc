// Kernels from rules on fp8e4m3 and fp8e5m2, in OpenMP C and, where there is a device, in OpenCL C
// and CUDA C++: what the interpreter gives, bit by bit.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/choose/default_block_parameters.h"
#include "codegen/choose/default_parameters.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/property/block_backend.h"
#include "tests/random_expression.h"

namespace mdh::eight_bit_types_test {
namespace {

constexpr char kMatMul[] =
    "m := out_view<T>( c: (i,j,k) -> (i,j) ) o md_hom<19,35,67>( f, (++, ++, +) ) o "
    "inp_view<A,B>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) ) "
    "where f(a, b) -> (c: fp32) { c = fp32(a) * fp32(b) }";
constexpr char kSum[] =
    "s := out_view<A>( c: (i,k) -> (i) ) o md_hom<37,301>( f, (++, +) ) o "
    "inp_view<A>( a: (i,k) -> (i,k) ) where f(a) -> c { c = a }";
constexpr char kScale[] =
    "p := out_view<T>( c: (i) -> (i) ) o md_hom<1003>( f, (++) ) o "
    "inp_view<A,B>( a: (i) -> (i), b: (i) -> (i) ) where f(a, b) -> c { c = T(a) / T(2 * b) }";

// Every second value a small integer, the others any bits but those of nan.
BufferBytes Values(const Buffer& buffer, bool are_small, Rng& rng) {
  const ScalarType type = buffer.type.scalar();
  BufferBytes bytes(buffer.size_bytes());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto bits = static_cast<uint8_t>(Below(rng, 256));
    const ScalarValue any = ScalarValue::Load(type, &bits);
    const bool is_small = are_small || Below(rng, 2) == 0 || any.as_double() != any.as_double();
    const auto small = static_cast<double>(Below(rng, 9) - 4);
    (is_small ? ScalarValue::Real(type, small) : any).Store(&bytes[n]);
  }
  return bytes;
}

struct Types {
  const char *a, *b, *c;
};
constexpr char kE4m3[] = "fp8e4m3", kE5m2[] = "fp8e5m2";

class EightBitTypesTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    BackendOptions options;
    options.backend = GetParam();
    auto backend = JudgedBackend::Open(options);
    if (!backend.ok()) GTEST_SKIP() << backend.status().message();
    backend_ = *std::move(backend);
  }

  void Judge(const std::string& text, const Types& types, bool are_small, NumericsPolicy policy) {
    const auto expression = ParseExpression(
        absl::StrReplaceAll(text, {{"<T>", absl::StrCat("<", types.c, ">")},
                                   {"T(", absl::StrCat(types.c, "(")},
                                   {"<A>", absl::StrCat("<", types.a, ">")},
                                   {"<A,B>", absl::StrCat("<", types.a, ",", types.b, ">")}}));
    ASSERT_TRUE(expression.ok()) << expression.status();
    Rng rng(7);
    std::vector<BufferBytes> inputs;
    for (const Buffer& buffer : expression->inputs()) {
      inputs.push_back(Values(buffer, are_small, rng));
    }
    JudgeOne(*expression, inputs, policy);
  }

 private:
  void JudgeOne(const Expression& expression, const std::vector<BufferBytes>& inputs,
                NumericsPolicy policy) {
    const auto expected = Interpret(expression, inputs, AccumulationOf(policy));
    ASSERT_TRUE(expected.ok()) << expected.status();
    DeviceDescription device;
    device.cores = 3;
    device.compiler = "gcc";
    const bool is_cpu = backend_->device() == nullptr;
    if (!is_cpu) device = backend_->device()->description();
    const SystemModel model = is_cpu                           ? OpenMpSimdRegistersModel()
                              : GetParam() == Backend::kOpenCl ? OpenClModel()
                                                               : CudaModel();
    const auto low = Lower(expression, model, device,
                           is_cpu ? DefaultParameters(expression, model, device, policy)
                                  : DefaultBlockParameters(expression, model, device, policy));
    ASSERT_TRUE(low.ok()) << low.status();
    const Result<Kernel> kernel = backend_->Generate(*low, device);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const Status status = backend_->Judge(expression, *kernel, inputs, *expected);
    EXPECT_TRUE(status.ok()) << status << "\n" << kernel->source;
  }

  std::unique_ptr<JudgedBackend> backend_;
};

// Sums of small integers are exact in fp32, and more than fp8e4m3 has.
TEST_P(EightBitTypesTest, MatrixProductsAddedUpInSinglePrecision) {
  for (const Types& types : {Types{kE4m3, kE5m2, kE4m3}, Types{kE5m2, kE5m2, kE5m2}}) {
    Judge(kMatMul, types, /*are_small=*/true, NumericsPolicy::kReassociate);
  }
}

// Rounded after every addition, up to the largest number.
TEST_P(EightBitTypesTest, SumsInTheTypeItself) {
  for (const char* type : {kE4m3, kE5m2}) {
    Judge(kSum, {type, type, type}, /*are_small=*/false, NumericsPolicy::kExactOrder);
    Judge(kSum, {type, type, type}, /*are_small=*/false, NumericsPolicy::kFixedTree);
  }
}

TEST_P(EightBitTypesTest, OperationsAndConversions) {
  for (const Types& types : {Types{kE4m3, kE5m2, kE5m2}, Types{kE5m2, kE4m3, kE4m3}}) {
    Judge(kScale, types, /*are_small=*/false, NumericsPolicy::kReassociate);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EightBitTypesTest,
                         ::testing::Values(Backend::kOpenMp, Backend::kOpenCl, Backend::kCuda),
                         [](const auto& info) {
                           return info.param == Backend::kOpenMp   ? "OpenMp"
                                  : info.param == Backend::kOpenCl ? "OpenCl"
                                                                   : "Cuda";
                         });

}  // namespace
}  // namespace mdh::eight_bit_types_test
