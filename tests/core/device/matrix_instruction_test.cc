// The table of matrix instructions: who holds what, as the manuals of PTX and AVX have it, and that
// multiplying by the digits alone gives the plain product.
#include "core/device/matrix_instruction.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/core/device/matrix_emulator.h"

namespace mdh::matrix_instruction_test {
namespace {

// "reg/2%4": the digit above `below` values of its place, the last one of which needs no %.
std::string DigitText(DigitPlace place, int64_t below, int64_t extent, bool is_last) {
  constexpr std::array<const char*, 3> kNames = {"lane", "reg", "packed"};
  std::string text = kNames[static_cast<size_t>(place)];
  if (below > 1) absl::StrAppend(&text, "/", below);
  if (!is_last) absl::StrAppend(&text, "%", extent);
  return text;
}

constexpr std::array<DigitPlace, 3> kPlaces = {DigitPlace::kLane, DigitPlace::kRegister,
                                               DigitPlace::kPacked};

// "m = lane/4%8 + 8*(reg%2), k = 2*(lane%4) + packed%2 + 8*(reg/2%2)".
std::string ToText(const FragmentLayout& layout) {
  constexpr std::array<const char*, 3> kNames = {"m", "n", "k"};
  std::vector<std::string> axes;
  for (const MatrixAxis axis : kMatrixAxes) {
    std::vector<std::string> terms;
    for (const DigitPlace place : kPlaces) {
      const std::vector<LayoutDigit> of_place = layout.DigitsOf(place);
      int64_t below = 1;
      for (size_t n = 0; n < of_place.size(); ++n) {
        const LayoutDigit& digit = of_place[n];
        const std::string text = DigitText(place, below, digit.extent, n + 1 == of_place.size());
        below *= digit.extent;
        if (digit.axis != axis || digit.stride == 0) continue;
        terms.push_back(digit.stride == 1 ? text : absl::StrCat(digit.stride, "*(", text, ")"));
      }
    }
    if (terms.empty()) continue;
    axes.push_back(
        absl::StrCat(kNames[static_cast<size_t>(axis)], " = ", absl::StrJoin(terms, " + ")));
  }
  return absl::StrJoin(axes, ", ");
}

// All rows that code is generated for, those with several n with some of them.
std::vector<MatrixInstruction> Instructions() {
  std::vector<MatrixInstruction> instructions;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    if (row.is_planned) continue;
    for (const int64_t n : {row.n, int64_t{24}, int64_t{128}, int64_t{256}}) {
      if (HasN(row, n) &&
          (n != row.n || instructions.empty() || instructions.back().name != row.name)) {
        instructions.push_back(WithN(row, n));
      }
    }
  }
  return instructions;
}

// Where each element of a fragment is, written out: of lane, register and number in it.
using Formula = std::function<MatrixPoint(int64_t g, int64_t t, int64_t r, int64_t e)>;

void ExpectHeld(const FragmentLayout& layout, int64_t registers, int64_t packed,
                const Formula& formula) {
  EXPECT_EQ(layout.Count(DigitPlace::kRegister), registers);
  EXPECT_EQ(layout.Count(DigitPlace::kPacked), packed);
  Fragment(layout).ForAll([&](const HeldAt& held) {
    EXPECT_EQ(layout.At(held), formula(held.lane / 4, held.lane % 4, held.reg, held.packed))
        << held.lane << " " << held.reg << " " << held.packed;
  });
}

TEST(MatrixInstructionTest, HalvesOfWarps) {
  const MatrixInstruction mma = InstructionNamed("mma.m16n8k16.bf16");
  ExpectHeld(mma.a_layout, 4, 2, [](int64_t g, int64_t t, int64_t r, int64_t e) {
    return MatrixPoint{g + 8 * (r % 2), 0, 2 * t + e + 8 * (r / 2)};
  });
  ExpectHeld(mma.b_layout, 2, 2, [](int64_t g, int64_t t, int64_t r, int64_t e) {
    return MatrixPoint{0, g, 2 * t + e + 8 * r};
  });
  ExpectHeld(mma.c_layout, 4, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
    return MatrixPoint{g + 8 * (r / 2), 2 * t + r % 2, 0};
  });
  EXPECT_EQ(InstructionNamed("mma.m16n8k16.f16").a_layout, mma.a_layout);
}

TEST(MatrixInstructionTest, OtherTypesOfWarps) {
  const MatrixInstruction tf32 = InstructionNamed("mma.m16n8k8.tf32");
  ExpectHeld(tf32.a_layout, 4, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
    return MatrixPoint{g + 8 * (r % 2), 0, t + 4 * (r / 2)};
  });
  ExpectHeld(tf32.b_layout, 2, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
    return MatrixPoint{0, g, t + 4 * r};
  });
  for (const char* name : {"mma.m16n8k32.s8", "mma.m16n8k32.u8.s8", "mma.m16n8k32.e4m3"}) {
    const MatrixInstruction bytes = InstructionNamed(name);
    ExpectHeld(bytes.a_layout, 4, 4, [](int64_t g, int64_t t, int64_t r, int64_t e) {
      return MatrixPoint{g + 8 * (r % 2), 0, 4 * t + e + 16 * (r / 2)};
    });
    ExpectHeld(bytes.b_layout, 2, 4, [](int64_t g, int64_t t, int64_t r, int64_t e) {
      return MatrixPoint{0, g, 4 * t + e + 16 * r};
    });
  }
  const MatrixInstruction fp64 = InstructionNamed("mma.m8n8k4.f64");
  ExpectHeld(fp64.a_layout, 1, 1, [](int64_t g, int64_t t, int64_t, int64_t) {
    return MatrixPoint{g, 0, t};
  });
  ExpectHeld(fp64.c_layout, 2, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
    return MatrixPoint{g, 2 * t + r, 0};
  });
  for (const int64_t k : {4, 8, 16}) {
    const MatrixInstruction wide = InstructionNamed("mma.m16n8k" + std::to_string(k) + ".f64");
    ExpectHeld(wide.a_layout, k / 2, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
      return MatrixPoint{g + 8 * (r % 2), 0, t + 4 * (r / 2)};
    });
    ExpectHeld(wide.b_layout, k / 4, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
      return MatrixPoint{0, g, t + 4 * r};
    });
  }
}

TEST(MatrixInstructionTest, Warpgroups) {
  const MatrixInstruction wgmma = InstructionNamed("wgmma.m64n256k16.bf16");
  ExpectHeld(wgmma.a_layout, 4, 2, [](int64_t g, int64_t t, int64_t r, int64_t e) {
    return MatrixPoint{16 * (g / 8) + g % 8 + 8 * (r % 2), 0, 2 * t + e + 8 * (r / 2)};
  });
  ExpectHeld(wgmma.c_layout, 128, 1, [](int64_t g, int64_t t, int64_t r, int64_t) {
    return MatrixPoint{16 * (g / 8) + g % 8 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * t + r % 2, 0};
  });
  EXPECT_TRUE(wgmma.b_layout.digits.empty());
  EXPECT_TRUE(wgmma.takes_transposed);
  EXPECT_FALSE(InstructionNamed("wgmma.m64n64k8.tf32").takes_transposed);
  EXPECT_FALSE(InstructionNamed("wgmma.m64n64k32.e5m2").takes_transposed);
  EXPECT_EQ(InstructionNamed("wgmma.m64n8k16.f16").c_layout.Count(DigitPlace::kRegister), 4);
}

TEST(MatrixInstructionTest, Cpus) {
  const MatrixInstruction dot = InstructionNamed("dot.m1n16k2.bf16");
  EXPECT_EQ(ToText(dot.a_layout), "k = packed");
  EXPECT_EQ(ToText(dot.b_layout), "n = packed/2, k = packed%2");
  EXPECT_EQ(ToText(dot.c_layout), "n = packed");
  const MatrixInstruction amx = InstructionNamed("amx.m16n16k64.s8.u8");
  EXPECT_EQ(AssemblyName(amx), "tdpbsud");
  EXPECT_EQ(ToText(amx.a_layout), "m = reg, k = packed");
  EXPECT_EQ(ToText(amx.b_layout), "n = packed/4, k = 4*(reg) + packed%4");
  EXPECT_EQ(ToText(amx.c_layout), "m = reg, n = packed");
}

// ---- All rows ----

TEST(MatrixInstructionTest, NamesAreReadBack) {
  std::set<std::string> names;
  for (const MatrixInstruction& instruction : Instructions()) {
    EXPECT_TRUE(names.insert(instruction.name).second) << instruction.name;
    const MatrixInstruction same = InstructionNamed(instruction.name);
    EXPECT_EQ(same.name, instruction.name);
    EXPECT_EQ(AssemblyName(same), AssemblyName(instruction));
    EXPECT_EQ(same.c_layout, instruction.c_layout);
  }
  EXPECT_EQ(AssemblyName(InstructionNamed("mma.m16n8k16.bf16")),
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  EXPECT_EQ(AssemblyName(InstructionNamed("mma.m16n8k32.u8.s8")),
            "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32");
  EXPECT_EQ(AssemblyName(InstructionNamed("wgmma.m64n200k8.tf32")),
            "wgmma.mma_async.sync.aligned.m64n200k8.f32.tf32.tf32");
}

// Every element of an operand or result is held once.
void ExpectComplete(const MatrixInstruction& unit, const FragmentLayout& layout, int64_t lanes,
                    const MatrixPoint& extents) {
  if (layout.digits.empty()) return;
  EXPECT_EQ(layout.Count(DigitPlace::kLane), lanes) << unit.name;
  std::set<MatrixPoint> points;
  Fragment(layout).ForAll([&](const HeldAt& held) {
    const MatrixPoint point = layout.At(held);
    EXPECT_TRUE(points.insert(point).second) << unit.name;
    EXPECT_EQ(Holding(layout, point), held) << unit.name;
  });
  for (const MatrixAxis axis : kMatrixAxes) {
    EXPECT_EQ(layout.Extent(axis), extents[static_cast<size_t>(axis)]) << unit.name;
  }
  EXPECT_EQ(points.size(), static_cast<size_t>(extents[0] * extents[1] * extents[2])) << unit.name;
  EXPECT_EQ(Holding(layout, {extents[0], 0, 0}), std::nullopt);
}

TEST(MatrixInstructionTest, EveryElementIsHeldOnce) {
  for (const MatrixInstruction& unit : Instructions()) {
    ExpectComplete(unit, unit.a_layout, unit.lanes, {unit.m, 1, unit.k});
    ExpectComplete(unit, unit.b_layout, unit.lanes, {1, unit.n, unit.k});
    ExpectComplete(unit, unit.c_layout, unit.lanes, {unit.m, unit.n, 1});
    const bool in_words = unit.lanes > 1 && SizeBytes(unit.a) < 8;
    if (in_words) {
      EXPECT_EQ(unit.a_layout.Count(DigitPlace::kPacked) * SizeBytes(unit.a), 4) << unit.name;
    }
  }
}

TEST(MatrixInstructionTest, DigitsMultiply) {
  std::mt19937_64 rng(1);
  const auto small = [&] { return static_cast<int64_t>(rng() % 9) - 4; };
  for (const MatrixInstruction& unit : Instructions()) {
    if (unit.b_layout.digits.empty()) continue;  // matrix_memory_test.cc
    std::vector<std::vector<int64_t>> a(unit.m, std::vector<int64_t>(unit.k)),
        b(unit.k, std::vector<int64_t>(unit.n));
    for (std::vector<int64_t>& row : a) std::generate(row.begin(), row.end(), small);
    for (std::vector<int64_t>& row : b) std::generate(row.begin(), row.end(), small);
    Fragment held_a(unit.a_layout, [&](const MatrixPoint& p) { return a[p[0]][p[2]]; });
    Fragment held_b(unit.b_layout, [&](const MatrixPoint& p) { return b[p[2]][p[1]]; });
    Fragment c(unit.c_layout, [](const MatrixPoint& p) { return p[0] - p[1]; });
    Multiply(
        unit, [&](const MatrixPoint& p) { return held_a.at(p); },
        [&](const MatrixPoint& p) { return held_b.at(p); }, &c);
    for (int64_t m = 0; m < unit.m; ++m) {
      for (int64_t n = 0; n < unit.n; ++n) {
        int64_t sum = m - n;
        for (int64_t k = 0; k < unit.k; ++k) sum += a[m][k] * b[k][n];
        EXPECT_EQ(c.at(MatrixPoint{m, n, 0}), sum) << unit.name << " " << m << " " << n;
      }
    }
  }
}

// ---- Devices and types ----

DeviceDescription Gpu(const std::string& isa) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.isa = isa;
  return device;
}

TEST(MatrixInstructionTest, RatesFollowFromTheDevice) {
  const MatrixInstruction wgmma = InstructionNamed("wgmma.m64n128k16.bf16"),
                          mma = InstructionNamed("mma.m16n8k16.bf16");
  EXPECT_EQ(MultiplyAddsPerCycle(wgmma, Gpu("sm_90")), 2048);
  EXPECT_FALSE(HasInstruction(wgmma, Gpu("sm_89")));
  EXPECT_FALSE(HasInstruction(wgmma, Gpu("sm_100")));  // an interval, not a lower bound
  EXPECT_EQ(MultiplyAddsPerCycle(mma, Gpu("sm_80")), 1024);
  EXPECT_EQ(MultiplyAddsPerCycle(mma, Gpu("sm_86")), 512);
  EXPECT_TRUE(HasInstruction(mma, Gpu("sm_120")));
  EXPECT_FALSE(HasInstruction(mma, Gpu("sm_75")));
  EXPECT_TRUE(HasInstruction(InstructionNamed("mma.m16n8k8.f16"), Gpu("sm_75")));
  EXPECT_EQ(MultiplyAddsPerCycle(InstructionNamed("mma.m8n8k4.f64"), Gpu("sm_90")), 64);
  EXPECT_EQ(MultiplyAddsPerCycle(InstructionNamed("mma.m16n8k4.f64"), Gpu("sm_90")), 128);
  EXPECT_FALSE(HasInstruction(InstructionNamed("mma.m16n8k4.f64"), Gpu("sm_80")));
  DeviceDescription opencl = Gpu("OpenCL 3.0 CUDA sm_90");
  opencl.kind = DeviceKind::kOpenCl;
  DeviceDescription cpu;
  cpu.isa = "x86-64 avx2 fma avx512f avx512_bf16";
  for (const MatrixInstruction& row : MatrixInstructions()) {
    EXPECT_FALSE(HasInstruction(row, opencl)) << row.name;
    EXPECT_EQ(HasInstruction(row, cpu), row.name == "dot.m1n16k2.bf16") << row.name;
  }
}

// The figures that NVIDIA gives for its GPUs, in TFLOP/s without sparsity.
TEST(MatrixInstructionTest, RatesAreThoseOfSpecifications) {
  struct Figure {
    int capability;
    double clock_hz;
    std::string name;
    double tflops;
  };
  for (const Figure& figure :
       {Figure{80, 1.41e9, "mma.m16n8k16.f16", 312}, Figure{80, 1.41e9, "mma.m16n8k8.tf32", 156},
        Figure{80, 1.41e9, "mma.m8n8k4.f64", 19.5}, Figure{80, 1.41e9, "mma.m16n8k32.s8", 624},
        Figure{86, 1.695e9, "mma.m16n8k16.bf16", 125}, Figure{89, 2.04e9, "mma.m16n8k32.e4m3", 242},
        Figure{90, 1.83e9, "wgmma.m64n256k16.bf16", 989},
        Figure{90, 1.83e9, "wgmma.m64n256k8.tf32", 495},
        Figure{90, 1.83e9, "wgmma.m64n256k32.e4m3", 1979},
        Figure{90, 1.98e9, "mma.m16n8k16.f64", 67}}) {
    const DeviceDescription device = *DescribeCudaArchitecture(figure.capability);
    const double rate = MultiplyAddsPerCycle(InstructionNamed(figure.name), device);
    EXPECT_NEAR(2e-12 * rate * device.blocks.multiprocessors * figure.clock_hz, figure.tflops,
                0.01 * figure.tflops)
        << figure.name;
  }
}

TEST(MatrixInstructionTest, ArithmeticOfTypes) {
  using enum ScalarType;
  const auto of = [](const std::string& name, ScalarType a, ScalarType b, ScalarType combined,
                     int64_t terms = 1000) {
    return ArithmeticOf(InstructionNamed(name), a, b, combined, terms);
  };
  const std::string bf16 = "wgmma.m64n64k16.bf16", f16 = "wgmma.m64n64k16.f16",
                    tf32 = "wgmma.m64n64k8.tf32", s8 = "wgmma.m64n64k32.s8",
                    f64 = "mma.m16n8k4.f64", e4m3 = "wgmma.m64n64k32.e4m3";
  EXPECT_EQ(of(bf16, kBfloat16, kBfloat16, kFloat32), UnitArithmetic::kRounded);
  EXPECT_EQ(of(bf16, kBfloat16, kBfloat16, kBfloat16), UnitArithmetic::kRounded);
  EXPECT_EQ(of(bf16, kBfloat16, kFloat16, kFloat32), UnitArithmetic::kNone);
  EXPECT_EQ(of(bf16, kBfloat16, kBfloat16, kFloat64), UnitArithmetic::kNone);
  EXPECT_EQ(of(bf16, kFloat32, kFloat32, kFloat32), UnitArithmetic::kNone);
  EXPECT_EQ(of(bf16, kBfloat16, kUint8, kFloat32), UnitArithmetic::kRounded);
  EXPECT_EQ(of(f16, kInt8, kFloat16, kFloat32), UnitArithmetic::kRounded);
  EXPECT_EQ(of(f16, kInt16, kFloat16, kFloat32), UnitArithmetic::kNone);
  EXPECT_EQ(of(tf32, kFloat32, kFloat32, kFloat32), UnitArithmetic::kReduced);
  EXPECT_EQ(of(tf32, kFloat16, kBfloat16, kFloat32), UnitArithmetic::kRounded);
  EXPECT_EQ(of(tf32, kInt16, kBfloat16, kFloat32), UnitArithmetic::kReduced);
  EXPECT_EQ(of(f64, kFloat64, kFloat32, kFloat64), UnitArithmetic::kRounded);
  EXPECT_EQ(of(e4m3, kFloat8E4m3, kFloat8E4m3, kFloat32), UnitArithmetic::kReduced);
  EXPECT_EQ(of(e4m3, kFloat8E4m3, kFloat8E4m3, kBfloat16), UnitArithmetic::kRounded);
  EXPECT_EQ(of(s8, kInt8, kInt8, kInt32, 1 << 30), UnitArithmetic::kExact);
  EXPECT_EQ(of(s8, kInt8, kBool, kUint8, 1 << 30), UnitArithmetic::kExact);
  EXPECT_EQ(of(s8, kInt8, kUint8, kInt32), UnitArithmetic::kNone);
  EXPECT_EQ(of(s8, kInt8, kInt8, kInt64, 131'071), UnitArithmetic::kExact);
  EXPECT_EQ(of(s8, kInt8, kInt8, kInt64, 131'072), UnitArithmetic::kNone);
  EXPECT_EQ(of(s8, kInt8, kInt8, kFloat32, 1000), UnitArithmetic::kRounded);
  EXPECT_EQ(of(s8, kFloat16, kInt8, kFloat32), UnitArithmetic::kNone);
  EXPECT_EQ(of("mma.m16n8k32.u8.s8", kUint8, kInt8, kInt32), UnitArithmetic::kExact);
}

}  // namespace
}  // namespace mdh::matrix_instruction_test
