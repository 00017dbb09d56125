// Recording launches and starting them as a whole: on a driver that only remembers what was asked
// of it.
#include "tuner/device/cuda/cuda_graph.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/device/cuda/cuda_program.h"

namespace mdh::cuda_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// By the fake driver, which C's interface leaves no other place for.
std::vector<std::string> calls;
std::string failing;  // the call that fails, with CUDA_ERROR_NOT_SUPPORTED
int handle;           // stands for everything that has a handle

int Did(const std::string& call) {
  calls.push_back(call);
  return call == failing ? 801 : 0;
}
int Give(const std::string& call, void** to) {
  const int code = Did(call);
  if (code == 0) *to = &handle;
  return code;
}

int Explain(int, const char** text) {
  *text = "WHY";
  return 0;
}

CudaFunctions FakeFunctions() {
  CudaFunctions f = {};
  f.GetErrorName = f.GetErrorString = Explain;
  f.StreamCreate = [](void** stream, unsigned) { return Give("open", stream); };
  f.StreamDestroy = [](void*) { return Did("close"); };
  f.StreamBeginCapture = [](void*, int) { return Did("begin"); };
  f.StreamEndCapture = [](void*, void** graph) { return Give("end", graph); };
  f.GraphInstantiate = [](void** made, void*, unsigned long long) { return Give("make", made); };
  f.GraphUpload = [](void*, void*) { return Did("upload"); };
  f.GraphLaunch = [](void*, void*) { return Did("start"); };
  f.GraphDestroy = [](void*) { return Did("forget recording"); };
  f.GraphExecDestroy = [](void*) { return Did("forget graph"); };
  f.ModuleLoadData = [](void** module, const void*) { return Give("load", module); };
  f.ModuleUnload = [](void*) { return Did("unload"); };
  f.ModuleGetFunction = [](void** function, void*, const char*) { return Give("get", function); };
  f.FuncGetAttribute = [](int* value, int, void*) { return *value = 0; };
  f.EventCreate = [](void** event, unsigned) { return Give("event", event); };
  f.EventDestroy = [](void*) { return 0; };
  f.EventRecord = [](void*, void* stream) {
    return Did(stream == nullptr ? "note time" : "note time in stream");
  };
  f.EventSynchronize = [](void*) { return Did("wait"); };
  f.EventElapsedTime = [](float* ms, void*, void*) {
    *ms = 2;
    return 0;
  };
  f.LaunchKernel = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void** values, void**) {
    return Did("launch on " + std::to_string(**reinterpret_cast<CudaPointer**>(values)));
  };
  f.MemFree = [](CudaPointer) { return 0; };
  return f;
}

class CudaGraphTest : public ::testing::Test {
 protected:
  CudaGraphTest() {
    calls.clear();
    failing.clear();
  }
  static std::vector<std::string> TakeCalls() { return std::exchange(calls, {}); }

  CudaFunctions functions_ = FakeFunctions();
};

TEST_F(CudaGraphTest, WhatIsRecordedIsStartedAsAWhole) {
  CudaStream stream(functions_);
  ASSERT_TRUE(stream.Open().ok());
  CudaGraph graph(functions_);
  EXPECT_FALSE(graph.is_recorded());
  ASSERT_TRUE(graph.Record(stream, [] { return Did("launch"), absl::OkStatus(); }).ok());
  EXPECT_TRUE(graph.is_recorded());
  ASSERT_TRUE(graph.Launch(stream).ok());
  EXPECT_THAT(TakeCalls(), ElementsAre("open", "begin", "launch", "end", "make", "forget recording",
                                       "upload", "start"));
  graph.Clear();
  EXPECT_THAT(TakeCalls(), ElementsAre("forget graph"));
}

TEST_F(CudaGraphTest, ARecordingThatFailsIsEnded) {
  CudaStream stream(functions_);
  ASSERT_TRUE(stream.Open().ok());
  CudaGraph graph(functions_);
  const Status status = graph.Record(stream, [] { return absl::InternalError("no launch"); });
  EXPECT_EQ(status.message(), "no launch");
  EXPECT_FALSE(graph.is_recorded());
  EXPECT_THAT(TakeCalls(), ElementsAre("open", "begin", "end", "forget recording"));
}

TEST_F(CudaGraphTest, ErrorsNameTheCall) {
  const std::pair<const char*, const char*> cases[] = {{"begin", "cuStreamBeginCapture"},
                                                       {"end", "cuStreamEndCapture"},
                                                       {"make", "cuGraphInstantiateWithFlags"},
                                                       {"upload", "cuGraphUpload"}};
  for (const auto& [call, name] : cases) {
    failing = call;
    CudaStream stream(functions_);
    ASSERT_TRUE(stream.Open().ok());
    CudaGraph graph(functions_);
    const Status status = graph.Record(stream, [] { return absl::OkStatus(); });
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    EXPECT_FALSE(graph.is_recorded());
  }
}

TEST_F(CudaGraphTest, OldDriversHaveNone) {
  EXPECT_TRUE(HasGraphs(functions_));
  functions_.GraphUpload = nullptr;
  EXPECT_FALSE(HasGraphs(functions_));
  CudaStream stream(functions_);
  EXPECT_TRUE(stream.Open().ok());
  EXPECT_EQ(stream.handle(), nullptr);  // the default stream
  EXPECT_THAT(calls, IsEmpty());
}

// A program of one stage, and two sets of its one argument, at 10 and 20.
class CudaBatchTest : public CudaGraphTest {
 protected:
  void SetUp() override {
    program_ = *LoadCudaProgram(functions_, 80, {{"k_0", {{1, 1, 1}, {1, 1, 1}}}}, "image");
    TakeCalls();
  }
  // What was asked of the driver between the two events.
  std::vector<std::string> CallsOf(const std::vector<DeviceArguments>& sets, int64_t count) {
    const Result<double> time_ns = program_->Time(sets, count);
    EXPECT_TRUE(time_ns.ok()) << time_ns.status();
    EXPECT_EQ(time_ns.value_or(0), 2e6);
    return TakeCalls();
  }

  CudaMemory first_{functions_, 10, 4, 0}, second_{functions_, 20, 4, 0};
  std::unique_ptr<DeviceProgram> program_;
};

TEST_F(CudaBatchTest, ASingleCallIsLaunched) {
  EXPECT_THAT(CallsOf({{&second_}}, 1),
              ElementsAre("note time in stream", "launch on 20", "note time in stream", "wait"));
}

TEST_F(CudaBatchTest, ManyCallsAreRecordedOnceWithTheirSetsInTurn) {
  const std::vector<DeviceArguments> sets = {{&first_}, {&second_}};
  EXPECT_THAT(CallsOf(sets, 3),
              ElementsAre("begin", "launch on 10", "launch on 20", "launch on 10", "end", "make",
                          "forget recording", "upload", "note time in stream", "start",
                          "note time in stream", "wait"));
  EXPECT_THAT(CallsOf(sets, 3),
              ElementsAre("note time in stream", "start", "note time in stream", "wait"));
  EXPECT_THAT(CallsOf({{&second_}}, 2),
              ElementsAre("forget graph", "begin", "launch on 20", "launch on 20", "end", "make",
                          "forget recording", "upload", "note time in stream", "start",
                          "note time in stream", "wait"));
  program_.reset();
  EXPECT_THAT(TakeCalls(), ElementsAre("forget graph", "unload", "close"));
}

TEST_F(CudaBatchTest, WhatCannotBeRecordedIsLaunched) {
  failing = "make";
  const auto launched = ElementsAre("note time in stream", "launch on 10", "launch on 10",
                                    "note time in stream", "wait");
  EXPECT_THAT(CallsOf({{&first_}}, 2),
              ElementsAre("begin", "launch on 10", "launch on 10", "end", "make",
                          "forget recording", "note time in stream", "launch on 10", "launch on 10",
                          "note time in stream", "wait"));
  EXPECT_THAT(CallsOf({{&first_}}, 2), launched);
}

TEST_F(CudaBatchTest, AFailureWhileItRunsIsNoFailureToStart) {
  failing = "wait";
  EXPECT_EQ(program_->Time({{DeviceArguments{&first_}}}, 2).status().code(),
            absl::StatusCode::kAborted);
  failing = "start";
  EXPECT_EQ(program_->Time({{DeviceArguments{&first_}}}, 2).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace mdh::cuda_graph_test
