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

// Multiply-adds of fp32 that a core of the device does in a cycle by the policy's products.
double RateOfProducts(const DeviceDescription& device, NumericsPolicy numerics) {
  const Products products = ProductsOf(numerics);
  if (products == Products::kExact) return 0;
  const bool has_parts = PartsOf(products) > 1;
  const ScalarType operand = has_parts ? ScalarType::kBfloat16 : ScalarType::kFloat32;
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
  const ScalarType a = form.a.type(), b = form.b.type();
  std::vector<UnitOfContraction> units;
  for (const MatrixInstruction& row : MatrixInstructions()) {
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
  return absl::StrCat("numerics=", Name(numerics), ": ", device.name, " has no matrix unit for ",
                      PartsOf(ProductsOf(numerics)) > 1 ? "bf16" : "tf32");
}

bool MayTruncate(const Expression& expression) {
  const std::vector<UnitOfContraction> units = UnitsIfContraction(expression);
  return std::any_of(units.begin(), units.end(), [](const UnitOfContraction& unit) {
    return unit.arithmetic == UnitArithmetic::kRounded && unit.instruction->truncates;
  });
}

}  // namespace mdh
