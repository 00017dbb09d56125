// Which contractions run on matrix units, and which constraints a configuration keeps to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/unit_plan.h"
#include "core/decomposition/unit_use.h"
#include "core/decomposition/validate.h"
#include "core/text/parser.h"

namespace mdh::validate_unit_test {
namespace {

Expression MatMul(const std::string& type, const std::string& body,
                  const std::string& sizes = "I = 256, J = 256, K = 256",
                  const std::string& view = "B: (i,j,k) -> (k,j)",
                  const std::string& operators = "++, ++, +") {
  const auto parsed = ParseExpression(absl::Substitute(
      "e<T = $0 | $1> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, ($2) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), $3 )\n"
      "where f(A, B) -> (C: fp32) { C = $4 }\n",
      type, sizes, operators, view, body));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *parsed;
}

Expression Halves(const std::string& sizes = "I = 256, J = 256, K = 256") {
  return MatMul("bf16", "fp32(A) * fp32(B)", sizes);
}

std::string Error(const Expression& e, const std::string& unit, const std::string& more = "",
                  int capability = 90) {
  Result<TuningParameters> p = ParseTuningParameters(
      ToText(SinglePoints(e, CudaModel(), NumericsPolicy::kReassociate)) + "; unit=" + unit + more);
  EXPECT_TRUE(p.ok()) << p.status();
  std::string message(
      Validate(e, CudaModel(), *DescribeCudaArchitecture(capability), *p).message());
  const std::string prefix = "tuning parameters: ";
  return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : message;
}

// What the tensor copy engine does not copy.
TEST(ValidateUnitTest, TensorCopies) {
  const auto error = [](const Expression& e, const std::string& more,
                        const std::string& unit = "128:64:1:4:1") { return Error(e, unit, more); };
  for (const char* which : {"; tensor=a", "; tensor=b", "; tensor=both"}) {
    EXPECT_EQ(error(Halves(), which), "");
  }
  EXPECT_EQ(error(Halves(), "; tensor=both; packs=b"), "");
  EXPECT_EQ(error(Halves(), "; tensor=both; computes=a"),
            "unit: tensor: operand A is computed by threads");
  EXPECT_EQ(error(Halves(), "; tensor=both; computes=b; turns=2"),
            "unit: tensor: operand B is computed by threads");
  EXPECT_EQ(error(Halves(), "; tensor=both", "0:0:1:4:1"), "tensor=both: no matrix unit is used");
  EXPECT_EQ(error(Halves(), "; tensor=both; producer=warp"), "");
  EXPECT_EQ(error(Halves(), "; tensor=b; producer=warp"),
            "unit: producer: threads that multiply copy operands, too");
  EXPECT_EQ(error(Halves(), "; tensor=both; producer=warp; combine=cluster", "128:64:1:4:2"),
            "unit: producer: blocks of a cluster meet with all of their threads");
  EXPECT_EQ(error(Halves("I = 256, J = 256, K = 100"), "; tensor=a"),
            "unit: tensor: operand A has rows 200 bytes from each other, no multiple of 16");
  EXPECT_EQ(error(Halves("I = 256, J = 250, K = 128"), "; tensor=b"),
            "unit: tensor: operand B has rows 500 bytes from each other, no multiple of 16");
  EXPECT_EQ(error(Halves("I = 250, J = 250, K = 100"), "; tensor=both; packs=both"), "");
  const auto product = [](const std::string& a, const std::string& types = "T,T") {
    return *ParseExpression(absl::Substitute(
        "e<T = bf16 | I = 40, J = 16, P = 4, K = 64> := out_view<fp32>( C: (i,j,p,k) -> (i,j) ) o\n"
        "md_hom<I,J,P,K>( f, (++, ++, +, +) ) o\n"
        "inp_view<$1>( A$0, B: (i,j,p,k) -> (j,p,k) )\n"
        "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
        a, types));
  };
  EXPECT_EQ(error(product(": (i,j,p,k) -> (p,i,k)"), "; tensor=both"), "");
  EXPECT_EQ(error(product("[4,40,80]: (i,j,p,k) -> (p,i,k + 4)"), "; tensor=a"),
            "unit: tensor: operand A begins 8 bytes behind its buffer's first element, no multiple "
            "of 16");
  EXPECT_EQ(error(product("[4,40,80]: (i,j,p,k) -> (p,i,k + 8)"), "; tensor=a"), "");
  EXPECT_EQ(error(product("[4,40,64] else 0: (i,j,p,k) -> (p,i,k + 8)"), "; tensor=a"),
            "unit: tensor: operand A is of a buffer with a boundary, inside of which are no zeros");
  EXPECT_EQ(error(product(": (i,j,p,k) -> (p,i,k)", "fp8e4m3,T"), "; tensor=a; computes=a"),
            "unit: tensor: operand A is computed by threads");
  EXPECT_EQ(error(product("[4,40,130]: (i,j,p,k) -> (p,i,2*k)"), "; tensor=a"),
            "unit: tensor: operand A is contiguous neither along k nor along m");
  // Rows of 24 points of k are no whole stages.
  const Expression rows = *ParseExpression(
      "e<T = bf16 | I = 40, J = 16, P = 4, K = 24> := out_view<fp32>( C: (i,j,p,k) -> (i,j) ) o\n"
      "md_hom<I,J,P,K>( f, (++, ++, +, +) ) o\n"
      "inp_view<T,T>( A: (i,j,p,k) -> (p,i,k), B: (i,j,p,k) -> (j,p,k) )\n"
      "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n");
  EXPECT_EQ(error(rows, "; tensor=b"), "");
  EXPECT_EQ(error(rows, "; tensor=a"),
            "unit: tensor: operand A has 24 points in a row of rows along k, no multiple of the 64 "
            "of a tile");
  const Expression many = *ParseExpression(
      "e<T = fp16 | B = 2, H = 2, G = 2, I = 2, P = 64, J = 16, K = 72> :=\n"
      "out_view<fp32>( C: (b,h,g,i,p,j,k) -> (b,h,g,i,p,j) ) o\n"
      "md_hom<B,H,G,I,P,J,K>( f, (++, ++, ++, ++, ++, ++, +) ) o\n"
      "inp_view<T,T>( A: (b,h,g,i,p,j,k) -> (i,b,p,h,k,g), B: (b,h,g,i,p,j,k) -> (b,h,g,j,k) )\n"
      "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n");
  EXPECT_EQ(error(many, "; tensor=a", "64:16:1:4:1"),
            "unit: tensor: operand A is an array of 6 dimensions, and tensor copies are of at most "
            "5");
  EXPECT_EQ(Error(Halves(), "0:0:1:4:1", "; warps=32:64:2:1:4:1:16:16; tensor=both"),
            "warps: tensor: operands of units of warps are copied by threads");
}

TEST(ValidateUnitTest, ConstraintsByName) {
  EXPECT_EQ(Error(Halves(), "128:256:2:4:1"), "");
  EXPECT_EQ(Error(Halves(), "128:256:2:4:1", "", 80),
            "unit: the device has no matrix units that groups of threads feed from shared memory "
            "(CUDA's have them at compute capability 9.0)");
  EXPECT_EQ(Error(Halves(), "100:256:1:4:1"),
            "unit: rows: 100 is no multiple of 64 for each of 1 groups");
  EXPECT_EQ(Error(Halves(), "64:256:2:4:1"),
            "unit: rows: 64 is no multiple of 64 for each of 2 groups");
  EXPECT_EQ(Error(Halves(), "64:264:1:4:1"), "unit: columns: 264 is no multiple of 16 in 16..256");
  EXPECT_EQ(Error(Halves(), "64:48:1:4:1"), "") << "B is contiguous along n";
  EXPECT_EQ(Error(Halves(), "320:64:5:4:1"), "unit: groups: 5 is not in 1..4");
  EXPECT_EQ(Error(Halves(), "64:64:1:1:1"), "unit: stages: 1 is not in 2..8");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:0"), "unit: parts: 0 is not in 1..256");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:3"), "unit: 3 parts of 4 stages along k: one is empty");
  EXPECT_EQ(Error(Halves("I = 256, J = 256, K = 320"), "128:256:2:5:1"),
            "unit: bytes of shared memory of a block: 245760 > 232448");
  EXPECT_EQ(Error(Halves(), "128:256:1:4:1"), "unit: sums of a thread: 256 > 200");
  EXPECT_EQ(Error(Halves(), "128:256:2:4:1", "; numerics=exact"),
            "unit: numerics=exact fixes the order in which values combine");
  EXPECT_EQ(Error(Halves(), "128:256:2:4:1", "; packs=b"), "");
  EXPECT_EQ(Error(Halves("I = 65536, J = 64, K = 16384"), "64:64:1:4:1", "; packs=a"),
            "unit: bytes of packed operands: 2147483648 > 1073741824");
  EXPECT_EQ(Error(Halves(), "0:0:1:4:1", "; packs=a"), "packs=a: no matrix unit is used");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:1", "; early=prefetches"), "");
  EXPECT_EQ(Error(Halves("I = 8192, J = 8192, K = 8192"), "128:256:2:4:1", "; early=prefetches"),
            "early=prefetches: inputs have 268435456 bytes, more than 16777216");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:1", "; turns=16"), "");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:1", "; turns=17"),
            "unit: turns: a block has 17 of the 16 tiles");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:2", "; turns=2"),
            "unit: turns: k is in 2 parts, each of which has a block");
  EXPECT_EQ(Error(Halves(), "0:0:1:4:1", "; turns=2"), "turns=2: no matrix unit is used");
  EXPECT_EQ(Error(Halves(), "128:64:2:4:2", "; combine=cluster"), "");
  EXPECT_EQ(Error(Halves(), "128:64:2:4:1", "; combine=cluster"),
            "unit: there is one part, and nothing to combine");
  EXPECT_EQ(Error(Halves("I = 64, J = 64, K = 1024"), "64:256:1:4:9", "; combine=cluster"),
            "unit: parts: 9 blocks share sums, a cluster has at most 8");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:3", "; combine=cluster"),
            "unit: columns: 64 is no multiple of 16 for each of 3 blocks of a cluster");
  EXPECT_EQ(Error(Halves(), "128:256:2:2:2", "; combine=cluster; resident=2"),
            "unit: bytes of shared memory of a block: 164864 > 116224");
  EXPECT_EQ(Error(Halves(), "64:64:1:4:2", "; combine=last_block"),
            "unit: parts of matrix units combine as partials or in a cluster");
  EXPECT_EQ(Error(Halves(), "128:256:2:4:1", "; resident=2"),
            "unit: bytes of shared memory of a block: 197632 > 116224");
}

TEST(ValidateUnitTest, ExpressionsByName) {
  const auto error = [](const Expression& e) { return Error(e, "64:64:1:4:1"); };
  EXPECT_EQ(
      error(MatMul("fp32", "A * B")),
      "unit: operands are of types fp32 and fp32, and units take fp16, bf16, fp64, int8 and uint8, "
      "and fp32 with numerics=tf32, bf16x3 and bf16x6");
  EXPECT_EQ(error(MatMul("bf16", "exp(fp32(A)) * fp32(B)")),
            "unit: operands are of types fp32 and bf16, and units take fp16, bf16, fp64, int8 and "
            "uint8");
  EXPECT_EQ(error(MatMul("bf16", "max(fp32(A), 0) * fp32(B)")),
            "unit: operand A is not in memory as bf16, and neither packed nor computed");
  EXPECT_EQ(error(MatMul("bf16", "fp32(A) * fp32(B)", "I = 256, J = 256, K = 256",
                         "B[256,100] else 1: (i,j,k) -> (k,j - 50)")),
            "unit: operand B is not in memory as bf16, and neither packed nor computed");
  EXPECT_THAT(error(MatMul("bf16", "fp32(A) + fp32(B)")), ::testing::StartsWith("unit: "));
}

// What is copied for the next tile and results of 16 bits are not in one place.
TEST(UnitPlanTest, RoomForResultsBesideTheNextTile) {
  const auto bytes = [](int turns, int64_t k, int stages) {
    const Expression e = *ParseExpression(absl::Substitute(
        "e<T = bf16 | I = 512, J = 512, K = $0> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
        "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
        "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
        "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n",
        k));
    UnitParameters unit{128, 256, 2, stages, 1};
    unit.turns = turns;
    const UnitPlan plan = CutForUnit(unit, CombineBlocks::kPartials, *PlanUnit(e));
    EXPECT_EQ(plan.launched(unit), 8 / turns);
    return UnitSharedBytes(unit, plan);
  };
  constexpr int64_t kStage = (128 + 256) * kUnitRowBytes;
  EXPECT_EQ(bytes(1, 4096, 4), 4 * kStage);
  EXPECT_EQ(bytes(2, 4096, 4), 4 * kStage) << "two places of stages that are multiplied";
  EXPECT_EQ(bytes(2, 128, 4), 2 * kStage + 128 * 256 * 2) << "all places are copied to";
}

std::string WarpError(const Expression& e, const std::string& warps, const std::string& more = "",
                      int capability = 90) {
  return Error(e, "0:0:1:4:1; warps=" + warps, more, capability);
}

TEST(ValidateUnitTest, WarpsByName) {
  const auto product = [](const char* a) {
    return *ParseExpression(absl::StrCat(
        "e<T = fp64 | I = 256, J = 256, K = 256> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
        "md_hom<I,J,K>( f, (++, ++, +) ) o inp_view<T,T>( A: (i,j,k) -> ",
        a, ", B: (i,j,k) -> (k,j) )\nwhere f(A, B) -> (C: T) { C = A * B }\n"));
  };
  const Expression doubles = product("(i,k)");
  const auto error = [&](const std::string& warps, int capability = 90) {
    return WarpError(doubles, warps, "", capability);
  };
  EXPECT_EQ(error("64:128:2:4:4:1:16:4"), "");
  EXPECT_EQ(error("64:128:2:4:4:1:16:8"), "");
  EXPECT_EQ(error("64:128:2:4:4:1:8:4", 80), "");
  EXPECT_EQ(
      error("64:128:2:4:4:1:16:4", 80),
      "warps: the device has no instruction of a warp for m = 16 and k = 4 (CUDA's mma.sync)");
  EXPECT_EQ(error("64:128:2:4:4:1:16:16"),
            "warps: k: 16 is no even part of the 16 points of a stage");
  EXPECT_EQ(error("64:128:0:4:4:1:16:4"), "warps: 0 x 4 warps are not 1..32");
  EXPECT_EQ(error("64:128:8:8:4:1:16:4"), "warps: 8 x 8 warps are not 1..32");
  EXPECT_EQ(error("48:128:2:4:4:1:16:4"),
            "warps: rows: 48 is no multiple of 16 for each of 2 warps");
  EXPECT_EQ(error("64:120:2:4:4:1:16:4"),
            "warps: columns: 120 is no multiple of 8 for each of 4 warps");
  EXPECT_EQ(error("64:24:2:1:4:1:16:4"), "") << "B is contiguous along n";
  EXPECT_EQ(WarpError(product("(k,i)"), "24:16:1:1:4:1:8:4", "", 90),
            "warps: rows: 24 is no multiple of 16, and A is contiguous along m");
  EXPECT_EQ(error("64:128:2:4:1:1:16:4"), "warps: stages: 1 is not in 2..8");
  EXPECT_EQ(error("64:128:2:4:4:0:16:4"), "warps: parts: 0 is not in 1..256");
  EXPECT_EQ(error("128:128:2:2:4:1:16:4"), "warps: registers of sums and operands: 320 > 200");
  EXPECT_EQ(Error(doubles, "128:256:2:4:1"),
            "unit: operands are of type fp64, and units of groups take fp16, bf16, "
            "int8, uint8 and fp8");
  EXPECT_EQ(error("128:128:4:4:4:1:16:4"), "");
  EXPECT_EQ(WarpError(doubles, "64:128:2:4:4:1:16:4", "; resident=2"), "");
  EXPECT_EQ(WarpError(doubles, "64:128:2:4:4:1:16:8", "; resident=2"),
            "warps: registers of sums and operands: 128 > 96");
  EXPECT_EQ(WarpError(Halves(), "128:128:2:2:4:1:16:16", "", 80), "");
  EXPECT_EQ(WarpError(Halves(), "48:64:3:1:4:1:16:16", "", 80),
            "warps: 3 x 1 warps are an odd number");
  EXPECT_EQ(WarpError(Halves(), "64:128:2:4:4:1:16:4"),
            "warps: the device has no instruction of a warp for bf16, m = 16 and k = 4");
  EXPECT_EQ(WarpError(doubles, "64:128:2:4:4:1:16:4", "; numerics=exact"),
            "warps: numerics=exact fixes the order in which values combine");
}

// Bytes are contiguous along k, or packed so.
TEST(ValidateUnitTest, WarpsHaveOneTile) {
  EXPECT_EQ(WarpError(Halves(), "64:64:2:2:4:1:16:16"), "");
  EXPECT_EQ(WarpError(Halves(), "64:64:2:2:4:1:16:16", "; turns=2"),
            "warps: turns: units of warps have a block for each tile");
}

TEST(ValidateUnitTest, WarpsTakeBytesAlongK) {
  const auto bytes = [](const std::string& b) {
    const auto parsed = ParseExpression(absl::Substitute(
        "e<T = int8 | I = 256, J = 256, K = 256> := out_view<int32>( C: (i,j,k) -> (i,j) ) o\n"
        "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
        "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> ($0) )\n"
        "where f(A, B) -> (C: int32) { C = int32(A) * int32(B) }\n",
        b));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *parsed;
  };
  EXPECT_EQ(WarpError(bytes("j,k"), "128:128:2:2:3:1:16:32", "", 80), "");
  EXPECT_EQ(WarpError(bytes("k,j"), "128:128:2:2:3:1:16:32", "", 80),
            "warps: operand B of type int8 is not contiguous along k, and not packed so");
  EXPECT_EQ(WarpError(bytes("k,j"), "128:128:2:2:3:1:16:32", "; packs=b", 80), "");
  EXPECT_EQ(WarpError(bytes("k,j"), "64:128:2:2:3:1:16:32", "; computes=b", 80), "")
      << "bytes are turned on the way";
}

// fp32 becomes what units take where it is packed, or in registers of warps.
TEST(ValidateUnitTest, ProductsOfSingles) {
  const Expression singles = MatMul("fp32", "A * B");
  const auto groups = [&](const std::string& unit, const std::string& more, int capability = 90) {
    return Error(singles, unit, more, capability);
  };
  EXPECT_EQ(groups("128:256:2:4:1", "; packs=both; numerics=tf32"), "");
  EXPECT_EQ(groups("128:48:2:4:1", "; packs=both; numerics=tf32"), "");
  EXPECT_EQ(groups("128:256:2:4:1", "; packs=a; numerics=tf32"),
            "unit: units of groups take tf32 of operands that are packed or computed, and B is "
            "neither");
  EXPECT_EQ(groups("128:256:2:4:1", "; packs=both; numerics=bf16x3"), "");
  EXPECT_EQ(groups("128:256:2:4:1", "; numerics=bf16x3"),
            "unit: packed: parts of bf16 are of operands that are packed both");
  EXPECT_EQ(groups("128:128:2:4:1", "; packs=both; numerics=bf16x6"), "");
  EXPECT_EQ(groups("128:256:2:4:1", "; packs=both; numerics=bf16x6"),
            "unit: sums of a thread: 256 > 200");
  const auto warps = [&](const std::string& of_warps, const std::string& more,
                         int capability = 80) {
    return WarpError(singles, of_warps, more, capability);
  };
  EXPECT_EQ(warps("128:128:2:2:3:1:16:8", "; numerics=tf32"), "");
  EXPECT_EQ(warps("128:128:2:2:3:1:16:8", "; packs=b; numerics=tf32"), "");
  EXPECT_EQ(warps("128:128:2:2:3:1:16:16", "; packs=both; numerics=bf16x3"), "");
  EXPECT_EQ(warps("128:128:2:2:3:1:16:16", "; packs=b; numerics=bf16x3"),
            "warps: packed: parts of bf16 are of operands that are packed both");
  EXPECT_EQ(warps("128:128:2:2:3:1:16:16", "; numerics=tf32"),
            "warps: the device has no instruction of a warp for fp32, m = 16 and k = 16");
  EXPECT_EQ(Error(MatMul("bf16", "fp32(A) * fp32(B)"), "128:256:2:4:1", "; numerics=tf32"),
            "numerics=tf32 is about products of fp32, and operand A is of type bf16");
}

// What is not in memory as units take it is packed, or computed by the threads that copy it.
TEST(ValidateUnitTest, OperandsThatAreComputed) {
  const Expression positive = MatMul("bf16", "max(fp32(A), 0) * fp32(B)");
  const auto error = [&](const std::string& more) {
    return Error(positive, "128:256:2:4:1", more);
  };
  EXPECT_EQ(error("; computes=a"), "");
  EXPECT_EQ(error("; packs=a"), "");
  EXPECT_EQ(error("; computes=a; packs=b"), "") << "whatever B is";
  EXPECT_EQ(error("; computes=both"), "");
  EXPECT_EQ(error("; computes=b"),
            "unit: operand A is not in memory as bf16, and neither packed nor computed");
  EXPECT_EQ(error("; computes=both; packs=b"),
            "unit: operand B is copied from where it is packed, and not computed");
  EXPECT_EQ(Error(positive, "0:0:1:4:1", "; computes=a"), "computes=a: no matrix unit is used");
  EXPECT_EQ(WarpError(positive, "64:128:2:2:3:1:16:16", "; computes=a", 80), "");
  const Expression singles = MatMul("fp32", "A * B");
  EXPECT_EQ(Error(singles, "128:256:2:4:1", "; computes=both; numerics=tf32"), "");
  EXPECT_EQ(Error(singles, "128:256:2:4:1", "; computes=b; packs=a; numerics=tf32"), "");
  EXPECT_EQ(Error(singles, "128:256:2:4:1", "; computes=both; numerics=bf16x3"),
            "unit: packed: parts of bf16 are of operands that are packed both");
}

TEST(UnitPlanTest, TypesOfWhatIsComputed) {
  const auto held = [](const std::string& type, const std::string& f,
                       NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    const Result<UnitPlan> plan = PlanUnit(MatMul(type, f), numerics);
    return plan.ok() ? std::string(Name(plan->a.held)) : std::string(plan.status().message());
  };
  EXPECT_EQ(held("bf16", "max(fp32(A), 0) * fp32(B)"), "bf16");
  EXPECT_EQ(held("fp16", "(fp32(A) < 0 ? -fp32(A) : fp32(A)) * fp32(B)"), "fp16");
  EXPECT_EQ(held("fp16", "max(fp32(A), 0.5) * fp32(B)"), "fp16");
  EXPECT_EQ(held("int8", "fp32(A) * fp32(B)"), "fp16");
  EXPECT_EQ(held("fp8e4m3", "fp32(A) * fp32(B)"), "fp16");
  EXPECT_EQ(held("fp32", "exp(A) * B", NumericsPolicy::kTf32), "fp32");
  EXPECT_THAT(held("fp16", "max(fp32(A), 0.1) * fp32(B)"),
              ::testing::StartsWith("operands are of types"));
}

TEST(ValidateUnitTest, TextOfWarpsReadsBack) {
  const std::string text =
      ToText(SinglePoints(Halves(), CudaModel(), NumericsPolicy::kReassociate)) +
      "; warps=64:128:2:4:3:5:16:8; packs=a; computes=b";
  const Result<TuningParameters> p = ParseTuningParameters(text);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->unit, (UnitParameters{.rows = 64,
                                     .columns = 128,
                                     .stages = 3,
                                     .parts = 5,
                                     .packed = UnitOperands::kA,
                                     .computed = UnitOperands::kB,
                                     .warps = {2, 4, 16, 8}}));
  EXPECT_EQ(*ParseTuningParameters(ToText(*p)), *p);
}

TEST(ValidateUnitTest, TextReadsBack) {
  const std::string text =
      ToText(SinglePoints(Halves(), CudaModel(), NumericsPolicy::kReassociate)) +
      "; unit=128:256:2:4:1";
  const Result<TuningParameters> p = ParseTuningParameters(text);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->unit, (UnitParameters{128, 256, 2, 4, 1}));
  const Result<TuningParameters> copied =
      ParseTuningParameters(text + "; tensor=both; producer=warp; cluster_n=2");
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->unit, (UnitParameters{.rows = 128,
                                          .columns = 256,
                                          .groups = 2,
                                          .tensors = UnitOperands::kBoth,
                                          .producer = UnitProducer::kWarp,
                                          .cluster_n = 2}));
  EXPECT_EQ(*ParseTuningParameters(ToText(*copied)), *copied);
  EXPECT_EQ(*ParseTuningParameters(text + "; tensor=none; producer=none"), *p);
  EXPECT_EQ(*ParseTuningParameters(ToText(*p)), *p);
  EXPECT_EQ(ParseTuningParameters(text + ":1").status().message(),
            "tuning parameters: unit '128:256:2:4:1:1' is not ROWS:COLUMNS:GROUPS:STAGES:PARTS");
}

// Which way memory runs, and how much of it is moved at once.
TEST(UnitPlanTest, OperandsAndResults) {
  const UnitParameters unit{64, 64, 1, 4, 1};
  const auto plan = [&](const std::string& sizes) {
    return CutForUnit(unit, CombineBlocks::kPartials, *PlanUnit(Halves(sizes)));
  };
  const UnitPlan whole = plan("I = 128, J = 128, K = 128");
  EXPECT_FALSE(whole.a.is_across);
  EXPECT_TRUE(whole.b.is_across);
  EXPECT_EQ(whole.a.width, 8);
  EXPECT_EQ(whole.b.width, 8);
  EXPECT_EQ(whole.result_width, 4);
  EXPECT_EQ(whole.blocks(unit), 4);
  EXPECT_FALSE(whole.is_staged);
  const UnitPlan odd = plan("I = 130, J = 68, K = 66");
  EXPECT_EQ(odd.a.width, 2);
  EXPECT_EQ(odd.b.width, 4);
  EXPECT_EQ(odd.blocks(unit), 6);
  EXPECT_EQ(plan("I = 130, J = 67, K = 65").b.width, 1);
}

// How many stages have a place in shared memory, and how many are copied ahead.
TEST(UnitPlanTest, StagesHaveAsManyPlacesAsThereAre) {
  const auto plan = [](int64_t k, int stages) {
    return CutForUnit({64, 128, 1, stages, 1}, CombineBlocks::kPartials,
                      *PlanUnit(Halves(absl::StrCat("I = 128, J = 128, K = ", k))));
  };
  const UnitPlan one = plan(64, 4), all = plan(192, 3), two = plan(192, 2), three = plan(256, 3),
                 four = plan(320, 4);
  EXPECT_EQ(one.places, 1);
  EXPECT_EQ(one.ahead, 1);
  EXPECT_EQ(UnitSharedBytes({64, 128, 1, 4, 1}, one), (64 + 128) * kUnitRowBytes);
  EXPECT_EQ(all.places, 3);
  EXPECT_EQ(all.ahead, 3) << "no place is used twice";
  EXPECT_EQ(two.places, 2);
  EXPECT_EQ(two.ahead, 2);
  EXPECT_TRUE(two.is_refilled);
  EXPECT_FALSE(two.is_behind) << "copies would go to where multiplications read";
  EXPECT_EQ(three.ahead, 3);
  EXPECT_TRUE(three.is_refilled);
  EXPECT_EQ(four.ahead, 2);
  EXPECT_TRUE(four.is_behind);
  EXPECT_FALSE(four.is_refilled);
}

// Where rows are: packed ones begin where lines do.
TEST(UnitPlanTest, LinesOfRows) {
  const UnitParameters unit{64, 64, 1, 4, 1, UnitOperands::kB};
  const auto plan = [&](const std::string& sizes) {
    return CutForUnit(unit, CombineBlocks::kPartials, *PlanUnit(Halves(sizes)));
  };
  const UnitPlan whole = plan("I = 128, J = 128, K = 128");
  EXPECT_EQ(whole.a.row_lines, 1);
  const UnitPlan odd = plan("I = 1000, J = 1000, K = 1000");
  EXPECT_EQ(odd.a.row_lines, 2);
  EXPECT_EQ(odd.b_in_memory.row_lines, 2);
  EXPECT_EQ(odd.b.row_lines, 1);
  EXPECT_EQ(odd.b.packed_row, 1024);
  EXPECT_EQ(plan("I = 64, J = 18, K = 64").b.packed_row, 32) << "two rows of a line";
  const UnitPlan short_rows = plan("I = 64, J = 152, K = 64");
  EXPECT_EQ(short_rows.b.packed_row, 152) << "lines would add a quarter";
  EXPECT_EQ(short_rows.b.row_lines, 2);
}

// Sections of one k, each with the products of two parts.
TEST(UnitPlanTest, ProductsOfParts) {
  const Expression singles = MatMul("fp32", "A * B", "I = 64, J = 64, K = 100");
  const auto plan = [&](NumericsPolicy numerics, const UnitParameters& unit) {
    return CutForUnit(unit, CombineBlocks::kPartials, *PlanUnit(singles, numerics));
  };
  const UnitParameters groups{64, 64, 1, 4, 1, UnitOperands::kBoth};
  const UnitPlan tf32 = plan(NumericsPolicy::kTf32, groups);
  EXPECT_EQ(tf32.element_a(), ScalarType::kFloat32);
  EXPECT_EQ(tf32.k, 100);
  EXPECT_EQ(tf32.stages_k, 4);
  EXPECT_FALSE(tf32.b.is_across);
  const UnitPlan three = plan(NumericsPolicy::kBf16x3, groups);
  EXPECT_EQ(three.element_a(), ScalarType::kBfloat16);
  EXPECT_EQ(three.section_k, 104);
  EXPECT_EQ(three.k, 312);
  EXPECT_EQ(three.a.packed_row, 320) << "whole lines";
  EXPECT_EQ(three.a.packed_points, 312);
  EXPECT_TRUE(three.b.is_across);
  EXPECT_EQ(three.promoted_stages(), 0);
  const UnitPlan six = plan(NumericsPolicy::kBf16x6, groups);
  EXPECT_EQ(six.k, 624);
  EXPECT_EQ(six.first_promoted(), 520 / 64);
  EXPECT_EQ(UnitRegisters(groups, six), 2 * UnitSums(groups));
}

// A convolution's k is channels within windows; what is outside of the image is 0.
TEST(UnitPlanTest, Convolutions) {
  const Result<Expression> e = ParseExpression(
      "e<T = bf16 | N = 2, P = 8, Q = 8, K = 64, R = 3, S = 3, C = 16> :=\n"
      "out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o\n"
      "md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o\n"
      "inp_view<T,T>( x[N,P,Q,C] else 0: (n,p,q,k,r,s,c) -> (n, p + r - 1, q + s - 1, c),\n"
      "               w:                 (n,p,q,k,r,s,c) -> (k,r,s,c) )\n"
      "where f(x, w) -> (a: fp32) { a = fp32(x) * fp32(w) }\n");
  ASSERT_TRUE(e.ok()) << e.status();
  Result<UnitPlan> plan = PlanUnit(*e);
  ASSERT_TRUE(plan.ok()) << plan.status();
  plan = CutForUnit({64, 64, 1, 4, 1}, CombineBlocks::kPartials, *std::move(plan));
  EXPECT_EQ(plan->m, 128);
  EXPECT_EQ(plan->n, 64);
  EXPECT_EQ(plan->k, 144);
  EXPECT_EQ(plan->a.width, 8);
  EXPECT_EQ(plan->b.width, 8);
  EXPECT_FALSE(plan->a.is_across);
  EXPECT_TRUE(plan->is_staged);
  EXPECT_EQ(plan->result_width, 8);
}

}  // namespace
}  // namespace mdh::validate_unit_test
