// The C interface with a daemon, and with a bundle that it made.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_interface/c_interface_fixture.h"

namespace mdh::daemon_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kSize = 48;

class CInterfaceTest : public DaemonTest {
 protected:
  void SetUp() override { StartDaemon(); }

  CClient Connect() const {
    mdh_client_options options = {};
    options.struct_bytes = sizeof(options);
    options.address = address_.c_str();
    options.call_limit_ns = 20'000'000'000;
    return MakeHandle<CClient, mdh_client>(mdh_client_connect, &options);
  }
  static CJob StartJob(const CClient& client, const CQuery& query, int64_t budget_ns,
                       int64_t max_trials = 0) {
    mdh_tune_options options = {};
    options.struct_bytes = sizeof(options);
    options.budget_ns = budget_ns;
    options.max_trials = max_trials;
    return MakeHandle<CJob, mdh_job>(mdh_job_start, client.get(), query.get(), &options);
  }
  // Tunes a matrix product for a moment.
  void Tune() const { ASSERT_EQ(Mdh(OnMatMul("tune", kSize, kFewTrials)).code, 0); }
  std::string ExportBundle() const {
    const std::string path = directory_.File("bundle");
    EXPECT_EQ(Mdh({"admin", "export", path}).code, 0);
    return path;
  }
  CFunction Load(const CKernel& kernel) const {
    const std::string folder = directory_.File("cache");
    mdh_load_options options = {};
    options.struct_bytes = sizeof(options);
    options.cache_directory = folder.c_str();
    return MakeHandle<CFunction, mdh_function>(mdh_function_load, kernel.get(), &options);
  }
  static void ExpectMultiplies(const CFunction& function) {
    std::vector<float> a(kSize * kSize, 2), b(kSize * kSize, 3), c(kSize * kSize);
    void* const arguments[] = {a.data(), b.data(), c.data()};
    EXPECT_EQ(mdh_function_run(function.get(), arguments, 3, nullptr), MDH_OK);
    EXPECT_EQ(c, std::vector<float>(kSize * kSize, 6 * kSize));
  }
};

TEST_F(CInterfaceTest, AKernelIsThereAtOnceAndTunedInTheBackground) {
  const CClient client = Connect();
  const CQuery query = MatMulQuery(kSize);
  mdh_kernel* none = nullptr;
  EXPECT_EQ(Ask(mdh_client_kernel, client.get(), query.get(), MDH_MATCH_EXACT, &none).code,
            MDH_NOT_FOUND);
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel_and_tune, client.get(),
                                                         query.get(), int64_t{2'000'000'000});
  EXPECT_EQ(mdh_kernel_match(kernel.get()), MDH_MATCH_PREDICTED);
  EXPECT_EQ(mdh_kernel_provenance(kernel.get()), MDH_PROVENANCE_RULES);
  EXPECT_STREQ(mdh_kernel_name(kernel.get()), "");
  EXPECT_STREQ(mdh_kernel_made_from(kernel.get()), "");
  EXPECT_EQ(mdh_kernel_time_ns(kernel.get()), 0);
  ExpectMultiplies(Load(kernel));
  const CJob job =
      MakeHandle<CJob, mdh_job>(mdh_job_open, client.get(), mdh_kernel_tuning_job(kernel.get()));
  mdh_progress progress = {};
  EXPECT_EQ(Ask(mdh_job_wait, job.get(), int64_t{0}, &progress).code, MDH_OK);
  EXPECT_EQ(progress.state, MDH_JOB_SUCCEEDED);
  EXPECT_GT(progress.trials, 0);
  const CKernel tuned = MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel, client.get(),
                                                        query.get(), MDH_MATCH_EXACT);
  EXPECT_EQ(mdh_kernel_provenance(tuned.get()), MDH_PROVENANCE_MEASURED);
  EXPECT_GT(mdh_kernel_time_ns(tuned.get()), 0);
}

constexpr char kPipeline[] = R"(p<| N> := pipeline(x) -> z { y = twice<| N>(x); z = sums<| N>(y) }
twice<| N> := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<N,N>( f, (++,++) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x + x }
sums<| N> := out_view<fp32>( z: (i,j) -> (i) ) o md_hom<N,N>( f, (++,+) ) o
  inp_view<fp32>( y: (i,j) -> (i,j) ) where f(y) -> z { z = y }
)";

CQuery PipelineQuery() {
  const char* const sizes[] = {"N=48", nullptr};
  return MakeHandle<CQuery, mdh_query>(mdh_query_create, kPipeline, sizes, nullptr);
}

TEST_F(CInterfaceTest, APipelineIsOneKernel) {
  const CClient client = Connect();
  const CQuery query = PipelineQuery();
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel_and_tune, client.get(),
                                                         query.get(), int64_t{1'000'000'000});
  EXPECT_EQ(mdh_kernel_match(kernel.get()), MDH_MATCH_PREDICTED);
  ASSERT_EQ(mdh_kernel_argument_count(kernel.get()), 2u);
  const CFunction function = Load(kernel);
  std::vector<float> x(kSize * kSize, 3), z(kSize);
  void* const arguments[] = {x.data(), z.data()};
  EXPECT_EQ(mdh_function_run(function.get(), arguments, 2, nullptr), MDH_OK);
  EXPECT_EQ(z, std::vector<float>(kSize, 6 * kSize));

  // Its job is the one that ends last, whose record caches and bundles have.
  const CJob job = StartJob(client, query, 12'000'000'000, 2);
  EXPECT_THAT(mdh_job_note(job.get()), HasSubstr("distinct steps of 2 partitions"));
  ASSERT_EQ(Ask(mdh_job_wait, job.get(), int64_t{0}, nullptr).code, MDH_OK);
  const CCache cache = MakeHandle<CCache, mdh_cache>(mdh_cache_create, client.get(), size_t{16});
  mdh_record* record = nullptr;
  ASSERT_EQ(Ask(mdh_cache_lookup, cache.get(), query.get(), MDH_MATCH_EXACT, &record).code, MDH_OK);
  EXPECT_GT(mdh_record_time_ns(record), 0);
  EXPECT_THAT(mdh_record_parameters(record), HasSubstr("edge 1 2 "));
  mdh_record_free(record);
  const std::string path = ExportBundle();
  const CBundle bundle =
      MakeHandle<CBundle, mdh_bundle>(mdh_bundle_open, path.c_str(), MDH_CHECK_WHEN_OPENED);
  const CKernel bundled =
      MakeHandle<CKernel, mdh_kernel>(mdh_bundle_kernel, bundle.get(), query.get());
  const CFunction measured = Load(bundled);
  std::fill(z.begin(), z.end(), 0);
  EXPECT_EQ(mdh_function_run(measured.get(), arguments, 2, nullptr), MDH_OK);
  EXPECT_EQ(z, std::vector<float>(kSize, 6 * kSize));
}

TEST_F(CInterfaceTest, AProductOfManyFactorsIsOneKernelAndOneRecord) {
  const CClient client = Connect();
  mdh_einsum_options with = {};
  with.struct_bytes = sizeof(with);
  with.sizes = "i=48,j=48,k=48,l=48";
  const CQuery query =
      MakeHandle<CQuery, mdh_query>(mdh_query_create_einsum_with, "ij,jk,kl->il", &with, nullptr);
  const CJob job = StartJob(client, query, 12'000'000'000, 3);
  EXPECT_THAT(mdh_job_note(job.get()), HasSubstr("two factors at a time"));
  mdh_progress progress = {};
  ASSERT_EQ(Ask(mdh_job_wait, job.get(), int64_t{0}, &progress).code, MDH_OK);
  EXPECT_EQ(progress.state, MDH_JOB_SUCCEEDED);
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel, client.get(),
                                                         query.get(), MDH_MATCH_EXACT);
  ASSERT_EQ(mdh_kernel_argument_count(kernel.get()), 4u);
  const CFunction function = Load(kernel);
  std::vector<float> a(kSize * kSize, 2), b(kSize * kSize, 3), c(kSize * kSize, 1), d(a.size());
  void* const arguments[] = {a.data(), b.data(), c.data(), d.data()};
  EXPECT_EQ(mdh_function_run(function.get(), arguments, 4, nullptr), MDH_OK);
  EXPECT_EQ(d, std::vector<float>(d.size(), 6 * kSize * kSize));
}

TEST_F(CInterfaceTest, WhatSearchThereWasIsTold) {
  const CClient client = Connect();
  const CQuery query = MatMulQuery(kSize);
  const CJob first = StartJob(client, query, 20'000'000'000, 2);
  EXPECT_STREQ(mdh_job_note(first.get()), "");
  EXPECT_EQ(Ask(mdh_job_wait, first.get(), int64_t{0}, nullptr).code, MDH_OK);
  mdh_phase phase = MDH_PHASE_FINALS;
  EXPECT_EQ(Ask(mdh_job_phase, first.get(), &phase).code, MDH_OK);
  EXPECT_EQ(phase, MDH_PHASE_NONE);
  const CJob second = StartJob(client, query, 10'000'000'000, 2);
  EXPECT_THAT(mdh_job_note(second.get()),
              AnyOf(HasSubstr("there is a record, behind which stands a search of "),
                    HasSubstr("during which others used the machine")));
}

TEST_F(CInterfaceTest, WhatAKernelIs) {
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(
      mdh_client_kernel, Connect().get(), MatMulQuery(kSize).get(), MDH_MATCH_PREDICTED);
  EXPECT_STREQ(mdh_kernel_language(kernel.get()), "OpenMP C");
  const std::string entry = mdh_kernel_entry(kernel.get());
  EXPECT_THAT(mdh_kernel_source(kernel.get()), HasSubstr("int " + entry + "("));
  EXPECT_THAT(mdh_kernel_header(kernel.get()), HasSubstr("int " + entry + "("));
  EXPECT_STRNE(mdh_kernel_compiler(kernel.get()), "");
  ASSERT_GT(mdh_kernel_compile_option_count(kernel.get()), 0u);
  EXPECT_STREQ(mdh_kernel_compile_option(kernel.get(), 0), "-std=gnu11");
  EXPECT_EQ(mdh_kernel_compile_option(kernel.get(), 99), nullptr);
  EXPECT_STRNE(mdh_kernel_parameters(kernel.get()), "");
  ASSERT_EQ(mdh_kernel_argument_count(kernel.get()), 3u);
  mdh_argument argument = {};
  ASSERT_EQ(mdh_kernel_argument(kernel.get(), 2, &argument), MDH_OK);
  EXPECT_STREQ(argument.name, "C");
  EXPECT_STREQ(argument.type, "fp32");
  EXPECT_EQ(argument.elements, kSize * kSize);
  EXPECT_EQ(argument.size_bytes, 4 * kSize * kSize);
  EXPECT_EQ(argument.is_output, 1);
  EXPECT_EQ(mdh_kernel_argument(kernel.get(), 3, &argument), MDH_OUT_OF_RANGE);
  size_t rank = 0;
  const int64_t *extents = nullptr, *strides = nullptr;
  ASSERT_EQ(mdh_kernel_argument_shape(kernel.get(), 2, &rank, &extents, &strides), MDH_OK);
  ASSERT_EQ(rank, 2u);
  EXPECT_EQ(extents[0], kSize);
  EXPECT_EQ(extents[1], kSize);
  EXPECT_EQ(strides, nullptr);
  EXPECT_EQ(mdh_kernel_argument_shape(kernel.get(), 3, &rank, &extents, &strides),
            MDH_OUT_OF_RANGE);
  mdh_launch launch = {};
  EXPECT_EQ(mdh_kernel_launch_count(kernel.get()), 0u);
  EXPECT_EQ(mdh_kernel_launch(kernel.get(), 0, &launch), MDH_OUT_OF_RANGE);
}

TEST_F(CInterfaceTest, ArraysThatAreDescribedAreChecked) {
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(
      mdh_client_kernel, Connect().get(), MatMulQuery(kSize).get(), MDH_MATCH_PREDICTED);
  const CFunction function = Load(kernel);
  std::vector<float> memory(3 * kSize * kSize, 1.0f);
  const int64_t square[] = {kSize, kSize}, flat[] = {kSize * kSize}, columns[] = {1, kSize};
  const auto buffer = [&](int number) {
    mdh_buffer described = {};
    described.data = memory.data() + number * kSize * kSize;
    described.type = "fp32";
    described.rank = 2;
    described.extents = square;
    return described;
  };
  mdh_buffer buffers[] = {buffer(0), buffer(1), buffer(2)};
  const auto run = [&] {
    return Ask(mdh_function_run_buffers, function.get(), static_cast<const mdh_buffer*>(buffers),
               size_t{3});
  };
  EXPECT_EQ(run().code, MDH_OK);
  EXPECT_EQ(memory.back(), kSize);
  const auto expect_wrong = [&](const mdh_buffer& wrong, const std::string& message) {
    buffers[0] = wrong;
    const Answer answer = run();
    buffers[0] = buffer(0);
    EXPECT_EQ(answer.code, MDH_INVALID_ARGUMENT);
    EXPECT_THAT(answer.message, HasSubstr(message));
  };
  mdh_buffer wrong = buffer(0);
  wrong.rank = 1;
  wrong.extents = flat;
  expect_wrong(wrong,
               "mdh_matmul: the argument 'A' has shape (2304,), but the kernel expects (48, 48)");
  wrong = buffer(0);
  wrong.strides = columns;
  expect_wrong(wrong, "has strides of (1, 48) elements, but the kernel expects (48, 1)");
  wrong = buffer(0);
  wrong.type = "fp64";
  expect_wrong(wrong, "has elements of type fp64, but the kernel expects fp32");
  wrong.type = "float32";
  expect_wrong(wrong, "buffer number 0 has an unknown type: float32");
  wrong.type = nullptr;
  expect_wrong(wrong, "buffer number 0 has no type");
  wrong.type = "record";
  expect_wrong(wrong, "buffer number 0 has records without a size");
  wrong = buffer(0);
  wrong.extents = nullptr;
  expect_wrong(wrong, "buffer number 0 has no extents");
  expect_wrong(buffer(2), "the output 'C' overlaps with the argument 'A'");
  EXPECT_THAT(Ask(mdh_function_run_buffers, function.get(), static_cast<const mdh_buffer*>(buffers),
                  size_t{2})
                  .message,
              HasSubstr("mdh_matmul has 3 arguments (A, B, C), not 2"));
}

TEST_F(CInterfaceTest, KernelsForGpusHaveLaunchesAndAreNotRunHere) {
  mdh_query_options options = {};
  options.struct_bytes = sizeof(options);
  options.device = "knownDevices/h100";
  const CClient client = Connect();
  const CQuery query = MatMulQuery(256, &options);
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel, client.get(),
                                                         query.get(), MDH_MATCH_PREDICTED);
  EXPECT_STREQ(mdh_kernel_language(kernel.get()), "CUDA C++");
  ASSERT_GT(mdh_kernel_launch_count(kernel.get()), 0u);
  mdh_launch launch = {};
  ASSERT_EQ(mdh_kernel_launch(kernel.get(), 0, &launch), MDH_OK);
  EXPECT_THAT(mdh_kernel_source(kernel.get()), HasSubstr(launch.function));
  EXPECT_GT(launch.grid[0] * launch.grid[1] * launch.grid[2], 0);
  EXPECT_GE(launch.block[0], 1);
  mdh_function* function = nullptr;
  const std::string folder = directory_.File("cache");
  mdh_load_options load = {};
  load.struct_bytes = sizeof(load);
  load.cache_directory = folder.c_str();
  const Answer loaded = Ask(mdh_function_load, kernel.get(), &load, &function);
  EXPECT_EQ(loaded.code, MDH_INVALID_ARGUMENT);
  EXPECT_THAT(loaded.message, HasSubstr("is in CUDA C++, not in OpenMP C"));
  // Nor are they in a cache without the fingerprint of the device.
  const CCache cache = MakeHandle<CCache, mdh_cache>(mdh_cache_create, client.get(), size_t{0});
  mdh_record* record = nullptr;
  EXPECT_EQ(Ask(mdh_cache_lookup, cache.get(), query.get(), MDH_MATCH_EXACT, &record).code,
            MDH_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, ABundleNeedsNoDaemon) {
  Tune();
  const std::string path = ExportBundle();
  StopDaemon();
  const CBundle bundle =
      MakeHandle<CBundle, mdh_bundle>(mdh_bundle_open, path.c_str(), MDH_CHECK_WHEN_OPENED);
  EXPECT_EQ(mdh_bundle_entry_count(bundle.get()), 1u);
  EXPECT_EQ(std::string(mdh_bundle_sum(bundle.get())).size(), 64u);
  ASSERT_EQ(mdh_bundle_device_count(bundle.get()), 1u);
  EXPECT_EQ(mdh_bundle_device(bundle.get(), 1), nullptr);
  const CQuery query = MatMulQuery(kSize);
  mdh_bundle_entry entry = {};
  ASSERT_EQ(mdh_bundle_find(bundle.get(), query.get(), &entry, nullptr), MDH_OK);
  const CQuery pipeline = PipelineQuery();
  EXPECT_EQ(Ask(mdh_bundle_find, bundle.get(), pipeline.get(), &entry).code, MDH_NOT_FOUND);
  ASSERT_EQ(mdh_bundle_find(bundle.get(), query.get(), &entry, nullptr), MDH_OK);
  EXPECT_GT(entry.record_bytes, 0u);
  EXPECT_GT(entry.kernel_bytes, entry.record_bytes);
  EXPECT_GT(entry.compiler_bytes, 0u);
  // For the same device by name, and straight from the text.
  mdh_query_options options = {};
  options.struct_bytes = sizeof(options);
  options.device_fingerprint = mdh_bundle_device(bundle.get(), 0);
  EXPECT_EQ(mdh_bundle_find(bundle.get(), MatMulQuery(kSize, &options).get(), &entry, nullptr),
            MDH_OK);
  const std::string text = ReadFile(ExpressionPath("matmul.mdh"));
  const char* const sizes[] = {"I=48", "J=48", "K=48", nullptr};
  EXPECT_EQ(Ask(mdh_bundle_find_text, bundle.get(), text.c_str(), sizes, nullptr, &entry).code,
            MDH_OK);
  mdh_kernel* none = nullptr;
  const CQuery other = MatMulQuery(kSize + 1);
  EXPECT_EQ(Ask(mdh_bundle_kernel, bundle.get(), other.get(), &none).code, MDH_NOT_FOUND);
  const CKernel kernel =
      MakeHandle<CKernel, mdh_kernel>(mdh_bundle_kernel, bundle.get(), query.get());
  EXPECT_EQ(mdh_kernel_provenance(kernel.get()), MDH_PROVENANCE_MEASURED);
  EXPECT_GT(mdh_kernel_time_ns(kernel.get()), 0);
  ExpectMultiplies(Load(kernel));
}

TEST_F(CInterfaceTest, ABundleThatWasChangedIsRefused) {
  Tune();
  const std::string path = ExportBundle();
  std::string bytes = ReadFile(path);
  mdh_bundle* bundle = nullptr;
  const auto open = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return Ask(mdh_bundle_open, path.c_str(), MDH_CHECK_WHEN_OPENED, &bundle);
  };
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(open(bytes).message, HasSubstr(path + ": the bundle is damaged"));
  // Or when the entry is used.
  const CBundle later =
      MakeHandle<CBundle, mdh_bundle>(mdh_bundle_open, path.c_str(), MDH_CHECK_WHEN_FIRST_USED);
  mdh_bundle_entry entry = {};
  const CQuery query = MatMulQuery(kSize);
  EXPECT_THAT(Ask(mdh_bundle_find, later.get(), query.get(), &entry).message,
              HasSubstr("the bundle is damaged: entry 0 was changed"));
  EXPECT_EQ(mdh_bundle_device_count(later.get()), 0u);
  EXPECT_EQ(open(bytes.substr(0, bytes.size() / 2)).code, MDH_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(mdh_bundle_open, "/nowhere", MDH_CHECK_WHEN_OPENED, &bundle).code, MDH_NOT_FOUND);
}

TEST_F(CInterfaceTest, ACacheAnswersInThisProcess) {
  Tune();
  const CClient client = Connect();
  const CCache cache = MakeHandle<CCache, mdh_cache>(mdh_cache_create, client.get(), size_t{16});
  const CQuery query = MatMulQuery(kSize);
  int64_t hits = 0, calls = 0;
  EXPECT_TRUE(Eventually([&] {
    const CRecord record = MakeHandle<CRecord, mdh_record>(mdh_cache_lookup, cache.get(),
                                                           query.get(), MDH_MATCH_EXACT);
    mdh_cache_counts(cache.get(), &hits, &calls);
    return hits > 0;
  }));
  EXPECT_GT(calls, 0);
  const CRecord record =
      MakeHandle<CRecord, mdh_record>(mdh_cache_lookup, cache.get(), query.get(), MDH_MATCH_EXACT);
  EXPECT_EQ(mdh_record_match(record.get()), MDH_MATCH_EXACT);
  EXPECT_THAT(mdh_record_name(record.get()), HasSubstr("records/"));
  EXPECT_STRNE(mdh_record_parameters(record.get()), "");
  EXPECT_GT(mdh_record_time_ns(record.get()), 0);
  const CKernel kernel =
      MakeHandle<CKernel, mdh_kernel>(mdh_client_kernel_of, client.get(), record.get());
  EXPECT_THAT(mdh_kernel_name(kernel.get()), HasSubstr("kernels/"));
  mdh_record* none = nullptr;
  const CQuery other = MatMulQuery(kSize + 1);
  EXPECT_EQ(Ask(mdh_cache_lookup, cache.get(), other.get(), MDH_MATCH_EXACT, &none).code,
            MDH_NOT_FOUND);
  EXPECT_EQ(Ask(mdh_cache_lookup, cache.get(), query.get(), mdh_match{}, &none).code,
            MDH_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, JobsAreWatchedAndCancelled) {
  const CClient client = Connect();
  const CJob job = StartJob(client, MatMulQuery(200), 60'000'000'000);
  EXPECT_THAT(mdh_job_name(job.get()), HasSubstr("tuningJobs/"));
  mdh_progress progress = {};
  EXPECT_TRUE(Eventually([&] {
    return mdh_job_poll(job.get(), &progress, nullptr) == MDH_OK && progress.trials > 0;
  }));
  EXPECT_EQ(progress.state, MDH_JOB_RUNNING);
  EXPECT_EQ(Ask(mdh_job_wait, job.get(), int64_t{50'000'000}, nullptr).code, MDH_DEADLINE_EXCEEDED);
  EXPECT_EQ(mdh_job_cancel(job.get(), nullptr), MDH_OK);
  EXPECT_EQ(Ask(mdh_job_wait, job.get(), int64_t{0}, &progress).code, MDH_CANCELLED);
  EXPECT_EQ(progress.state, MDH_JOB_CANCELLED);
  mdh_job* none = nullptr;
  EXPECT_EQ(Ask(mdh_job_open, client.get(), "tuningJobs/99", &none).code, MDH_NOT_FOUND);
}

TEST_F(CInterfaceTest, AJobIsAwaitedThroughARestartOfTheDaemon) {
  const CClient client = Connect();
  const CJob job = StartJob(client, MatMulQuery(kSize), 4'000'000'000);
  WaitForFirstResult(mdh_job_name(job.get()));
  Answer answer = {};
  std::thread waiter([&] { answer = Ask(mdh_job_wait, job.get(), int64_t{0}, nullptr); });
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  std::filesystem::remove(socket_);
  StartDaemon();
  waiter.join();
  EXPECT_EQ(answer.code, MDH_OK) << answer.message;
}

TEST_F(CInterfaceTest, WithoutADaemonThereIsAnError) {
  mdh_client_options options = {};
  options.struct_bytes = sizeof(options);
  options.address = "unix:/nowhere/mdhd.sock";
  mdh_client* none = nullptr;
  const Answer answer = Ask(mdh_client_connect, &options, &none);
  EXPECT_EQ(answer.code, MDH_UNAVAILABLE);
  EXPECT_THAT(answer.message, HasSubstr("is mdhd running there?"));
  options.tls_certificate = "c";
  EXPECT_EQ(Ask(mdh_client_connect, &options, &none).code, MDH_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, WrongArgumentsOfARunAreSeen) {
  const CKernel kernel = MakeHandle<CKernel, mdh_kernel>(
      mdh_client_kernel, Connect().get(), MatMulQuery(kSize).get(), MDH_MATCH_PREDICTED);
  const CFunction function = Load(kernel);
  void* const arguments[] = {nullptr, nullptr, nullptr};
  EXPECT_THAT(Ask(mdh_function_run, function.get(), arguments, size_t{2}).message,
              HasSubstr("the kernel has 3 arguments (A, B, C), not 2"));
  EXPECT_THAT(Ask(mdh_function_run, function.get(), arguments, size_t{3}).message,
              HasSubstr("the argument A is NULL"));
}

}  // namespace
}  // namespace mdh::daemon_test
