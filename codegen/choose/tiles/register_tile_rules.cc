#include "codegen/choose/tiles/register_tile_rules.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/choose/tiles/cache_parts.h"
#include "codegen/choose/tiles/counted_expression.h"
#include "codegen/choose/tiles/tile_register_choice.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/index_box.h"

namespace mdh {
namespace {

constexpr double kMuchWritten = 8;          // times what is read
constexpr int64_t kCacheWayBytes = 4096;    // of first-level caches, on all that we know: a page
constexpr int64_t kFewReads = 8;            // of a copy, by different register tiles
constexpr int64_t kLeastPerExtraUnit = 64;  // a core's register tiles for one more than its share

class Rules {
 public:
  // `threads`: among which the computation is divided.
  Rules(const Expression& e, const SystemModel& m, const DeviceDescription& device,
        NumericsPolicy numerics, int64_t threads)
      : e_(e),
        m_(m),
        device_(device),
        parts_(e, device),
        innermost_(InnermostMemoryLayer(m)),
        threads_(threads),
        p_(SinglePoints(e, m, numerics)) {}

  // Strips that are packed where they are used, if `in_caches` and that is possible; nullopt: it is
  // not.
  std::optional<TuningParameters> Run(const TileChoice& choice, bool in_caches) {
    ApplyTile(choice);
    if (in_caches && !PackInCaches(choice)) return std::nullopt;
    if (!in_caches) ChooseCacheTiles(choice);
    ChooseCoreTiles();
    OrderTiles();
    if (is_ordered()) KeepOrder();
    ChooseStaging(choice, in_caches ? innermost_ - 1 : InputParameters::kWholeBuffer);
    ChooseStores();
    ChooseThreads();
    for (int b = 0; in_caches && b < std::ssize(p_.inputs); ++b) {
      if (choice.packed[b] && p_.inputs[b].stage_layer < 0) return std::nullopt;
    }
    return std::move(p_);
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }
  bool HasRegisters() const { return m_.LayerWith(LayerRole::kRegisters) > 0; }
  bool is_ordered() const { return !Reassociates(p_.numerics); }
  std::vector<int64_t>& registers() { return p_.tile[innermost_]; }
  const std::vector<int64_t>& registers() const { return p_.tile[innermost_]; }

  // ---- Register tile ----

  void ApplyTile(const TileChoice& choice) {
    vector_dimension_ = choice.vector_dimension;
    lanes_ = choice.lanes;
    if (vector_dimension_ >= 0)
      p_.tile[m_.LayerWith(LayerRole::kLanes) - 1][vector_dimension_] = lanes_;
    for (int d = 0; d < e_.rank(); ++d) registers()[d] = d == vector_dimension_ ? lanes_ : 1;
    if (!HasRegisters()) return;
    registers() = choice.tile;
    mirrors_ = choice.mirrors;
    p_.independent_accumulators = choice.independent_accumulators;
    p_.dot = choice.dot;
    p_.dot_unit = choice.dot_unit;
    if (choice.accumulates_in_output) p_.accumulate_in = AccumulateIn::kOutput;
  }

  // ---- Caches ----

  // Whether register tiles reduce windows of a row of tiles that a cache keeps for the next row.
  bool SlidesAlongRows() const {
    const int v = vector_dimension_;
    if (v < 0 || e_.is_reduction(v)) return false;
    std::vector<int64_t> row = registers();
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d) && row[d] != size(d)) return false;
    }
    row[v] = size(v);
    return parts_.FootprintBytes(row, 1) <= 0.5 * static_cast<double>(device_.l2_bytes);
  }

  void ChooseCacheTiles(const TileChoice& choice) {
    std::vector<int> reduced, concatenated;
    for (int d = e_.rank() - 1; d >= 0; --d)
      (e_.is_reduction(d) ? reduced : concatenated).push_back(d);
    if (p_.accumulate_in == AccumulateIn::kOutput) {
      const std::vector<int64_t> part = parts_.OfOutputs(registers(), vector_dimension_);
      for (int l = 1; l < innermost_; ++l) p_.tile[l] = part;
      return;
    }
    // Stencils read rows that were read a row or a plane before: long rows are worth more than
    // blocks. Else there may be nothing that a cache could keep.
    if (!e_.has_reduction() || !parts_.ReadAgain() || SlidesAlongRows()) {
      for (int l = 1; l < innermost_; ++l) {
        for (int d = 0; d < e_.rank(); ++d) p_.tile[l][d] = size(d);
      }
      return;
    }
    std::vector<int64_t> tile = registers();
    parts_.Grow(tile, reduced, parts_.ReductionBytes(choice));  // reductions first
    parts_.FollowRows(tile, choice, reduced);
    parts_.KeepRowsOfWindows(tile, vector_dimension_);
    p_.prefetch = static_cast<int>(parts_.IterationsAhead(choice));
    for (int l = innermost_ - 1; l > 0; --l) {
      const bool outermost = l == 1;
      double bytes = 0.5 * static_cast<double>(device_.l2_bytes);
      if (outermost && innermost_ > 2) bytes = parts_.LastCacheBytes();
      parts_.Grow(tile, concatenated, bytes);
      if (outermost) parts_.Grow(tile, reduced, bytes);
      p_.tile[l] = tile;
    }
  }

  // Tiles for strips that are packed just before they are used, into a cache (Goto, van de Geijn:
  // Anatomy of high-performance matrix multiplication, section 4). Where a copy of a whole input is
  // larger than the caches, memory would write and read it once more. Below each part of the
  // reductions, and of as many rows as the last cache keeps, come strips one after the other: each
  // is packed, and multiplied by all these rows. False if no rows share strips, or the copies are
  // small.
  bool PackInCaches(const TileChoice& choice) {
    if (innermost_ < 3 || p_.accumulate_in == AccumulateIn::kOutput) return false;
    std::vector<int> reduced, rows;
    for (int d = e_.rank() - 1; d >= 0; --d) {
      if (e_.is_reduction(d)) reduced.push_back(d);
      if (!e_.is_reduction(d) && !IsOfPacked(choice, d)) rows.push_back(d);
    }
    double bytes = 0;
    for (int b = 0; b < std::ssize(e_.inputs()); ++b)
      if (choice.packed[b]) bytes += static_cast<double>(e_.inputs()[b].size_bytes());
    if (bytes <= 0.5 * static_cast<double>(device_.l2_bytes) || rows.empty()) return false;
    std::vector<int64_t> tile = registers();
    const bool once = std::ranges::all_of(rows, [&](int d) { return tile[d] == size(d); });
    const bool on_amx = p_.dot_unit == DotUnit::kTiles;
    parts_.Grow(tile, reduced, once ? parts_.FirstCacheBytes() : 0.3 * device_.l2_bytes);
    parts_.Balance(tile, registers(), reduced);
    if (once && on_amx) parts_.Balance(tile, registers(), reduced, parts_.NearRows(choice));
    p_.prefetch = once ? 1 : static_cast<int>(parts_.IterationsAhead(choice));
    // Tile registers, and strips of a few columns with lanes along a reduction, take rows faster
    // than a last cache gives them: strips would be packed again.
    const bool has_few_columns = e_.is_reduction(vector_dimension_);
    parts_.Grow(tile, rows,
                on_amx            ? RowBytesOfTiles(device_)
                : has_few_columns ? 0.5 * static_cast<double>(device_.l2_bytes)
                                  : parts_.LastCacheBytes());
    parts_.Balance(tile, registers(), reduced);
    const bool has_all_rows = std::ranges::all_of(rows, [&](int d) { return tile[d] == size(d); });
    if ((on_amx || has_few_columns) && !has_all_rows) return false;
    p_.tile[innermost_ - 1] = tile;
    tile[vector_dimension_] = size(vector_dimension_);
    for (int l = 1; l < innermost_ - 1; ++l) p_.tile[l] = tile;
    std::vector<int> order = OrderOfLayer(p_.phase, 1);
    std::stable_partition(order.begin(), order.end(), [&](int d) { return e_.is_reduction(d); });
    SetOrderOfLayer(p_.phase, 1, order);
    packed_in_caches_ = choice.packed;
    return true;
  }

  bool IsOfPacked(const TileChoice& choice, int d) const {
    for (int b = 0; b < std::ssize(e_.inputs()); ++b) {
      if (choice.packed[b] && StrideAlong(e_.inputs()[b], 0, d) != 0) return true;
    }
    return false;
  }

  // ---- Order ----

  // Bytes of an input that the tiles with one place in the concatenated dimensions read.
  double TileBytes(const Buffer& buffer) const {
    std::vector<int64_t> tile = p_.tile[innermost_];
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d)) tile[d] = p_.tile[std::max(0, innermost_ - 1)][d];
    }
    return parts_.BytesOf(buffer, tile, 1);
  }

  // Innermost run the tiles that share what is largest of the inputs of one. Results in the output:
  // reductions around all others, the lanes' dimension innermost.
  void OrderTiles() {
    const Buffer* largest = nullptr;
    const bool flips = FlipsSigns(e_, p_, vector_dimension_);
    for (const Buffer& buffer : e_.inputs()) {
      // What flipped signs add is counted once for tiles with the same words that have lanes.
      if (flips && StrideAlong(buffer, 0, vector_dimension_) == 0) continue;
      if (largest == nullptr || TileBytes(buffer) > TileBytes(*largest)) largest = &buffer;
    }
    // What is written more than read should be written in its order, and so should what memory has,
    // if the first-level cache keeps all of that input.
    double much = 0;
    for (const Buffer& b : e_.inputs()) much += kMuchWritten * static_cast<double>(b.size_bytes());
    if (largest != nullptr && largest->size_bytes() <= device_.l1_bytes / 2)
      much = std::min(much, static_cast<double>(device_.l2_bytes));
    if (largest == nullptr || (!flips && OutputBytes() > much)) return;
    const bool in_output = p_.accumulate_in == AccumulateIn::kOutput;
    std::vector<int> order = OrderOfLayer(p_.phase, innermost_);
    const auto place = [&](int d) {
      if (e_.is_reduction(d)) return in_output ? 0 : 3;
      if (in_output) return d == vector_dimension_ ? 2 : 1;
      return StrideAlong(*largest, 0, d) != 0 ? 1 : 2;
    };
    std::ranges::stable_sort(order, [&](int a, int b) { return place(a) < place(b); });
    SetOrderOfLayer(p_.phase, innermost_, order);
  }

  // ---- Cores ----

  void ChooseCoreTiles() {
    p_.tile[0] = Sizes();
    // Of results on one side of a diagonal each has two parts, the larger one with the smaller.
    int64_t wanted = mirrors_ && threads_ > 1 ? 2 * threads_ : threads_;
    // Results in the output have rows that should stay whole.
    if (p_.accumulate_in == AccumulateIn::kOutput &&
        OutputBytes() <= static_cast<double>(device_.l2_bytes)) {
      wanted = SplitOverCores(/*reduced=*/true, wanted);
    }
    wanted = SplitOverCores(/*reduced=*/false, wanted);
    if (wanted > 1 && !mirrors_ && e_.points() >= 100000) SplitOverCores(/*reduced=*/true, wanted);
    ShrinkInsideCores();
  }

  void ChooseThreads() {
    if (threads_ < device_.cores) p_.threads = static_cast<int>(threads_);
    if (p_.tile[0] == Sizes()) p_.threads = 1;
  }

  std::vector<int64_t> Sizes() const {
    std::vector<int64_t> sizes;
    for (const Dimension& dimension : e_.dimensions()) sizes.push_back(dimension.size);
    return sizes;
  }

  // Cuts dimensions into parts, the one that balances best first, until there are `wanted` parts or
  // nothing is left to cut. Gives the number of parts still wanted per part.
  int64_t SplitOverCores(bool reduced, int64_t wanted) {
    const Buffer* largest = nullptr;
    double all_bytes = 0;
    for (const Buffer& buffer : e_.inputs()) {
      all_bytes += static_cast<double>(buffer.size_bytes());
      if (largest == nullptr || buffer.size_bytes() > largest->size_bytes()) largest = &buffer;
    }
    if (largest != nullptr && 3 * static_cast<double>(largest->size_bytes()) < 2 * all_bytes)
      largest = nullptr;
    while (wanted > 1) {
      int best = -1;
      int64_t best_tile = 0;
      double best_score = 0;
      for (int d = 0; d < e_.rank(); ++d) {
        if (e_.is_reduction(d) != reduced || p_.tile[0][d] != size(d)) continue;
        // What is read most should be read by one core only.
        const bool divides_largest = largest != nullptr && StrideAlong(*largest, 0, d) != 0;
        // Parts of whole inner tiles, the largest that balance.
        for (int l = 1; l <= innermost_; ++l) {
          const int64_t unit = p_.tile[l][d], units = CeilDivide(size(d), unit);
          const int64_t tile =
              std::min(size(d), MultiplyOrLargest(CeilDivide(units, wanted), unit));
          if (tile == size(d)) continue;
          const double score = static_cast<double>(size(d)) /
                                   (static_cast<double>(tile) * static_cast<double>(wanted)) -
                               0.02 * l - 0.01 * d + (divides_largest ? 0.1 : 0) + PackedOnce(d);
          if (score > best_score) {
            best_score = score;
            best = d;
            best_tile = tile;
          }
        }
      }
      if (best < 0) break;
      p_.tile[0][best] = best_tile;
      const int64_t parts = CeilDivide(size(best), best_tile);
      wanted = CeilDivide(wanted, parts);
    }
    return wanted;
  }

  // What it is worth if one core only packs strips of caches; of results on one side of the
  // diagonal a last part along columns, which may be short, has least to do.
  double PackedOnce(int d) const {
    double worth = 0;
    for (int b = 0; b < std::ssize(packed_in_caches_); ++b) {
      const Buffer& buffer = e_.inputs()[b];
      if (packed_in_caches_[b] && StrideAlong(buffer, 0, d) != 0)
        worth = std::max(worth, StrideAlong(buffer, 0, vector_dimension_) == 1 ? 0.05 : 0.2);
    }
    return !mirrors_ ? worth : 2 * worth + (d == mirrors_->column ? 0.2 : 0);
  }

  // Makes the part of a core a little larger if its number of register tiles has no divisor near
  // that of a cache's tile: a prime number would leave tiles of one.
  void RoundCoreTile(int d) {
    int64_t& part = p_.tile[0][d];
    int64_t& cached = p_.tile[innermost_ - 1][d];
    const int64_t unit = registers()[d];
    if (innermost_ < 2 || part == size(d) || part % unit != 0 || part <= cached) return;
    const int64_t units = part / unit;
    for (int64_t divisor = cached / unit; divisor > 1; --divisor) {
      const int64_t rounded = RoundUp(units, divisor);
      if (rounded - units > units / kLeastPerExtraUnit || rounded * unit >= size(d)) continue;
      part = rounded * unit;
      cached = divisor * unit;
      return;
    }
  }

  // Inner tiles must divide those around them: take the largest multiple of the register tile that
  // divides and is no larger.
  void ShrinkInsideCores() {
    for (int d = 0; d < e_.rank(); ++d) {
      RoundCoreTile(d);
      int64_t outer = p_.tile[0][d];
      for (int l = 1; l < innermost_; ++l) {
        int64_t tile = std::min(p_.tile[l][d], outer);
        if (outer != size(d) && outer % tile != 0) {
          const int64_t unit = registers()[d];
          tile -= tile % unit;
          while (outer % tile != 0) tile -= unit;
        }
        p_.tile[l][d] = tile;
        outer = tile;
      }
    }
    RepairChain();
  }

  // A whole dimension is the only extent that need not be a multiple: if one inside was whole and
  // the one around it is not, everything is settled by the register tile.
  void RepairChain() {
    for (int d = 0; d < e_.rank(); ++d) {
      for (int l = innermost_ - 1; l >= 0; --l) {
        const int64_t inner = p_.tile[l + 1][d];
        if (p_.tile[l][d] != size(d) && p_.tile[l][d] % inner != 0) {
          p_.tile[l][d] = std::min(size(d), RoundUp(p_.tile[l][d], inner));
        }
      }
      int64_t outer = size(d);
      for (int l = 0; l <= innermost_; ++l) {
        if (p_.tile[l][d] > outer || (outer % p_.tile[l][d] != 0 && outer != size(d)))
          p_.tile[l][d] = outer;
        outer = p_.tile[l][d];
      }
    }
  }

  // Reductions in one loop each, in the order of the dimensions; parts as the policy says.
  void KeepOrder() {
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.combine_operators()[d].is_concat()) continue;
      const int64_t part = OrderedPart(e_, p_.numerics, d);
      for (int l = 0; l < innermost_; ++l) p_.tile[l][d] = part;
      if (e_.is_reduction(d)) {
        registers()[d] = 1;
      } else if (part % registers()[d] != 0) {
        registers()[d] = d == vector_dimension_ && part % lanes_ == 0 ? lanes_ : 1;
      }
    }
    std::vector<int> order = OrderOfLayer(p_.phase, innermost_);
    std::vector<int> reduced = order;
    std::erase_if(reduced, [&](int d) { return !e_.is_reduction(d); });
    std::ranges::sort(reduced);
    size_t next = 0;
    for (int& d : order) {
      if (e_.is_reduction(d)) d = reduced[next++];
    }
    SetOrderOfLayer(p_.phase, innermost_, order);
  }

  // ---- Packing ----

  // `layer`: where strips along the lanes are packed.
  void ChooseStaging(const TileChoice& choice, int layer) {
    for (int b = 0; b < std::ssize(e_.inputs()); ++b) {
      if (choice.packed[b] && choice.dot_unit == DotUnit::kTiles) {
        p_.inputs[b] = CopyForTiles(e_.inputs()[b], choice, layer, innermost_ - 1);
      } else if (choice.packed[b] && !HasStrips(e_.inputs()[b], vector_dimension_, choice)) {
        PackInStrips(b, vector_dimension_, layer);
      } else if (const int d = CrowdedDimension(b); d >= 0) {
        PackInStrips(b, d, InputParameters::kWholeBuffer);
      }
    }
  }

  // An input in strips along dimension d, all of it or what a part of `layer` reads, if that is
  // valid.
  void PackInStrips(int input, int d, int layer) {
    const Buffer& buffer = e_.inputs()[input];
    int strip = -1;
    for (size_t x = 0; x < buffer.extents.size(); ++x) {
      if (StripDimension(e_, buffer, static_cast<int>(x)) == d) strip = static_cast<int>(x);
    }
    if (strip < 0) return;
    InputParameters packed = p_.inputs[input];
    packed.stage_layer = layer;
    packed.strip_dimension = strip;
    packed.layout.erase(packed.layout.begin() + strip);
    packed.layout.insert(packed.layout.begin(), strip);
    std::swap(p_.inputs[input], packed);
    if (!Validate(e_, m_, device_, p_).ok()) std::swap(p_.inputs[input], packed);
  }

  // The dimension whose rows of an input, as many as a register tile has, push each other out of
  // the first-level cache: places a page apart share a set of it, which has room for as many lines
  // as there are pages in the cache. -1 if there is none, or if the input is read too seldom for a
  // copy.
  int CrowdedDimension(int input) const {
    const Buffer& buffer = e_.inputs()[input];
    const int v = vector_dimension_;
    if (v < 0 || e_.is_reduction(v) || !e_.has_reduction() || !CanStageWhole(buffer)) return -1;
    if (buffer.accesses.size() > 1 || StrideAlong(buffer, 0, v) != 0) return -1;
    if (buffer.size_bytes() <= device_.l1_bytes || size(v) < kFewReads * registers()[v]) return -1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.combine_operators()[d].is_concat() || registers()[d] == 1) continue;
      const int64_t stride = StrideAlong(buffer, 0, d);
      if (stride == 0) continue;
      const int64_t apart = stride % kCacheWayBytes * buffer.type.size_bytes();
      const int64_t ways = std::gcd(apart, kCacheWayBytes) * registers()[d];  // in bytes
      if (2 * ways > device_.l1_bytes) return d;
    }
    return -1;
  }

  // ---- Stores ----

  // Results that no cache keeps need not be read before they are written: whole vectors of them go
  // past the caches, if every one is stored once. What is read once pushes out results, too.
  void ChooseStores() {
    const int v = vector_dimension_;
    if (!HasRegisters() || v < 0 || e_.is_reduction(v) || e_.has_prefix_sum()) return;
    double bytes = OutputBytes();
    if (bytes <= static_cast<double>(device_.l2_bytes) || mirrors_) return;
    for (const Buffer& buffer : e_.inputs())
      bytes += ReuseOf(e_, buffer) <= 1 ? static_cast<double>(buffer.size_bytes()) : 0;
    const bool is_kept = bytes < static_cast<double>(device_.l3_bytes);
    if (is_kept || p_.accumulate_in == AccumulateIn::kOutput) return;
    for (int d = 0; d < e_.rank(); ++d) {
      for (int l = 0; e_.is_reduction(d) && l < innermost_; ++l)
        if (p_.tile[l][d] != size(d)) return;
    }
    if (!HasRowsOfVectors(e_, v, lanes_)) return;
    p_.streams_results = true;
    if (!Validate(e_, m_, device_, p_).ok()) p_.streams_results = false;
  }

  double OutputBytes() const {
    double bytes = 0;
    for (const Buffer& buffer : e_.outputs()) bytes += static_cast<double>(buffer.size_bytes());
    return bytes;
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const CacheParts parts_;
  const int innermost_;
  const int64_t threads_;
  TuningParameters p_;
  std::optional<ExchangeablePair> mirrors_;
  int vector_dimension_ = -1;
  int64_t lanes_ = 1;
  std::vector<bool> packed_in_caches_;  // per input; empty: none is
};

}  // namespace

TuningParameters ParametersOfTile(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device, NumericsPolicy numerics,
                                  int64_t threads, const TileChoice& choice) {
  const Expression counted = CountedExpression(expression, device);
  std::optional<TuningParameters> parameters;
  for (const bool in_caches : {true, false}) {
    if (parameters.has_value() || (in_caches && !Reassociates(numerics))) continue;
    parameters = Rules(counted, model, device, numerics, threads).Run(choice, in_caches);
  }
  return ForOwners(*std::move(parameters), expression, counted, model);
}

}  // namespace mdh
