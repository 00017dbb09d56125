// Prefix sums in blocks of threads (codegen/scan_in_blocks.h, codegen/scan_in_registers.h) on the
// devices of this machine: lines that fill tiles and do not, many and few of them, along memory and
// across, an operator that is not commutative and has no identity, and elements that are vectors.
#include "codegen/default_parameters.h"
#include "codegen/scan_in_blocks.h"
#include "core/interpreter.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/property/block_backend.h"
#include "tests/property/block_pairs.h"
#include "tests/property/worker_pool.h"
#include "tests/random_expression.h"

namespace mdh {
namespace {

constexpr char kComposition[] = R"(
composition<T = int64 | I = 1, J = 1> :=
  out_view<T,T>( A: (i,j) -> (i,j), B: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(compose)) ) o
  inp_view<T,T>( a: (i,j) -> (i,j), b: (i,j) -> (i,j) )
where f(a, b) -> (A, B) { A = a; B = b },
      compose(a1, b1, a2, b2) -> (a, b) { a = a2 * a1; b = a2 * b1 + b2 }
)";

constexpr char kAcross[] = R"(
composition<T = int64 | I = 1, J = 1> :=
  out_view<T,T>( A: (j,i) -> (j,i), B: (j,i) -> (j,i) ) o
  md_hom<J,I>( f, (ps(compose), ++) ) o
  inp_view<T,T>( a: (j,i) -> (j,i), b: (j,i) -> (j,i) )
where f(a, b) -> (A, B) { A = a; B = b },
      compose(a1, b1, a2, b2) -> (a, b) { a = a2 * a1; b = a2 * b1 + b2 }
)";

constexpr char kWeighted[] = R"(
weighted<T = int32 | I = 1, J = 1> :=
  out_view<int32>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ps(+)) ) o
  inp_view<int32,int16>( x: (i,j) -> (i,j), w: (i,j) -> (j) )
where f(x, w) -> y { y = x * int32(w) }
)";

// Elements are sums themselves, and prefix sums are taken along both other dimensions.
constexpr char kTable[] = R"(
table<T = int32 | I = 1, J = 1> :=
  out_view<int32>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,J,3>( f, (ps(+), ps(+), +) ) o
  inp_view<int32>( x: (i,j,k) -> (i,j + k) )
where f(x) -> y { y = x }
)";

struct Lines {
  int64_t count, size;
};
constexpr Lines kLines[] = {{1, 2},     {1, 31},     {7, 33},    {70, 100},   {1, 2'048},
                            {2, 2'049}, {3, 70'001}, {5'000, 3}, {1, 600'000}};
constexpr ScanParameters kScans[] = {{32, 1, 1}, {64, 2, 4}, {128, 4, 2}};  // in registers

struct Case {
  const char* expression;
  Lines lines;
  ScanParameters scan;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Lines& lines : kLines) {
    cases.push_back({kComposition, lines, {}});
    for (const char* expression : {kComposition, kAcross, kWeighted, kTable}) {
      cases.push_back({expression, lines, kScans[cases.size() % std::size(kScans)]});
    }
  }
  return cases;
}

// What is wrong; empty if nothing is.
std::string Judge(JudgedBackend& backend, const Case& judged) {
  const auto expression = ParseExpression(
      judged.expression,
      {{"I", std::to_string(judged.lines.count)}, {"J", std::to_string(judged.lines.size)}});
  if (!expression.ok()) return std::string(expression.status().message());
  Rng rng(static_cast<uint64_t>(judged.lines.size));
  const DeviceDescription device = backend.device()->description();
  const SystemModel model = device.kind == DeviceKind::kCuda ? CudaModel() : OpenClModel();
  TuningParameters parameters =
      DefaultParameters(*expression, model, device, NumericsPolicy::kReassociate);
  parameters.scan = judged.scan;
  const auto low_level = Lower(*expression, model, device, parameters);
  if (!low_level.ok()) return std::string(low_level.status().message());
  const Result<Kernel> kernel = backend.Generate(*low_level, device);
  if (!kernel.ok()) return std::string(kernel.status().message());
  const std::vector<BufferBytes> inputs = RandomInputs(rng, *expression);
  const auto expected = Interpret(*expression, inputs, AccumulationOf(parameters.numerics));
  if (!expected.ok()) return std::string(expected.status().message());
  return std::string(backend.Judge(*expression, *kernel, inputs, *expected).message());
}

void JudgeOn(Backend kind) {
  BackendOptions options;
  options.backend = kind;
  if (const auto name = FindBackend(options); !name.ok()) GTEST_SKIP() << name.status().message();
  const TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
  const std::vector<Case> cases = Cases();
  const MakeJob make_job = [&]() -> Job {
    auto backend =
        std::make_shared<Result<std::unique_ptr<JudgedBackend>>>(JudgedBackend::Open(options));
    return [backend, &cases](int job) {
      return backend->ok() ? Judge(***backend, cases[job])
                           : std::string(backend->status().message());
    };
  };
  const Status status = RunInWorkers(
      {.count = static_cast<int>(cases.size()), .processes = 1}, make_job, [&](const JobEnd& end) {
        const Case& judged = cases[end.job];
        EXPECT_EQ(end.text, "") << judged.expression << judged.lines.count << " lines of "
                                << judged.lines.size << " elements, " << judged.scan.threads << ":"
                                << judged.scan.rounds << ":" << judged.scan.run;
      });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(BlockScanTest, IsRightOnOpenCl) { JudgeOn(Backend::kOpenCl); }
TEST(BlockScanTest, IsRightOnCuda) { JudgeOn(Backend::kCuda); }

TEST(BlockScanTest, TilesFitTheLinesAndTheDevice) {
  const auto is = [](const ScanTiles& cut, int64_t threads, int64_t rows, int64_t elements,
                     int64_t tiles) {
    return cut.threads == threads && cut.rows == rows && cut.elements == elements &&
           cut.tiles == tiles;
  };
  EXPECT_TRUE(is(CutForScan(1, 1 << 24, 4, 1024), 256, 1, 8, 8192));
  EXPECT_TRUE(is(CutForScan(1, 1 << 24, 4, 100), 64, 1, 8, 32768));
  // Short lines share a block.
  EXPECT_TRUE(is(CutForScan(1000, 100, 4, 1024), 32, 8, 4, 1));
  EXPECT_TRUE(is(CutForScan(3, 100, 4, 1024), 32, 4, 4, 1));
  for (const int64_t bytes : {1, 4, 8, 16, 64, 128}) {
    for (const int64_t size : {1, 40, 3'000, 1 << 20}) {
      const ScanTiles cut = CutForScan(77, size, bytes, 1024);
      EXPECT_GE(cut.tiles * cut.tile(), size);
      EXPECT_LE(cut.rows * (cut.tile() + cut.threads) * bytes, 16 << 10);
    }
  }
}

}  // namespace
}  // namespace mdh
