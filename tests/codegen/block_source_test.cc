// Golden sources of whole kernels for OpenCL C and CUDA C++, and what their callers are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "codegen/c_unit.h"
#include "codegen/default_parameters.h"
#include "codegen/kernel.h"
#include "core/text/parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/lowering/lowering_case.h"
#include "tests/shipped_expression.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Kernel> Generate(const Expression& expression, const std::string& parameters) {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed,
                       ParseTuningParameters(parameters, expression));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parsed.system_model));
  const DeviceDescription device = DeviceFor(model);
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low, Lower(expression, model, device, parsed));
  return GenerateKernel(low, device);
}

// A decomposition of `scan`.
constexpr char kScan[] =
    "tile=64|64|1|1|1; order=(1,1)(3,1)(4,1)(5,1)(2,1); inputs=in_place:0:-1; "
    "accumulate=registers; chains=one; compiler=gcc; "
    "assign=(1,1)|(2,1)|(3,1)|(4,1)|(5,1); results=0|2|1|2|2";

std::string Figure(const std::string& name) {
  return ReadFile(std::string(MDH_SOURCE_DIR) + "/tests/lowering/figures/" + name + ".txt");
}

// Figures 20 and 21: TVM's decompositions of a matrix product.
TEST(BlockSourceTest, FigureForCuda) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), Figure("tvm_cuda"));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("tvm_matmul.cu", kernel->source);
  EXPECT_EQ(kernel->language, "CUDA C++");
  EXPECT_EQ(kernel->entry, "mdh_matmul");
  EXPECT_THAT(kernel->compile_options, ElementsAre("--std=c++17", "--fmad=true"));
  EXPECT_EQ(kernel->launches.size(), static_cast<size_t>(kernel->stages));
}

TEST(BlockSourceTest, FigureForOpenCl) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), Figure("tvm_opencl"));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("tvm_matmul.cl", kernel->source);
  EXPECT_EQ(kernel->language, "OpenCL C");
  EXPECT_THAT(kernel->compile_options,
              ElementsAre("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"));
}

// Tiles are summed up, then what is before them, then the elements of each.
TEST(BlockSourceTest, PrefixSumsOfTiles) {
  const Result<Kernel> kernel =
      Generate(Shipped("scan.mdh", {{"I", "100000"}}), absl::StrCat("model=CUDA; ", kScan));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("scan.cu", kernel->source);
  EXPECT_EQ(kernel->launches.size(), 4);
}

// The same in registers, with f in place of its values.
TEST(BlockSourceTest, PrefixSumsInRegisters) {
  const Expression scan = Shipped("scan.mdh", {{"I", "100000"}});
  for (const auto& [model, golden] :
       {std::pair("CUDA", "scan_registers.cu"), std::pair("OpenCL", "scan_registers.cl")}) {
    const Result<Kernel> kernel =
        Generate(scan, absl::StrCat("model=", model, "; ", kScan, "; scan=256:4:4"));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectGoldenFile(golden, kernel->source);
    EXPECT_EQ(kernel->launches.size(), 3);
    EXPECT_EQ(kernel->scratch_bytes, 128);
  }
}

// Lines along memory, then across; sums of f, which are in memory.
TEST(BlockSourceTest, PrefixSumsOfSums) {
  const auto table = ParseExpression(R"(
    table := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<100,50,3>( f, (ps(+), ps(+), +) ) o
      inp_view<fp32>( x: (i,j,k) -> (i,j + k) )
    where f(x) -> y { y = x })");
  ASSERT_TRUE(table.ok()) << table.status();
  const Result<Kernel> kernel =
      Generate(*table,
               "model=CUDA; tile=1,32,3|1,32,3|1,1,3|1,1,3|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|"
               "0,1,2; inputs=in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
               "scan=64:2:2");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("summed_area_registers.cu", kernel->source);
  EXPECT_EQ(kernel->launches.size(), 7);
}

TEST(BlockSourceTest, GpusScanInRegistersUnlessToldOtherwise) {
  const auto scan_of = [](const Expression& expression) {
    const SystemModel model = CudaModel();
    const DeviceDescription device = DeviceFor(model);
    const TuningParameters p = DefaultParameters(expression, model, device);
    EXPECT_TRUE(Validate(expression, model, device, p).ok());
    return p.scan;
  };
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "16777216"}})), (ScanParameters{256, 4, 4}));
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "16777216"}, {"T", "fp64"}})),
            (ScanParameters{256, 4, 2}));
  // Few elements are for more blocks.
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "100000"}})), (ScanParameters{256, 1, 4}));
}

TEST(BlockSourceTest, ExactNumericsKeepMultiplicationsAndAdditionsApart) {
  const auto generate = [](const std::string& figure, const std::string& numerics) {
    return Generate(MatMul(16, 1000, 2048), Figure(figure) + ";numerics=" + numerics);
  };
  const Result<Kernel> cuda = generate("tvm_cuda", "exact");
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  EXPECT_THAT(cuda->compile_options, ElementsAre("--std=c++17", "--fmad=false"));
  const Result<Kernel> opencl = generate("tvm_opencl", "exact");
  ASSERT_TRUE(opencl.ok()) << opencl.status();
  EXPECT_THAT(opencl->source, HasSubstr("FP_CONTRACT OFF"));
  EXPECT_THAT(generate("tvm_opencl", "reassociate")->source, Not(HasSubstr("FP_CONTRACT OFF")));
}

TEST(EntryNameTest, IsNoFunctionOfThePrelude) {
  const auto entry = [](const std::string& name) {
    return EntryName(*ParseExpression(
        name +
        " := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> "
        "(i) ) where f(a) -> b { b = a }"));
  };
  EXPECT_EQ(entry("copy"), "mdh_copy");
  EXPECT_EQ(entry("min"), "mdh_min_");
  EXPECT_EQ(entry("clamp"), "mdh_clamp_");
}

}  // namespace
}  // namespace mdh
