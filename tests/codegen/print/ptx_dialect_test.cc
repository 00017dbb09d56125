// PTX in OpenCL C, where the device's compiler takes it.
#include "codegen/print/c_dialect.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nvidia_under_opencl.h"

namespace mdh::ptx_dialect_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What OpenCL C has no words for is there for NVIDIA's compiler only; vectors of additions for new
// devices and drivers only.
TEST(PtxDialectTest, OpenClCOfNvidiasCompiler) {
  EXPECT_EQ(&OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA", "580.95")), &OpenClC());
  const CDialect& hopper = OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_90", "580.95.05"));
  const CDialect& old = OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_90", "525.60.13"));
  const CDialect& ada = OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_89", "580.95.05"));
  for (const CDialect* dialect : {&hopper, &old, &ada}) {
    EXPECT_TRUE(dialect->adds_atomically());
    EXPECT_TRUE(dialect->has_async_copies());
    EXPECT_TRUE(dialect->has_shuffles());
    EXPECT_FALSE(dialect->overlaps_stages());
    EXPECT_FALSE(dialect->has_clusters());
  }
  EXPECT_FALSE(hopper.atomic_add_vector.empty());
  EXPECT_TRUE(old.atomic_add_vector.empty());
  EXPECT_TRUE(ada.atomic_add_vector.empty());
}

// PTX's instruction hands nan on: that is max, and not fmax.
TEST(PtxDialectTest, OnlyTheMaximumThatHandsNanOnIsPtxs) {
  const LoopValueType type{ScalarType::kFloat32};
  CPrelude prelude(OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_90", "580.95.05")));
  for (const ScalarOp op : {ScalarOp::kFmin, ScalarOp::kFmax}) {
    prelude.OperationFunction(op, type, type);
  }
  EXPECT_THAT(prelude.ToString(), Not(HasSubstr(".NaN")));
  prelude.OperationFunction(ScalarOp::kMax, type, type);
  EXPECT_THAT(prelude.ToString(), HasSubstr("max.NaN.f32"));
}

TEST(PtxDialectTest, PtxInOpenClC) {
  CPrelude prelude(OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_90", "580.95.05")));
  CPrinter printer(prelude);
  const LoopValue v = MakeNamed("v", {ScalarType::kFloat32});
  const LoopValue pair = MakeNamed("w", {ScalarType::kFloat32, 2});
  const LoopValue d = MakeNamed("d", {ScalarType::kFloat64});
  EXPECT_EQ(
      printer.Print(Block{{DeclareArray{"s", ScalarType::kFloat32, 8, MemorySpace::kShared}},
                          {AsyncCopy{"s", 0, "x", Index::Variable("i"), {ScalarType::kFloat32, 4}}},
                          {AddElements{"y", 0, v}},
                          {AddElements{"y", 2, pair}},
                          {CombineElement{ScalarOp::kAdd, "s", 1, v}},
                          {DeclareValue{"a", MakeShuffleDown(v, 4, 8)}},
                          {DeclareValue{"b", MakeShuffleUp(d, 1, 32)}}},
                    0),
      "__local float s[8] __attribute__((aligned(16)));\n"
      "mdh_async_copy_16(s, &x[i]);\n"
      "mdh_atomic_add_f32(y, v);\n"
      "mdh_atomic_add_f32x2(&y[2], w);\n"
      "mdh_combine_add_f32_shared(&s[1], v);\n"
      "const float a = mdh_shuffle_down_f32(v, 4, 8);\n"
      "const double b = mdh_shuffle_up_f64(d, 1, 32);\n");
  const std::string functions = prelude.ToString();
  EXPECT_THAT(functions,
              HasSubstr(R"(void mdh_async_copy_16(__local void* to, __global const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               ::"l"(to), "l"(from) : "memory");
}
)"));
  EXPECT_THAT(functions, HasSubstr(R"(void mdh_atomic_add_f32(__global float* p, float x) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory");
}
)"));
  EXPECT_THAT(
      functions,
      HasSubstr(R"("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x.s0), "f"(x.s1))"));
  EXPECT_THAT(functions, HasSubstr(R"(void mdh_combine_add_f32_shared(__local float* p, float x) {
  asm volatile("red.shared.add.f32 [%0], %1;")"));
  EXPECT_THAT(functions, HasSubstr(R"(float mdh_shuffle_down_f32(float x, int distance, int width) {
  uint r;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, 0xffffffff;"
               : "=r"(r) : "r"(as_uint(x)), "r"(distance), "r"(((32 - width) << 8) | 31));
  return as_float(r);
}
)"));
  EXPECT_THAT(functions, HasSubstr("return as_double(r);"));
}

TEST(PtxDialectTest, Borders) {
  CPrelude prelude(OpenClCFor(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_90", "580.95.05")));
  CPrinter printer(prelude);
  const Index i = Index::Variable("i");
  LoadInside load{"x",
                  {{i - 1, 0, 8, 1}},
                  0,
                  ScalarValue::Zero(ScalarType::kFloat32),
                  /*loads_always=*/true};
  const LoopValue value =
      std::make_shared<const ValueNode>(ValueNode{{ScalarType::kFloat32}, std::move(load)});
  EXPECT_EQ(printer.Print(value),
            "mdh_border_f32(mdh_inside(i - 1, 8), x[mdh_clamp(i - 1, 8)], 0.0f)");
  EXPECT_EQ(
      printer.Print(Block{{DeclareArray{"s", ScalarType::kFloat32, 8, MemorySpace::kShared}},
                          {AsyncCopy{"s", 0, "x", i, {ScalarType::kFloat32, 4}, {Less(i, 8)}}},
                          {AsyncCopy{"s", 4, "x", i, {ScalarType::kFloat32}, {Less(i, 8)}}}},
                    0),
      "__local float s[8] __attribute__((aligned(16)));\n"
      "mdh_async_copy_16_if(s, &x[i], i < 8);\n"
      "mdh_async_copy_4_if(&s[4], &x[i], i < 8);\n");
  EXPECT_TRUE(prelude.uses_ptx());
  const std::string functions = prelude.ToString();
  EXPECT_THAT(functions, HasSubstr(R"(float mdh_border_f32(int inside, float x, float outside) {
  float r;
  asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; selp.b32 %0, %2, %3, p; }"
      : "=f"(r) : "r"(inside), "f"(x), "f"(outside));
  return r;
}
)"));
  EXPECT_THAT(functions, HasSubstr(R"(
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               ::"l"(to), "l"(from), "r"(condition ? 16 : 0) : "memory");
)"));
  EXPECT_THAT(functions, HasSubstr("cp.async.ca.shared.global [%0], [%1], 4, %2;"));
}

}  // namespace
}  // namespace mdh::ptx_dialect_test
