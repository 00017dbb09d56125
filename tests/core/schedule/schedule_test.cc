// What schedules allow, and how they are printed.
#include "core/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/decomposition/tuning_parameters.h"
#include "core/schedule/complete_parameters.h"
#include "core/schedule/schedule_builder.h"
#include "core/schedule/schedule_key.h"
#include "core/text/parser.h"
#include "tests/core/schedule/matmul.h"
#include "tests/error_message.h"
#include "tests/source_path.h"

namespace mdh::schedule_test {
namespace {

using ::testing::HasSubstr;

const Expression& Product() {
  static const auto* const product = new Expression(MatMulOf(300, 200, 100));
  return *product;
}

Schedule Parsed(const std::string& text, const SystemModel& model = OpenMpSimdRegistersModel()) {
  const Result<Schedule> schedule = Schedule::Parse(text, Product(), model, "s.sched");
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *schedule;
}

std::string Canonical(const std::string& text,
                      const SystemModel& model = OpenMpSimdRegistersModel()) {
  return Parsed(text, model).CanonicalText();
}

// Rows for cores, packed copies of parts of A.
TuningParameters Tiled() {
  TuningParameters p = SinglePoints(Product(), OpenMpSimdRegistersModel(), {});
  p.numerics = NumericsPolicy::kReassociate;
  p.tile = {{60, 200, 100}, {60, 200, 100}, {30, 100, 50}, {6, 4, 1}, {1, 4, 1}, {1, 1, 1}};
  SetOrderOfLayer(p.phase, 2, {2, 0, 1});
  p.inputs[0].stage_layer = 2;
  p.inputs[0].strip_dimension = 0;
  return p;
}

TEST(ScheduleTest, CanonicalTextDoesNotDependOnSpelling) {
  const std::string expected =
      "COR: tile i=60, j=whole\nL2: tile k={25, 50}; order k, .., j\nSIMD: along j\n"
      "input A: copy at L2; strips i\nprefetch=8; remainder=!overlap\n"
      "require bytes(A, L2) + bytes(B, L2) <= 524288\n";
  EXPECT_EQ(Canonical(expected), expected);
  EXPECT_EQ(Canonical(R"(# What is known.
        require bytes(A,L2)+bytes(B,L2) <= 524288   # of both
        for all:
        remainder = !overlap
        lanes: along j; along ?
        input A: strips i
        input A: copy at L2; copy at L2
        for CUDA:
        BLK: tile whatever=it is
        for OpenMP, OpenMP+SIMD+RM:
        L2: order k, .., j
        L2: tile k={k/2, 25, k/4}
        prefetch = 2*4
        cores: tile j=j; tile i = i/5
      )"),
            expected);
  EXPECT_TRUE(Parsed("").is_free());
  EXPECT_EQ(Canonical("L2: tile k=?; order k, ..\n# nothing\nremainder=?\n"), "L2: order k, ..\n");
  EXPECT_EQ(Canonical("L2: tile k=?\n"), "");
}

TEST(ScheduleTest, ProgramsWriteThem) {
  const ScheduleBuilder builder = ScheduleBuilder()
                                      .Tile("L2", "k", "{25, 50}")
                                      .Order("L2", {"k", "..", "j"})
                                      .Copy("A", "at L2")
                                      .Input("A", "strips i")
                                      .Along("j")
                                      .Parts("cores", "i", 5)
                                      .On("cores", "i", 0)
                                      .OrderAcross({"L2.k", "L1.i"})
                                      .Option("prefetch", 8)
                                      .Require("bytes(A, L2) <= 262144")
                                      .Separate({"i", "j"})
                                      .For({"CUDA", "HIP"})
                                      .Output("C", "in RM from DEV.k")
                                      .Fuse({"i", "j"});
  const Result<Schedule> schedule = builder.Build(Product(), OpenMpSimdRegistersModel());
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->CanonicalText(),
            "separate (i, j)\nCOR: parts i=5; on i=0\nL2: tile k={25, 50}; order k, .., j\n"
            "SIMD: along j\norder L2.k, L1.i\ninput A: copy at L2; strips i\nprefetch=8\n"
            "require bytes(A, L2) <= 262144\n");
  EXPECT_THAT(builder.text(),
              HasSubstr("for CUDA, HIP:\noutput C: in RM from DEV.k\nfuse (i, j)\n"));
}

TEST(ScheduleTest, LimitsPrintWithFewestParentheses) {
  for (const std::string limit :
       {"not (tile(L2, k) < 5 or 3 <= 2 * (1 + parts(COR, i))) and threads() % 2 == 0 and "
        "registers() <= 96",
        "max(tile(L2, k), 7) - (5 - 3) != min(1, 2 / 2)", "(1 < 2) and (2 < 3 or 3 < 4)"}) {
    const std::string text = Canonical("require " + limit + "\n");
    EXPECT_EQ(Canonical(text), text);
  }
  EXPECT_EQ(Canonical("require ((tile(L2,k)) > (5))"), "require 5 < tile(L2, k)\n");
}

TEST(ScheduleTest, RegistersAreOfModelsThatHaveThem) {
  EXPECT_THAT(ErrorMessage(Schedule::Parse("require registers() < 8", Product(), OpenMpModel())),
              HasSubstr("<schedule>:1:9: OpenMP has no layer of registers or lanes"));
  EXPECT_EQ(Canonical("require registers() < 8", CudaModel()), "require registers() < 8\n");
}

// One line that allows the configuration, and one that does not.
TEST(ScheduleTest, AllowsWhatItSays) {
  const TuningParameters p = Tiled();
  ASSERT_TRUE(Validate(Product(), OpenMpSimdRegistersModel(), DeviceDescription{}, p).ok())
      << Validate(Product(), OpenMpSimdRegistersModel(), DeviceDescription{}, p);
  for (const auto& [allowed, refused] : std::vector<std::pair<std::string, std::string>>{
           {"cores: tile i=60", "cores: tile i=30"},
           {"cores: tile i=15..120*2", "cores: tile i=16..120*2"},
           {"cores: tile i=10..60 step 10", "cores: tile i=10..59 step 10"},
           {"cores: tile i=!{30, 20}", "cores: tile i=!{30, 60}"},
           {"cores: parts i=5, j=1", "cores: parts i=4"},
           {"MM: tile i=^", "MM: tile i=!^"},
           {"L2: order k, .., j", "L2: order i, .."},
           {"L2: order k, i", "L2: order i, k"},
           {"order L2.k, L2.i, L1.j", "order L1.k, L2.k"},
           {"lanes: along {i, j}", "lanes: along none"},
           {"input A: copy at L2; strips i; layout (i, k)", "input A: layout (k, i)"},
           {"input B: copy never", "input B: copy whole"},
           {"input A: copy !{never, whole}", "input A: copy !at L2"},
           {"input A: copy at {L2, L1}", "input A: copy at {MM, L1}"},
           {"remainder={variants, overlap}", "remainder=vectors"},
           {"prefetch=0..4", "prefetch=1..4"},
           {"require bytes(A, L2) == 6000", "require bytes(A, L2) < 6000"},
           {"require bytes(A, L2) + bytes(C, L2) == 6000 + 12000", "require bytes(C, L2) < 12000"},
           {"require threads() == 5", "require not (threads() == 5)"},
           {"require registers() == 6 * 4", "require registers() < 24"},
           {"require 7 / 0 == 1 or 1 < 2 or 1 < 3", "require 7 / 0 == 1"},
           {"separate (i, j)", "for all:\nL1: tile i=60"}}) {
    if (allowed.find("7 / 0") == std::string::npos) {
      EXPECT_TRUE(Parsed(allowed).Allows(p).ok()) << Parsed(allowed).Allows(p);
    }
    EXPECT_FALSE(Parsed(refused).Allows(p).ok()) << refused;
  }
}

TEST(ScheduleTest, SaysWhichLineDoesNotAllow) {
  EXPECT_EQ(ErrorMessage(Parsed("# tiles\ncores: tile i=60, j=100").Allows(Tiled())),
            "s.sched:2: 'COR: tile j=100' does not allow it: it is whole");
  EXPECT_EQ(ErrorMessage(Parsed("BLK: tile i=8", CudaModel()).Allows(Tiled())),
            "s.sched: the schedule is for CUDA, not for OpenMP+SIMD+RM");
}

TEST(ScheduleTest, FoundParametersAreCompleteSchedules) {
  const TuningParameters p = Tiled();
  const std::string text = Schedule::Of(p, Product(), OpenMpSimdRegistersModel()).CanonicalText();
  EXPECT_EQ(
      text,
      "COR: tile i=60\nMM: tile i=60, j=whole, k=whole\nL2: tile i=30, j=100, k=50; order k, i, j\n"
      "L1: tile i=6, j=4, k=1; order i, j, k\nRM: tile i=1, j=4\n"
      "input A: copy at L2; strips i; layout (i, k)\ninput B: copy never\n"
      "accumulate=registers; chains=one; compiler=gcc; prefetch=0; "
      "remainder=variants; stores=cached; threads=0\n");
  const auto complete = CompleteParameters(Parsed(text), DeviceDescription{});
  ASSERT_TRUE(complete.has_value());
  EXPECT_TRUE(Parsed(text).Allows(*complete).ok());
  const std::string part = text.substr(0, text.find("input A"));
  EXPECT_FALSE(CompleteParameters(Parsed(part), DeviceDescription{}).has_value());
}

// What is excluded names no value: a schedule of such lines does not say all.
TEST(ScheduleTest, ExcludedValuesNameNone) {
  for (const std::string text :
       {"output C: in DM; across BLK.k in !DM", "BLK: tile i=!4; on i=!x", "THR: lanes i=!2",
        "input A: stages=!2; width=!4; padding=!1; mode=!async", "unroll=!1; swizzle=!1"}) {
    const Schedule schedule = Parsed(text, CudaModel());
    EXPECT_FALSE(CompleteParameters(schedule, DeviceDescription{}).has_value()) << text;
  }
}

std::string Figure(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(SourcePath("tests/core/decomposition/figures/") + name + ".txt").rdbuf();
  return text.str();
}

// Figures 20 to 23 of the journal's paper as schedules.
TEST(ScheduleTest, TheFiguresOfThePaperAreSchedules) {
  const Expression resnet = MatMulOf(16, 1000, 2048), other = MatMulOf(16, 1000, 1181);
  int figures = 0;
  for (const auto& [name, model] :
       std::vector<std::pair<std::string, SystemModel>>{{"tvm_cuda", CudaModel()},
                                                        {"tvm_opencl", OpenClModel()},
                                                        {"ppcg_cuda_resnet", CudaModel()},
                                                        {"pluto_openmp_resnet", OpenMpModel()}}) {
    const auto p = ParseTuningParameters(Figure(name), resnet);
    if (!p.ok()) continue;
    ++figures;
    const std::string text = Schedule::Of(*p, resnet, model).CanonicalText();
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12) << text;
    const Result<Schedule> schedule = Schedule::Parse(text, resnet, model);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    EXPECT_TRUE(schedule->Allows(*p).ok()) << text << schedule->Allows(*p);
  }
  EXPECT_EQ(figures, 4);
}

// Layouts of copies are of the dimensions as they are fused, in keys, too.
TEST(Schedule, KeysOfFusedDimensionsAreRead) {
  const Result<Expression> e = ParseExpression(R"(
sum := out_view<fp32>( y: (i,j,k) -> (k) ) o md_hom<4,6,8>( f, (+, +, ++) ) o
  inp_view<fp32>( x: (i,j,k) -> (i,j,k) ) where f(x) -> y { y = x })");
  ASSERT_TRUE(e.ok()) << e.status();
  const SystemModel model = OpenMpSimdRegistersModel();
  const std::string text = "fuse (i, j)\ninput x: copy whole; layout (k, 0, j)\n";
  const Result<Schedule> schedule = Schedule::Parse(text, *e, model, "s.sched");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const std::string key = KeyScheduleOf(*schedule);
  EXPECT_EQ(key, "fuse (d1, d2)\ninput in1: copy whole; layout (d3, 0, d2)\n");
  const Result<Schedule> again = ScheduleOfKey(key, *e, model);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->CanonicalText(), schedule->CanonicalText());
}

}  // namespace
}  // namespace mdh::schedule_test
