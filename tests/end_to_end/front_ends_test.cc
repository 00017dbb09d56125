// One computation said in several ways, and what the service keeps apart: numerics policies.
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::front_ends_test {
namespace {

using ::testing::HasSubstr;

class FrontEndsTest : public DaemonTest {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = directory_.File(name);
    std::ofstream(path) << text;
    return path;
  }
};

constexpr const char* kLoops = R"(
void product(const float A[I][48], const float B[48][48], float C[I][48]) {
#pragma mdh out(C) inp(A, B) combine_ops(cc, cc, pw(+))
  for (int i = 0; i < I; ++i)
    for (int j = 0; j < 48; ++j)
      for (int k = 0; k < 48; ++k) C[i][j] += A[i][k] * B[k][j];
}
)";

TEST_F(FrontEndsTest, ARecordIsFoundHoweverItsExpressionIsSaid) {
  StartDaemon();
  const std::string loops = Write("loops.c", kLoops);
  ASSERT_EQ(Mdh({"tune", loops, "--set", "I=48", "--trials", "2"}).code, 0);
  const nlohmann::json found = MdhJson({"lookup", loops, "--set", "I=48"});
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 48)), found);
  EXPECT_EQ(MdhJson({"lookup", "--einsum", "ik,kj->ij", "--size", "i=48,j=48,k=48"}), found);
  for (const std::string format : {"json", "binpb"}) {
    const Ended printed = Mdh(OnMatMul("print", 48, {"--format", format}));
    EXPECT_EQ(MdhJson({"lookup", Write("matmul." + format, printed.out)}), found);
  }
}

TEST_F(FrontEndsTest, NumericsPoliciesHaveRecordsOfTheirOwn) {
  StartDaemon();
  ASSERT_EQ(Mdh(OnMatMul("tune", 48, {"--trials", "2", "--numerics", "exact"})).code, 0);
  const Ended missing = Mdh(OnMatMul("lookup", 48));
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("numerics policy"));
  const nlohmann::json exact = MdhJson(OnMatMul("lookup", 48, {"--numerics", "exact"}));
  EXPECT_EQ(exact["record"]["key"]["numerics_policy"], "NUMERICS_POLICY_EXACT_ORDER");
  EXPECT_THAT(std::string(exact["record"]["parameters"]), HasSubstr("numerics=exact"));
  EXPECT_EQ(Mdh(OnMatMul("tune", 48, {"--numerics", "sloppy"})).code, 2);
  EXPECT_EQ(Mdh(OnMatMul("tune", 48, {"--tolerance", "2"})).code, 2);
  EXPECT_EQ(Mdh(OnMatMul("tune", 48, {"--gap", "100%"})).code, 2);
  EXPECT_EQ(Mdh(OnMatMul("tune", 48, {"--gap", "little"})).code, 2);
  EXPECT_EQ(Mdh(OnMatMul("tune", 48, {"--caches", "hot"})).code, 2);
}

TEST_F(FrontEndsTest, RecordsAreStructsInTheHeader) {
  StartDaemon();
  const std::string file = Write("nearest.mdh", R"(
nearest<Point = {x: fp32, id: int32} | I = 40, J = 50> :=
  out_view<Point>( best: (i,j) -> (i) ) o
  md_hom<I,J>( f, (++, closer) ) o
  inp_view<fp32,Point>( at: (i,j) -> (i), points: (i,j) -> (j) )
where f(at, point) -> best { best = {x: abs(at - point.x), id: point.id} },
      closer(p, q) -> r { r = p.x < q.x || (p.x == q.x && p.id < q.id) ? p : q }
)");
  ASSERT_EQ(Mdh({"tune", file, "--trials", "2"}).code, 0);
  const std::string folder = directory_.File("kernels");
  ASSERT_EQ(Mdh({"kernel", file, "--output", folder}).code, 0);
  const nlohmann::json launch = nlohmann::json::parse(ReadFile(folder + "/nearest.json"));
  EXPECT_EQ(launch["arguments"][0]["type"], "fp32");
  EXPECT_EQ(launch["arguments"][1]["type"], "record");
  EXPECT_EQ(launch["arguments"][1]["fields"][1]["name"], "id");
  EXPECT_EQ(launch["arguments"][2]["size_bytes"], 40 * 8);
  const std::string caller = folder + "/caller.c";
  std::ofstream(caller) << R"(
#include "nearest.h"
int main(void) {
  float at[40];
  struct mdh_nearest_points points[50];
  struct mdh_nearest_best best[40];
  for (int i = 0; i < 40; ++i) at[i] = (float)(i % 7);
  for (int j = 0; j < 50; ++j) points[j].x = (float)(j % 9) + 0.25f, points[j].id = j;
  if (mdh_nearest(at, points, best, 0) != 0) return 1;
  for (int i = 0; i < 40; ++i)
    if (best[i].x != 0.25f || best[i].id != i % 7) return 2;
  return 0;
}
)";
  const std::string command = "cd " + folder + " && " + std::string(launch["compile_command"]) +
                              " && cc -std=c11 -c caller.c && " + std::string(launch["compiler"]) +
                              " -fopenmp caller.o nearest.o -o caller -lm && ./caller";
  const Ended called = RunProgram({"/bin/sh", "-c", command});
  EXPECT_EQ(called.code, 0) << called.out << called.err;
  EXPECT_EQ(RunProgram({"c++", "-fsyntax-only", "-x", "c++", folder + "/nearest.h"}).code, 0);
}

}  // namespace
}  // namespace mdh::front_ends_test
