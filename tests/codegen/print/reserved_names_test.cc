// Names that users may give and that mean something else in generated code: macros and functions of
// the headers that it includes, of OpenMP, and what OpenCL C and CUDA C++ have built in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "core/base/identifier.h"
#include "core/text/parser.h"
#include "tests/error_message.h"
#include "tests/server/temporary_directory.h"
#include "tuner/device/cuda/nvrtc.h"

namespace mdh::reserved_names_test {
namespace {

constexpr size_t kBuffers = 60;  // of one expression

// What nobody's header lists: languages' own, and what OpenMP and others define when they are
// there.
const std::vector<std::string> kBuiltIn = {"M_PI",
                                           "M_PI_F",
                                           "INT_MAX",
                                           "FLT_EPSILON",
                                           "CLK_LOCAL_MEM_FENCE",
                                           "omp_get_thread_num",
                                           "omp_get_max_threads",
                                           "omp_in_parallel",
                                           "get_global_id",
                                           "get_local_id",
                                           "get_group_id",
                                           "barrier",
                                           "mem_fence",
                                           "as_uint",
                                           "as_uint2",
                                           "convert_int_rte",
                                           "vload_half",
                                           "vstore_half_rte",
                                           "native_exp",
                                           "half_exp",
                                           "atomic_add",
                                           "atomicAdd",
                                           "threadIdx",
                                           "blockDim",
                                           "warpSize",
                                           "dim3",
                                           "float4",
                                           "uint2",
                                           "half2",
                                           "generic",
                                           "std",
                                           "fmaxf",
                                           "expf",
                                           "rsqrtf",
                                           "memcpy",
                                           "aligned_alloc",
                                           "isnan",
                                           "signbit",
                                           "errno",
                                           "linux",
                                           "assert",
                                           "printf",
                                           "shuffle",
                                           "select",
                                           "sub_group_shuffle",
                                           "log1pf",
                                           "atan2f",
                                           "cbrt",
                                           "copysign",
                                           "NAN",
                                           "EXIT_SUCCESS",
                                           "RAND_MAX",
                                           "math_errhandling",
                                           "work_group_barrier"};

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string all;
  char piece[4096];
  while (pipe != nullptr) {
    const size_t got = fread(piece, 1, sizeof piece, pipe.get());
    if (got == 0) break;
    all.append(piece, got);
  }
  return all;
}

// Macros, and whatever stands before a parenthesis, in what generated C includes.
std::set<std::string> NamesOfHeaders() {
  std::set<std::string> names(kBuiltIn.begin(), kBuiltIn.end());
  const std::string headers =
      "printf '#include <math.h>\\n#include <stdint.h>\\n#include <stdlib.h>\\n"
      "#include <string.h>\\n#include <omp.h>\\n' | gcc -std=gnu17 -fopenmp -x c -E ";
  const auto add = [&](const std::string& text, const char* pattern) {
    const std::regex name(pattern);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      const std::string found = (*match)[1];
      if (IsIdentifier(found) && !found.starts_with("_")) names.insert(found);
    }
  };
  add(OutputOf(headers + "-dM - 2>/dev/null"), R"(#define (\w+))");
  add(OutputOf(headers + "-P - 2>/dev/null"), R"((\b[A-Za-z]\w*) \()");
  return names;
}

// Sums of buffers of these names, with a dimension of the first.
std::vector<Expression> ExpressionsWith(const std::set<std::string>& names) {
  std::vector<Expression> expressions;
  for (auto name = names.begin(); name != names.end();) {
    const std::string dimension = *name++;
    std::vector<std::string> types, views, parameters;
    for (; name != names.end() && types.size() < kBuffers; ++name) {
      types.push_back("fp32");
      views.push_back(absl::StrCat(*name, ": (", dimension, ") -> (", dimension, ")"));
      parameters.push_back(*name);
    }
    if (types.empty()) break;
    const Result<Expression> expression = ParseExpression(absl::StrCat(
        "names := out_view<fp32>( ", dimension, "_: (", dimension,
        ") -> () ) o md_hom<100>( f, (+) ) o ", "inp_view<", absl::StrJoin(types, ","), ">( ",
        absl::StrJoin(views, ", "), " )\nwhere f(", absl::StrJoin(parameters, ", "),
        ") -> result { result = ", absl::StrJoin(parameters, " + "), " }"));
    EXPECT_TRUE(expression.ok()) << expression.status();
    if (expression.ok()) expressions.push_back(*expression);
  }
  return expressions;
}

std::string SourceFor(const Expression& expression, const SystemModel& model,
                      const DeviceDescription& device) {
  const auto low = Lower(expression, model, device, DefaultParameters(expression, model, device));
  EXPECT_TRUE(low.ok()) << low.status();
  if (!low.ok()) return "";
  const Result<Kernel> kernel = GenerateKernel(*low, device);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? kernel->source : "";
}

void ExpectCompiles(const std::string& source, const std::string& file,
                    const std::string& command) {
  const TemporaryDirectory directory;
  std::ofstream(directory.File(file)) << source;
  EXPECT_EQ(OutputOf(absl::StrCat(command, " ", directory.File(file), " 2>&1")), "") << source;
}

DeviceDescription Gpu(DeviceKind kind) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.kind = kind;
  device.features = FeaturesOf(device);
  return device;
}

TEST(ReservedNamesTest, AreNamesInC) {
  if (OutputOf("gcc --version 2>/dev/null").empty()) GTEST_SKIP() << "there is no gcc";
  const std::set<std::string> names = NamesOfHeaders();
  EXPECT_GT(names.size(), 400u);
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 32;
  device.vector_registers = 16;
  device.l3_bytes = 8 << 20;
  device.compiler = "gcc";
  for (const Expression& expression : ExpressionsWith(names)) {
    ExpectCompiles(SourceFor(expression, OpenMpSimdRegistersModel(), device), "names.c",
                   "gcc -std=gnu17 -fopenmp -mavx2 -Wno-psabi -fsyntax-only");
  }
}

TEST(ReservedNamesTest, AreNamesInOpenCl) {
  if (OutputOf("clang --version 2>/dev/null").empty()) GTEST_SKIP() << "there is no clang";
  for (const Expression& expression : ExpressionsWith(NamesOfHeaders())) {
    ExpectCompiles(SourceFor(expression, OpenClModel(), Gpu(DeviceKind::kOpenCl)), "names.cl",
                   "clang -cl-std=CL3.0 -Xclang -finclude-default-header -target spir64 "
                   "-fsyntax-only -w");
  }
}

TEST(ReservedNamesTest, AreNamesInCudaOfNvrtc) {
  const Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  for (const Expression& expression : ExpressionsWith(NamesOfHeaders())) {
    const std::string source = SourceFor(expression, CudaModel(), Gpu(DeviceKind::kCuda));
    EXPECT_EQ(ErrorMessage(nvrtc->Compile(source, "names.cu", 90, {"--std=c++17"})), "no error");
  }
}

}  // namespace
}  // namespace mdh::reserved_names_test
