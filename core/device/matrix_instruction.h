// Matrix units as one table: instructions of GPUs and CPUs that multiply small matrices,
//   C[m,n] += A[m,k] * B[k,n],
// with who holds what, where operands come from, and how fast they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/device/matrix_layout.h"
#include "core/scalar/scalar_type.h"

namespace mdh {

enum class MatrixUnit : uint8_t {
  kWarp,          // mma.sync: the 32 threads of a warp
  kWarpGroup,     // wgmma: the 128 threads of four warps, asynchronously
  kTensorMemory,  // tcgen05: one thread, accumulators in a memory of their own
  kVector,        // dot instructions: one thread, on vector registers
  kTile,          // AMX: one thread, on tile registers
};

// Where an instruction takes an operand from.
struct OperandHomes {
  bool registers = false;  // as fragments
  bool shared = false;     // GPUs: shared memory, by descriptor
  bool memory = false;     // CPUs: an operand of the instruction may be in memory

  friend bool operator==(const OperandHomes&, const OperandHomes&) = default;
};

// Multiply-adds per cycle of one core (multiprocessor) with compute capability in [from, to).
struct UnitRate {
  int from, to;
  double multiply_adds;
};
inline constexpr int kNoEnd = 1 << 20;

struct MatrixInstruction {
  std::string name;  // "wgmma.m64n256k16.bf16", with both types where they differ: "....u8.s8"
  MatrixUnit unit;
  absl::string_view mnemonic;  // "mma.sync.aligned", "vdpbf16ps"
  int64_t m, n, k;
  ScalarType a, b, accumulator;
  // Bits of an operand's fraction that are multiplied: 10 of fp32 for tf32, which is rounded (or
  // cut) to them; of others those of their types. 0 of integers.
  int fraction_bits = 0;
  // Bits behind the leading one that additions to the accumulator keep: those of its type, or
  // fewer; `truncates`: what is less is cut off rather than rounded.
  int kept_bits = 0;
  bool truncates = false;
  int lanes;  // threads that execute it together: 1, 32, 128
  OperandHomes a_home, b_home;
  // Operands in shared memory may be contiguous along m or n; else along k only.
  bool takes_transposed = false;
  FragmentLayout a_layout, b_layout, c_layout;  // without digits: it is never in registers
  std::vector<UnitRate> rates = {};  // ascending; of GPUs. Where none is, there is no instruction
  absl::string_view isa = "";        // of CPUs: the word for it in DeviceDescription::isa
  double cpu_rate = 0;               // idem: as UnitRate, of the fastest cores known
  bool is_planned = false;           // no code is generated for it yet

  // Whether no operand is rounded.
  bool is_exact() const { return fraction_bits == Info(a).format.fraction_bits; }
  int64_t multiply_adds() const { return m * n * k; }
};

// All rows; of those that come with several n, the one with the least.
absl::Span<const MatrixInstruction> MatrixInstructions();

// Whether the row comes with that n; then the instruction with it.
bool HasN(const MatrixInstruction& row, int64_t n);
MatrixInstruction WithN(const MatrixInstruction& row, int64_t n);

// wgmma of 64 rows by n columns, of operands of these types. nullopt: there is none.
std::optional<MatrixInstruction> GroupInstruction(ScalarType a, ScalarType b, int64_t n);
// Whether code is generated for an instruction of GPUs for operands of these types.
bool HaveGpuUnit(ScalarType a, ScalarType b);

// Multiply-adds per cycle of one core of the device; 0: it has no such instruction.
double MultiplyAddsPerCycle(const MatrixInstruction& instruction, const DeviceDescription& device);
inline bool HasInstruction(const MatrixInstruction& instruction, const DeviceDescription& device) {
  return MultiplyAddsPerCycle(instruction, device) > 0;
}

// What an instruction makes of operands and sums of some types.
enum class UnitArithmetic : uint8_t {
  kNone,     // something else: it cannot be used
  kExact,    // the bits of any order of the sum: integers
  kRounded,  // exact products, sums rounded in the accumulator: what kReassociate allows
  kReduced,  // operands are rounded to fewer bits: on request only
};
// `a`, `b`: types with all values of the operands; `combined`: in which sums are declared; `terms`:
// of one sum, which must not leave an accumulator that is narrower than declared.
UnitArithmetic ArithmeticOf(const MatrixInstruction& instruction, ScalarType a, ScalarType b,
                            ScalarType combined, int64_t terms);

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"; of CPUs the mnemonic.
std::string AssemblyName(const MatrixInstruction& instruction);

}  // namespace mdh
