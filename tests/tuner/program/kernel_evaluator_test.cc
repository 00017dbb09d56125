// Kernels on every kind of device: costs, and every way to fail that leaves the process alive.
#include "tuner/program/kernel_evaluator.h"

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/tuner/program/program_fixture.h"

namespace mdh::kernel_evaluator_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// y = a * x + y of 64 elements. `body` is what a thread does, where i is its number.
std::string Spec(bool is_cuda, const std::string& body, const std::string& more = "") {
  std::string text = R"(
study:
  definitions: {N: 64}
  parameters:
    - {name: X, interval: {first: 0, last: 128}}
    - {name: T, set: {values: [float, double]}}
kernel:
  function: saxpy
  arguments:
    - {name: n, type: int32, value: N}
    - {name: a, type: float32, value: 2.5}
    - {name: x, type: float32, random: N}
    - {name: y, type: float32, random: N}
    - {name: z, type: int32, zeros: N}
  expected:
    - {argument: y, elements: a * x + y}
  repetitions: 3
)";
  if (is_cuda) {
    absl::StrAppend(&text, "  language: CUDA\n  global_size: [N // X]\n  local_size: [X]\n",
                    "  source: >-\n    __global__ void saxpy(int n, float a, const float* x, "
                    "float* y, int* z) {\n    const int i = blockIdx.x * blockDim.x + "
                    "threadIdx.x;\n    ",
                    body, " }\n");
  } else {
    absl::StrAppend(
        &text, "  language: OPENCL\n  global_size: [N]\n  local_size: [X]\n",
        "  source: >-\n    __kernel void saxpy(int n, float a, __global const float* x, "
        "__global float* y,\n    __global int* z) { const int i = get_global_id(0);\n    ",
        body, " }\n");
  }
  return text + more;
}

class KernelEvaluatorTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    program_ = ProgramFrom(Spec(GetParam(), "y[i] += a * x[i];"));
    const auto evaluator = KernelEvaluator::Create(program_, Devices());
    if (!evaluator.ok()) {
      ASSERT_EQ(evaluator.status().code(), absl::StatusCode::kNotFound) << evaluator.status();
      GTEST_SKIP() << evaluator.status().message();
    }
  }
  static KernelDevices Devices() {
    const char* root = std::getenv("CUDA_PATH");
    return {.cuda_root = root == nullptr ? "" : root};
  }

  // Outcomes of several values of X, one after the other in one evaluator.
  std::vector<std::string> EvaluateAll(const std::string& spec, const std::vector<int>& values) {
    program_ = ProgramFrom(spec);
    const auto evaluator = KernelEvaluator::Create(program_, Devices());
    EXPECT_TRUE(evaluator.ok()) << evaluator.status().message();
    std::vector<std::string> outcomes;
    for (const int x : values) {
      outcomes.push_back(
          Outcome((*evaluator)->Evaluate(ConfigurationFrom(absl::StrCat("X: ", x, ", T: float")))));
    }
    return outcomes;
  }
  std::string Evaluate(const std::string& body, const std::string& more = "", int x = 8) {
    return EvaluateAll(Spec(GetParam(), body, more), {x})[0];
  }

  TunableProgram program_;
};

TEST_P(KernelEvaluatorTest, TheCostIsTheTime) {
  const std::string outcome = Evaluate("y[i] += a * x[i];");
  ASSERT_THAT(outcome, StartsWith("cost "));
  const double time_ns = std::strtod(outcome.c_str() + 5, nullptr);
  EXPECT_GT(time_ns, 0);
  EXPECT_LT(time_ns, 10e9);
}

TEST_P(KernelEvaluatorTest, EveryTrialBeginsWithTheSameBuffers) {
  for (const std::string& outcome :
       EvaluateAll(Spec(GetParam(), "y[i] += a * x[i] + z[i]; z[i] = 7;"), {8, 16, 8, 64})) {
    EXPECT_THAT(outcome, StartsWith("cost "));
  }
}

TEST_P(KernelEvaluatorTest, ParametersAndDefinitionsAreMacros) {
  EXPECT_THAT(Evaluate("T b = a; if (n == N && X == 8) y[i] += b * x[i];"), StartsWith("cost "));
}

TEST_P(KernelEvaluatorTest, FailuresAreForgotten) {
  const std::vector<std::string> outcomes =
      EvaluateAll(Spec(GetParam(), "y[i] += (X == 16 ? 0 : a) * x[i]; if (X == 32) y[-i] = 1;"),
                  {8, 16, 32, 8});
  EXPECT_THAT(outcomes[0], StartsWith("cost "));
  EXPECT_THAT(outcomes[1], StartsWith("wrong result: y[0] is "));
  EXPECT_EQ(outcomes[2], "wrong result: it writes before the beginning of y");
  EXPECT_THAT(outcomes[3], StartsWith("cost "));
}

TEST_P(KernelEvaluatorTest, CompileErrors) {
  EXPECT_THAT(Evaluate("y[i] = no_such_name;"),
              AllOf(StartsWith("compile error: "), HasSubstr("no_such_name")));
}

TEST_P(KernelEvaluatorTest, SaysWhatIsWrong) {
  EXPECT_THAT(Evaluate("y[i] += a * x[i]; if (i == 5) y[i] = 100;"),
              AllOf(StartsWith("wrong result: y[5] is 100.0, expected is "),
                    HasSubstr("1 of 64 elements are wrong")));
  EXPECT_THAT(Evaluate("y[i] = 0.0f / (y[i] - y[i]);"), StartsWith("wrong result: y[0] is "));
}

TEST_P(KernelEvaluatorTest, FindsWritesOutsideOfBuffers) {
  EXPECT_EQ(Evaluate("y[i] += a * x[i]; z[n + i] = 1;"),
            "wrong result: it writes behind the end of z");
  EXPECT_EQ(Evaluate("y[i] += a * x[i]; z[-1] = 1;"),
            "wrong result: it writes before the beginning of z");
}

TEST_P(KernelEvaluatorTest, LaunchErrors) {
  EXPECT_THAT(Evaluate("y[i] += a * x[i];", "", 0), StartsWith("launch error: "));
}

TEST_P(KernelEvaluatorTest, FunctionsThatDoNotExist) {
  std::string spec = Spec(GetParam(), "y[i] += a * x[i];");
  spec = absl::StrReplaceAll(spec, {{"function: saxpy", "function: axpy"}});
  const std::string outcome = EvaluateAll(spec, {8})[0];
  EXPECT_THAT(outcome, AllOf(StartsWith(GetParam() ? "compile error: " : "launch error: "),
                             HasSubstr("axpy")));
}

TEST_P(KernelEvaluatorTest, MemoryThatIsNotThere) {
  std::string spec = Spec(GetParam(), "");
  spec = absl::StrReplaceAll(spec, {{"zeros: N", "zeros: N ** 5 * 64"}});
  EXPECT_THAT(EvaluateAll(spec, {8})[0],
              StartsWith("launch error: z: 68719476736 elements are too many: the device has "));
}

TEST_P(KernelEvaluatorTest, ValuesThatDoNotFit) {
  std::string spec = Spec(GetParam(), "");
  spec = absl::StrReplaceAll(spec, {{"value: N", "value: X / N"}});
  EXPECT_EQ(EvaluateAll(spec, {32})[0], "launch error: n: 0.5 is no int32");
}

TEST_P(KernelEvaluatorTest, ReferencesFromFilesAndBytes) {
  TemporaryDirectory directory;
  const std::vector<int32_t> wanted = {1, 2, 3, 4};
  std::ofstream(directory.File("z"), std::ios::binary)
      .write(reinterpret_cast<const char*>(wanted.data()), 16);
  const auto evaluate = [&](const std::string& expected) {
    const std::string spec = absl::StrReplaceAll(
        Spec(GetParam(), "y[i] += a * x[i]; if (i < 4) z[i] = i + 1;"),
        {{"{argument: y, elements: a * x + y}", expected}, {"zeros: N", "zeros: 4"}});
    program_ = ProgramFrom(spec, directory.path().string());
    const auto evaluator = KernelEvaluator::Create(program_, Devices());
    return Outcome((*evaluator)->Evaluate(ConfigurationFrom("X: 8, T: float")));
  };
  EXPECT_THAT(evaluate("{argument: z, file: z}"), StartsWith("cost "));
  EXPECT_THAT(evaluate("{argument: z, data: AQAAAAIAAAADAAAABAAAAA==}"), StartsWith("cost "));
  EXPECT_EQ(evaluate("{argument: z, data: AQAAAAIAAAADAAAABQAAAA==}"),
            "wrong result: z[3] is 4, expected is 5; 1 of 4 elements are wrong");
  EXPECT_EQ(evaluate("{argument: z, data: AQAAAA==}"),
            "wrong result: the reference of z has 4 bytes, the buffer 16");
  EXPECT_THAT(evaluate("{argument: z, elements: 1 // z}"),
              HasSubstr("the reference cannot be computed: z[0]: division by zero"));
  EXPECT_THAT(evaluate("{argument: y, elements: z}"), HasSubstr("z has fewer elements than y"));
}

TEST_P(KernelEvaluatorTest, TolerancesAreRelative) {
  const std::string wrong = Spec(GetParam(), "y[i] += a * x[i] * 1.01f;");
  EXPECT_THAT(EvaluateAll(wrong, {8})[0], StartsWith("wrong result: "));
  const std::string tolerant = absl::StrReplaceAll(
      wrong, {{"elements: a * x + y}", "elements: a * x + y, tolerance: 0.02}"}});
  EXPECT_THAT(EvaluateAll(tolerant, {8})[0], StartsWith("cost "));
}

TEST_P(KernelEvaluatorTest, DevicesByName) {
  program_ = ProgramFrom(Spec(GetParam(), "", "  device: no such device\n"));
  const auto none = KernelEvaluator::Create(program_, Devices());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("no device is called 'no such device'; there are "));
  program_ = ProgramFrom(Spec(GetParam(), ""));
  const auto first = KernelEvaluator::Create(program_, Devices());
  ASSERT_TRUE(first.ok());
  const std::string name = (*first)->device().description().name;
  program_ = ProgramFrom(Spec(GetParam(), "", absl::StrCat("  device: '", name, "'\n")));
  EXPECT_TRUE(KernelEvaluator::Create(program_, Devices()).ok());
}

INSTANTIATE_TEST_SUITE_P(Device, KernelEvaluatorTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Cuda" : "OpenCl"; });

class OpenClEvaluatorTest : public KernelEvaluatorTest {};

TEST_P(OpenClEvaluatorTest, GroupsDivideTheWholeSize) {
  EXPECT_EQ(Evaluate("y[i] += a * x[i];", "", 48),
            "launch error: local_size[0] = 48 does not divide global_size[0] = 64");
}

TEST_P(OpenClEvaluatorTest, TheDeviceMayChooseGroups) {
  const std::string spec =
      absl::StrReplaceAll(Spec(false, "y[i] += a * x[i];"), {{"  local_size: [X]\n", ""}});
  EXPECT_THAT(EvaluateAll(spec, {8})[0], StartsWith("cost "));
}

TEST_P(OpenClEvaluatorTest, HasTheOptionsOfTheSpecification) {
  EXPECT_THAT(Evaluate("if (OPTION == 16) y[i] += a * x[i];", "  options: ['-DOPTION={X}']\n", 16),
              StartsWith("cost "));
}

INSTANTIATE_TEST_SUITE_P(Device, OpenClEvaluatorTest, ::testing::Values(false));

class CudaEvaluatorTest : public KernelEvaluatorTest {};

TEST_P(CudaEvaluatorTest, InstancesOfTemplatesAndSharedMemory) {
  const std::string spec = absl::StrReplaceAll(
      Spec(true,
           "extern __shared__ float s[]; s[threadIdx.x + 10000] = x[i]; __syncthreads(); "
           "y[i] += a * s[threadIdx.x + 10000];",
           "  shared_bytes: 4 * (X + 10000)\n"),
      {{"__global__ void saxpy(", "template <int K> __global__ void saxpy("},
       {"function: saxpy", "function: saxpy<8>"}});
  EXPECT_THAT(EvaluateAll(spec, {8})[0], StartsWith("cost "));
}

TEST_P(CudaEvaluatorTest, SharedMemoryThatIsNegative) {
  EXPECT_THAT(Evaluate("", "  shared_bytes: 0 - X\n"),
              StartsWith("launch error: shared_bytes: -8 is no uint32"));
}

TEST_P(CudaEvaluatorTest, BlocksThatAreTooLarge) {
  const std::string spec = absl::StrReplaceAll(
      Spec(true, ""), {{"N: 64", "N: 1048576"}, {"local_size: [X]", "local_size: [X * 1024]"}});
  EXPECT_THAT(EvaluateAll(spec, {8})[0],
              AllOf(StartsWith("launch error: "), HasSubstr("threads of a block")));
}

// Last: afterwards this process has no device any more.
TEST_P(CudaEvaluatorTest, ZAfterACrashTheDeviceIsNotUsable) {
  program_ = ProgramFrom(Spec(true, "y[i + (1ll << 40)] = 1;"));
  const auto evaluator = KernelEvaluator::Create(program_, Devices());
  ASSERT_TRUE(evaluator.ok());
  const auto crash = (*evaluator)->Evaluate(ConfigurationFrom("X: 8, T: float"));
  EXPECT_THAT(Outcome(crash), StartsWith("crash: cuEventSynchronize: CUDA_ERROR_"));
  EXPECT_FALSE((*evaluator)->is_usable());
  EXPECT_EQ((*evaluator)->Evaluate(ConfigurationFrom("X: 8, T: float")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Device, CudaEvaluatorTest, ::testing::Values(true));

TEST(RandomElements, DependOnNameAndTypeOnly) {
  const ArgumentBytes first = RandomElements("x", ArgumentType::kFloat32, 1000);
  EXPECT_EQ(first, RandomElements("x", ArgumentType::kFloat32, 1000));
  EXPECT_NE(first, RandomElements("y", ArgumentType::kFloat32, 1000));
  double sum = 0;
  for (size_t n = 0; n < 1000; ++n) {
    const double value = LoadReal(ArgumentType::kFloat32, first.data() + 4 * n);
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
  for (const char* name :
       {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64"}) {
    const ArgumentType type = *ArgumentTypeNamed(name);
    const ArgumentBytes bytes = RandomElements("x", type, 1000);
    ASSERT_EQ(bytes.size(), 1000u * SizeBytes(type));
    for (size_t n = 0; n < 1000; ++n) {
      const double value = LoadReal(type, bytes.data() + n * SizeBytes(type));
      EXPECT_LE(value, IsReal(type) ? 1 : 100) << name;
      EXPECT_GE(value, name[0] == 'i' ? -100 : 0) << name;
    }
  }
}

}  // namespace
}  // namespace mdh::kernel_evaluator_test
