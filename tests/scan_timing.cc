// Temporary: both variants of prefix sums on a device.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/validate.h"
#include "core/device/system_model.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tuner/measure/runner.h"
using namespace mdh;
constexpr char kScan[] = R"(
scan<T = fp32 | I = 1, J = 1> := out_view<T>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(+)) ) o inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> y { y = x }
)";
constexpr char kInt[] = R"(
scan<T = int64 | I = 1, J = 1> := out_view<T>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(+)) ) o inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> y { y = x }
)";
constexpr char kComposition[] = R"(
composition<T = fp64 | I = 1, J = 1> :=
  out_view<T,T>( A: (i,j) -> (i,j), B: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(compose)) ) o
  inp_view<T,T>( a: (i,j) -> (i,j), b: (i,j) -> (i,j) )
where f(a, b) -> (A, B) { A = a; B = b },
      compose(a1, b1, a2, b2) -> (a, b) { a = a2 * a1; b = a2 * b1 + b2 }
)";
constexpr char kTable[] = R"(
table<T = int32 | I = 1, J = 1> :=
  out_view<int32>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,J,3>( f, (ps(+), ps(+), +) ) o
  inp_view<int32>( x: (i,j,k) -> (i,j + k) )
where f(x) -> y { y = x }
)";
int main(int argc, char** argv) {
  RunnerOptions options;
  options.program = argv[1];
  options.work_directory = std::filesystem::temp_directory_path() / "scan_timing";
  options.device = argv[2];
  auto runner = Runner::Start(options);
  if (!runner.ok()) { std::printf("%s\n", std::string(runner.status().message()).c_str()); return 1; }
  const DeviceDescription device = (*runner)->device();
  const SystemModel model = device.kind == DeviceKind::kCuda ? CudaModel() : OpenClModel();
  std::printf("private words: warp %lld regs %lld\n", (long long)device.blocks.warp_size, (long long)device.blocks.registers_per_block);
  const std::pair<const char*, const char*> cases[] = {
      {"1", "16777216"}, {"4096", "4096"}, {"65536", "100"}, {"3", "70001"}, {"1000", "1000"}};
  const ScanParameters scans[] = {{}, {32, 1, 4}, {32, 1, 16}, {32, 1, 64}, {32, 2, 8}, {64, 1, 8}, {64,1,16}, {128, 1, 8}, {256, 1, 8}};
  for (const char* text : {kScan, kInt, kComposition, kTable}) {
    for (const auto& [i, j] : cases) {
      const auto expression = ParseExpression(text, {{"I", i}, {"J", j}});
      if (!expression.ok()) { std::printf("%s\n", std::string(expression.status().message()).c_str()); return 1; }
      if (const Status s = (*runner)->SetProblem(*expression, 1); !s.ok()) { std::printf("%s\n", std::string(s.message()).c_str()); continue; }
      std::vector<Kernel> kernels;
      std::vector<ScanParameters> used;
      for (const ScanParameters& scan : scans) {
        TuningParameters p = DefaultParameters(*expression, model, device, NumericsPolicy::kReassociate);
        p.scan = scan;
        const auto low = Lower(*expression, model, device, p);
        if (!low.ok()) { continue; }
        auto kernel = GenerateKernel(*low, device);
        if (!kernel.ok()) continue;
        kernels.push_back(*kernel); used.push_back(scan);
      }
      std::vector<int64_t> best(kernels.size(), 0);
      for (int round = 0; round < 3; ++round) {
        auto m = (*runner)->Measure(kernels, {});
        if (!m.ok()) { std::printf("%s\n", std::string(m.status().message()).c_str()); break; }
        for (size_t n = 0; n < m->size(); ++n) {
          const int64_t t = (*m)[n].time_ns();
          if (t == 0) std::printf("  %s\n", (*m)[n].reason.c_str());
          if (best[n] == 0 || (t > 0 && t < best[n])) best[n] = t;
        }
      }
      std::printf("%s %s x %s:", expression->name().c_str(), i, j);
      for (size_t n = 0; n < kernels.size(); ++n) {
        std::printf("  %d:%d:%d %.0f us", used[n].threads, used[n].rounds, used[n].run, best[n] / 1e3);
        if (n > 0) std::printf(" (%.2f)", double(best[n]) / double(best[0]));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}
