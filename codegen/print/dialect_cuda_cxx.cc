#include "codegen/print/c_dialect.h"

namespace mdh {
namespace {

// The first of compute capability 8.0 and later.
constexpr absl::string_view kExtremeOrSelection =
    "#if __CUDA_ARCH__ >= 800\n"
    "  float r;\n"
    "  asm(\"$0.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "  return r;\n"
    "#else\n"
    "  return a != a || b != b ? a + b : f$0f(a, b);\n"
    "#endif\n";

constexpr CDialect kCudaCxx = {
    .language = Language::kCudaCxx,
    .keep_wide = "asm(\"\" : \"+r\"($0));",
    .hide_origin = "asm(\"prmt.b32 %0, %0, 0, 0x3210;\" : \"+r\"($0));",
    .extreme_of_numbers = "f$0$1(a, b)",
    .extreme = kExtremeOrSelection,
    .float_bits = "__float_as_uint",
    .bits_float = "__uint_as_float",
    .widen_half = "float r;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));\n  return r;",
    .narrow_half =
        "unsigned short r;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n  return r;",
    // One permutation of bytes where `a` is half of a register; ptxas makes two steps of a shift.
    .widen_bfloat =
        "float r;\n"
        "  asm(\"mov.b32 %0, {%1, %2};\" : \"=f\"(r) : \"h\"((unsigned short)0), \"h\"(a));\n"
        "  return r;",
    .function_qualifier = "static __device__ inline",
    .table_qualifier = "static __device__ const",
    .parameter_restrict = " __restrict__",
    .shared_array = "__shared__ __align__($3) $0 $1[$2]",
    .largest_vector_bytes = 16,
    .largest_vector_lanes = 4,
    .define_vector = "struct __align__($5) $0 {\n  $1 s[$2];\n};\n",
    .kernel_qualifier = "extern \"C\" __global__ void$5 __launch_bounds__($3$4)\n",
    .resident_blocks = ", $0",
    .barrier = "__syncthreads()",
    .device_barrier = "__syncthreads()",
    .streaming_store = "__stcs($0, $1)",
    .shuffle_down = "__shfl_down_sync(0xffffffff, $0, $1, $2)",
    .shuffle_up = "__shfl_up_sync(0xffffffff, $0, $1, $2)",
    .shuffle_xor = "__shfl_xor_sync(0xffffffff, $0, $1, $2)",
    .select =
        "  $0 r;\n"
        "  asm(\"{ .reg .pred p; setp.ne.s32 p, %1, 0; selp.b$1 %0, %2, %3, p; }\"\n"
        "      : \"=$2\"(r) : \"r\"(inside), \"$2\"($3x), \"$2\"($3outside));\n"
        "  return r;\n",
    .atomic_add_real = "  atomicAdd(p, x);\n",
    .atomic_add_integer = "  atomicAdd(($0*)p, ($0)x);\n",
    // PTX ISA 8.1, which came with CUDA 12.1.
    .atomic_add_vectors =
        "__CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201",
    .atomic_add_vector =
        "  asm volatile(\"red.global.add.v$0.f32 [%0], {$1};\" ::\"l\"(p), $2 : \"memory\");\n",
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
    .async_copy_if =
        "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], $0, %2;\"\n"
        "               ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(from),\n"
        "               \"r\"(condition ? $0 : 0) : \"memory\");\n",
    .async_copy_16_if =
        "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], $0, %2;\"\n"
        "               ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(from),\n"
        "               \"r\"(condition ? $0 : 0) : \"memory\");\n",
    .commit_copies = "  asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n",
    .wait_for_copies = "  asm volatile(\"cp.async.wait_group $0;\" ::: \"memory\");\n",
    // Of compute capability 9.0 and later.
    .cluster = " __cluster_dims__($0, $1, $2)",
    .load_of_block =
        "  unsigned long long at;\n"
        "  asm(\"mapa.u64 %0, %1, %2;\" : \"=l\"(at) : \"l\"(p), \"r\"(block));\n"
        "  return *(const $0*)at;\n",
    .cluster_barrier =
        "  asm volatile(\"barrier.cluster.arrive;\\n\\tbarrier.cluster.wait;\" ::: \"memory\");\n",
    .unit_architecture = "--gpu-architecture=sm_90a",
    .has_warp_units = true,
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
    .prefetch =
        "#if __CUDA_ARCH__ >= 900\n"
        "  asm volatile(\"prefetch.global.L2 [%0];\" ::\"l\"(p));\n"
        "#endif\n",
    // Loads of what the compiler takes for constant, be it only because all that the kernel writes
    // is restrict, are ld.global.nc, which ptxas moves over the wait (that of CUDA 13.0 does).
    .written_by_others =
        "  asm volatile(\"\" : \"+l\"(p));\n"
        "  __builtin_assume(__isGlobal(p));\n"
        "  return p;\n",
    .static_shared_bytes = 48 * 1024,
    // For nvcc and for NVRTC, which has no headers.
    .compile_options = "--std=c++17",
    .contraction_options = {"--fmad=false", "--fmad=true"},
};

}  // namespace

const CDialect& CudaCxx() { return kCudaCxx; }

}  // namespace mdh
