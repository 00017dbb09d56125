// What differs between the languages of the C family that kernels are printed in, in one table: GNU
// C with OpenMP, OpenCL C 1.2, CUDA C++ and HIP C++. Printers ask the table, never for the
// language. Rows (codegen/print/dialect_*.cc) say what differs from the defaults here: what most
// say so, or
// "" for what few have.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "codegen/program/loop_program.h"
#include "core/device/device_description.h"

namespace mdh {

// Where a pointer points to; part of its type in OpenCL C.
enum class AddressSpace : uint8_t { kGlobal, kShared, kPrivate };

struct CDialect {
  Language language = Language::kOpenMpC;

  // Types and literals of integers of 1, 2, 4 and 8 bytes; $0 is the value.
  std::array<absl::string_view, 4> signed_types = {"signed char", "short", "int", "long long"};
  std::array<absl::string_view, 4> unsigned_types = {"unsigned char", "unsigned short",
                                                     "unsigned int", "unsigned long long"};
  std::array<absl::string_view, 4> signed_literals = {"$0", "$0", "$0", "$0LL"};
  std::array<absl::string_view, 4> unsigned_literals = {"$0", "$0", "$0U", "$0ULL"};
  absl::string_view int32_minimum = "(-2147483647 - 1)";
  absl::string_view int64_minimum = "(-9223372036854775807LL - 1)";
  // Of fp32 and fp64. Constants, so that they can be in tables: without headers CUDA C++ has no
  // names for these, and NAN and INFINITY are function calls in some implementations of OpenCL.
  std::array<absl::string_view, 2> nan = {"(0.0f / 0.0f)", "(0.0 / 0.0)"};
  std::array<absl::string_view, 2> infinity = {"(1.0f / 0.0f)", "(1.0 / 0.0)"};
  // Indices: the second is used where an index might not fit into the first.
  absl::string_view narrow_index = "int", wide_index = "long long";

  bool computes_with_vectors = false;  // lane by lane, with C's operators
  bool signed_wraps = false;           // overflow of signed integers is no error of the program
  // Keeps the compiler from computing variable $0, an int, in fewer bits; "" where none needs it.
  absl::string_view keep_wide = "";
  // Keeps the assembler from seeing how variable $0, an int, was computed; "" where none needs it.
  absl::string_view hide_origin = "";
  absl::string_view float_suffix = "f";       // of mathematical functions of fp32
  absl::string_view round_function = "rint";  // to the nearest, halfway cases to even
  // The smaller or larger of the numbers a and b ($0: min or max, $1: float_suffix) with -0 less
  // than 0, and the other one if one is nan; and the body of a function that gives nan if one fp32
  // is. "" where there is none.
  absl::string_view extreme_of_numbers = "", extreme = "";
  // The bits of a float as an unsigned integer, and back: functions.
  absl::string_view float_bits = "", bits_float = "";
  // Bodies of functions that convert `a` between fp32 and the bits of fp16.
  absl::string_view widen_half = "", narrow_half = "";
  // Of one that converts the bits `a` of bf16 to fp32; "": a shift.
  absl::string_view widen_bfloat = "";

  absl::string_view lone_function_qualifier = "static";
  absl::string_view function_qualifier = "static inline", table_qualifier = "static const";
  // By AddressSpace, in front of the pointed-to type.
  std::array<absl::string_view, 3> spaces = {"", "", ""};
  // Behind the star of a declaration.
  absl::string_view parameter_restrict = " restrict", pointer_restrict = "";
  // $0 type, $1 name, $2 elements, $3 alignment in bytes of what is shared.
  absl::string_view shared_array = "", private_array = "$0 $1[$2]";
  absl::string_view unroll = "#pragma unroll";        // $0: steps
  absl::string_view unroll_by = "#pragma unroll $0";  // $0: steps at a time
  // Stems of vector types that the language has, by size as above.
  std::array<absl::string_view, 4> signed_vectors = {"char", "short", "int", "longlong"};
  std::array<absl::string_view, 4> unsigned_vectors = {"uchar", "ushort", "uint", "ulonglong"};
  int largest_vector_bytes = 0, largest_vector_lanes = 0;
  // A vector of such a type ($0) from its elements ($1), and a lane of one: $0 is its number in
  // base 16, $1 one of x, y, z, w.
  absl::string_view native_vector = "make_$0($1)", native_lane = ".$1";
  // The same of types that the prelude defines: $0 type, $1 elements' type, $2 lanes, $3 bytes, $4
  // bytes of an element, $5 alignment; lanes' numbers in base 10.
  absl::string_view define_vector = "", vector = "$0{{$1}}", lane = ".s[$0]";
  // An unaligned load or store of a vector that is too large to be aligned; $0: lanes. Or none.
  absl::string_view unaligned_load = "", unaligned_store = "";

  // Targets with blocks of threads; empty elsewhere.
  // $0 .. $2: threads of a block along x, y, z; $3: in all; $4: `resident_blocks`, $5: `cluster`,
  // or nothing.
  absl::string_view kernel_qualifier = "";
  // Asks the compiler to leave room for $0 blocks on a multiprocessor. "" where it cannot be asked.
  absl::string_view resident_blocks = "";
  absl::string_view barrier = "", device_barrier = "";
  std::array<absl::string_view, 3> block_numbers = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
  std::array<absl::string_view, 3> thread_numbers = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
  // Of single elements and of vectors that the language has: $0 address, $1 value. Or none.
  absl::string_view streaming_store = "";
  // The value `x` of another thread of the warp, $0 value, $1 distance, $2 width; or bodies of
  // functions with these parameters, `distance` and `width`, for values of 4 and 8 bytes: $0 type,
  // $1 direction, $2 what the lanes are limited by. "" where there are none.
  absl::string_view shuffle_down = "", shuffle_up = "", shuffle_xor = "";
  absl::string_view shuffle_4 = "", shuffle_8 = "";
  // Body of a function that gives `inside`, an int, ? x : outside, such that the compiler computes
  // both and does not see how: $0 type of a register, $1 its bits, $2 its class in PTX, $3 a cast
  // to it. Where compilers would make branches of what follows from each, and find no common loads
  // and no sums of products. "" where they are left to it.
  absl::string_view select = "";
  // Bodies of functions that add `x` to the element at `p`, which other threads may do at the same
  // time: of fp32 and fp64, and of integers of 4 and 8 bytes, whose unsigned type is $0; $1: bits,
  // $2: operand's class in PTX, $3: memory in PTX. "" where there are none.
  absl::string_view atomic_add_real = "", atomic_add_integer = "";
  // The same for vectors of fp32 that are aligned: $0 lanes in one access, on devices that have it
  // by `atomic_add_vectors`, a condition of the preprocessor; $1 and $2 are the operands' numbers
  // and the operands. "" where no device has it.
  absl::string_view atomic_add_vectors = "", atomic_add_vector = "";
  // Functions of a pointer and a value that combine atomically, of integers of 4 and 8 bytes (of 8
  // where HasAtomicCombination says so): sums and bit operations of unsigned ones, minima and
  // maxima of all. Of a pointer, the old and the new value of unsigned integers: the value before.
  // "" where there are none.
  absl::string_view atomic_add = "", atomic_min = "", atomic_max = "", atomic_and = "",
                    atomic_or = "", atomic_xor = "";
  absl::string_view compare_and_swap = "";
  // Bodies of functions for asynchronous copies: of some bytes ($0; 4, 8 and, apart, 16) from
  // `from` in memory to `to` in shared memory; the end of a group; waiting until all groups but the
  // last ($0) have arrived. "" where the language has none.
  absl::string_view async_copy = "", async_copy_16 = "";
  // The same copies if `condition` holds, else of zeros.
  absl::string_view async_copy_if = "", async_copy_16_if = "";
  absl::string_view commit_copies = "", wait_for_copies = "";
  // Clusters of blocks: what asks for one of $0 x $1 x $2, bodies of functions that load the
  // element of type $0 that `block` has at `p`, and that wait for all threads of the cluster. ""
  // where the language has none.
  absl::string_view cluster = "", load_of_block = "", cluster_barrier = "";
  // Option of the compiler for matrix units of groups (codegen/program/unit_statements.h), which
  // are there as PTX for that architecture only. "" where the language has none.
  absl::string_view unit_architecture = "";
  // Whether there is PTX for matrix units of warps.
  bool has_warp_units = false;
  // Body of a function that says whether the block is the last one of `blocks` to call it with that
  // `counter`, which is 0 before: it makes what its threads wrote visible to the device, and what
  // the other blocks wrote to them. "" where the language has no such guarantee.
  absl::string_view is_last = "";
  // Bodies of functions for stages that may overlap: one waits until all stages before have ended
  // and their writes are visible, the other lets the next stage be launched. "" where stages never
  // overlap.
  absl::string_view wait_for_stages = "", admit_next_stage = "";
  // Body of a function that brings the line at `p`, in device memory, to the cache of all blocks.
  // "" where stages never overlap.
  absl::string_view prefetch = "";
  // Body of a function that gives its argument `p`, a pointer to device memory, of which compilers
  // then no longer know that the kernel does not write there: they may not load from it before the
  // wait. "" where stages never overlap.
  absl::string_view written_by_others = "";
  // Bytes that arrays in shared memory may have in all before they must be dynamic; 0: never.
  int64_t static_shared_bytes = 0;
  // First lines of a unit: always; needed for fp64; needed to keep multiplications and additions
  // apart.
  absl::string_view first_lines = "";
  absl::string_view enable_fp64 = "", disable_contraction = "";
  // Options of the compiler, with blanks between them: always; and if multiplications and additions
  // must be kept apart, or may be fused.
  absl::string_view compile_options = "";
  std::array<absl::string_view, 2> contraction_options = {"", ""};

  bool has_blocks() const { return !barrier.empty(); }
  bool adds_atomically() const { return !atomic_add_real.empty(); }
  bool combines_atomically() const { return !compare_and_swap.empty(); }
  bool overlaps_stages() const { return !wait_for_stages.empty(); }
  bool has_resident_blocks() const { return !resident_blocks.empty(); }
  bool has_clusters() const { return !cluster.empty(); }
  bool has_group_units() const { return !unit_architecture.empty(); }
  bool has_async_copies() const { return !async_copy.empty(); }
  bool takes_ptx() const { return !shuffle_4.empty(); }  // beside its own words
  bool has_shuffles() const { return !shuffle_down.empty() || !shuffle_4.empty(); }
};

const CDialect& GnuC();
// OpenCL C 1.2; where the device's compiler takes PTX (ComputeCapability), with that.
const CDialect& OpenClC();
const CDialect& OpenClCFor(const DeviceDescription& device);
const CDialect& CudaCxx();
const CDialect& HipCxx();
// The one that kernels for the device are printed in.
const CDialect& DialectOf(const DeviceDescription& device);

// "const float*", with its address space.
std::string CPointer(const CDialect& dialect, AddressSpace space, bool is_const,
                     absl::string_view type);

// The language's own vector of that type, "" if there is none.
std::string NativeVector(const CDialect& dialect, LoopValueType type);
// Lane number `lane` of `vector`, a name or an expression in parentheses.
std::string CLane(const CDialect& dialect, LoopValueType type, absl::string_view vector, int lane);

}  // namespace mdh
