// Validate: how blocks of threads combine results by key (KeyedParameters).
#include <algorithm>
#include <bit>

#include "core/decomposition/constraints.h"
#include "core/decomposition/keyed_form.h"
#include "core/decomposition/validate.h"
#include "core/expression/numerics.h"

namespace mdh {
namespace {

constexpr int kMostKeyedElements = 64;    // of a thread at once
constexpr int kMostKeyedTiles = 1 << 20;  // of a part
constexpr int kMostKeyedCopies = 32;

// Results are combined in shared memory and in the outputs.
std::string KeyedTypesObstacle(const Expression& e, const DeviceDescription& device,
                               const KeyedForm& form, NumericsPolicy numerics) {
  const ScalarType table = TableKeyType(form.key_type);
  if (!HasAtomicCombination(device, PointWiseKind::kAdd, table)) {
    return absl::StrCat("the device compares no keys of type ", Name(form.key_type), " atomically");
  }
  const std::vector<TypedName>& results = e.function().results();
  for (int r = 0; r < static_cast<int>(results.size()); ++r) {
    const ScalarType type = results[r].type;
    const ScalarType stored = e.store() != nullptr ? type : e.stored_type(r);  // in an array
    const std::string result = absl::StrCat("result ", results[r].name, " is ");
    if (!HasAtomicCombination(device, e.reduction().kinds()[r], type)) {
      return absl::StrCat(result, "of type ", Name(type),
                          ", which the device does not combine atomically");
    }
    if (type != stored) {
      return absl::StrCat(result, "combined as ", Name(type), " and stored as ", Name(stored));
    }
    if (IsFloatingPoint(type) && !Reassociates(numerics)) {
      return absl::StrCat("numerics=", Name(numerics), " fixes the order in which values combine");
    }
  }
  return "";
}

std::string KeyedCountsObstacle(const KeyedParameters& k) {
  for (const int count : {k.threads, k.rounds, k.run, k.copies}) {
    if (count < 1 || !std::has_single_bit(static_cast<unsigned>(count))) {
      return absl::StrCat("threads, rounds, run and copies are powers of two, not ", count);
    }
  }
  if (k.tiles < 1) return absl::StrCat("parts of ", k.tiles, " tiles");
  return FirstExceeded({{"elements of a thread", int64_t{k.rounds} * k.run, kMostKeyedElements},
                        {"tiles of a part", k.tiles, kMostKeyedTiles},
                        {"copies of results", k.copies, kMostKeyedCopies}});
}

}  // namespace

std::string KeyedObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  const Expression& e = target.expression;
  const Result<KeyedForm> form = FindKeyedForm(e);
  if (!form.ok()) return std::string(form.status().message());
  std::string why = KeyedTypesObstacle(e, target.device, *form, p.numerics);
  if (why.empty()) why = KeyedCountsObstacle(p.keyed);
  if (!why.empty()) return why;
  const BlockLimits& limits = target.device.blocks;
  const int64_t threads = std::min<int64_t>(limits.max_threads_per_block, limits.max_block[0]);
  if (p.keyed.threads > threads) {
    return FirstExceeded({{"threads of a block", p.keyed.threads, threads}});
  }
  const KeyedCut cut = CutByKey(e, *form, p.keyed);
  return FirstExceeded(
      {{"bytes of shared memory of a block", cut.shared_bytes, limits.shared_bytes_per_block},
       // Batches are no more than memory has room for.
       {"blocks of the grid", cut.batches * cut.parts, limits.max_grid[0]}});
}

}  // namespace mdh
