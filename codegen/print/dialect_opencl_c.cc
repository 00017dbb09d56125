#include "absl/strings/numbers.h"
#include "codegen/print/c_dialect.h"

namespace mdh {
namespace {

constexpr CDialect kOpenClC = {
    .language = Language::kOpenClC,
    .signed_types = {"char", "short", "int", "long"},
    .unsigned_types = {"uchar", "ushort", "uint", "ulong"},
    .signed_literals = {"$0", "$0", "$0", "$0L"},
    .unsigned_literals = {"$0", "$0", "$0U", "$0UL"},
    .int64_minimum = "(-9223372036854775807L - 1)",
    .wide_index = "long",
    .float_suffix = "",
    .float_bits = "as_uint",
    .bits_float = "as_float",
    .widen_half = "return vload_half(0, (const half*)&a);",
    .narrow_half = "ushort r;\n  vstore_half_rte(a, 0, (half*)&r);\n  return r;",
    .table_qualifier = "__constant",
    .spaces = {"__global ", "__local ", ""},
    .shared_array = "__local $0 $1[$2] __attribute__((aligned(16)))",
    .signed_vectors = {"char", "short", "int", "long"},
    .unsigned_vectors = {"uchar", "ushort", "uint", "ulong"},
    .largest_vector_bytes = 128,
    .largest_vector_lanes = 16,
    .native_vector = "($0)($1)",
    .native_lane = ".s$0",
    .vector = "",
    .lane = "",
    .unaligned_load = "vload$0",
    .unaligned_store = "vstore$0",
    .kernel_qualifier = "__kernel __attribute__((reqd_work_group_size($0, $1, $2)))\nvoid ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE)",
    .device_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
    .block_numbers = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)"},
    .thread_numbers = {"get_local_id(0)", "get_local_id(1)", "get_local_id(2)"},
    .atomic_add = "atomic_add",
    .atomic_min = "atomic_min",
    .atomic_max = "atomic_max",
    .atomic_and = "atomic_and",
    .atomic_or = "atomic_or",
    .atomic_xor = "atomic_xor",
    .compare_and_swap = "atomic_cmpxchg",
    .enable_fp64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    .disable_contraction = "#pragma OPENCL FP_CONTRACT OFF\n",
    // The second is an error on devices that cannot round so: whoever compiles leaves it out there.
    .compile_options = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
};

// Of compute capability 8.0 and later.
constexpr absl::string_view kExtreme =
    "  float r;\n"
    "  asm(\"$0.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "  return r;\n";

// That of NVIDIA's compiler: what OpenCL C has no words for, PTX has. Pointers to local memory are
// addresses in that memory.
CDialect WithPtx(CDialect dialect, bool has_extremes, bool adds_vectors) {
  if (has_extremes) dialect.extreme = kExtreme;
  dialect.shuffle_4 =
      "  uint r;\n"
      "  asm volatile(\"shfl.sync.$1.b32 %0, %1, %2, %3, 0xffffffff;\"\n"
      "               : \"=r\"(r) : \"r\"(as_uint(x)), \"r\"(distance), \"r\"($2));\n"
      "  return as_$0(r);\n";
  dialect.shuffle_8 =
      "  const uint2 both = as_uint2(x);\n"
      "  uint2 r;\n"
      "  uint half_of;\n"
      "  asm volatile(\"shfl.sync.$1.b32 %0, %1, %2, %3, 0xffffffff;\"\n"
      "               : \"=r\"(half_of) : \"r\"(both.s0), \"r\"(distance), \"r\"($2));\n"
      "  r.s0 = half_of;\n"
      "  asm volatile(\"shfl.sync.$1.b32 %0, %1, %2, %3, 0xffffffff;\"\n"
      "               : \"=r\"(half_of) : \"r\"(both.s1), \"r\"(distance), \"r\"($2));\n"
      "  r.s1 = half_of;\n"
      "  return as_$0(r);\n";
  dialect.atomic_add_real =
      "  asm volatile(\"red.$3.add.f$1 [%0], %1;\" ::\"l\"(p), \"$2\"(x) : \"memory\");\n";
  dialect.atomic_add_integer =
      "  asm volatile(\"red.$3.add.u$1 [%0], %1;\" ::\"l\"(p), \"$2\"(($0)x) : \"memory\");\n";
  if (adds_vectors) {
    dialect.atomic_add_vectors = "1";
    dialect.atomic_add_vector = CudaCxx().atomic_add_vector;
  }
  dialect.select = CudaCxx().select;
  dialect.async_copy =
      "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], $0;\"\n"
      "               ::\"l\"(to), \"l\"(from) : \"memory\");\n";
  dialect.async_copy_16 =
      "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], $0;\"\n"
      "               ::\"l\"(to), \"l\"(from) : \"memory\");\n";
  dialect.async_copy_if =
      "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], $0, %2;\"\n"
      "               ::\"l\"(to), \"l\"(from), \"r\"(condition ? $0 : 0) : \"memory\");\n";
  dialect.async_copy_16_if =
      "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], $0, %2;\"\n"
      "               ::\"l\"(to), \"l\"(from), \"r\"(condition ? $0 : 0) : \"memory\");\n";
  dialect.commit_copies = CudaCxx().commit_copies;
  dialect.wait_for_copies = CudaCxx().wait_for_copies;
  return dialect;
}

// Of "580.95.05"; 0 where it is not known.
int MajorVersion(absl::string_view version) {
  int major = 0;
  return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) ? major : 0;
}

}  // namespace

const CDialect& OpenClC() { return kOpenClC; }

const CDialect& OpenClCFor(const DeviceDescription& device) {
  static const CDialect with_ptx =
      WithPtx(kOpenClC, /*has_extremes=*/false, /*adds_vectors=*/false);
  static const CDialect with_extremes =
      WithPtx(kOpenClC, /*has_extremes=*/true, /*adds_vectors=*/false);
  static const CDialect with_vector_additions =
      WithPtx(kOpenClC, /*has_extremes=*/true, /*adds_vectors=*/true);
  const int capability = ComputeCapability(device);
  if (capability == 0) return kOpenClC;
  // The first drivers with PTX ISA 8.1; what compiles for OpenCL is the driver.
  constexpr int kFirstDriver = 530;
  const bool adds_vectors = capability >= 90 && MajorVersion(device.compiler) >= kFirstDriver;
  return adds_vectors ? with_vector_additions : capability >= 80 ? with_extremes : with_ptx;
}

}  // namespace mdh
