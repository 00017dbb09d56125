// The rows, and what is asked of them.
#include "core/device/matrix_instruction.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

using Digits = std::vector<LayoutDigit>;
using enum MatrixAxis;
using enum DigitPlace;

constexpr int64_t kLanesOfRow = 4, kRowsOfWarp = 8;  // of a warp as it holds 8x8 matrices
constexpr int kTf32Bits = 10;
constexpr int kFp8KeptBits = 13;  // of sums of fp8 products on Hopper

// ---- Layouts ----

// Elements of `bytes` bytes of an operand with `rows` rows along `axis` (8 or 16 of every warp) and
// depth k, as mma.sync takes it: 4 bytes of neighbours along k in a register; doubles are one each.
FragmentLayout WarpOperand(MatrixAxis axis, int64_t rows, int64_t k, int64_t bytes) {
  const int64_t packed = std::max<int64_t>(1, 4 / bytes), width = kLanesOfRow * packed;
  Digits digits = {{kLane, kK, packed, kLanesOfRow}, {kLane, axis, 1, kRowsOfWarp}};
  if (rows > 16) digits.push_back({kLane, axis, 16, rows / 16});
  if (rows > kRowsOfWarp) digits.push_back({kRegister, axis, kRowsOfWarp, 2});
  if (k > width) digits.push_back({kRegister, kK, width, k / width});
  if (packed > 1) digits.push_back({kPacked, kK, 1, packed});
  return {std::move(digits)};
}

FragmentLayout WarpResult(int64_t m, int64_t n) {
  Digits digits = {{kLane, kN, 2, kLanesOfRow}, {kLane, kM, 1, kRowsOfWarp}};
  if (m > 16) digits.push_back({kLane, kM, 16, m / 16});
  digits.push_back({kRegister, kN, 1, 2});
  if (m > kRowsOfWarp) digits.push_back({kRegister, kM, kRowsOfWarp, 2});
  if (n > 8) digits.push_back({kRegister, kN, 8, n / 8});
  return {std::move(digits)};
}

// Rows of `axis` in registers of their own, elements along k and n side by side; of those of B and
// C `group` neighbours along k are next to each other.
FragmentLayout VectorLayout(int64_t m, int64_t n, int64_t k, int64_t group) {
  Digits digits;
  if (m > 1) digits.push_back({kRegister, kM, 1, m});
  if (k > group) digits.push_back({kRegister, kK, group, k / group});
  if (group > 1) digits.push_back({kPacked, kK, 1, group});
  if (n > 1) digits.push_back({kPacked, kN, 1, n});
  return {std::move(digits)};
}

// ---- Types ----

struct TypeName {
  ScalarType type;
  const char* name;
};
constexpr TypeName kTypeNames[] = {
    {ScalarType::kFloat16, "f16"},     {ScalarType::kBfloat16, "bf16"},
    {ScalarType::kFloat32, "f32"},     {ScalarType::kFloat64, "f64"},
    {ScalarType::kInt8, "s8"},         {ScalarType::kUint8, "u8"},
    {ScalarType::kInt32, "s32"},       {ScalarType::kFloat8E4m3, "e4m3"},
    {ScalarType::kFloat8E5m2, "e5m2"},
};

std::string NameOf(ScalarType type) {
  for (const TypeName& known : kTypeNames) {
    if (known.type == type) return known.name;
  }
  return std::string(Name(type));
}

// Of an operand, which is fp32 of tf32 units only.
std::string OperandName(const MatrixInstruction& instruction, ScalarType type) {
  const bool is_tf32 = type == ScalarType::kFloat32 && instruction.fraction_bits == kTf32Bits;
  return is_tf32 ? "tf32" : NameOf(type);
}

using TypePairs = std::vector<std::pair<ScalarType, ScalarType>>;

TypePairs Same(std::vector<ScalarType> types) {
  TypePairs pairs;
  for (const ScalarType type : types) pairs.push_back({type, type});
  return pairs;
}

TypePairs All(std::vector<ScalarType> types) {
  TypePairs pairs;
  for (const ScalarType a : types) {
    for (const ScalarType b : types) pairs.push_back({a, b});
  }
  return pairs;
}

// ---- Rows ----

std::string ShapeOf(const MatrixInstruction& row) {
  return absl::StrCat("m", row.m, "n", row.n, "k", row.k);
}

absl::string_view PrefixOf(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::kWarp:
      return "mma";
    case MatrixUnit::kWarpGroup:
      return "wgmma";
    case MatrixUnit::kTensorMemory:
      return "tcgen05";
    case MatrixUnit::kVector:
      return "dot";
    case MatrixUnit::kTile:
      return "amx";
  }
  return "";
}

std::string NameOf(const MatrixInstruction& row) {
  std::string name =
      absl::StrCat(PrefixOf(row.unit), ".", ShapeOf(row), ".", OperandName(row, row.a));
  if (row.a != row.b) absl::StrAppend(&name, ".", OperandName(row, row.b));
  return name;
}

void FillLayouts(MatrixInstruction* row) {
  const int64_t bytes = SizeBytes(row->a);
  switch (row->unit) {
    case MatrixUnit::kWarp:
      row->b_layout = WarpOperand(kN, row->n, row->k, bytes);
      [[fallthrough]];
    case MatrixUnit::kWarpGroup:
      row->a_layout = WarpOperand(kM, row->m, row->k, bytes);
      row->c_layout = WarpResult(row->m, row->n);
      break;
    case MatrixUnit::kTensorMemory:
      break;
    case MatrixUnit::kVector:
    case MatrixUnit::kTile:
      row->a_layout = VectorLayout(row->m, 1, row->k, row->k);
      row->b_layout = VectorLayout(1, row->n, row->k, 4 / bytes);
      row->c_layout = VectorLayout(row->m, row->n, 1, 1);
      break;
  }
}

struct Shape {
  int64_t m, n, k;
};

void FillArithmetic(MatrixInstruction* row) {
  row->fraction_bits =
      row->a == ScalarType::kFloat32 ? kTf32Bits : Info(row->a).format.fraction_bits;
  row->kept_bits = Info(row->accumulator).format.fraction_bits;
  const bool is_gpu = row->isa.empty();
  row->truncates = is_gpu && row->accumulator == ScalarType::kFloat32;
  if (is_gpu && IsFloatingPoint(row->a) && SizeBytes(row->a) == 1) row->kept_bits = kFp8KeptBits;
}

class Table {
 public:
  void AddGpu(MatrixUnit unit, Shape shape, const TypePairs& types, ScalarType accumulator,
              std::vector<UnitRate> rates) {
    MatrixInstruction row;
    row.unit = unit;
    row.rates = std::move(rates);
    row.lanes = unit == MatrixUnit::kWarp ? 32 : unit == MatrixUnit::kWarpGroup ? 128 : 1;
    row.is_planned = unit == MatrixUnit::kTensorMemory;
    row.mnemonic = unit == MatrixUnit::kWarp        ? "mma.sync.aligned"
                   : unit == MatrixUnit::kWarpGroup ? "wgmma.mma_async.sync.aligned"
                                                    : "tcgen05.mma";
    row.a_home = {.registers = !row.is_planned, .shared = unit != MatrixUnit::kWarp};
    row.b_home = {.registers = unit == MatrixUnit::kWarp, .shared = unit != MatrixUnit::kWarp};
    Add(row, shape, types, accumulator);
  }

  void AddCpu(MatrixUnit unit, absl::string_view mnemonic, Shape shape, const TypePairs& types,
              ScalarType accumulator, absl::string_view isa, double rate) {
    MatrixInstruction row;
    row.unit = unit;
    row.mnemonic = mnemonic;
    row.isa = isa;
    row.cpu_rate = rate;
    row.lanes = 1;
    // One operand of a dot instruction may be in memory, where a word is broadcast.
    row.a_home = {.registers = true, .memory = unit == MatrixUnit::kVector};
    row.b_home = row.a_home;
    Add(row, shape, types, accumulator);
  }

  std::vector<MatrixInstruction> Take() { return std::move(rows_); }

 private:
  void Add(MatrixInstruction row, Shape shape, const TypePairs& types, ScalarType accumulator) {
    row.m = shape.m;
    row.n = shape.n;
    row.k = shape.k;
    row.accumulator = accumulator;
    for (const auto& [a, b] : types) {
      row.a = a;
      row.b = b;
      row.takes_transposed = row.a_home.shared && SizeBytes(a) == 2;
      FillArithmetic(&row);
      FillLayouts(&row);
      row.name = NameOf(row);
      rows_.push_back(row);
    }
  }

  std::vector<MatrixInstruction> rows_;
};

// Rates of GPUs are those of NVIDIA's specifications, but for mma.sync on Hopper, which reaches
// 0.63 of wgmma there ("Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
// Microbenchmarking", 2024), and on later GPUs, where it is a guess.
void AddWarpRows(Table& table) {
  using enum ScalarType;
  constexpr auto kWarp = MatrixUnit::kWarp;
  const TypePairs halves = Same({kFloat16, kBfloat16}), bytes = All({kInt8, kUint8}),
                  quarters = All({kFloat8E4m3, kFloat8E5m2});
  table.AddGpu(kWarp, {16, 8, 8}, Same({kFloat16}), kFloat32, {{75, 80, 512}});
  table.AddGpu(kWarp, {8, 8, 16}, bytes, kInt32, {{75, 80, 1024}});
  table.AddGpu(kWarp, {16, 8, 16}, halves, kFloat32,
               {{80, 86, 1024}, {86, 90, 512}, {90, 100, 1290}, {100, kNoEnd, 1024}});
  table.AddGpu(kWarp, {16, 8, 8}, Same({kFloat32}), kFloat32,
               {{80, 86, 512}, {86, 90, 256}, {90, 100, 645}, {100, kNoEnd, 512}});
  table.AddGpu(kWarp, {16, 8, 32}, bytes, kInt32,
               {{80, 86, 2048}, {86, 90, 1024}, {90, 100, 2580}, {100, kNoEnd, 2048}});
  table.AddGpu(kWarp, {16, 8, 32}, quarters, kFloat32,
               {{89, 90, 1024}, {90, 100, 2580}, {100, kNoEnd, 2048}});
  table.AddGpu(kWarp, {8, 8, 4}, Same({kFloat64}), kFloat64,
               {{80, 86, 64}, {86, 90, 2}, {90, 100, 64}, {100, kNoEnd, 64}});
  for (const int64_t k : {4, 8, 16}) {
    table.AddGpu(kWarp, {16, 8, k}, Same({kFloat64}), kFloat64,
                 {{90, 100, 128}, {100, kNoEnd, 64}});
  }
}

// Of architectures "sm_90a" and "sm_100a", which later GPUs do not have.
void AddAcceleratedRows(Table& table) {
  using enum ScalarType;
  struct Rows {
    MatrixUnit unit;
    int64_t m;
    int from, to;
    double halves;  // multiply-adds per cycle of fp16
  };
  for (const Rows& rows : {Rows{MatrixUnit::kWarpGroup, 64, 90, 91, 2048},
                           Rows{MatrixUnit::kTensorMemory, 128, 100, 104, 4096}}) {
    const auto add = [&](int64_t k, const TypePairs& types, ScalarType accumulator, double of) {
      table.AddGpu(rows.unit, {rows.m, 8, k}, types, accumulator,
                   {{rows.from, rows.to, of * rows.halves}});
    };
    add(16, Same({kFloat16, kBfloat16}), kFloat32, 1);
    add(8, Same({kFloat32}), kFloat32, 0.5);
    add(32, All({kInt8, kUint8}), kInt32, 2);
    add(32, All({kFloat8E4m3, kFloat8E5m2}), kFloat32, 2);
  }
}

void AddCpuRows(Table& table) {
  using enum ScalarType;
  constexpr auto kVector = MatrixUnit::kVector, kTile = MatrixUnit::kTile;
  table.AddCpu(kVector, "vdpbf16ps", {1, 16, 2}, Same({kBfloat16}), kFloat32, "avx512_bf16", 64);
  table.AddCpu(kVector, "vpdpbusd", {1, 16, 4}, {{kUint8, kInt8}}, kInt32, "avx512_vnni", 128);
  table.AddCpu(kVector, "vpdpbusd", {1, 8, 4}, {{kUint8, kInt8}}, kInt32, "avx_vnni", 64);
  table.AddCpu(kVector, "vpdpbssd", {1, 8, 4}, {{kInt8, kInt8}}, kInt32, "avx_vnni_int8", 64);
  table.AddCpu(kTile, "tdpbf16ps", {16, 16, 32}, Same({kBfloat16}), kFloat32, "amx_bf16", 512);
  for (const auto& [mnemonic, a, b] :
       {std::tuple("tdpbssd", kInt8, kInt8), std::tuple("tdpbsud", kInt8, kUint8),
        std::tuple("tdpbusd", kUint8, kInt8), std::tuple("tdpbuud", kUint8, kUint8)}) {
    table.AddCpu(kTile, mnemonic, {16, 16, 64}, {{a, b}}, kInt32, "amx_int8", 1024);
  }
}

constexpr int64_t kMostN = 256;

bool HasSeveralN(const MatrixInstruction& row) {
  return row.unit == MatrixUnit::kWarpGroup || row.unit == MatrixUnit::kTensorMemory;
}

// ---- Types of contractions ----

// Whether the products of operands of a type are exact once it is what the unit takes.
bool IsExactOperand(const MatrixInstruction& unit, ScalarType of_unit, ScalarType type) {
  if (!HoldsAllValues(of_unit, type)) return false;
  if (unit.is_exact()) return true;
  if (IsFloatingPoint(type)) return Info(type).format.fraction_bits <= unit.fraction_bits;
  return 8 * SizeBytes(type) - (IsSigned(type) ? 1 : 0) <= unit.fraction_bits + 1;
}

// Of an integer type.
double LargestMagnitude(ScalarType type) {
  return std::ldexp(1.0, 8 * SizeBytes(type) - (IsSigned(type) ? 1 : 0));
}

}  // namespace

absl::Span<const MatrixInstruction> MatrixInstructions() {
  static const auto* rows = [] {
    Table table;
    AddWarpRows(table);
    AddAcceleratedRows(table);
    AddCpuRows(table);
    return new std::vector<MatrixInstruction>(table.Take());
  }();
  return *rows;
}

bool HasN(const MatrixInstruction& row, int64_t n) {
  if (!HasSeveralN(row)) return n == row.n;
  if (n < 8 || n > kMostN || n % 8 != 0) return false;
  // Of integers there are 8, 16, 24 and 32, then every second one.
  return IsFloatingPoint(row.a) || n <= 32 || n % 16 == 0;
}

MatrixInstruction WithN(const MatrixInstruction& row, int64_t n) {
  MatrixInstruction sized = row;
  sized.n = n;
  FillLayouts(&sized);
  sized.name = NameOf(sized);
  return sized;
}

std::optional<MatrixInstruction> GroupInstruction(ScalarType a, ScalarType b, int64_t n) {
  for (const MatrixInstruction& row : MatrixInstructions()) {
    const bool is_of_types = row.a == a && row.b == b;
    if (row.unit == MatrixUnit::kWarpGroup && is_of_types && HasN(row, n)) return WithN(row, n);
  }
  return std::nullopt;
}

bool HaveGpuUnit(ScalarType a, ScalarType b) {
  return std::ranges::any_of(MatrixInstructions(), [&](const MatrixInstruction& row) {
    return row.a == a && row.b == b && row.isa.empty() && !row.is_planned;
  });
}

double MultiplyAddsPerCycle(const MatrixInstruction& instruction, const DeviceDescription& device) {
  if (!instruction.isa.empty()) {
    const std::vector<absl::string_view> words = absl::StrSplit(device.isa, ' ');
    const bool has =
        device.kind == DeviceKind::kCpu && std::ranges::find(words, instruction.isa) != words.end();
    return has ? instruction.cpu_rate : 0;
  }
  if (device.kind != DeviceKind::kCuda) return 0;  // OpenCL and HIP have no words for them
  const int capability = ComputeCapability(device);
  for (const UnitRate& rate : instruction.rates) {
    if (capability >= rate.from && capability < rate.to) return rate.multiply_adds;
  }
  return 0;
}

UnitArithmetic ArithmeticOf(const MatrixInstruction& instruction, ScalarType a, ScalarType b,
                            ScalarType combined, int64_t terms) {
  const ScalarType accumulator = instruction.accumulator;
  const bool fit = HoldsAllValues(instruction.a, a) && HoldsAllValues(instruction.b, b);
  if (!fit || combined == ScalarType::kBool) return UnitArithmetic::kNone;
  if (IsInteger(accumulator)) {
    const bool wraps = IsInteger(combined) && SizeBytes(combined) <= SizeBytes(accumulator);
    const double largest = LargestMagnitude(a) * LargestMagnitude(b) * static_cast<double>(terms);
    if (!wraps && largest >= LargestMagnitude(accumulator)) return UnitArithmetic::kNone;
    return IsInteger(combined) ? UnitArithmetic::kExact : UnitArithmetic::kRounded;
  }
  if (!IsFloatingPoint(combined) || !HoldsAllValues(accumulator, combined)) {
    return UnitArithmetic::kNone;
  }
  const bool is_exact = IsExactOperand(instruction, instruction.a, a) &&
                        IsExactOperand(instruction, instruction.b, b);
  const bool keeps = instruction.kept_bits >= Info(combined).format.fraction_bits;
  return is_exact && keeps ? UnitArithmetic::kRounded : UnitArithmetic::kReduced;
}

std::string AssemblyName(const MatrixInstruction& instruction) {
  std::string name(instruction.mnemonic);
  if (!instruction.isa.empty()) return name;
  const std::string sum = NameOf(instruction.accumulator);
  const std::string operands = absl::StrCat(".", OperandName(instruction, instruction.a), ".",
                                            OperandName(instruction, instruction.b));
  absl::StrAppend(&name, ".", ShapeOf(instruction));
  if (instruction.unit == MatrixUnit::kWarp) {
    return absl::StrCat(name, ".row.col.", sum, operands, ".", sum);
  }
  return absl::StrCat(name, ".", sum, operands);
}

}  // namespace mdh
