// From a pipeline to one kernel for all its steps, which computes what the interpreter does.
#include <cstring>
#include <fstream>

#include "client/client.h"
#include "client/cpu_kernel.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::pipeline_test {
namespace {

using ::testing::HasSubstr;

class PipelineTest : public DaemonTest {
 protected:
  void SetUp() override {
    StartDaemon();
    std::ofstream(file_) << kLayer;
  }
  std::vector<std::string> OnLayer(const std::string& command,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {command, file_, "M=24", "N=20", "K=16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Small integers, so that no order of additions makes a difference.
  static BufferBytes SmallIntegers(const PipelineBuffer& buffer, int seed) {
    BufferBytes bytes(buffer.size_bytes());
    for (int64_t n = 0; n < buffer.elements(); ++n) {
      const auto value = static_cast<float>((n * 7 + seed) % 11 - 5);
      std::memcpy(bytes.data() + n * sizeof(float), &value, sizeof(float));
    }
    return bytes;
  }
  void ExpectRight(const v1::Kernel& kernel) const {
    const Result<KernelCache> cache = KernelCache::Open(directory_.File("cache"));
    ASSERT_TRUE(cache.ok()) << cache.status();
    const Result<std::unique_ptr<CpuKernel>> loaded = CpuKernel::Load(kernel, *cache);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::vector<BufferBytes> inputs;
    std::vector<void*> arguments;
    for (const int b : layer_.BuffersOf(PipelineBuffer::Role::kInput)) {
      inputs.push_back(SmallIntegers(layer_.buffers()[b], b));
    }
    for (BufferBytes& input : inputs) arguments.push_back(input.data());
    const std::vector<BufferBytes> wanted = *InterpretPipeline(layer_, inputs);
    BufferBytes output(wanted[0].size(), std::byte{0x55});
    arguments.push_back(output.data());
    const Status ran = (*loaded)->Run(arguments);
    ASSERT_TRUE(ran.ok()) << ran;
    EXPECT_EQ(output, wanted[0]);
  }

  const std::string file_ = directory_.File("layer.mdh");
  const Pipeline layer_ = *ParsePipeline(kLayer, {{"M", "24"}, {"N", "20"}, {"K", "16"}});
};

TEST_F(PipelineTest, ATunedPipelineIsOneKernelThatComputes) {
  const Ended early = Mdh(OnLayer("kernel"));
  EXPECT_EQ(early.code, 4);
  EXPECT_THAT(early.err, HasSubstr("there is none for: activation, matmul"));

  const Ended tuned = Mdh(OnLayer("tune", {"--budget", "12s", "--trials", "6"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("3 distinct steps of 2 partitions"));
  EXPECT_THAT(tuned.err, HasSubstr("step 3 of 3, activation: tuningJobs/3"));
  EXPECT_THAT(tuned.out, HasSubstr("activation in the epilogue of matmul"));
  EXPECT_THAT(tuned.err, HasSubstr("whole kernels: tuningJobs/4"));
  EXPECT_THAT(tuned.out, HasSubstr("WHOLE KERNEL"));
  EXPECT_THAT(tuned.out, HasSubstr(", measured as a whole"));
  EXPECT_THAT(tuned.out, HasSubstr("\nnext: mdh kernel "));
  // What is known is not searched again, and a step is found as an expression of its own.
  const nlohmann::json again = MdhJson(OnLayer("tune"));
  ASSERT_EQ(again["steps"].size(), 3);
  for (const auto& step : again["steps"]) {
    EXPECT_EQ(step["job"]["state"], "TUNING_JOB_STATE_SUCCEEDED");
    EXPECT_TRUE(step.contains("record"));
  }
  // All kernels were right, and the fastest, which is no slower than the unfused one, is what
  // lookups give.
  const auto& whole = again["whole"]["record"];
  const int64_t best_ns = std::stoll(std::string(whole["time_ns"]));
  EXPECT_GE(whole["pipeline"]["kernels"].size(), 2);
  for (const auto& kernel : whole["pipeline"]["kernels"]) EXPECT_EQ(kernel["outcome"], "ok");
  EXPECT_LE(best_ns, std::stoll(std::string(whole["pipeline"]["unfused_time_ns"])));
  EXPECT_EQ(again["pipeline"]["is_measured"], true);
  EXPECT_EQ(again["pipeline"]["time_ns"], whole["time_ns"]);
  EXPECT_EQ(MdhJson({"lookup",
                     std::string(again["steps"][1]["job"]["key"]["expression_digest"])})["record"],
            again["steps"][1]["record"]);
  EXPECT_THAT(Mdh(OnLayer("lookup")).out, HasSubstr("layer: "));

  const std::string folder = directory_.File("kernels");
  const Ended written = Mdh(OnLayer("kernel", {"--output", folder}));
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("measured, "));
  const nlohmann::json launch = nlohmann::json::parse(ReadFile(folder + "/layer.json"));
  EXPECT_EQ(launch["arguments"].size(), 4);
  EXPECT_EQ(launch["arguments"][3]["is_output"], true);
  EXPECT_FALSE(launch["pipeline"]["steps"].empty());
  EXPECT_GT(launch["pipeline"]["unfused_time_ns"], 0);
  EXPECT_EQ(launch["pipeline"]["is_measured"], true);
  EXPECT_THAT(ReadFile(folder + "/layer.c"), HasSubstr("; measured as a whole:"));
  const Ended compiled = RunProgram(
      {"/bin/sh", "-c", "cd " + folder + " && " + std::string(launch["compile_command"])});
  EXPECT_EQ(compiled.code, 0) << compiled.err;

  // The C++ client has it in one call.
  const auto client = *Client::Connect(address_);
  const auto best = client->Tune(layer_, {});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->match(), v1::MATCH_KIND_EXACT);
  ExpectRight(best->kernel());
}

TEST_F(PipelineTest, CtrlCCancelsTheJobsOfAllSteps) {
  Program tune(MdhWords(OnLayer("tune", {"--budget", "300s"})));
  ASSERT_TRUE(Eventually([&] { return tune.err().find("step 1 of 3") != std::string::npos; }));
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait(), 6) << tune.err();
  EXPECT_THAT(tune.err(), HasSubstr("was cancelled"));
  const nlohmann::json jobs = MdhJson({"jobs"})["jobs"];
  ASSERT_EQ(jobs.size(), 4);
  for (const auto& job : jobs) EXPECT_EQ(job["state"], "TUNING_JOB_STATE_CANCELLED");
}

TEST_F(PipelineTest, DetachedItPrintsTheNamesOfAllJobs) {
  EXPECT_EQ(Mdh(OnLayer("tune", {"--check"})).out, "the daemon would take it\n");
  EXPECT_EQ(Mdh(OnLayer("tune", {"--budget", "300s", "--detach"})).out,
            "tuningJobs/1\ntuningJobs/2\ntuningJobs/3\ntuningJobs/4\n");
  for (const char* const job : {"1", "2", "3", "4"}) EXPECT_EQ(Mdh({"cancel", job}).code, 0);
  const Ended written = Mdh(OnLayer("kernel", {"--tune", "--output", directory_.File("k")}));
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("tuning goes on: tuningJobs/"));
}

TEST_F(PipelineTest, WithoutRecordsRulesGiveAKernelThatComputes) {
  const Ended written = Mdh(OnLayer("kernel", {"--unmeasured", "--output", directory_.File("k")}));
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("not measured, from rules"));
  EXPECT_THAT(ReadFile(directory_.File("k/layer.c")), HasSubstr("Origin:  Pipeline, "));
  const auto client = *Client::Connect(address_);
  const auto made = client->GetBestKernel(layer_, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(made.ok()) << made.status();
  ExpectRight(made->kernel());
}

}  // namespace
}  // namespace mdh::pipeline_test
