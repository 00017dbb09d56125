// Calls that begin before the one before them has ended: each reads what that one writes.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/system_model.h"
#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/error_message.h"

namespace mdh::early_calls_test {
namespace {

constexpr int kElements = 1024;

// With a permutation P: elements of y are those of x, all larger by one.
constexpr char kNext[] = R"(
next<T = fp32 | I = 1024> :=
  out_view<T>( y: (i,k) -> (i) ) o
  md_hom<I,I>( f, (++, +) ) o
  inp_view<T,T>( P: (i,k) -> (i,k), x: (i,k) -> (k) )
where f(P, x) -> y { y = P * (x + 1) }
)";
// Blocks of 16 rows and a part of k, 8 threads along the rows and 16 along k.
constexpr char kTile[] = "model=CUDA; tile=16,$0|8,128|1,8|1,1|1,1; ";
constexpr char kDesign[] =
    "order=(1,1)(1,2)(3,1)(3,2)(2,2)(4,2)(2,1)(4,1)(5,1)(5,2); "
    "inputs=in_place:0,1:-1|in_place:0:-1; accumulate=registers; chains=one; compiler=gcc; "
    "assign=(1,1)(1,2)|(2,2)(2,1)|(3,2)(3,1)|(4,2)(4,1)|(5,2)(5,1); "
    "memory=0,0|1,1|0,0|1,1|1,1/0,0|2,0|0,0|2,2|2,2; copy=0:4:1|0:1:1; "
    "results=0,0|2,2|1,1|2,2|2,2; unroll=16";

struct Variant {
  const char* name;
  int part;  // of k
  const char* combine;
  const char* early = "calls";
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class EarlyCallsTest : public ::testing::TestWithParam<Variant> {};

Result<Kernel> MakeKernel(const Variant& variant, const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const Expression expression, ParseExpression(kNext));
  const std::string text = absl::StrCat(absl::Substitute(kTile, variant.part), kDesign,
                                        "; combine=", variant.combine, "; early=", variant.early);
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters, ParseTuningParameters(text));
  const SystemModel model = CudaModel();
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low, Lower(expression, model, device, parameters));
  return GenerateKernel(low, device);
}

std::vector<float> Read(const DeviceMemory& memory) {
  std::vector<float> values(kElements);
  EXPECT_EQ(ErrorMessage(memory.Read(
                0, absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), 4 * kElements))),
            "no error");
  return values;
}

TEST_P(EarlyCallsTest, SeeWhatTheCallBeforeHasWritten) {
  Result<std::unique_ptr<ComputeDevice>> device = FirstDevice(/*is_cuda=*/true);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  const Result<Kernel> kernel = MakeKernel(GetParam(), (*device)->description());
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto program = (*device)->Compile(*kernel);
  ASSERT_TRUE(program.ok()) << program.status().message();
  std::vector<float> permutation(kElements * kElements);
  for (int n = 0; n < kElements; ++n) permutation[n * kElements + (n * 37 + 11) % kElements] = 1;
  auto p = (*device)->Allocate(4 * kElements * kElements, 0);
  auto a = (*device)->Allocate(4 * kElements, 0), b = (*device)->Allocate(4 * kElements, 0);
  auto scratch = (*device)->Allocate(std::max<int64_t>(kernel->scratch_bytes, 1), 0);
  ASSERT_TRUE(p.ok() && a.ok() && b.ok() && scratch.ok());
  ASSERT_EQ(ErrorMessage((*p)->Write(absl::MakeConstSpan(
                reinterpret_cast<const std::byte*>(permutation.data()), 4 * permutation.size()))),
            "no error");
  ASSERT_EQ(ErrorMessage((*a)->Fill(std::byte{0})), "no error");
  std::vector<DeviceArguments> sets = {{p->get(), a->get(), b->get()},
                                       {p->get(), b->get(), a->get()}};
  for (DeviceArguments& set : sets) {
    if (kernel->scratch_bytes > 0) set.push_back(scratch->get());
  }
  float last = 0;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(ErrorMessage((*program)->Time(sets, 400).status()), "no error");
    const std::vector<float> even = Read(**a), odd = Read(**b);
    EXPECT_EQ(even, std::vector<float>(kElements, even[0])) << round;
    EXPECT_EQ(odd, std::vector<float>(kElements, even[0] - 1)) << round;
    EXPECT_GE(even[0], last + 400);
    last = even[0];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, EarlyCallsTest,
    ::testing::Values(Variant{"Alone", 1024, "partials"}, Variant{"Partials", 128, "partials"},
                      Variant{"Atomics", 128, "atomics"},
                      Variant{"Prefetches", 1024, "partials", "prefetches"},
                      Variant{"PrefetchesOfAll", 128, "partials", "prefetches"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mdh::early_calls_test
