#include "codegen/print/c_dialect.h"

#include <bit>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace mdh {
namespace {

// PTX, in CUDA C++ and in the OpenCL C of NVIDIA's compiler.
constexpr absl::string_view kAddVector =
    "  asm volatile(\"red.global.add.v$0.f32 [%0], {$1};\" ::\"l\"(p), $2 : \"memory\");\n";
// Of compute capability 8.0 and later.
constexpr absl::string_view kExtreme =
    "  float r;\n"
    "  asm(\"$0.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "  return r;\n";
constexpr absl::string_view kExtremeOrSelection =
    "#if __CUDA_ARCH__ >= 800\n"
    "  float r;\n"
    "  asm(\"$0.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "  return r;\n"
    "#else\n"
    "  return a != a || b != b ? a + b : f$0f(a, b);\n"
    "#endif\n";
constexpr absl::string_view kCommitCopies =
    "  asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n";
constexpr absl::string_view kWaitForCopies =
    "  asm volatile(\"cp.async.wait_group $0;\" ::: \"memory\");\n";

constexpr CDialect kGnuC = {
    .language = "OpenMP C",
    .signed_types = {"int8_t", "int16_t", "int32_t", "int64_t"},
    .unsigned_types = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
    .signed_literals = {"$0", "$0", "$0", "INT64_C($0)"},
    .unsigned_literals = {"UINT8_C($0)", "UINT16_C($0)", "UINT32_C($0)", "UINT64_C($0)"},
    .int32_minimum = "-2147483648",
    .int64_minimum = "INT64_MIN",
    .nan = {"__builtin_nanf(\"\")", "__builtin_nan(\"\")"},
    .infinity = {"__builtin_inff()", "__builtin_inf()"},
    .narrow_index = "int64_t",
    .wide_index = "int64_t",
    .computes_with_vectors = true,
    .signed_wraps = true,
    .keep_wide = "",
    .hide_origin = "",
    .float_suffix = "f",
    .round_function = "nearbyint",
    .extreme_of_numbers = "",
    .extreme = "",
    .float_bits = "",
    .bits_float = "",
    .widen_half = "",
    .narrow_half = "",
    .function_qualifier = "static inline",
    .table_qualifier = "static const",
    .spaces = {"", "", ""},
    .parameter_restrict = " restrict",
    .pointer_restrict = " restrict",
    .shared_array = "",
    .private_array = "$0 $1[$2] __attribute__((aligned(64)))",
    .unroll = "#pragma GCC unroll $0",
    .unroll_by = "#pragma GCC unroll $0",
    .signed_vectors = {},
    .unsigned_vectors = {},
    .largest_vector_bytes = 0,
    .largest_vector_lanes = 0,
    .native_vector = "",
    .native_lane = "",
    .define_vector =
        "typedef $1 $0 __attribute__((vector_size($3)));\n"
        "typedef $1 $0_unaligned __attribute__((vector_size($3), aligned($4), may_alias));\n",
    .vector = "($0){$1}",
    .lane = "[$0]",
    .unaligned_load = "",
    .unaligned_store = "",
    .kernel_qualifier = "",
    .resident_blocks = "",
    .barrier = "",
    .block_numbers = {},
    .thread_numbers = {},
    .streaming_store = "",
    .shuffle_down = "",
    .shuffle_up = "",
    .shuffle_4 = "",
    .shuffle_8 = "",
    .atomic_add_real = "",
    .atomic_add_integer = "",
    .atomic_add_vectors = "",
    .atomic_add_vector = "",
    .atomic_add = "",
    .atomic_min = "",
    .atomic_max = "",
    .atomic_and = "",
    .atomic_or = "",
    .atomic_xor = "",
    .compare_and_swap = "",
    .async_copy = "",
    .async_copy_16 = "",
    .commit_copies = "",
    .wait_for_copies = "",
    .cluster = "",
    .load_of_block = "",
    .cluster_barrier = "",
    .is_last = "",
    .wait_for_stages = "",
    .admit_next_stage = "",
    .static_shared_bytes = 0,
    .enable_fp64 = "",
    .disable_contraction = "",
};

constexpr CDialect kOpenClC = {
    .language = "OpenCL C",
    .signed_types = {"char", "short", "int", "long"},
    .unsigned_types = {"uchar", "ushort", "uint", "ulong"},
    .signed_literals = {"$0", "$0", "$0", "$0L"},
    .unsigned_literals = {"$0", "$0", "$0U", "$0UL"},
    .int32_minimum = "(-2147483647 - 1)",
    .int64_minimum = "(-9223372036854775807L - 1)",
    .nan = {"(0.0f / 0.0f)", "(0.0 / 0.0)"},
    .infinity = {"(1.0f / 0.0f)", "(1.0 / 0.0)"},
    .narrow_index = "int",
    .wide_index = "long",
    .computes_with_vectors = false,
    .signed_wraps = false,
    .keep_wide = "",
    .hide_origin = "",
    .float_suffix = "",
    .round_function = "rint",
    .extreme_of_numbers = "",
    .extreme = "",
    .float_bits = "as_uint",
    .bits_float = "as_float",
    .widen_half = "return vload_half(0, (const half*)&a);",
    .narrow_half = "ushort r;\n  vstore_half_rte(a, 0, (half*)&r);\n  return r;",
    .function_qualifier = "static inline",
    .table_qualifier = "__constant",
    .spaces = {"__global ", "__local ", ""},
    .parameter_restrict = " restrict",
    .pointer_restrict = "",
    .shared_array = "__local $0 $1[$2] __attribute__((aligned(16)))",
    .private_array = "$0 $1[$2]",
    .unroll = "#pragma unroll",
    .unroll_by = "#pragma unroll $0",
    .signed_vectors = {"char", "short", "int", "long"},
    .unsigned_vectors = {"uchar", "ushort", "uint", "ulong"},
    .largest_vector_bytes = 128,
    .largest_vector_lanes = 16,
    .native_vector = "($0)($1)",
    .native_lane = ".s$0",
    .define_vector = "",
    .vector = "",
    .lane = "",
    .unaligned_load = "vload$0",
    .unaligned_store = "vstore$0",
    .kernel_qualifier = "__kernel __attribute__((reqd_work_group_size($0, $1, $2)))\nvoid ",
    .resident_blocks = "",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE)",
    .block_numbers = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)"},
    .thread_numbers = {"get_local_id(0)", "get_local_id(1)", "get_local_id(2)"},
    .streaming_store = "",
    .shuffle_down = "",
    .shuffle_up = "",
    .shuffle_4 = "",
    .shuffle_8 = "",
    .atomic_add_real = "",
    .atomic_add_integer = "",
    .atomic_add_vectors = "",
    .atomic_add_vector = "",
    .atomic_add = "atomic_add",
    .atomic_min = "atomic_min",
    .atomic_max = "atomic_max",
    .atomic_and = "atomic_and",
    .atomic_or = "atomic_or",
    .atomic_xor = "atomic_xor",
    .compare_and_swap = "atomic_cmpxchg",
    .async_copy = "",
    .async_copy_16 = "",
    .commit_copies = "",
    .wait_for_copies = "",
    .cluster = "",
    .load_of_block = "",
    .cluster_barrier = "",
    .is_last = "",
    .wait_for_stages = "",
    .admit_next_stage = "",
    .static_shared_bytes = 0,
    .enable_fp64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    .disable_contraction = "#pragma OPENCL FP_CONTRACT OFF\n",
};

constexpr CDialect kCudaCxx = {
    .language = "CUDA C++",
    .signed_types = {"signed char", "short", "int", "long long"},
    .unsigned_types = {"unsigned char", "unsigned short", "unsigned int", "unsigned long long"},
    .signed_literals = {"$0", "$0", "$0", "$0LL"},
    .unsigned_literals = {"$0", "$0", "$0U", "$0ULL"},
    .int32_minimum = "(-2147483647 - 1)",
    .int64_minimum = "(-9223372036854775807LL - 1)",
    .nan = {"(0.0f / 0.0f)", "(0.0 / 0.0)"},
    .infinity = {"(1.0f / 0.0f)", "(1.0 / 0.0)"},
    .narrow_index = "int",
    .wide_index = "long long",
    .computes_with_vectors = false,
    .signed_wraps = false,
    .keep_wide = "asm(\"\" : \"+r\"($0));",
    .hide_origin = "asm(\"prmt.b32 %0, %0, 0, 0x3210;\" : \"+r\"($0));",
    .float_suffix = "f",
    .round_function = "rint",
    .extreme_of_numbers = "f$0$1(a, b)",
    .extreme = kExtremeOrSelection,
    .float_bits = "__float_as_uint",
    .bits_float = "__uint_as_float",
    .widen_half = "float r;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));\n  return r;",
    .narrow_half =
        "unsigned short r;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n  return r;",
    .function_qualifier = "static __device__ inline",
    .table_qualifier = "static __device__ const",
    .spaces = {"", "", ""},
    .parameter_restrict = " __restrict__",
    .pointer_restrict = "",
    .shared_array = "__shared__ __align__(16) $0 $1[$2]",
    .private_array = "$0 $1[$2]",
    .unroll = "#pragma unroll",
    .unroll_by = "#pragma unroll $0",
    .signed_vectors = {"char", "short", "int", "longlong"},
    .unsigned_vectors = {"uchar", "ushort", "uint", "ulonglong"},
    .largest_vector_bytes = 16,
    .largest_vector_lanes = 4,
    .native_vector = "make_$0($1)",
    .native_lane = ".$1",
    .define_vector = "struct __align__($5) $0 {\n  $1 s[$2];\n};\n",
    .vector = "$0{{$1}}",
    .lane = ".s[$0]",
    .unaligned_load = "",
    .unaligned_store = "",
    .kernel_qualifier = "extern \"C\" __global__ void$5 __launch_bounds__($3$4)\n",
    .resident_blocks = ", $0",
    .barrier = "__syncthreads()",
    .block_numbers = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
    .thread_numbers = {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
    .streaming_store = "__stcs($0, $1)",
    .shuffle_down = "__shfl_down_sync(0xffffffff, $0, $1, $2)",
    .shuffle_up = "__shfl_up_sync(0xffffffff, $0, $1, $2)",
    .shuffle_4 = "",
    .shuffle_8 = "",
    .atomic_add_real = "  atomicAdd(p, x);\n",
    .atomic_add_integer = "  atomicAdd(($0*)p, ($0)x);\n",
    // PTX ISA 8.1, which came with CUDA 12.1.
    .atomic_add_vectors =
        "__CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201",
    .atomic_add_vector = kAddVector,
    .atomic_add = "atomicAdd",
    .atomic_min = "atomicMin",
    .atomic_max = "atomicMax",
    .atomic_and = "atomicAnd",
    .atomic_or = "atomicOr",
    .atomic_xor = "atomicXor",
    .compare_and_swap = "atomicCAS",
    // Of compute capability 8.0 and later. Whole sectors go past the first-level cache: nobody else
    // of the block reads them.
    .async_copy =
        "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], $0;\"\n"
        "               ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(from) : "
        "\"memory\");\n",
    .async_copy_16 =
        "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], $0;\"\n"
        "               ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(from) : "
        "\"memory\");\n",
    .commit_copies = kCommitCopies,
    .wait_for_copies = kWaitForCopies,
    // Of compute capability 9.0 and later.
    .cluster = " __cluster_dims__($0, $1, $2)",
    .load_of_block =
        "  unsigned long long at;\n"
        "  asm(\"mapa.u64 %0, %1, %2;\" : \"=l\"(at) : \"l\"(p), \"r\"(block));\n"
        "  return *(const $0*)at;\n",
    .cluster_barrier =
        "  asm volatile(\"barrier.cluster.arrive;\\n\\tbarrier.cluster.wait;\" ::: \"memory\");\n",
    // Fences of all threads: what each wrote is there before the counter is raised, and what each
    // reads from then on is no older.
    .is_last =
        "  __threadfence();\n"
        "  __syncthreads();\n"
        "  const bool counts = threadIdx.x + threadIdx.y + threadIdx.z == 0;\n"
        "  const int last = __syncthreads_or(counts && atomicAdd(counter, 1) + 1 == blocks);\n"
        "  __threadfence();\n"
        "  return last;\n",
    // Programmatic dependent launch, which began with compute capability 9.0.
    .wait_for_stages =
        "#if __CUDA_ARCH__ >= 900\n"
        "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
        "#endif\n",
    .admit_next_stage =
        "#if __CUDA_ARCH__ >= 900\n"
        "  asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
        "#endif\n",
    .static_shared_bytes = 48 * 1024,
    .enable_fp64 = "",
    .disable_contraction = "",
};

// That of NVIDIA's compiler: what OpenCL C has no words for, PTX has. Pointers to local memory are
// addresses in that memory.
constexpr CDialect WithPtx(CDialect dialect, bool has_extremes, bool adds_vectors) {
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
    dialect.atomic_add_vector = kAddVector;
  }
  dialect.async_copy =
      "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], $0;\"\n"
      "               ::\"l\"(to), \"l\"(from) : \"memory\");\n";
  dialect.async_copy_16 =
      "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], $0;\"\n"
      "               ::\"l\"(to), \"l\"(from) : \"memory\");\n";
  dialect.commit_copies = kCommitCopies;
  dialect.wait_for_copies = kWaitForCopies;
  return dialect;
}

constexpr CDialect kOpenClCWithPtx =
    WithPtx(kOpenClC, /*has_extremes=*/false, /*adds_vectors=*/false);
constexpr CDialect kOpenClCWithExtremes =
    WithPtx(kOpenClC, /*has_extremes=*/true, /*adds_vectors=*/false);
constexpr CDialect kOpenClCWithVectorAdditions =
    WithPtx(kOpenClC, /*has_extremes=*/true, /*adds_vectors=*/true);

// Of "580.95.05"; 0 where it is not known.
int MajorVersion(absl::string_view version) {
  int major = 0;
  return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) ? major : 0;
}

}  // namespace

const CDialect& GnuC() { return kGnuC; }
const CDialect& OpenClC() { return kOpenClC; }

const CDialect& OpenClCFor(const DeviceDescription& device) {
  const int capability = ComputeCapability(device);
  if (capability == 0) return kOpenClC;
  // The first drivers with PTX ISA 8.1; what compiles for OpenCL is the driver.
  constexpr int kFirstDriver = 530;
  const bool adds_vectors = capability >= 90 && MajorVersion(device.compiler) >= kFirstDriver;
  return adds_vectors       ? kOpenClCWithVectorAdditions
         : capability >= 80 ? kOpenClCWithExtremes
                            : kOpenClCWithPtx;
}

const CDialect& CudaCxx() { return kCudaCxx; }

std::string CPointer(const CDialect& dialect, AddressSpace space, bool is_const,
                     absl::string_view type) {
  return absl::StrCat(dialect.spaces[static_cast<size_t>(space)], is_const ? "const " : "", type,
                      "*");
}

std::string NativeVector(const CDialect& dialect, LoopValueType type) {
  const int bytes = SizeBytes(type.scalar);
  if (type.lanes > dialect.largest_vector_lanes ||
      type.lanes * bytes > dialect.largest_vector_bytes) {
    return "";
  }
  if (IsFloatingPoint(type.scalar) && !IsStorageOnly(type.scalar)) {
    return absl::StrCat(bytes == 4 ? "float" : "double", type.lanes);
  }
  const bool is_signed = IsSigned(type.scalar) && !IsStorageOnly(type.scalar);
  const std::array<absl::string_view, 4>& stems =
      is_signed ? dialect.signed_vectors : dialect.unsigned_vectors;
  return absl::StrCat(stems[std::bit_width(static_cast<unsigned>(bytes)) - 1], type.lanes);
}

std::string CLane(const CDialect& dialect, LoopValueType type, absl::string_view vector, int lane) {
  if (NativeVector(dialect, type).empty()) {
    return absl::StrCat(vector, absl::Substitute(dialect.lane, lane));
  }
  return absl::StrCat(vector, absl::Substitute(dialect.native_lane, absl::Hex(lane),
                                               absl::string_view("xyzw").substr(lane % 4, 1)));
}

}  // namespace mdh
