#include "codegen/bounds/unit_cycles.h"

#include <algorithm>

namespace mdh {

double Fused(const ArithmeticWork& work, bool may_fuse) {
  return may_fuse ? std::max(work.multiplications, work.additions)
                  : work.multiplications + work.additions;
}

double CyclesOf(const ArithmeticWork& work, const ArithmeticRate& rate, bool may_fuse) {
  if (rate.additions <= rate.multiplications) return Fused(work, may_fuse) / rate.multiplications;
  return std::max({work.multiplications / rate.multiplications, work.additions / rate.additions,
                   Fused(work, may_fuse) / rate.all});
}

double UnitCycles(const std::array<ArithmeticWork, 3>& work, const DeviceRates& rates,
                  bool may_fuse) {
  double cycles = 0, issued = 0;
  for (const RealKind kind : kRealKinds) {
    const ArithmeticWork& of_kind = work[static_cast<size_t>(kind)];
    cycles = std::max(cycles, CyclesOf(of_kind, rates.of(kind), may_fuse));
    issued += (Fused(of_kind, may_fuse) + of_kind.others + of_kind.special) / rates.of(kind).all;
  }
  if (rates.special > 0) {
    const ArithmeticWork& singles = work[static_cast<size_t>(RealKind::kSingle)];
    cycles = std::max(cycles, singles.special / rates.special);
  }
  return std::max(cycles, issued);
}

}  // namespace mdh
