// Functions for tensor copies: PTX of cp.async.bulk.tensor (TMA) and of the barriers that threads
// wait at for them.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"

namespace mdh {
namespace {

constexpr absl::string_view kInlinedHere = "static __device__ __forceinline__ ";

}  // namespace

// As CUtensorMap of the driver's API. Who launches the function encodes them, and says that it
// does: one that does not know of them passes too few arguments.
std::string CPrelude::TensorMapType() {
  const std::string name = "mdh_tensor_map";
  Define(name,
         "#ifndef MDH_TENSOR_MAPS\n"
         "#error \"launches pass tensor maps: compile with -DMDH_TENSOR_MAPS, and pass them\"\n"
         "#endif\n"
         "struct mdh_tensor_map {\n  alignas(64) unsigned long long words[16];\n};\n");
  return name;
}

std::string CPrelude::StartBarriersFunction() {
  const std::string name = "mdh_start_barriers";
  Define(name, absl::Substitute(
                   "$0void $1(long long* b, int count, int arrivals) {\n"
                   "  for (int n = 0; n < count; n++) {\n"
                   "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" ::\"r\"(\n"
                   "        (unsigned int)__cvta_generic_to_shared(b + n)), \"r\"(arrivals) : "
                   "\"memory\");\n"
                   "  }\n"
                   "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
                   "}\n",
                   kInlinedHere, name));
  return name;
}

// Multiplications of a group are done for all of its threads where they are for one.
std::string CPrelude::ArriveAtBarrierFunction(bool is_of_group) {
  const std::string name = is_of_group ? "mdh_group_arrives" : "mdh_arrive";
  Define(name,
         absl::Substitute(
             "$0void $1(long long* b$2) {\n"
             "  $3asm volatile(\"mbarrier.arrive$4.shared::cta.b64 _, [%0]$5;\" ::\"r\"(\n"
             "      (unsigned int)__cvta_generic_to_shared(b))$6 : \"memory\");\n"
             "}\n",
             kInlinedHere, name, is_of_group ? "" : ", int bytes",
             is_of_group ? "if (threadIdx.x % 128 == 0) " : "", is_of_group ? "" : ".expect_tx",
             is_of_group ? "" : ", %1", is_of_group ? "" : ", \"r\"(bytes)"));
  return name;
}

// A thread of the group for each block. An arrival that releases what was written to other blocks
// waits for all of memory; nothing was written.
std::string CPrelude::ArriveInClusterFunction() {
  const std::string name = "mdh_group_arrives_in_cluster";
  Define(name, absl::Substitute(
                   "$0void $1(long long* b, int blocks) {\n"
                   "  if (threadIdx.x % 128 < blocks) {\n"
                   "    asm volatile(\n"
                   "        \"{\\n\\t.reg .b32 at;\\n\\tmapa.shared::cluster.u32 at, %0, %1;\\n\"\n"
                   "        \"\\tmbarrier.arrive.shared::cluster.b64 _, [at];\\n\\t}\"\n"
                   "        ::\"r\"((unsigned int)__cvta_generic_to_shared(b)), "
                   "\"r\"(threadIdx.x % 128) : \"memory\");\n"
                   "  }\n"
                   "}\n",
                   kInlinedHere, name));
  return name;
}

// Barriers that a thread of each block has started are seen by all (StartBarriersFunction).
std::string CPrelude::BlocksHaveStartedFunction() {
  const std::string name = "mdh_blocks_have_started";
  Define(name,
         absl::Substitute("$0void $1() {\n"
                          "  asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\" ::: "
                          "\"memory\");\n"
                          "  asm volatile(\"barrier.cluster.wait.aligned;\" ::: \"memory\");\n"
                          "}\n",
                          kInlinedHere, name));
  return name;
}

std::string CPrelude::AwaitBarrierFunction() {
  const std::string name = "mdh_await_barrier";
  Define(name,
         absl::Substitute(
             "$0void $1(long long* b, unsigned int parity) {\n"
             "  asm volatile(\n"
             "      \"{\\n\\t.reg .pred p;\\n\"\n"
             "      \"AWAIT:\\n\\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n\"\n"
             "      \"\\t@!p bra AWAIT;\\n\\t}\"\n"
             "      ::\"r\"((unsigned int)__cvta_generic_to_shared(b)), \"r\"(parity) : "
             "\"memory\");\n"
             "}\n",
             kInlinedHere, name));
  return name;
}

std::string CPrelude::TensorCopyFunction(size_t dimensions, bool is_to_blocks) {
  uses_units_ = true;
  const std::string name =
      absl::StrCat("mdh_copy_tensor_", dimensions, is_to_blocks ? "_to_blocks" : "");
  std::string parameters, numbers, values;
  for (size_t d = 0; d < dimensions; ++d) {
    absl::StrAppend(&parameters, ", int x", d);
    absl::StrAppend(&numbers, d == 0 ? "" : ", ", "%", d + 3);
    absl::StrAppend(&values, ", \"r\"(x", d, ")");
  }
  std::string to_blocks;
  if (is_to_blocks) {
    absl::StrAppend(&parameters, ", int blocks");
    absl::StrAppend(&values, ", \"h\"((unsigned short)blocks)");
    to_blocks = absl::StrCat(", %", dimensions + 3);
  }
  Define(name, absl::Substitute(
                   "$0void $1(void* to, const $2* map, long long* b$3) {\n"
                   "  asm volatile(\n"
                   "      \"cp.async.bulk.tensor.$4d.shared::cluster.global.mbarrier::complete_tx"
                   "::bytes$7 \"\n"
                   "      \"[%0], [%1, {$5}], [%2]$8;\"\n"
                   "      ::\"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(map),\n"
                   "        \"r\"((unsigned int)__cvta_generic_to_shared(b))$6 : \"memory\");\n"
                   "}\n",
                   kInlinedHere, name, TensorMapType(), parameters, dimensions, numbers, values,
                   is_to_blocks ? ".multicast::cluster" : "", to_blocks));
  return name;
}

}  // namespace mdh
