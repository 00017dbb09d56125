#include "codegen/program/contraction_units.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/expression/dependences.h"

namespace mdh {
namespace {

// Of expressions that are contractions; of others, none.
std::vector<UnitOfContraction> UnitsIfContraction(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  return form.ok() ? UnitsOf(expression, *form) : std::vector<UnitOfContraction>();
}

ScalarType OperandOfUnit(Products products) {
  if (products == Products::kFp8) return ScalarType::kFloat8E4m3;
  return PartsOf(products) > 1 ? ScalarType::kBfloat16 : ScalarType::kFloat32;
}

// Multiply-adds of fp32 that a core of the device does in a cycle by the policy's products.
double RateOfProducts(const DeviceDescription& device, NumericsPolicy numerics) {
  const Products products = ProductsOf(numerics);
  if (products == Products::kExact) return 0;
  const ScalarType operand = OperandOfUnit(products);
  double rate = 0;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    // Units of CPUs take what is bf16 in memory.
    if (row.a != operand || row.b != operand || row.is_planned || !row.isa.empty()) continue;
    rate = std::max(rate, MultiplyAddsPerCycle(row, device));
  }
  return rate / static_cast<double>(ProductsOfParts(products).size());
}

}  // namespace

std::vector<UnitOfContraction> UnitsOf(const Expression& expression, const ContractionForm& form) {
  const int64_t terms = PointsAlong(expression, form.k);
  // What is computed may have the values of a type that is narrower than its own.
  const auto type_for = [](ScalarType of_unit, const ContractionOperand& operand) {
    const bool is_narrower = IsFloatingPoint(of_unit) && !HoldsAllValues(of_unit, operand.type()) &&
                             HasAllValues(of_unit, operand.function);
    return is_narrower ? of_unit : operand.type();
  };
  std::vector<UnitOfContraction> units;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    const ScalarType a = type_for(row.a, form.a), b = type_for(row.b, form.b);
    const UnitArithmetic straight = ArithmeticOf(row, a, b, form.combined, terms);
    if (straight != UnitArithmetic::kNone) {
      units.push_back({&row, straight, false});
      continue;
    }
    const UnitArithmetic swapped = ArithmeticOf(row, b, a, form.combined, terms);
    if (swapped != UnitArithmetic::kNone) units.push_back({&row, swapped, true});
  }
  return units;
}

double UnitPeak(const Expression& expression, const DeviceDescription& device, double clock_hz,
                NumericsPolicy numerics) {
  const int cores = device.kind == DeviceKind::kCpu ? device.cores : device.blocks.multiprocessors;
  double rate = 0;
  for (const UnitOfContraction& unit : UnitsIfContraction(expression)) {
    if (unit.arithmetic == UnitArithmetic::kReduced) continue;
    rate = std::max(rate, MultiplyAddsPerCycle(*unit.instruction, device));
  }
  if (ProductsObstacle(expression, numerics).empty()) {
    rate = std::max(rate, RateOfProducts(device, numerics));
  }
  return 2 * rate * cores * clock_hz;
}

std::string ProductsObstacle(const Expression& expression, const DeviceDescription& device,
                             NumericsPolicy numerics) {
  std::string why = ProductsObstacle(expression, numerics);
  if (!why.empty() || ProductsOf(numerics) == Products::kExact) return why;
  if (RateOfProducts(device, numerics) > 0) return "";
  const ScalarType operand = OperandOfUnit(ProductsOf(numerics));
  return absl::StrCat("numerics=", Name(numerics), ": ", device.name, " has no matrix unit for ",
                      operand == ScalarType::kFloat32    ? "tf32"
                      : operand == ScalarType::kBfloat16 ? "bf16"
                                                         : "fp8");
}

bool MayTruncate(const Expression& expression) {
  const std::vector<UnitOfContraction> units = UnitsIfContraction(expression);
  return std::ranges::any_of(units, [](const UnitOfContraction& unit) {
    return unit.arithmetic == UnitArithmetic::kRounded && unit.instruction->truncates;
  });
}

}  // namespace mdh
