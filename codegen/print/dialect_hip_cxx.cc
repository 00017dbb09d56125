#include "codegen/print/c_dialect.h"

namespace mdh {
namespace {

// What hipcc takes otherwise than CUDA's compilers, and what AMD's devices have not. Shuffles take
// any width up to that of a wave, which has 32 or 64 threads.
CDialect OtherThanCuda(CDialect dialect) {
  dialect.language = Language::kHipCxx;
  dialect.first_lines = "#ifndef __HIPCC_RTC__\n#include <hip/hip_runtime.h>\n#endif\n";
  dialect.keep_wide = "asm(\"\" : \"+v\"($0));";
  dialect.hide_origin = dialect.select = "";
  dialect.extreme_of_numbers = "";
  dialect.extreme = "";
  dialect.widen_bfloat = "";
  dialect.widen_half = "return (float)__builtin_bit_cast(_Float16, a);";
  dialect.narrow_half = "return __builtin_bit_cast(unsigned short, (_Float16)a);";
  dialect.shared_array = "__shared__ __attribute__((aligned($3))) $0 $1[$2]";
  dialect.define_vector = "struct __attribute__((aligned($5))) $0 {\n  $1 s[$2];\n};\n";
  // A second bound would be of waves per processor, not of blocks.
  dialect.kernel_qualifier = "extern \"C\" __global__ void __launch_bounds__($3)\n";
  dialect.resident_blocks = "";
  dialect.streaming_store = "";
  dialect.shuffle_down = "__shfl_down($0, $1, $2)";
  dialect.shuffle_up = "__shfl_up($0, $1, $2)";
  dialect.shuffle_xor = "__shfl_xor($0, $1, $2)";
  dialect.atomic_add_vectors = dialect.atomic_add_vector = "";
  dialect.async_copy = dialect.async_copy_16 = "";
  dialect.async_copy_if = dialect.async_copy_16_if = "";
  dialect.commit_copies = dialect.wait_for_copies = "";
  dialect.cluster = dialect.load_of_block = dialect.cluster_barrier = "";
  dialect.unit_architecture = "";
  dialect.has_warp_units = false;
  dialect.wait_for_stages = dialect.admit_next_stage = dialect.written_by_others = "";
  dialect.prefetch = "";
  dialect.static_shared_bytes = 64 * 1024;
  dialect.compile_options = "-std=c++17";
  dialect.contraction_options = {"-ffp-contract=off", "-ffp-contract=fast"};
  return dialect;
}

}  // namespace

const CDialect& HipCxx() {
  static const CDialect dialect = OtherThanCuda(CudaCxx());
  return dialect;
}

}  // namespace mdh
