// How long it takes to make a kernel's source: lowering, building, passes and printing together,
// for every backend, with default parameters:
//   lowering_benchmark [REPETITIONS]
// Prints the median time of each in microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "codegen/choose/default_block_parameters.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/text/parser.h"
#include "tests/source_path.h"

namespace mdh {
namespace {

constexpr int kRepetitions = 200;

// Ends the program with the message of an error.
template <typename T>
T OrFail(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "lowering_benchmark: error: %s\n",
               std::string(result.status().message()).c_str());
  std::exit(1);
}

Expression Shipped(const std::string& name, const Bindings& bindings) {
  const std::string path = SourcePath("client/expressions/") + name + ".mdh";
  std::ifstream stream(path);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return OrFail(ParseExpression(text, bindings, path));
}

struct Target {
  std::string name;
  SystemModel model;
  DeviceDescription device;
  bool has_blocks;
};

std::vector<Target> Targets() {
  DeviceDescription cpu;
  cpu.name = "CPU with 256-bit vectors";
  cpu.cores = 8;
  cpu.simd_bytes = 32;
  cpu.l3_bytes = 32 << 20;
  cpu.compiler = "gcc";
  const DeviceDescription gpu = OrFail(DescribeCudaArchitecture(90));
  DeviceDescription open_cl = gpu;
  open_cl.kind = DeviceKind::kOpenCl;
  open_cl.features = FeaturesOf(open_cl);
  return {{"OpenMP", OpenMpSimdRegistersModel(), cpu, false},
          {"CUDA", CudaModel(), gpu, true},
          {"OpenCL", OpenClModel(), open_cl, true}};
}

double MedianMicroseconds(const Expression& expression, const Target& target, int repetitions) {
  const TuningParameters parameters =
      target.has_blocks ? DefaultBlockParameters(expression, target.model, target.device)
                        : DefaultParameters(expression, target.model, target.device);
  std::vector<double> times_us;
  for (int n = 0; n < repetitions; ++n) {
    const auto start = std::chrono::steady_clock::now();
    const LowLevelExpression low =
        OrFail(Lower(expression, target.model, target.device, parameters));
    const Kernel kernel = OrFail(GenerateKernel(low, target.device));
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    times_us.push_back(time.count());
  }
  std::nth_element(times_us.begin(), times_us.begin() + repetitions / 2, times_us.end());
  return times_us[static_cast<size_t>(repetitions / 2)];
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : mdh::kRepetitions;
  const mdh::Bindings cubic = {{"I", "1024"}, {"J", "1024"}, {"K", "1024"}};
  const std::pair<const char*, mdh::Expression> expressions[] = {
      {"matmul", mdh::Shipped("matmul", cubic)}, {"mcc_capsule", mdh::Shipped("mcc_capsule", {})}};
  for (const auto& [name, expression] : expressions) {
    for (const mdh::Target& target : mdh::Targets()) {
      std::printf("%-12s %-7s %8.0f us\n", name, target.name.c_str(),
                  mdh::MedianMicroseconds(expression, target, repetitions));
    }
  }
  return 0;
}
