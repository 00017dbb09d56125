// Constraints of programming models and limits of devices, with their messages.
#include <gtest/gtest.h>

#include "core/decomposition/constraints.h"
#include "tests/core/decomposition/validate_fixture.h"

namespace mdh::validate_limits_test {
namespace {

using ModelTest = ValidateTest;
using LimitsTest = ValidateTest;

TEST_F(ModelTest, DeviceOfTheModel) {
  EXPECT_EQ(Error([](auto& p) { p.system_model = "OpenCL"; }),
            "they are for model OpenCL, not for CUDA");
  device_.kind = DeviceKind::kOpenCl;
  device_.features = FeaturesOf(device_);
  EXPECT_EQ(Error([](auto&) {}),
            "model CUDA is for devices of kind CUDA, the device is of kind OpenCL");
  device_ = {};
  EXPECT_EQ(Error([](auto&) {}),
            "model CUDA is for devices of kind CUDA, the device is of kind CPU");
  device_.cores = 0;
  EXPECT_EQ(Error([](auto&) {}), "device description: cores is 0, not positive");
  device_ = DeviceFor(CudaModel());
  const Status status = Validate(expression_, OpenMpModel(), device_, [] {
    TuningParameters p;
    p.system_model = "OpenMP";
    return p;
  }());
  EXPECT_EQ(ErrorMessage(status),
            "tuning parameters: model OpenMP is for devices of kind CPU, the device is of kind "
            "CUDA");
}

TEST_F(ModelTest, BlocksCombineInDeviceMemory) {
  EXPECT_EQ(ErrorOf(AlongK("CUDA", false, "0,0,0|0,0,0|0,0,0|2,2,2|2,2,2")), "no error");
  EXPECT_EQ(ErrorOf(AlongK("CUDA", false, "0,0,1|1,1,1|1,1,1|2,2,2|2,2,2")),
            "BLK combine in DM (R3, appendix C.1): 4 parts of level (1,3) along reduced dimension "
            "k combine in SM");
}

TEST_F(ModelTest, ThreadsCombineInSharedMemoryOrByShuffles) {
  EXPECT_EQ(ErrorOf(AlongK("CUDA", true, "0,0,0|0,0,0|0,0,1|2,2,2|2,2,2")), "no error");
  EXPECT_EQ(ErrorOf(AlongK("CUDA", true, "0,0,0|0,0,0|0,0,2|2,2,2|2,2,2")),
            "shuffles (R3) over level (3,3): threads along z are not those along x");
  device_ = DeviceFor(OpenClModel());
  EXPECT_EQ(ErrorOf(AlongK("OpenCL", true, "0,0,0|0,0,0|0,0,1|2,2,2|2,2,2")), "no error");
  EXPECT_EQ(ErrorOf(AlongK("OpenCL", true, "0,0,0|0,0,0|0,0,2|2,2,2|2,2,2")),
            "WI combine in GM/LM (R3, appendix C.1): 4 parts of level (3,3) along reduced "
            "dimension k combine in PM");
}

// Threads along k are along x, those along j along y.
std::string Shuffled(int k, int k_threads, int j_threads) {
  return absl::StrCat("model=CUDA; parts=4,1,1|1,1,1|1,", j_threads, ",", k_threads, "|16,1,1|1,",
                      64 / j_threads, ",", k / k_threads,
                      "; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "assign=(1,1)(1,2)(1,3)|(2,1)(2,2)(2,3)|(3,3)(3,2)(3,1)|(4,1)(4,2)(4,3)|"
                      "(5,1)(5,2)(5,3); inputs=in_place:0,1:-1|in_place:0,1:-1; "
                      "results=0,0,0|0,0,0|0,0,2|2,2,2|2,2,2");
}

TEST_F(ModelTest, ShufflesStayWithinWarps) {
  expression_ = MatMul(64, 64, 40);
  EXPECT_EQ(ErrorOf(Shuffled(40, 8, 16)), "no error");
  EXPECT_EQ(ErrorOf(Shuffled(40, 5, 32)),
            "shuffles (R3) over level (3,3): 5 parts are no power of two <= 32, the warp size");
  EXPECT_EQ(ErrorOf(Shuffled(40, 8, 2)),
            "shuffles (R3) over level (3,3): 16 threads per block are no multiple of 32, the warp "
            "size");
  expression_ = MatMul(64, 64, 64);
  EXPECT_EQ(ErrorOf(Shuffled(64, 64, 1)),
            "shuffles (R3) over level (3,3): 64 parts are no power of two <= 32, the warp size");
  device_.blocks.warp_size = 1;
  device_.features = FeaturesOf(device_);
  EXPECT_EQ(ErrorOf(Shuffled(64, 8, 16)),
            "THR combine in DM/SM (R3, appendix C.1): 8 parts of level (3,3) along reduced "
            "dimension k combine in RM");
}

// 16 x 16 threads.
TEST_F(ModelTest, TilesOfLanesDivideWarpsAndThreads) {
  const auto error = [&](std::vector<int64_t> lanes) {
    return Error([&](auto& p) { p.lanes = lanes; });
  };
  EXPECT_EQ(error({8, 4, 1}), "no error");
  EXPECT_EQ(error({1, 2, 1}), "no error");
  EXPECT_EQ(error({8, 4}), "lanes=8x4: threads have 3 dimensions, not 2");
  EXPECT_EQ(error({8, 8, 1}), "lanes=8x8x1: such a tile does not divide 32, the warp size");
  EXPECT_EQ(error({3, 4, 1}), "lanes=3x4x1: such a tile does not divide 32, the warp size");
  EXPECT_EQ(error({0, 4, 1}), "lanes=0x4x1: such a tile does not divide 32, the warp size");
  EXPECT_EQ(error({32, 1, 1}), "lanes=32x1x1: 32 do not divide 16 threads along x");
  EXPECT_EQ(error({8, 1, 2}), "lanes=8x1x2: 2 do not divide 1 threads along z");
  EXPECT_EQ(Error([](auto& p) {
              p.lanes = {8, 4, 1};
              p.scalar_phase = p.phase;
              std::swap(p.scalar_phase->order[0], p.scalar_phase->order[1]);
            }),
            "lanes=8x4x1: phases are set apart");
  device_.blocks.warp_size = 1;
  device_.features = FeaturesOf(device_);
  EXPECT_EQ(error({8, 4, 1}), "lanes=8x4x1: such a tile does not divide 1, the warp size");
}

TEST_F(ModelTest, ThreadsThatShuffleAreInOneTileOfLanes) {
  expression_ = MatMul(64, 64, 40);
  EXPECT_EQ(ErrorOf(Shuffled(40, 8, 16) + "; lanes=8x4x1"), "no error");
  EXPECT_EQ(ErrorOf(Shuffled(40, 8, 16) + "; lanes=4x8x1"),
            "lanes=4x8x1: 8 threads along x shuffle (R3), but 4 are in a tile");
}

std::string Warps(int k_warps, int k_threads, int j_threads, const std::string& results) {
  return absl::StrCat("model=CUDA+WRP; parts=4,1,1|1,1,1|4,1,", k_warps, "|1,1,1|1,", j_threads,
                      ",", k_threads, "|4,", 64 / j_threads, ",", 64 / k_warps / k_threads,
                      "; order=0,1,2|0,1,2|0,1,2|0,1,2|2,0,1|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; results=",
                      results);
}

TEST_F(ModelTest, WarpsCombineInSharedMemory) {
  expression_ = MatMul(64, 64, 64);
  EXPECT_EQ(ErrorOf(Warps(2, 4, 8, "0,0,0|0,0,0|0,0,1|1,1,1|2,2,2|2,2,2")), "no error");
  EXPECT_EQ(ErrorOf(Warps(2, 4, 8, "0,0,0|0,0,0|0,0,2|2,2,2|2,2,2|2,2,2")),
            "WRP combine in DM/SM (R3, appendix C.1): 2 parts of level (3,3) along reduced "
            "dimension k combine in RM");
  EXPECT_EQ(ErrorOf(Warps(1, 4, 16, "0,0,0|0,0,0|0,0,1|1,1,1|2,2,2|2,2,2")),
            "threads of a warp: 64 > 32");
}

TEST_F(ModelTest, WarpsOfTheModelAreNotTiled) {
  expression_ = MatMul(64, 64, 64);
  const std::string results = "0,0,0|0,0,0|0,0,1|2,2,2|2,2,2|2,2,2";
  EXPECT_EQ(ErrorOf(Warps(2, 4, 8, results) + "; lanes=4x8x1"),
            "lanes=4x8x1: model CUDA+WRP has a layer of warps");
}

TEST_F(ModelTest, DevicesCombineInHostMemory) {
  const auto gpus = [&](const std::string& first) {
    return ErrorOf(
        "model=Multi-GPU; parts=1,1,2|1,1,1|4,3,1|1,1,1|16,16,1|1,1,20|1,1,1; "
        "order=2,0,1|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
        "inputs=in_place:0,1:-1|in_place:0,1:-1; results=" +
        first + "|1,1,1|1,1,1|1,1,1|1,1,1|3,3,3|3,3,3");
  };
  EXPECT_EQ(gpus("1,1,0"), "no error");
  EXPECT_EQ(gpus("1,1,1"),
            "GPU combine in HM (R3, appendix C.1): 2 parts of level (1,3) along reduced dimension "
            "k combine in DM");
}

TEST_F(ModelTest, EmptyPartsNeedAnIdentityOrSayThatTheyAre) {
  expression_ = *ParseExpression(
      "last := out_view<int32>( C: (i,k) -> (i) ) o md_hom<16,10>( f, (++, keep) ) o "
      "inp_view<int32>( A: (i,k) -> (i,k) ) where f(a) -> c { c = a }, "
      "keep(l, r) -> c { c = l < r ? r : l }");
  const auto needs_presence = [&](const std::string& parts, const std::string& results) {
    const std::string text =
        "model=CUDA; parts=" + parts +
        "; order=0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1; results=" + results;
    EXPECT_EQ(ErrorOf(text), "no error") << parts;
    const SystemModel model = CudaModel();
    return NestShape(expression_, model, parameters_).NeedsPresence();
  };
  const std::string inside = "0,0|0,0|0,1|1,1|1,1", outside = "0,0|1,1|1,1|1,1|1,1";
  // Threads of 3 points each, of which the last one begins at 9.
  EXPECT_FALSE(needs_presence("1,1|1,1|16,4|1,1|1,3", inside));
  // Of the last block, which begins at 8, the last two begin beyond the end.
  EXPECT_TRUE(needs_presence("1,3|1,1|16,4|1,1|1,1", inside));
  // The same in the last iteration of a loop, unless all iterations have results in common.
  EXPECT_TRUE(needs_presence("1,1|1,3|16,4|1,1|1,1", inside));
  EXPECT_FALSE(needs_presence("1,1|1,3|16,4|1,1|1,1", outside));
}

TEST_F(ModelTest, ModelsNeedCores) {
  const SystemModel model{
      "memory", {{"DEV", LayerRole::kMemory, "DM"}}, MemoryKind::kExplicit, {}, DeviceKind::kCuda};
  TuningParameters p;
  p.system_model = "memory";
  p.tile = {{1, 1, 1}};
  p.phase.order = {{0, 0}, {0, 1}, {0, 2}};
  p.inputs.resize(2);
  EXPECT_EQ(ErrorMessage(Validate(expression_, model, device_, p)),
            "tuning parameters: model memory has no layer of cores");
}

TEST_F(LimitsTest, CodeLevel) {
  EXPECT_EQ(Error([](auto& p) { p.unroll = 0; }), "unroll: 0 is not in 1..4096");
  EXPECT_EQ(Error([](auto& p) { p.unroll = 4097; }), "unroll: 4097 is not in 1..4096");
  EXPECT_EQ(Error([](auto& p) { p.independent_accumulators = true; }),
            "chains=independent is for register tiles");
  EXPECT_EQ(Error([](auto& p) { p.streams_results = true; }),
            "stores=streaming is for register tiles");
  EXPECT_EQ(Error([](auto& p) { p.prefetch = 4; }), "prefetch=4 is for register tiles");
  EXPECT_EQ(Error([](auto& p) { p.remainder = Remainder::kVectors; }),
            "remainder=vectors is for register tiles");
  EXPECT_EQ(ErrorOf("model=CUDA; parts=1,1,1|1,1,40|1,1,1|1,1,1|64,48,1; "
                    "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                    "inputs=in_place:0,1:-1|in_place:0,1:-1"),
            "operations of the loops on layer REG, which are unrolled: 12288 > 6000");
  // The levels that a phase of its own puts on REG count, too.
  EXPECT_EQ(ErrorOf("model=CUDA; parts=1,1,1|64,48,1|1,1,1|1,1,1|1,1,40; "
                    "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                    "scalar_order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                    "scalar_assign=(1,1)(1,2)(1,3)|(5,1)(5,2)(5,3)|(3,1)(3,2)(3,3)|"
                    "(4,1)(4,2)(4,3)|(2,1)(2,2)(2,3); inputs=in_place:0,1:-1|in_place:0,1:-1"),
            "operations of the loops on layer REG, which are unrolled: 12288 > 6000");
}

// One that compares and selects several times is most of what is unrolled.
TEST_F(LimitsTest, OperationsOfTheOperatorAreUnrolledToo) {
  const std::string parts =
      "model=CUDA; parts=1,1|1,1|1,1|1,1|64,40; order=0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1";
  const auto with = [](const std::string& operation, const std::string& where) {
    return *ParseExpression(absl::StrCat(
        "most := out_view<int32>( C: (i,k) -> (i) ) o md_hom<64,40>( f, (++, ", operation,
        ") ) o inp_view<int32>( A: (i,k) -> (i,k) ) where f(a) -> c { c = a }", where));
  };
  expression_ = with("max", "");
  EXPECT_EQ(OperationsOfPoint(expression_), 2);
  EXPECT_EQ(ErrorOf(parts), "no error");
  expression_ =
      with("g", ", g(l, r) -> c { c = l * l < r * r || l * l == r * r && l < r ? r : l }");
  EXPECT_EQ(OperationsOfPoint(expression_), 9);
  EXPECT_EQ(ErrorOf(parts),
            "operations of the loops on layer REG, which are unrolled: 23040 > 6000");
}

// What is wrong with prefix sums over a decomposition of one dimension.
std::string ScanError(const SystemModel& model, const std::string& scan,
                      const std::string& more = "", const std::string& type = "fp32",
                      const std::string& tile = "64|64|1|1|1") {
  const auto expression = ParseExpression(absl::StrCat(
      "s := out_view<", type, ">( y: (i) -> (i) ) o md_hom<4096>( f, (ps(+)) ) o inp_view<", type,
      ">( x: (i) -> (i) ) where f(x) -> y { y = x }"));
  const auto p = ParseTuningParameters(
      absl::StrCat("model=", model.name, "; tile=", tile,
                   "; order=0|0|0|0|0; inputs=in_place:0:-1; scan=", scan, more));
  EXPECT_TRUE(expression.ok() && p.ok()) << expression.status() << p.status();
  DeviceDescription device = DeviceFor(model);
  if (device.kind == DeviceKind::kOpenCl) device.blocks.shared_bytes_per_block = 48 << 10;
  return ErrorMessage(Validate(*expression, model, device, *p));
}

TEST_F(LimitsTest, Scans) {
  const std::string prefix = "tuning parameters: ";
  EXPECT_EQ(Error([](auto& p) { p.scan = {256, 4, 4}; }), "scan: there are no prefix sums");
  const SystemModel cuda = CudaModel(), opencl = OpenClModel();
  EXPECT_EQ(ScanError(cuda, "256:4:4"), "no error");
  EXPECT_EQ(ScanError(opencl, "256:4:4"), "no error");
  EXPECT_EQ(ScanError(cuda, "96:4:4"),
            prefix + "scan: threads, rounds and run are powers of two, not 96");
  EXPECT_EQ(ScanError(cuda, "256:0:4"),
            prefix + "scan: threads, rounds and run are powers of two, not 0");
  EXPECT_EQ(ScanError(cuda, "0:2:1"),
            prefix + "scan: threads, rounds and run are powers of two, not 0");
  EXPECT_EQ(ScanError(cuda, "16:4:4"), prefix + "scan: 16 threads are fewer than 32");
  EXPECT_EQ(ScanError(cuda, "2048:1:1"), prefix + "scan: threads of a block: 2048 > 1024");
  EXPECT_EQ(ScanError(cuda, "32:16:8"), prefix + "scan: points of a thread: 128 > 64");
  EXPECT_EQ(ScanError(cuda, "32:8:8", "", "fp64"),
            prefix + "scan: registers of a thread, in words of 32 bits: 256 > 255");
  EXPECT_EQ(ScanError(cuda, "1024:8:8"),
            prefix + "scan: registers of a block, in words of 32 bits: 131072 > 65536");
  EXPECT_EQ(ScanError(opencl, "512:8:8"),
            prefix + "scan: bytes of shared memory of a block: 137216 > 49152");
  EXPECT_EQ(ScanError(cuda, "256:4:4; numerics=exact", "", "fp32", "4096|1|1|1|1"),
            prefix + "scan: numerics=exact fixes the order in which values combine");
  EXPECT_EQ(ScanError(cuda, "256:4:4",
                      "; recompose_order=0|0|0|0|0; "
                      "recompose_assign=(3,1)|(2,1)|(1,1)|(4,1)|(5,1)"),
            prefix + "scan: phases are set apart");
}

// What is wrong with tables of keys for elements of one type and results of another.
std::string KeyedError(const SystemModel& model, const std::string& keyed,
                       const std::string& type = "int32", const std::string& key = "int32",
                       const std::string& more = "") {
  const auto expression = ParseExpression(absl::StrCat(
      "h := out_view<", type, ">( y: (e,k) -> (k) ) o md_hom<4096,100>( f, (+, ++) ) o inp_view<",
      key, ",", key, ",", type, ">( x: (e,k) -> (e), b: (e,k) -> (k), w: (e,k) -> (e) ) ",
      "where f(x, b, w) -> y { y = x == b ? w : 0 }"));
  const auto p = ParseTuningParameters(
      absl::StrCat("model=", model.name,
                   "; tile=4096,100|1,1|1,1|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
                   "inputs=in_place:0:-1|in_place:0:-1|in_place:0:-1; keyed=",
                   keyed, more));
  EXPECT_TRUE(expression.ok() && p.ok()) << expression.status() << p.status();
  DeviceDescription device = DeviceFor(model);
  device.blocks.shared_bytes_per_block = 16 << 10;
  return ErrorMessage(Validate(*expression, model, device, *p));
}

TEST_F(LimitsTest, TablesOfKeys) {
  const std::string prefix = "tuning parameters: ";
  EXPECT_EQ(Error([](auto& p) {
              p.keyed = {256, 1, 1, 1, 1};
            }),
            "keyed: result c is no choice between a value and 0, the identity of +");
  const SystemModel cuda = CudaModel(), opencl = OpenClModel();
  EXPECT_EQ(KeyedError(cuda, "256:2:4:1:1"), "no error");
  EXPECT_EQ(KeyedError(opencl, "256:2:4:1:1"), "no error");
  EXPECT_EQ(KeyedError(cuda, "256:1:1:1:1", "fp64", "int64"), "no error");
  const std::string powers = "keyed: threads, rounds, run and copies are powers of two, not ";
  EXPECT_EQ(KeyedError(cuda, "96:1:1:1:1"), prefix + powers + "96");
  EXPECT_EQ(KeyedError(cuda, "64:1:3:1:1"), prefix + powers + "3");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:0"), prefix + powers + "0");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:0:1"), prefix + "keyed: parts of 0 tiles");
  EXPECT_EQ(KeyedError(cuda, "64:16:8:1:1"), prefix + "keyed: elements of a thread: 128 > 64");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:2000000:1"),
            prefix + "keyed: tiles of a part: 2000000 > 1048576");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:64"), prefix + "keyed: copies of results: 64 > 32");
  EXPECT_EQ(KeyedError(cuda, "2048:1:1:1:1"), prefix + "keyed: threads of a block: 2048 > 1024");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:16"),
            prefix + "keyed: bytes of shared memory of a block: 17408 > 16384");
}

TEST_F(LimitsTest, TablesOfKeysNeedAtomics) {
  const std::string prefix = "tuning parameters: ";
  const SystemModel cuda = CudaModel(), opencl = OpenClModel();
  EXPECT_EQ(
      KeyedError(cuda, "64:1:1:1:1", "int16"),
      prefix + "keyed: result y is of type int16, which the device does not combine atomically");
  EXPECT_EQ(
      KeyedError(opencl, "64:1:1:1:1", "fp64"),
      prefix + "keyed: result y is of type fp64, which the device does not combine atomically");
  EXPECT_EQ(KeyedError(opencl, "64:1:1:1:1", "int32", "int64"),
            prefix + "keyed: the device compares no keys of type int64 atomically");
  EXPECT_EQ(KeyedError(opencl, "64:1:1:1:1", "int32", "uint8"), "no error");
  const std::string exact = "; results=0,0|2,2|2,2|2,2|2,2; numerics=exact";
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:1", "fp32", "int32", exact),
            prefix + "keyed: numerics=exact fixes the order in which values combine");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:1", "int32", "int32", exact), "no error");
  EXPECT_EQ(KeyedError(cuda, "64:1:1:1:1", "int32", "int32",
                       "; recompose_order=0,1|0,1|0,1|0,1|0,1; recompose_assign="
                       "(3,1)(1,2)|(2,1)(2,2)|(1,1)(3,2)|(4,1)(4,2)|(5,1)(5,2)"),
            prefix + "keyed: phases are set apart");
}

TEST_F(LimitsTest, TablesOfKeysCombineWhatTheyStore) {
  expression_ = *ParseExpression(
      "h := out_view<fp16>( y: (e,k) -> (k) ) o md_hom<64,8>( f, (+, ++) ) o "
      "inp_view<int32,int32>( "
      "x: (e,k) -> (e), b: (e,k) -> (k) ) where f(x, b) -> y: fp32 { y = x == b ? 1 : 0 }");
  EXPECT_EQ(ErrorOf("model=CUDA; parts=1,1|64,8|1,1|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
                    "inputs=in_place:0:-1|in_place:0:-1; keyed=64:1:1:1:1"),
            "keyed: result y is combined as fp32 and stored as fp16");
}

TEST_F(LimitsTest, BlocksAndGrids) {
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,40|64,48,1|1,1,1|1,1,1")),
            "threads per block (0: number of CCs, Table 2): 3072 > 1024");
  expression_ = MatMul(2, 2, 128);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "2,2,1|1,1,1|1,1,128|1,1,1|1,1,1")),
            "threads per block along z: 128 > 64");
  expression_ = MatMul(1, 70000, 1);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,70000,1|1,1,1|1,1,1|1,1,1|1,1,1")),
            "blocks of the grid along y: 70000 > 65535");
  expression_ = MatMul(64, 48, 40);
  device_ = DeviceFor(OpenClModel());
  EXPECT_EQ(ErrorOf(Plain("OpenCL", "1,1,1|1,1,40|64,48,1|1,1,1|1,1,1")),
            "threads per block (0: number of PEs, Table 4): 3072 > 1024");
}

TEST_F(LimitsTest, PhasesOfTheirOwn) {
  const auto along_z = [](const std::string& phase) {  // the loop along k inside as threads
    return absl::StrCat(kParameters, "; ", phase, "_order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; ", phase,
                        "_assign=(1,1)(1,2)(1,3)|(2,1)(2,2)(2,3)|(3,1)(3,2)(4,3)|"
                        "(4,1)(4,2)(3,3)|(5,1)(5,2)(5,3)");
  };
  EXPECT_EQ(ErrorOf(kParameters), "no error");
  EXPECT_EQ(ErrorOf(along_z("scalar")),
            "threads per block (0: number of CCs, Table 2): 2048 > 1024");
  EXPECT_EQ(ErrorOf(along_z("recompose")),
            "memory regions of C (R3): DM at level (3,1) inside of RM at level (2,3), regions must "
            "get faster inwards");
  EXPECT_EQ(Error([](auto& p) { p.outputs.clear(); }),
            "threads per block (0: number of CCs, Table 2): 2048 > 1024");
}

TEST_F(LimitsTest, NumbersOfParts) {
  expression_ = MatMul(int64_t{1} << 19, int64_t{1} << 19, int64_t{1} << 19);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "524288,524288,1|1,1,524288|1,1,1|1,1,1|1,1,1")),
            "parts of all levels together (0): 144115188075855872 > 72057594037927936");
}

TEST_F(LimitsTest, SharedMemory) {
  expression_ = MatMul(65536, 16, 32768);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,1|1,16,1|65536,1,32768|1,1,1",
                          "; memory=0,0,0|0,0,0|0,0,0|1,1,1|1,1,1/")),
            "elements of the copy of A (D3): 2147483648 > 1073741824");
  expression_ = MatMul(16, 16, 8192);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,1|16,16,1|1,1,8192|1,1,1",
                          "; memory=0,0,0|0,0,0|0,0,0|1,1,1|1,1,1/"
                          "0,0,0|0,0,0|0,0,0|1,1,1|1,1,1")),
            "bytes of shared memory of a block (D3, R3): 1048576 > 166912");
}

TEST_F(LimitsTest, Registers) {
  const std::string results = "; results=0,0,0|0,0,0|0,0,0|2,2,2|2,2,2";
  expression_ = MatMul(64, 64, 8);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,1|4,4,1|1,1,8|16,16,1", results)),
            "registers of a thread (D3, R3), in words of 32 bits: 256 > 255");
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,1|4,16,1|1,1,8|16,4,1",
                          results + "; memory=0,0,0|0,0,0|0,0,0|2,2,2|2,2,2/"
                                    "0,0,0|0,0,0|0,0,0|2,2,2|2,2,2")),
            "no error");  // 16 * 4 results, 16 * 8 elements of A, 8 * 4 of B: 224
  expression_ = MatMul(256, 288, 8);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "1,1,1|1,1,1|32,32,1|1,1,8|8,9,1", results)),
            "registers of a block (D3, R3), in words of 32 bits: 73728 > 65536");
  device_ = DeviceFor(OpenClModel());
  expression_ = MatMul(65, 64, 8);
  EXPECT_EQ(ErrorOf(Plain("OpenCL", "1,1,1|1,1,1|1,1,1|65,64,8|1,1,1", results)),
            "registers of a thread (D3, R3), in words of 32 bits: 4160 > 4096");
}

// 256 threads; copies of A and B take 1024 bytes.
TEST_F(LimitsTest, ResidentBlocks) {
  const auto error = [&](int blocks) {
    return Error([&](auto& p) { p.resident_blocks = blocks; });
  };
  EXPECT_EQ(error(1), "no error");
  EXPECT_EQ(error(8), "no error");
  EXPECT_EQ(error(-1), "resident: -1 is not in 0..32");
  EXPECT_EQ(error(33), "resident: 33 is not in 0..32");
  EXPECT_EQ(error(9),
            "registers of a thread with resident=9 and 256 threads per block, of which it needs: "
            "32 > 24");
  device_.blocks.shared_bytes_per_block = 2048;
  EXPECT_EQ(error(1), "no error");
  EXPECT_EQ(error(2), "bytes of shared memory of a multiprocessor with resident=2: 4096 > 3072");
  // Results that a thread keeps must fit.
  device_ = DeviceFor(CudaModel());
  expression_ = MatMul(64, 64, 8);
  parameters_ = Parsed(
      Plain("CUDA", "1,1,1|1,1,1|8,8,1|1,1,8|8,8,1", "; results=0,0,0|0,0,0|0,0,0|2,2,2|2,2,2"),
      expression_);
  EXPECT_EQ(error(16), "no error");
  EXPECT_EQ(error(17),
            "registers of a thread with resident=17 and 64 threads per block, of which it needs: "
            "64 > 56");
  device_ = DeviceFor(OpenClModel());
  parameters_.system_model = "OpenCL";
  EXPECT_EQ(error(1),
            "resident=1: compilers for devices of kind OpenCL cannot be told how many blocks are "
            "resident");
}

TEST_F(LimitsTest, DeviceMemory) {
  device_.blocks.shared_bytes_per_block = 16384;
  device_.blocks.memory_bytes = 30208;
  EXPECT_EQ(ErrorOf(kParameters), "no error");
  device_.blocks.memory_bytes = 30000;
  EXPECT_EQ(ErrorOf(kParameters),
            "bytes of device memory, with buffers and scratch: 30208 > 30000");
  device_ = DeviceFor(CudaModel());
  expression_ = MatMul(8192, 8192, 64);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "512,512,8|1,1,1|16,16,1|1,1,8|1,1,1")),
            "bytes of partial results and of MDAs between phases: 2147483648 > 1073741824");
  expression_ = MatMul(1024, 1024, 512);
  EXPECT_EQ(ErrorOf(Plain("CUDA", "64,64,1|1,1,1|16,16,1|1,1,512|1,1,1",
                          "; recompose_order=1,0,2|0,1,2|0,1,2|0,1,2|0,1,2")),
            "bytes of partial results and of MDAs between phases: 2147483648 > 1073741824");
  EXPECT_EQ(ErrorOf(Plain("CUDA", "64,64,1|1,1,1|16,16,1|1,1,512|1,1,1",
                          "; scalar_order=1,0,2|0,1,2|0,1,2|0,1,2|0,1,2")),
            "bytes of partial results and of MDAs between phases: 6442450944 > 1073741824");
}

}  // namespace
}  // namespace mdh::validate_limits_test
