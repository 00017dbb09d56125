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

Status KeyedLimit(const char* name, int64_t value, int64_t limit) {
  if (value <= limit) return absl::OkStatus();
  return InvalidParameters("keyed: ", name, ": ", value, " > ", limit);
}

// Results are combined in shared memory and in the outputs.
Status ValidateKeyedTypes(const Expression& e, const DeviceDescription& device,
                          const KeyedForm& form, NumericsPolicy numerics) {
  const ScalarType table = TableKeyType(form.key_type);
  if (!HasAtomicCombination(device, PointWiseKind::kAdd, table)) {
    return InvalidParameters("keyed: the device compares no keys of type ", Name(form.key_type),
                             " atomically");
  }
  const std::vector<TypedName>& results = e.function().results();
  for (int r = 0; r < static_cast<int>(results.size()); ++r) {
    const ScalarType type = results[r].type, stored = e.stored_type(r);
    if (!HasAtomicCombination(device, e.reduction().kinds()[r], type)) {
      return InvalidParameters("keyed: result ", results[r].name, " is of type ", Name(type),
                               ", which the device does not combine atomically");
    }
    if (type != stored) {
      return InvalidParameters("keyed: result ", results[r].name, " is combined as ", Name(type),
                               " and stored as ", Name(stored));
    }
    if (IsFloatingPoint(type) && numerics != NumericsPolicy::kReassociate) {
      return InvalidParameters(
          "keyed combines values in another order than numerics=", Name(numerics), " says");
    }
  }
  return absl::OkStatus();
}

Status ValidateKeyedCounts(const KeyedParameters& k) {
  for (const int count : {k.threads, k.rounds, k.run, k.copies}) {
    if (count < 1 || !std::has_single_bit(static_cast<unsigned>(count))) {
      return InvalidParameters("keyed: threads, rounds, run and copies are powers of two, not ",
                               count);
    }
  }
  if (k.tiles < 1) return InvalidParameters("keyed: parts of ", k.tiles, " tiles");
  MDH_RETURN_IF_ERROR(
      KeyedLimit("elements of a thread", int64_t{k.rounds} * k.run, kMostKeyedElements));
  MDH_RETURN_IF_ERROR(KeyedLimit("tiles of a part", k.tiles, kMostKeyedTiles));
  return KeyedLimit("copies of results", k.copies, kMostKeyedCopies);
}

}  // namespace

Status ValidateKeyed(const Expression& e, const SystemModel& model, const DeviceDescription& device,
                     const TuningParameters& p) {
  if (model.memory != MemoryKind::kExplicit) {
    return InvalidParameters("keyed is for devices with blocks of threads");
  }
  const Result<KeyedForm> form = FindKeyedForm(e);
  if (!form.ok()) return InvalidParameters("keyed: ", form.status().message());
  MDH_RETURN_IF_ERROR(ValidateKeyedTypes(e, device, *form, p.numerics));
  MDH_RETURN_IF_ERROR(ValidateKeyedCounts(p.keyed));
  const BlockLimits& limits = device.blocks;
  MDH_RETURN_IF_ERROR(
      KeyedLimit("threads of a block", p.keyed.threads,
                 std::min<int64_t>(limits.max_threads_per_block, limits.max_block[0])));
  const KeyedCut cut = CutByKey(e, *form, p.keyed);
  MDH_RETURN_IF_ERROR(KeyedLimit("bytes of shared memory of a block", cut.shared_bytes,
                                 limits.shared_bytes_per_block));
  // Batches are no more than memory has room for.
  return KeyedLimit("blocks of the grid", cut.batches * cut.parts, limits.max_grid[0]);
}

}  // namespace mdh
