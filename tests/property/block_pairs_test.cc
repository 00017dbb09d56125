// Random expressions with random configurations of the level-by-level lowering, on every backend of
// this machine; block_campaign runs more. And what the judge itself promises.
#include "tests/property/block_pairs.h"

#include <signal.h>

#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/property/judged_case.h"
#include "tests/property/worker_pool.h"
#include "tests/random_parameters.h"

namespace mdh::block_pairs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

enum class Judged { kExpressions, kPipelines, kUnits };

BlockPairOptions OptionsFor(Backend backend, int count, Judged judged) {
  BlockPairOptions options;
  options.pipelines = judged == Judged::kPipelines;
  options.only_units = judged == Judged::kUnits;
  options.backend.backend = backend;
  options.backend.toolkit_folders = Nvrtc::ToolkitFolders("");
  options.count = count;
  options.seed = FreshSeed();
  if (backend != Backend::kOpenCl) return options;
  // PoCL 3.1 takes minutes to compile number 94 of seed 1, in number 92 of seed 2 it takes the
  // indices of all threads for that of the first one after a barrier, and in number 85 of seed 1 of
  // pipelines a loop that fills a private array does not end. It is right on the first `known`
  // pairs of this seed, or of that for pipelines.
  const uint64_t known = options.pipelines ? 200 : 300;
  options.first = static_cast<int>(options.seed % (known - static_cast<uint64_t>(count)));
  options.seed = options.pipelines ? 4 : 5;
  return options;
}

// Judges `count` pairs on the backend, if there is one.
void JudgeOn(Backend backend, int count, Judged judged = Judged::kExpressions) {
  const BlockPairOptions options = OptionsFor(backend, count, judged);
  const Result<std::string> name = FindBackend(options.backend);
  if (!name.ok()) GTEST_SKIP() << name.status().message();
  const TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
  const BlockPairReport report =
      JudgeBlockPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_EQ(report.failures, 0);
  if (judged == Judged::kUnits && report.pairs == 0) GTEST_SKIP() << "no units on " << *name;
  EXPECT_GE(report.pairs, count * 9 / 10) << "too many expressions have no configuration";
  std::printf("%s", Summary(report, *name).c_str());
}

TEST(BlockPairsTest, OpenMpComputesWhatTheInterpreterComputes) { JudgeOn(Backend::kOpenMp, 24); }
TEST(BlockPairsTest, OpenClComputesWhatTheInterpreterComputes) { JudgeOn(Backend::kOpenCl, 15); }
TEST(BlockPairsTest, CudaComputesWhatTheInterpreterComputes) { JudgeOn(Backend::kCuda, 300); }
TEST(BlockPairsTest, CudaCompilesForTwoArchitectures) { JudgeOn(Backend::kNvrtc, 24); }

// Contractions on matrix units, where the device has such.
TEST(UnitPairsTest, CudaComputesWhatTheInterpreterComputes) {
  JudgeOn(Backend::kCuda, 100, Judged::kUnits);
}
TEST(UnitPairsTest, CudaCompiles) { JudgeOn(Backend::kNvrtc, 10, Judged::kUnits); }

TEST(BlockPairsTest, OpenClWithPtxCompiles) { JudgeOn(Backend::kPtx, 12); }

// One kernel for all steps.
TEST(PipelinePairsTest, OpenMpComputesWhatTheInterpreterComputes) {
  JudgeOn(Backend::kOpenMp, 15, Judged::kPipelines);
}
TEST(PipelinePairsTest, OpenClComputesWhatTheInterpreterComputes) {
  JudgeOn(Backend::kOpenCl, 7, Judged::kPipelines);
}
TEST(PipelinePairsTest, CudaComputesWhatTheInterpreterComputes) {
  JudgeOn(Backend::kCuda, 100, Judged::kPipelines);
}
TEST(PipelinePairsTest, CudaCompilesForTwoArchitectures) {
  JudgeOn(Backend::kNvrtc, 8, Judged::kPipelines);
}

// Buffers with borders: rows that exist as a whole or not at all, which are copied several elements
// at once, rows that are left at their ends, and several accesses. $0: border; $1: the type of
// inputs.
constexpr const char* kBordered[] = {
    R"(
windows := out_view<int32>( y: (p,q,k,r,s,c) -> (p,q,k) ) o
  md_hom<7,5,3,3,3,16>( f, (++, ++, ++, +, +, +) ) o
  inp_view<$1,$1>( x[6,5,16] else $0: (p,q,k,r,s,c) -> (p + r - 1, q + s - 1, c),
                   w: (p,q,k,r,s,c) -> (k,r,s,c) )
where f(x, w) -> y { y = int32(x) * int32(w) }
)",
    R"(
rows := out_view<int32>( y: (p,k,r,c) -> (p,k) ) o
  md_hom<19,3,5,12>( f, (++, ++, +, +) ) o
  inp_view<$1,$1>( x[12,10] else $0: (p,k,r,c) -> (c, 2*p + r - 2), w: (p,k,r,c) -> (k,r,c) )
where f(x, w) -> y { y = int32(x) * int32(w) }
)",
    R"(
stencil := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<13,24>( f, (++, ++) ) o
  inp_view<$1>( x[11,24] else $0: (i,j) -> (i-1,j), (i,j), (i+1,j), (i,j-1), (j,i) )
where f(a, b, c, d, e) -> y { y = int32(a) + 2*int32(b) + 3*int32(c) + 5*int32(d) + 7*int32(e) }
)",
    R"(
lines := out_view<int32>( y: (i,j) -> (i,j) ) o md_hom<6,40>( f, (++, ++) ) o
  inp_view<$1>( x[4,40] else $0: (i,j) -> (i-1,j) )
where f(x) -> y { y = int32(x) }
)"};

std::vector<JudgedCase> BorderedCases(uint64_t first_seed, int seeds) {
  std::vector<JudgedCase> cases;
  for (const char* expression : kBordered) {
    for (const char* border : {"0", "3", "clamp"}) {
      for (const char* type : {"int32", "int8"}) {
        for (int n = 0; n < seeds; ++n) {
          const uint64_t seed = first_seed + cases.size();
          cases.push_back({absl::Substitute(expression, border, type),
                           {},
                           /*choose=*/{},
                           seed,
                           absl::StrCat("seed ", seed)});
        }
      }
    }
  }
  return cases;
}

// Of seeds for which PoCL 3.1 is known to be right.
TEST(BordersTest, AreRightOnOpenCl) { mdh::JudgeOn(Backend::kOpenCl, BorderedCases(100, 2)); }
TEST(BordersTest, AreRightOnCuda) { mdh::JudgeOn(Backend::kCuda, BorderedCases(FreshSeed(), 8)); }

// Results that are equal to others, half of which random configurations compute.
std::vector<JudgedCase> EqualResults(uint64_t first_seed, int seeds) {
  static constexpr const char* kExpressions[] = {
      R"(
gram := out_view<$0>( y: (i,j,k) -> (i,j) ) o md_hom<61,61,150>( f, (++, ++, +) ) o
  inp_view<$0>( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k) ) where f(a, b) -> c { c = a * b }
)",
      R"(
distances := out_view<$0>( y: (b,i,j,k) -> (b,j,i) ) o md_hom<3,37,37,20>( f, (++, ++, ++, max) ) o
  inp_view<$0>( x: (b,i,j,k) -> (b,k,i), (b,i,j,k) -> (b,k,j) ) where f(a, b) -> c { c = a + b }
)"};
  std::vector<JudgedCase> cases;
  for (const char* expression : kExpressions) {
    for (const char* type : {"fp32", "int32", "fp64"}) {
      for (int n = 0; n < seeds; ++n) {
        const uint64_t seed = first_seed + cases.size();
        cases.push_back({absl::Substitute(expression, type),
                         {},
                         /*choose=*/{},
                         seed,
                         absl::StrCat("seed ", seed)});
      }
    }
  }
  return cases;
}

TEST(EqualResultsTest, AreRightOnOpenCl) { mdh::JudgeOn(Backend::kOpenCl, EqualResults(100, 1)); }
TEST(EqualResultsTest, AreRightOnCuda) {
  mdh::JudgeOn(Backend::kCuda, EqualResults(FreshSeed(), 8));
}

TEST(BlockBackendTest, NamesAnUnknownBackendAndDevice) {
  EXPECT_THAT(
      ErrorMessage(BackendNamed("vulkan")),
      HasSubstr("there is no backend 'vulkan' (backends: openmp, opencl, cuda, nvrtc, ptx)"));
  BackendOptions options;
  options.backend = Backend::kOpenCl;
  if (!FindBackend(options).ok()) GTEST_SKIP() << "there is no OpenCL device";
  options.device = 99;
  EXPECT_THAT(ErrorMessage(FindBackend(options)), HasSubstr("no device number 99"));
  options.device = 0;
  options.platform = "No Such";
  EXPECT_THAT(ErrorMessage(FindBackend(options)), HasSubstr("of platform 'No Such'"));
}

TEST(WorkerPoolTest, ReportsWhatCrashesAndGoesOn) {
  std::vector<std::string> ends;
  const MakeJob make_job = [] {
    return [](int job) -> std::string {
      if (job == 3) raise(SIGSEGV);
      if (job == 5) _exit(7);
      return std::to_string(job * job);
    };
  };
  const Status status =
      RunInWorkers({.first = 2, .count = 5, .processes = 2}, make_job, [&](const JobEnd& end) {
        ends.push_back(std::to_string(end.job) + (end.has_answer ? ": " : " ended: ") + end.text);
      });
  EXPECT_EQ(ErrorMessage(status), "no error");
  EXPECT_THAT(ends, UnorderedElementsAre("2: 4", "3 ended: signal SIGSEGV", "4: 16",
                                         "5 ended: exit code 7", "6: 36"));
}

TEST(WorkerPoolTest, EndsWhatHangs) {
  std::vector<std::string> ends;
  const MakeJob make_job = [] {
    return [](int job) -> std::string {
      while (job == 0) pause();
      return "done";
    };
  };
  const Status status = RunInWorkers({.count = 2, .patience_s = 1}, make_job,
                                     [&](const JobEnd& end) { ends.push_back(end.text); });
  EXPECT_EQ(ErrorMessage(status), "no error");
  EXPECT_THAT(ends, UnorderedElementsAre("no answer in 1 s", "done"));
}

TEST(WorkerPoolTest, WorksWithoutProcesses) {
  int sum = 0;
  const MakeJob make_job = [&sum] {
    return [&sum](int job) -> std::string {
      sum += job;
      return "";
    };
  };
  int ends = 0;
  const Status status = RunInWorkers({.first = 1, .count = 4, .processes = 0}, make_job,
                                     [&](const JobEnd&) { ++ends; });
  EXPECT_EQ(ErrorMessage(status), "no error");
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(ends, 4);
}

// Job 1 never ends by itself.
TEST(WorkerPoolTest, GivesUpWhatRunsWhenItIsOver) {
  const MakeJob make_job = [] {
    return [](int job) -> std::string {
      while (job == 1) pause();
      return std::to_string(job);
    };
  };
  std::vector<std::string> ends;
  const Status status = RunInWorkers(
      {.count = 1'000'000, .processes = 2, .is_over = [&] { return ends.size() >= 3; }}, make_job,
      [&](const JobEnd& end) { ends.push_back(end.text); });
  EXPECT_EQ(ErrorMessage(status), "no error");
  EXPECT_THAT(ends, ElementsAre("0", "2", "3"));
  const Status own = RunInWorkers(
      {.first = 2, .count = 1'000'000, .processes = 0, .is_over = [&] { return ends.size() >= 5; }},
      make_job, [&](const JobEnd& end) { ends.push_back(end.text); });
  EXPECT_EQ(ErrorMessage(own), "no error");
  EXPECT_THAT(ends, ElementsAre("0", "2", "3", "2", "3"));
}

// What the walk promises: nearly always some configuration, and all kinds of them.
TEST(RandomParametersTest, AreValidAndNeverThoseOfRegisterTiles) {
  const DeviceDescription gpu = *DescribeCudaArchitecture(80);
  Rng rng(11);
  int found = 0;
  constexpr int kExpressions = 300;
  for (int n = 0; n < kExpressions; ++n) {
    const Expression expression = RandomExpression(rng);
    const SystemModel model = n % 3 == 0   ? OpenMpModel()
                              : n % 3 == 1 ? CudaModel()
                                           : CudaWarpModel();
    const DeviceDescription device = n % 3 == 0 ? DeviceDescription() : gpu;
    const auto parameters =
        RandomNestParameters(rng, expression, model, device, NumericsPolicy::kReassociate);
    if (!parameters) continue;
    ++found;
    EXPECT_EQ(ErrorMessage(Validate(expression, model, device, *parameters)), "no error");
    EXPECT_EQ(parameters->lowering, Lowering::kLevels);
  }
  EXPECT_GE(found, kExpressions * 98 / 100);
}

}  // namespace
}  // namespace mdh::block_pairs_test
