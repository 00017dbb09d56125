// What differs between the languages: spellings, as golden files and one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/print/c_dialect.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/loop_program_text.h"
#include "core/decomposition/constraints.h"
#include "tests/codegen/block_program.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/print/scalar_cases.h"

namespace mdh::dialect_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// All operations on all types, and the definitions that they need.
std::string ScalarText(const CDialect& dialect) {
  CPrelude prelude(dialect);
  CPrinter printer(prelude);
  std::string statements;
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    statements += "\n" + printer.Print(ScalarStatements(info.type), 0);
  }
  return prelude.ToString() + statements;
}

TEST(DialectTest, ScalarOperationsInC) { ExpectGoldenFile("scalar.c", ScalarText(GnuC())); }
TEST(DialectTest, ScalarOperationsInOpenCl) {
  ExpectGoldenFile("scalar.cl", ScalarText(OpenClC()));
}
TEST(DialectTest, ScalarOperationsInCuda) { ExpectGoldenFile("scalar.cu", ScalarText(CudaCxx())); }

TEST(DialectTest, LiteralsKeepTypeAndValue) {
  const ScalarValue least = ScalarValue::Integer(ScalarType::kInt64, INT64_MIN);
  const ScalarValue largest = ScalarValue::Integer(ScalarType::kUint64, -1);
  const ScalarValue infinity = ScalarValue::Real(ScalarType::kFloat64, -INFINITY);
  const ScalarValue half = ScalarValue::Real(ScalarType::kFloat16, 1);
  EXPECT_EQ(CLiteral(least, OpenClC()), "(-9223372036854775807L - 1)");
  EXPECT_EQ(CLiteral(least, CudaCxx()), "(-9223372036854775807LL - 1)");
  EXPECT_EQ(CLiteral(ScalarValue::Integer(ScalarType::kInt32, INT32_MIN), OpenClC()),
            "(-2147483647 - 1)");
  EXPECT_EQ(CLiteral(largest, OpenClC()), "18446744073709551615UL");
  EXPECT_EQ(CLiteral(largest, CudaCxx()), "18446744073709551615ULL");
  EXPECT_EQ(CLiteral(infinity, OpenClC()), "-(1.0 / 0.0)");
  EXPECT_EQ(CLiteral(infinity, CudaCxx()), "-(1.0 / 0.0)");
  EXPECT_EQ(CLiteral(half, OpenClC()), "0x3c00");
}

TEST(DialectTest, IndicesOfBlocksHaveShiftsForPowersOfTwo) {
  const Index i = Var("i"), sum = Var("t") + Var("c") * 32;
  EXPECT_EQ(CIndex(sum / 16, CudaCxx()), "(t + c * 32) >> 4");
  EXPECT_EQ(CIndex(sum / 16, GnuC()), "(t + c * 32) / 16");
  EXPECT_EQ(CIndex(sum % 16 * 4 + i / 8 + i % 6, OpenClC()),
            "((t + c * 32) & 15) * 4 + (i >> 3) + i % 6");
  EXPECT_EQ(CIndex((i - (sum - 3)) / 5 % 4, OpenClC()), "((i - (t + c * 32 - 3)) / 5) & 3");
  EXPECT_EQ(CIndex(Min(i % 4, 7) * -3, CudaCxx()), "mdh_min(i & 3, 7) * (-3)");
  EXPECT_EQ(COperand(i % 4, CudaCxx()), "(i & 3)");
  EXPECT_EQ(COperand(i % 4 + 1, CudaCxx()), "(i & 3) + 1");
}

TEST(DialectTest, LoopsThatAreNeverEmptySaySo) {
  For loop{"i", Var("a"), Var("b"), 4, false, ShareBlock({{Comment{"Empty."}}})};
  loop.is_never_empty = true;
  CPrelude prelude(OpenClC());
  EXPECT_THAT(CPrinter(prelude).Print(Block{{loop}}, 0),
              HasSubstr("for (long i = a; i == a || i < b; i += 4) {\n"));
  EXPECT_THAT(ToText(Block{{loop}}), HasSubstr("for i = a .. b step 4 never empty\n"));
}

TEST(DialectTest, VectorsOfTheLanguageWhereItHasThem) {
  const auto vector = [](ScalarType type, int lanes, const CDialect& dialect) {
    return CType(LoopValueType{type, lanes}, dialect);
  };
  EXPECT_EQ(vector(ScalarType::kFloat32, 4, GnuC()), "f32x4");
  EXPECT_EQ(vector(ScalarType::kFloat32, 4, OpenClC()), "float4");
  EXPECT_EQ(vector(ScalarType::kFloat32, 4, CudaCxx()), "float4");
  EXPECT_EQ(vector(ScalarType::kFloat64, 4, CudaCxx()), "f64x4");
  EXPECT_EQ(vector(ScalarType::kInt64, 2, CudaCxx()), "longlong2");
  EXPECT_EQ(vector(ScalarType::kBool, 4, CudaCxx()), "uchar4");
  EXPECT_EQ(vector(ScalarType::kFloat16, 8, OpenClC()), "ushort8");
  EXPECT_EQ(vector(ScalarType::kFloat16, 8, CudaCxx()), "h16x8");
  EXPECT_EQ(CLane(OpenClC(), {ScalarType::kInt8, 16}, "v", 10), "v.sa");
  EXPECT_EQ(CLane(CudaCxx(), {ScalarType::kFloat32, 4}, "v", 3), "v.w");
  EXPECT_EQ(CLane(CudaCxx(), {ScalarType::kFloat16, 8}, "v", 5), "v.s[5]");
}

TEST(DialectTest, ShuffledNarrowValuesTravelAsInt) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude);
  const auto print = [&](ScalarType type) {
    return printer.Print(MakeShuffleDown(MakeNamed("v", {type}), 4, 8));
  };
  EXPECT_EQ(print(ScalarType::kFloat64), "__shfl_down_sync(0xffffffff, v, 4, 8)");
  EXPECT_EQ(print(ScalarType::kInt8), "(signed char)__shfl_down_sync(0xffffffff, (int)v, 4, 8)");
  EXPECT_EQ(print(ScalarType::kBool), "(unsigned char)__shfl_down_sync(0xffffffff, (int)v, 4, 8)");
}

// What the prelude defines for it, and the statement.
std::string AdditionText(ScalarType type, int lanes) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude);
  const AddElements add{"y", Var("i") * lanes, MakeNamed("v", {type, lanes})};
  const std::string statement = printer.Print(Block{{add}}, 0);
  return prelude.ToString() + statement;
}

TEST(DialectTest, AtomicAdditions) {
  EXPECT_EQ(AdditionText(ScalarType::kFloat32, 1),
            "static __device__ inline void mdh_atomic_add_f32(float* p, float x) {\n"
            "  atomicAdd(p, x);\n"
            "}\n"
            "mdh_atomic_add_f32(&y[i], v);\n");
  EXPECT_THAT(AdditionText(ScalarType::kInt64, 1),
              HasSubstr("  atomicAdd((unsigned long long*)p, (unsigned long long)x);\n"));
  EXPECT_THAT(AdditionText(ScalarType::kInt32, 1),
              HasSubstr("  atomicAdd((unsigned int*)p, (unsigned int)x);\n"));
  EXPECT_THAT(
      AdditionText(ScalarType::kFloat32, 2),
      HasSubstr(
          "static __device__ inline void mdh_atomic_add_f32x2(float* p, float2 x) {\n"
          "#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201\n"
          "  asm volatile(\"red.global.add.v2.f32 [%0], {%1, %2};\" ::\"l\"(p), \"f\"(x.x), "
          "\"f\"(x.y) : \"memory\");\n"
          "#else\n"
          "  mdh_atomic_add_f32(p + 0, x.x);\n"
          "  mdh_atomic_add_f32(p + 1, x.y);\n"
          "#endif\n"
          "}\n"
          "mdh_atomic_add_f32x2(&y[i * 2], v);\n"));
  // There are no such vectors of fp64.
  EXPECT_THAT(AdditionText(ScalarType::kFloat64, 2), Not(HasSubstr("asm")));
}

TEST(DialectTest, ClustersAndLastBlocks) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude);
  const LoopValue load = MakeLoadOfBlock("x", Var("i") + Index(3), Var("b"), ScalarType::kFloat32);
  EXPECT_EQ(printer.Print(Block{{ClusterBarrier{}},
                                {DeclareValue{"v", load}},
                                {DeclareLast{"last", "counters", Var("g"), 16}}},
                          0),
            "mdh_cluster_barrier();\n"
            "const float v = mdh_of_block_f32(&x[i + 3], b);\n"
            "const int last = mdh_is_last(&counters[g], 16);\n");
  EXPECT_THAT(prelude.ToString(), HasSubstr("float mdh_of_block_f32(const float* p, unsigned int "
                                            "block) {\n  unsigned long long at;\n"));
}

// Its function is another one than that of additions of values.
TEST(DialectTest, AtomicAdditionsBesideOthers) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude);
  const LoopValue v = MakeNamed("v", {ScalarType::kInt32});
  const LoopValue sum = MakeOperation(ScalarOp::kAdd, ScalarType::kInt32, {v, v});
  EXPECT_EQ(printer.Print(Block{{AddElements{"y", 0, sum}}}, 0),
            "mdh_atomic_add_i32(y, mdh_add_i32(v, v));\n");
  EXPECT_THAT(prelude.ToString(), HasSubstr("void mdh_atomic_add_i32(int* p, int x)"));
  EXPECT_THAT(prelude.ToString(), HasSubstr("int mdh_add_i32(int a, int b)"));
}

// What the table of targets claims for devices is what the languages have.
TEST(DialectTest, FeaturesOfTheTargetsAreThoseOfTheLanguages) {
  DeviceDescription gpu = *DescribeCudaArchitecture(90);
  for (const BackendInfo& backend : Backends()) {
    gpu.kind = backend.kind;
    gpu.features = FeaturesOf(gpu);
    const CDialect& dialect = DialectOf(gpu);
    SCOPED_TRACE(std::string(backend.name));
    EXPECT_EQ(dialect.has_blocks(), backend.has_blocks);
    EXPECT_EQ(dialect.adds_atomically(), gpu.features.atomic_additions);
    EXPECT_EQ(dialect.adds_atomically(), HasAtomicAdd(gpu, ScalarType::kFloat32));
    EXPECT_EQ(dialect.combines_atomically(), gpu.features.atomics_32);
    EXPECT_EQ(dialect.has_shuffles(), gpu.features.shuffles_down);
    EXPECT_EQ(!dialect.shuffle_up.empty(), gpu.features.shuffles_up);
    EXPECT_EQ(dialect.has_async_copies(), gpu.features.async_copies);
    EXPECT_EQ(dialect.has_resident_blocks(), gpu.features.resident_blocks);
    EXPECT_EQ(!dialect.is_last.empty(), gpu.features.last_block);
    EXPECT_EQ(dialect.has_clusters(), gpu.features.clusters);
    EXPECT_EQ(dialect.overlaps_stages(), gpu.features.early_launches);
  }
}

// What the prelude defines for it, and the statement; to an array in shared memory.
std::string CombinationText(const CDialect& dialect, ScalarOp op, ScalarType type) {
  CPrelude prelude(dialect);
  CPrinter printer(prelude);
  const std::string text =
      printer.Print(Block{{DeclareArray{"s", type, 8, MemorySpace::kShared}},
                          {CombineElement{op, "s", Var("i"), MakeNamed("v", {type})}},
                          {CombineElement{op, "y", Var("i") * 2, MakeNamed("v", {type})}}},
                    0);
  return prelude.ToString() + text.substr(text.find('\n') + 1);
}

TEST(DialectTest, AtomicCombinations) {
  EXPECT_EQ(CombinationText(CudaCxx(), ScalarOp::kAdd, ScalarType::kInt64),
            "static __device__ inline void mdh_combine_add_i64(long long* p, long long x) {\n"
            "  atomicAdd((unsigned long long*)p, (unsigned long long)x);\n"
            "}\n"
            "mdh_combine_add_i64(&s[i], v);\n"
            "mdh_combine_add_i64(&y[i * 2], v);\n");
  EXPECT_EQ(CombinationText(OpenClC(), ScalarOp::kMax, ScalarType::kInt32),
            "static inline void mdh_combine_max_i32_shared(__local int* p, int x) {\n"
            "  atomic_max((__local int*)p, (int)x);\n"
            "}\n"
            "static inline void mdh_combine_max_i32(__global int* p, int x) {\n"
            "  atomic_max((__global int*)p, (int)x);\n"
            "}\n"
            "mdh_combine_max_i32_shared(&s[i], v);\n"
            "mdh_combine_max_i32(&y[i * 2], v);\n");
  EXPECT_THAT(CombinationText(CudaCxx(), ScalarOp::kAdd, ScalarType::kFloat64),
              HasSubstr("  atomicAdd(p, x);\n"));
  EXPECT_THAT(CombinationText(CudaCxx(), ScalarOp::kBitXor, ScalarType::kInt32),
              HasSubstr("  atomicXor((unsigned int*)p, (unsigned int)x);\n"));
}

// What there is no function for: what changes nothing is not stored.
TEST(DialectTest, CombinationsByCompareAndSwap) {
  EXPECT_THAT(
      CombinationText(OpenClC(), ScalarOp::kAdd, ScalarType::kFloat32),
      HasSubstr("static inline void mdh_combine_add_f32_shared(__local float* p, float x) {\n"
                "  union {\n"
                "    float value;\n"
                "    uint bits;\n"
                "  } old, next, seen;\n"
                "  old.value = *(volatile __local float*)p;\n"
                "  for (;;) {\n"
                "    next.value = old.value + x;\n"
                "    if (next.bits == old.bits) return;\n"
                "    seen.bits = atomic_cmpxchg((__local uint*)p, old.bits, next.bits);\n"
                "    if (seen.bits == old.bits) return;\n"
                "    old = seen;\n"
                "  }\n"
                "}\n"));
  const std::string mul = CombinationText(CudaCxx(), ScalarOp::kMul, ScalarType::kInt64);
  EXPECT_THAT(mul, HasSubstr("next.value = mdh_mul_i64(old.value, x);"));
  EXPECT_THAT(mul, HasSubstr("atomicCAS((unsigned long long*)p, old.bits, next.bits)"));
  const std::string max = CombinationText(CudaCxx(), ScalarOp::kMax, ScalarType::kFloat32);
  EXPECT_LT(max.find("float mdh_max_f32(float a, float b)"), max.find("void mdh_combine_max_f32("));
}

TEST(DialectTest, AtomicCombinationsOfTheDevicesThatHaveThem) {
  using Kind = PointWiseKind;
  const DeviceDescription cuda = *DescribeCudaArchitecture(90), cpu;
  DeviceDescription opencl = cuda;
  opencl.kind = DeviceKind::kOpenCl;
  opencl.features = FeaturesOf(opencl);
  EXPECT_FALSE(HasAtomicCombination(cpu, Kind::kAdd, ScalarType::kInt32));
  EXPECT_TRUE(HasAtomicCombination(opencl, Kind::kAdd, ScalarType::kInt32));
  EXPECT_TRUE(HasAtomicCombination(cuda, Kind::kMul, ScalarType::kFloat64));
  EXPECT_FALSE(HasAtomicCombination(opencl, Kind::kAdd, ScalarType::kFloat64));
  EXPECT_FALSE(HasAtomicCombination(cuda, Kind::kAdd, ScalarType::kFloat16));
  EXPECT_FALSE(HasAtomicCombination(cuda, Kind::kOr, ScalarType::kBool));
  EXPECT_FALSE(HasAtomicCombination(cuda, Kind::kCustom, ScalarType::kInt32));
}

TEST(DialectTest, TablesOfKeys) {
  const LoopValue first = MakeNamed("first", {ScalarType::kInt64});
  const LoopValue key = MakeNamed("key", {ScalarType::kInt64});
  const Block block = {{DeclareArray{"t", ScalarType::kInt64, 16, MemorySpace::kShared}},
                       {InsertKey{"t", 4, first, key}},
                       {FindKey{"place", "t", 4, first, key}},
                       {CombineElement{ScalarOp::kMax, "s", Var("place"), key}}};
  EXPECT_EQ(ToText(block),
            "shared int64 t[16]\n"
            "insert key into t, 2^4 slots, first first\n"
            "index place = place of key in t, 2^4 slots, first first\n"
            "s[place] max= atomically key\n");
  CPrelude prelude(CudaCxx());
  EXPECT_THAT(CPrinter(prelude).Print(block, 0),
              HasSubstr("mdh_insert_key_i64(t, key, first, 4);\n"
                        "const long long place = mdh_find_key_i64(t, key, first, 4);\n"));
  EXPECT_THAT(prelude.ToString(),
              HasSubstr("  return (int)(((unsigned long long)key * 11400714819323198485ULL) >> "
                        "(64 - slot_bits));\n"));
}

TEST(DialectTest, AsynchronousCopiesAreFunctionsOfThePrelude) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude);
  const auto copy = [](int lanes) {
    return Statement{AsyncCopy{"s", Var("i") * 4, "x", 0, {ScalarType::kFloat32, lanes}}};
  };
  EXPECT_EQ(printer.Print({copy(1), copy(2), copy(4), {CommitCopies{}}, {WaitForCopies{2}}}, 0),
            "mdh_async_copy_4(&s[i * 4], x);\n"
            "mdh_async_copy_8(&s[i * 4], x);\n"
            "mdh_async_copy_16(&s[i * 4], x);\n"
            "mdh_commit_copies();\n"
            "mdh_wait_for_copies_but_2();\n");
  EXPECT_THAT(prelude.ToString(), HasSubstr("cp.async.ca.shared.global [%0], [%1], 4;"));
  EXPECT_THAT(prelude.ToString(), HasSubstr("cp.async.ca.shared.global [%0], [%1], 8;"));
  EXPECT_THAT(prelude.ToString(), HasSubstr("cp.async.cg.shared.global [%0], [%1], 16;"));
  EXPECT_THAT(prelude.ToString(), HasSubstr("cp.async.wait_group 2;"));
}

TEST(DialectTest, BordersAreSelected) {
  CPrelude prelude(CudaCxx());
  CPrinter printer(prelude, /*wide_indices=*/false);
  const Index i = Index::Variable("i"), j = Index::Variable("j");
  const LoadInside::Dimension row = {i - 1, 0, 8, 4};
  bool loads_always = true;
  const auto print = [&](std::vector<LoadInside::Dimension> dimensions, int lanes,
                         std::optional<int64_t> outside) {
    LoadInside load{"x", std::move(dimensions), 0, std::nullopt};
    if (outside.has_value()) load.outside = ScalarValue::Real(ScalarType::kFloat32, *outside);
    load.loads_always = loads_always;
    return printer.Print(
        std::make_shared<const ValueNode>(ValueNode{{ScalarType::kFloat32, lanes}, load}));
  };
  EXPECT_EQ(print({row, {j % 4, 0, 4, 1, true}}, 1, 7),
            "mdh_border_f32(mdh_inside(i - 1, 8), x[mdh_clamp(i - 1, 8) * 4 + (j & 3)], 7.0f)");
  EXPECT_EQ(print({row, {j / 2, 0, 4, 1}}, 1, std::nullopt),
            "x[mdh_clamp(i - 1, 8) * 4 + mdh_clamp(j >> 1, 4)]");
  EXPECT_EQ(print({{i, 0, 8, 4, true}, {j % 4, 0, 4, 1, true}}, 1, 7), "x[i * 4 + (j & 3)]");
  EXPECT_EQ(print({row, {j * 4, 1, 12, 1}}, 4, 0),
            "mdh_border_float4(mdh_inside(i - 1, 8) & mdh_inside(j * 4, 12), "
            "*(const float4*)&x[mdh_clamp(i - 1, 8) * 4 + mdh_clamp(j * 4, 9)], 0.0f)");
  // Nothing is read where there is nothing.
  EXPECT_EQ(print({row, {j, 0, 0, 1}}, 1, 7), "7.0f");
  EXPECT_EQ(print({}, 1, 7), "x[0]");
  loads_always = false;
  EXPECT_EQ(print({row, {j % 4, 0, 4, 1, true}}, 1, 7),
            "(mdh_inside(i - 1, 8) ? x[(i - 1) * 4 + (j & 3)] : 7.0f)");
  EXPECT_EQ(print({row, {j, 0, 0, 1}}, 1, 7), "7.0f");
}

TEST(DialectTest, StoresPastCaches) {
  const auto print = [](const CDialect& dialect, LoopValueType type) {
    CPrelude prelude(dialect);
    const LoopValue v = MakeNamed("v", type);
    return CPrinter(prelude).Print(Block{{StoreElements{"y", Var("i"), v, 1, true}}}, 0);
  };
  EXPECT_EQ(print(CudaCxx(), {ScalarType::kFloat32, 4}), "__stcs((float4*)&y[i], v);\n");
  EXPECT_EQ(print(CudaCxx(), {ScalarType::kInt64}), "__stcs(&y[i], v);\n");
  // No vector of the language.
  EXPECT_EQ(print(CudaCxx(), {ScalarType::kInt8, 8}), "*(i8x8*)&y[i] = v;\n");
  EXPECT_EQ(print(OpenClC(), {ScalarType::kFloat32, 4}), "*(__global float4*)&y[i] = v;\n");
  EXPECT_EQ(print(OpenClC(), {ScalarType::kInt64}), "y[i] = v;\n");
}

TEST(DialectTest, ValuesOfThreadsBelow) {
  CPrelude prelude(CudaCxx());
  const LoopValue up = MakeShuffleUp(MakeNamed("v", {ScalarType::kInt16}), 2, 32);
  EXPECT_EQ(CPrinter(prelude).Print(up), "(short)__shfl_up_sync(0xffffffff, (int)v, 2, 32)");
  EXPECT_EQ(ToText(Block{{Assign{"v", up}}}), "v = shuffle_up(v, 2, 32)\n");
}

TEST(DialectDeathTest, FormsThatALanguageLacksAreBugs) {
  const auto print = [](const CDialect& dialect, const Statement& statement) {
    CPrelude prelude(dialect);
    return CPrinter(prelude).Print(Block{statement}, 0);
  };
  const LoopValue v = MakeNamed("v", {ScalarType::kFloat32});
  EXPECT_DEATH(print(GnuC(), {Barrier{}}), "a loop program for OpenMP C has barriers");
  EXPECT_DEATH(print(GnuC(), {HardwareIndex{"i", HardwareIndex::Kind::kBlock, 0}}),
               "has blocks of threads");
  EXPECT_DEATH(print(GnuC(), {DeclareArray{"s", ScalarType::kInt8, 4, MemorySpace::kShared}}),
               "has shared memory");
  EXPECT_DEATH(print(OpenClC(), {AddElements{"y", Var("i"), v}}),
               "a loop program for OpenCL C has atomic additions");
  EXPECT_DEATH(print(OpenClC(), {ClusterBarrier{}}),
               "a loop program for OpenCL C has clusters of blocks");
  EXPECT_DEATH(print(OpenClC(), {Assign{"v", MakeLoadOfBlock("x", 0, 0, ScalarType::kFloat32)}}),
               "has clusters of blocks");
  EXPECT_DEATH(print(OpenClC(), {DeclareLast{"last", "counters", 0, 2}}), "has a last block");
  EXPECT_DEATH(print(GnuC(), {CombineElement{ScalarOp::kAdd, "y", Var("i"), v}}),
               "a loop program for OpenMP C has atomic combinations");
  EXPECT_DEATH(print(GnuC(), {FindKey{"i", "t", 2, v, v}}), "has atomic combinations");
  EXPECT_DEATH(print(OpenClC(), {Assign{"v", MakeShuffleDown(v, 1, 2)}}),
               "a loop program for OpenCL C has values of other threads");
  const Statement copy = {AsyncCopy{"s", 0, "x", 0, {ScalarType::kFloat32, 4}}};
  for (const Statement& statement :
       {copy, Statement{CommitCopies{}}, Statement{WaitForCopies{1}}}) {
    EXPECT_DEATH(print(OpenClC(), statement),
                 "a loop program for OpenCL C has asynchronous copies");
    EXPECT_DEATH(print(GnuC(), statement), "a loop program for OpenMP C has asynchronous copies");
  }
  for (const Statement& statement :
       {Statement{StartBarriers{"s", 2, 1}}, Statement{ArriveAtBarrier{"s", 0, 64}},
        Statement{ArriveAtBarrier{"s", 0, 0, 2}}, Statement{AwaitBarrier{"s", 0, 1}},
        Statement{TensorCopy{"m", {0, 0}, "s", 0, "s", 0}}}) {
    EXPECT_DEATH(print(OpenClC(), statement), "a loop program for OpenCL C has tensor copies");
  }
  EXPECT_DEATH(print(OpenClC(), {Assign{"v", MakeShuffleUp(v, 1, 2)}}),
               "a loop program for OpenCL C has values of other threads");
  EXPECT_DEATH(print(CudaCxx(), {Assign{"v", MakeSplat(v, 4)}}), "has a splat");
  EXPECT_DEATH(
      print(CudaCxx(), {Assign{"v", MakeOperation(ScalarOp::kNeg, ScalarType::kFloat32,
                                                  {MakeNamed("w", {ScalarType::kFloat32, 4})})}}),
      "has an operation on vectors");
}
}  // namespace
}  // namespace mdh::dialect_test
