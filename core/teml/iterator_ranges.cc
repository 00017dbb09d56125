#include "core/teml/iterator_ranges.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Ranges = std::map<std::string, int64_t>;
// Sums of up to 64 products of numbers up to 2^40 fit.
__extension__ typedef __int128 WideSum;

int64_t ExtentOf(const IteratorUse& use) { return use.tensor->shape[use.dimension]; }

std::string PlaceOfUse(const IteratorUse& use) {
  return absl::StrCat("dimension ", use.dimension + 1, " of '", use.tensor->name, "', which has ",
                      ExtentOf(use));
}

// Whether a tensor is read with other indices of the iterator in the same dimension.
bool IsStencil(const std::vector<IteratorUse>& uses, const IteratorUse& use,
               const std::string& iterator) {
  return std::ranges::any_of(uses, [&](const IteratorUse& other) {
    return !other.is_target && other.tensor == use.tensor && other.dimension == use.dimension &&
           !other.index->is_plain() &&
           std::ranges::any_of(other.index->terms,
                               [&](const IteratorTerm& term) { return term.iterator == iterator; });
  });
}

// Ranges of the iterators that index a dimension alone.
Status InferPlain(const std::vector<IteratorUse>& uses, const ProgramText& text, Ranges* ranges) {
  std::map<std::string, const IteratorUse*> shortest;
  for (const IteratorUse& use : uses) {
    if (!use.index->is_plain()) continue;
    const IteratorUse*& least = shortest[use.index->terms[0].iterator];
    if (least == nullptr || ExtentOf(use) < ExtentOf(*least)) least = &use;
  }
  for (const IteratorUse& use : uses) {
    if (!use.index->is_plain()) continue;
    const std::string& iterator = use.index->terms[0].iterator;
    const IteratorUse& least = *shortest.at(iterator);
    const bool fits =
        ExtentOf(use) == ExtentOf(least) || (!use.is_target && IsStencil(uses, use, iterator));
    if (!fits) {
      return text.ErrorAt(
          use.token, "'", iterator, "' indexes ", PlaceOfUse(use), ", and ", PlaceOfUse(least),
          ": shape inference fails (14, 15); use another iterator, or tensors of one "
          "extent");
    }
    (*ranges)[iterator] = ExtentOf(least);
  }
  return absl::OkStatus();
}

// How far the only iterator of an index without a range may go; nothing if there is not just one.
std::optional<std::pair<std::string, int64_t>> LastUnknown(const IteratorUse& use,
                                                           const Ranges& ranges) {
  const IteratorTerm* unknown = nullptr;
  WideSum least = use.index->constant, most = use.index->constant;
  for (const IteratorTerm& term : use.index->terms) {
    const auto range = ranges.find(term.iterator);
    if (range == ranges.end()) {
      if (unknown != nullptr) return std::nullopt;
      unknown = &term;
      continue;
    }
    const WideSum reach = WideSum{term.coefficient} * (range->second - 1);
    (reach > 0 ? most : least) += reach;
  }
  if (unknown == nullptr) return std::nullopt;
  const WideSum room = unknown->coefficient > 0 ? WideSum{ExtentOf(use)} - 1 - most : least;
  const WideSum step = unknown->coefficient > 0 ? unknown->coefficient : -unknown->coefficient;
  const WideSum values = room < 0 ? 0 : room / step + 1;
  return std::pair(unknown->iterator, static_cast<int64_t>(values));
}

}  // namespace

void AppendUses(const TensorNode& access, bool is_target, std::vector<IteratorUse>* uses) {
  for (size_t d = 0; d < access.indices.size(); ++d) {
    uses->push_back({access.token, access.tensor.get(), d, &access.indices[d], is_target});
  }
}

Result<Ranges> InferRanges(const std::vector<IteratorUse>& uses, const ProgramText& text) {
  Ranges ranges;
  MDH_RETURN_IF_ERROR(InferPlain(uses, text, &ranges));
  for (bool grows = true; grows;) {
    Ranges found;
    for (const IteratorUse& use : uses) {
      const auto last = LastUnknown(use, ranges);
      if (!last.has_value()) continue;
      const auto [entry, is_new] = found.emplace(*last);
      if (!is_new) entry->second = std::min(entry->second, last->second);
    }
    grows = !found.empty();
    ranges.merge(found);
  }
  return ranges;
}

Status CheckInside(const std::vector<IteratorUse>& uses, const Ranges& ranges,
                   const ProgramText& text) {
  for (const IteratorUse& use : uses) {
    WideSum least = use.index->constant, most = use.index->constant;
    for (const IteratorTerm& term : use.index->terms) {
      const WideSum reach = WideSum{term.coefficient} * (ranges.at(term.iterator) - 1);
      (reach > 0 ? most : least) += reach;
    }
    if (least >= 0 && most < ExtentOf(use)) continue;
    // What is shown need not be exact beyond 2^62.
    const WideSum shown = least < 0 ? std::max(least, WideSum{INT64_MIN / 2})
                                    : std::min(most, WideSum{INT64_MAX / 2});
    return text.ErrorAt(use.token, "the index ", ToText(*use.index), " reaches ",
                        static_cast<int64_t>(shown), " in ", PlaceOfUse(use),
                        ": shape inference fails (14, 15); enlarge the tensor, or the "
                        "iterator goes less far where it indexes a shorter tensor alone");
  }
  return absl::OkStatus();
}

}  // namespace mdh
