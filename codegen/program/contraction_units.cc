#include "codegen/program/contraction_units.h"

#include <algorithm>

#include "core/expression/dependences.h"

namespace mdh {
namespace {

// Of expressions that are contractions; of others, none.
std::vector<UnitOfContraction> UnitsIfContraction(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  return form.ok() ? UnitsOf(expression, *form) : std::vector<UnitOfContraction>();
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

double UnitPeak(const Expression& expression, const DeviceDescription& device, double clock_hz) {
  const int cores = device.kind == DeviceKind::kCpu ? device.cores : device.blocks.multiprocessors;
  double rate = 0;
  for (const UnitOfContraction& unit : UnitsIfContraction(expression)) {
    if (unit.arithmetic == UnitArithmetic::kReduced) continue;
    rate = std::max(rate, MultiplyAddsPerCycle(*unit.instruction, device));
  }
  return 2 * rate * cores * clock_hz;
}

bool MayTruncate(const Expression& expression) {
  const std::vector<UnitOfContraction> units = UnitsIfContraction(expression);
  return std::any_of(units.begin(), units.end(), [](const UnitOfContraction& unit) {
    return unit.arithmetic == UnitArithmetic::kRounded && unit.instruction->truncates;
  });
}

}  // namespace mdh
