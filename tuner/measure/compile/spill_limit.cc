#include "tuner/measure/compile/spill_limit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// The function that spills most; nullptr if there is none.
const FunctionResources* Worst(absl::Span<const FunctionResources> functions) {
  const auto worst = std::ranges::max_element(functions, [](const auto& a, const auto& b) {
    return a.spill_store_bytes < b.spill_store_bytes;
  });
  return worst == functions.end() ? nullptr : &*worst;
}

}  // namespace

std::string SpillLimit::Objection(absl::Span<const FunctionResources> functions,
                                  const MeasureOptions& options) const {
  const FunctionResources* const worst = Worst(functions);
  if (worst == nullptr || options.best_so_far_ns == 0 || !least_.has_value()) return "";
  if (worst->spill_store_bytes <= kMostSpilledBytes + *least_) return "";
  return absl::StrCat(worst->function, " spills ", worst->spill_store_bytes, " bytes a thread (",
                      worst->registers, " registers)");
}

void SpillLimit::Record(absl::Span<const FunctionResources> functions) {
  const FunctionResources* const worst = Worst(functions);
  if (worst == nullptr) return;
  least_ = std::min(least_.value_or(worst->spill_store_bytes), worst->spill_store_bytes);
}

}  // namespace mdh
