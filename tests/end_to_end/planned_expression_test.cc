// From a sum of products of three matrices, which is searched as a pipeline, to the kernel that is
// found by the expression and computes what the interpreter does.
#include <cstring>
#include <fstream>

#include "client/client.h"
#include "client/cpu_kernel.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::planned_expression_test {
namespace {

using ::testing::HasSubstr;

// Prime sizes.
constexpr char kChain[] = R"(chain<T = fp32 | I = 61, J = 53, K = 67, L = 59> :=
  out_view<T>( D: (i,j,k,l) -> (i,l) ) o
  md_hom<I,J,K,L>( f, (++, +, +, ++) ) o
  inp_view<T,T,T>( A: (i,j,k,l) -> (i,j), B: (i,j,k,l) -> (j,k), C: (i,j,k,l) -> (k,l) )
where f(A, B, C) -> D { D = A * B * C }
)";

class PlannedExpressionTest : public DaemonTest {
 protected:
  void SetUp() override {
    StartDaemon();
    std::ofstream(file_) << kChain;
  }
  // With small integers, so that no order of operations makes a difference.
  void ExpectRight(const v1::Kernel& kernel) const {
    const Result<KernelCache> cache = KernelCache::Open(directory_.File("cache"));
    ASSERT_TRUE(cache.ok()) << cache.status();
    const Result<std::unique_ptr<CpuKernel>> loaded = CpuKernel::Load(kernel, *cache);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::vector<BufferBytes> inputs;
    std::vector<void*> arguments;
    for (const Buffer& buffer : chain_.inputs()) {
      BufferBytes& bytes = inputs.emplace_back(buffer.size_bytes());
      for (int64_t n = 0; n < buffer.elements(); ++n) {
        const auto value = static_cast<float>((n * 7 + std::ssize(inputs)) % 5 - 2);
        std::memcpy(bytes.data() + n * sizeof(float), &value, sizeof(float));
      }
    }
    for (BufferBytes& input : inputs) arguments.push_back(input.data());
    const Result<std::vector<BufferBytes>> wanted = Interpret(chain_, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    BufferBytes output((*wanted)[0].size(), std::byte{0x55});
    arguments.push_back(output.data());
    const Status ran = (*loaded)->Run(arguments);
    ASSERT_TRUE(ran.ok()) << ran;
    EXPECT_EQ(output, (*wanted)[0]);
  }

  const std::string file_ = directory_.File("chain.mdh");
  const Expression chain_ = *ParseExpression(kChain);
};

TEST_F(PlannedExpressionTest, IsTunedInStepsAndFoundAsAnExpression) {
  EXPECT_EQ(Mdh({"kernel", file_}).code, 4);
  const std::vector<std::string> tune = {"tune", file_, "--budget", "40s", "--trials", "6"};
  const Ended tuned = Mdh(tune);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("chain two factors at a time; unfused"));
  EXPECT_THAT(tuned.err, HasSubstr("whole kernels: tuningJobs/4"));
  EXPECT_THAT(tuned.out, HasSubstr("WHOLE KERNEL"));
  // The nest is searched, too, under the same key.
  const nlohmann::json again = MdhJson(tune);
  ASSERT_EQ(again["steps"].size(), 3);
  EXPECT_EQ(again["steps"][2]["job"]["key"]["expression_digest"],
            again["whole"]["job"]["key"]["expression_digest"]);
  const nlohmann::json found = MdhJson({"lookup", file_});
  EXPECT_EQ(found["record"]["name"], again["whole"]["record"]["name"]);

  const std::string folder = directory_.File("kernels");
  const Ended written = Mdh({"kernel", file_, "--output", folder});
  ASSERT_EQ(written.code, 0) << written.err;
  const nlohmann::json launch = nlohmann::json::parse(ReadFile(folder + "/chain.json"));
  EXPECT_EQ(launch["arguments"].size(), 4);
  const Ended compiled = RunProgram(
      {"/bin/sh", "-c", "cd " + folder + " && " + std::string(launch["compile_command"])});
  EXPECT_EQ(compiled.code, 0) << compiled.err;

  const auto client = *Client::Connect(address_);
  const auto record = client->Tune(chain_, {.budget_ns = 40'000'000'000, .max_trials = 6});
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->name(), found["record"]["name"]);
  const auto best = client->GetBestKernel(chain_, {}, v1::MATCH_KIND_EXACT);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->match(), v1::MATCH_KIND_EXACT);
  ExpectRight(best->kernel());
}

TEST_F(PlannedExpressionTest, RulesGiveAKernelOfStepsThatComputes) {
  const Ended written =
      Mdh({"kernel", file_, "--unmeasured", "--output", directory_.File("kernels")});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("chain two factors at a time"));
  const auto client = *Client::Connect(address_);
  const auto made = client->GetBestKernel(chain_, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(made.ok()) << made.status();
  ExpectRight(made->kernel());
}

TEST_F(PlannedExpressionTest, WithAnotherPolicyOrAScheduleItIsOneNest) {
  const Ended exact =
      Mdh({"tune", file_, "--numerics", "exact", "--budget", "4s", "--trials", "2"});
  ASSERT_EQ(exact.code, 0) << exact.err;
  EXPECT_THAT(exact.err, testing::Not(HasSubstr("whole kernels")));
  const std::string schedule = directory_.File("schedule");
  std::ofstream(schedule) << "L1: tile i=whole\n";
  const Ended scheduled =
      Mdh({"tune", file_, "--schedule", schedule, "--budget", "4s", "--trials", "2"});
  ASSERT_EQ(scheduled.code, 0) << scheduled.err;
  EXPECT_THAT(scheduled.err, testing::Not(HasSubstr("whole kernels")));
}

}  // namespace
}  // namespace mdh::planned_expression_test
