#include "codegen/default_parameters.h"

#include <algorithm>
#include <numeric>

#include "core/constraints.h"

namespace mdh {
namespace {

constexpr int64_t kMaxUnroll = 4;

int64_t RoundDownToPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

class Rules {
 public:
  Rules(const Expression& e, const SystemModel& m, const DeviceDescription& device,
        NumericsPolicy numerics)
      : e_(e), m_(m), device_(device), innermost_(InnermostMemoryLayer(m)) {
    p_.numerics = numerics;
    p_.system_model = m.name;
    p_.tile.assign(m.layers.size(), std::vector<int64_t>(e.rank(), 1));
    std::vector<int> order(e.rank());
    std::iota(order.begin(), order.end(), 0);
    p_.phase.order = NestedOrder(std::vector<std::vector<int>>(m.layers.size(), order));
    for (const Buffer& buffer : e.inputs()) {
      InputParameters input;
      input.layout.resize(buffer.extents.size());
      std::iota(input.layout.begin(), input.layout.end(), 0);
      p_.inputs.push_back(std::move(input));
    }
  }

  TuningParameters Run() {
    ChooseLanes();
    ChooseRegisterTile();
    ChooseCacheTiles();
    ChooseCoreTiles();
    if (is_ordered()) KeepOrder();
    ChooseStaging();
    return std::move(p_);
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }
  bool HasLanes() const { return m_.LayerWith(LayerRole::kLanes) > 0; }
  bool HasRegisters() const { return m_.LayerWith(LayerRole::kRegisters) > 0; }
  bool is_ordered() const { return p_.numerics != NumericsPolicy::kReassociate; }
  std::vector<int64_t>& registers() { return p_.tile[innermost_]; }

  // ---- Lanes ----

  // Elements between neighbours in dimension d of an access.
  static int64_t Stride(const Buffer& buffer, int access, int d) {
    return buffer.Linearized(access).coefficients[d];
  }

  // Relative cost of a point if lanes run along d; smaller is better.
  double LaneCost(int d, int64_t lanes) const {
    double cost = 1;
    for (const Buffer& buffer : e_.inputs()) {
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        const int64_t stride = Stride(buffer, static_cast<int>(a), d);
        if (stride == 0 || stride == 1) continue;
        const bool packable = CanStage(buffer) && Reuse(buffer) >= 16;
        cost += packable ? 0.5 : 4;
      }
    }
    if (e_.is_reduction(d)) {
      cost += 0.5 + 8.0 / static_cast<double>(size(d));
    } else {
      double reduction = 1;
      for (int r = 0; r < e_.rank(); ++r) {
        if (e_.is_reduction(r)) reduction *= static_cast<double>(size(r));
      }
      for (const Buffer& buffer : e_.outputs()) {
        for (size_t a = 0; a < buffer.accesses.size(); ++a) {
          if (Stride(buffer, static_cast<int>(a), d) != 1) cost += 8 / reduction;
        }
      }
    }
    return cost * static_cast<double>(FullLanes()) / static_cast<double>(lanes);
  }

  int64_t FullLanes() const {
    int64_t bytes = 1;
    for (const TypedName& t : e_.function().parameters())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    for (const TypedName& t : e_.function().results())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    return std::max<int64_t>(1, device_.simd_bytes / bytes);
  }

  // How often each element of a buffer is read.
  double Reuse(const Buffer& buffer) const {
    double points = 1;
    for (int d = 0; d < e_.rank(); ++d) points *= static_cast<double>(size(d));
    return points * static_cast<double>(buffer.accesses.size()) /
           static_cast<double>(buffer.elements());
  }

  void ChooseLanes() {
    if (!HasLanes()) return;
    double best = static_cast<double>(FullLanes()) * 1.5;  // no lanes
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t lanes = RoundDownToPowerOfTwo(std::min(size(d), FullLanes()));
      if (lanes == 1) continue;
      if (e_.is_reduction(d) && (is_ordered() || !e_.reduction().identity())) continue;
      if (const double cost = LaneCost(d, lanes); cost < best) {
        best = cost;
        vector_dimension_ = d;
        lanes_ = lanes;
      }
    }
    if (vector_dimension_ >= 0)
      p_.tile[m_.LayerWith(LayerRole::kLanes) - 1][vector_dimension_] = lanes_;
  }

  // ---- Register tile ----

  bool Fits() {
    const int64_t spare = device_.vector_registers >= 32 ? 6 : 3;  // operands beside accumulators
    return AccumulatorRegisters(e_, m_, device_, p_) <= device_.vector_registers - spare &&
           UnrolledOperations(e_, m_, p_) <= kMaxUnrolledOperations / 2;
  }

  // The largest of `candidates` for the tile of d that fits, waste at the end of d counted in.
  void GrowRegisterTile(int d, int64_t unit, int64_t most) {
    int64_t best = registers()[d];
    double best_score = 0;
    for (int64_t n = 1; n <= most && n * unit <= size(d); ++n) {
      registers()[d] = n * unit;
      if (!Fits()) continue;
      const int64_t tiles = (size(d) + n * unit - 1) / (n * unit);
      const double use = static_cast<double>(size(d)) / static_cast<double>(tiles * n * unit);
      const double score = use * static_cast<double>(n) / static_cast<double>(n + 1);
      if (score > best_score) {
        best_score = score;
        best = n * unit;
      }
    }
    registers()[d] = best;
  }

  void ChooseRegisterTile() {
    for (int d = 0; d < e_.rank(); ++d) registers()[d] = d == vector_dimension_ ? lanes_ : 1;
    if (!HasRegisters()) return;
    const bool lanes_reduced = vector_dimension_ >= 0 && e_.is_reduction(vector_dimension_);
    if (vector_dimension_ >= 0 && !lanes_reduced) {
      GrowRegisterTile(vector_dimension_, lanes_, device_.vector_registers >= 32 ? 4 : 2);
    }
    // One more concatenated dimension: the one along which most inputs are used again.
    int rows = -1;
    double best = 0;
    for (int d = 0; d < e_.rank(); ++d) {
      if (d == vector_dimension_ || e_.is_reduction(d) || size(d) == 1) continue;
      double again = 0.1 + 0.01 * d;
      for (const Buffer& buffer : e_.inputs()) {
        bool independent = true;
        for (size_t a = 0; a < buffer.accesses.size(); ++a) {
          independent &= Stride(buffer, static_cast<int>(a), d) == 0;
        }
        if (independent || buffer.accesses.size() > 1) again += 1;
      }
      if (again > best) {
        best = again;
        rows = d;
      }
    }
    if (rows >= 0) GrowRegisterTile(rows, 1, e_.has_reduction() ? 14 : 4);
    if (lanes_reduced) {
      p_.independent_accumulators = true;
      if (!Fits()) p_.independent_accumulators = false;
      GrowRegisterTile(vector_dimension_, lanes_, 8);
    }
    UnrollShortReductions();
  }

  // Innermost reductions of a few points cost more in loop control than in arithmetic.
  void UnrollShortReductions() {
    for (int d = e_.rank() - 1; d >= 0; --d) {
      if (!e_.is_reduction(d) || d == vector_dimension_) continue;
      if (size(d) > 2 * kMaxUnroll) break;
      registers()[d] = size(d);
      if (!Fits()) registers()[d] = 1;
      if (size(d) > 1) break;
    }
  }

  // ---- Caches ----

  // Bytes of all inputs and outputs that a part with these extents touches.
  double FootprintBytes(const std::vector<int64_t>& tile) const {
    double bytes = 0;
    auto add = [&](const Buffer& buffer) {
      double elements = 1;
      for (size_t x = 0; x < buffer.extents.size(); ++x) {
        double extent = 1;
        for (int d = 0; d < e_.rank(); ++d) {
          extent += std::abs(static_cast<double>(buffer.accesses[0].indices[x].coefficients[d])) *
                    static_cast<double>(tile[d] - 1);
        }
        elements *= std::min(extent, static_cast<double>(buffer.extents[x]));
      }
      bytes += elements * buffer.type.size_bytes();
    };
    for (const Buffer& buffer : e_.inputs()) add(buffer);
    for (const Buffer& buffer : e_.outputs()) add(buffer);
    return bytes;
  }

  // Whether some input is read more than once by points that are far apart.
  bool ReadsAgain() const {
    for (const Buffer& buffer : e_.inputs()) {
      if (Reuse(buffer) > 1.5 && buffer.size_bytes() > device_.l1_bytes / 4) return true;
    }
    return false;
  }

  // Doubles the extents of the dimensions, in turn, while the part stays within `bytes`.
  void Grow(std::vector<int64_t>& tile, const std::vector<int>& dimensions, double bytes) const {
    bool grown = true;
    while (grown) {
      grown = false;
      for (const int d : dimensions) {
        if (tile[d] == size(d)) continue;
        std::vector<int64_t> larger = tile;
        larger[d] = tile[d] * 2 >= size(d) ? size(d) : tile[d] * 2;
        if (FootprintBytes(larger) > bytes) continue;
        tile = larger;
        grown = true;
      }
    }
  }

  void ChooseCacheTiles() {
    std::vector<int> reduced, concatenated;
    for (int d = e_.rank() - 1; d >= 0; --d)
      (e_.is_reduction(d) ? reduced : concatenated).push_back(d);
    if (!ReadsAgain()) {  // nothing that a cache could keep
      for (int l = 1; l < innermost_; ++l) {
        for (int d = 0; d < e_.rank(); ++d) p_.tile[l][d] = size(d);
      }
      return;
    }
    std::vector<int64_t> tile = registers();
    // Reductions first: what one register tile reads stays in the first-level cache.
    Grow(tile, reduced, 0.75 * static_cast<double>(device_.l1_bytes));
    for (int l = innermost_ - 1; l > 0; --l) {
      const bool outermost = l == 1;
      double bytes = 0.5 * static_cast<double>(device_.l2_bytes);
      if (outermost && innermost_ > 2) {
        bytes = std::max(2 * bytes,
                         0.5 * static_cast<double>(device_.l3_bytes) / std::max(1, device_.cores));
      }
      Grow(tile, concatenated, bytes);
      if (outermost) Grow(tile, reduced, bytes);
      p_.tile[l] = tile;
    }
  }

  // ---- Cores ----

  void ChooseCoreTiles() {
    std::vector<int64_t> tile(e_.rank());
    for (int d = 0; d < e_.rank(); ++d) tile[d] = size(d);
    p_.tile[0] = tile;
    int64_t wanted = device_.cores;
    wanted = SplitOverCores(/*reduced=*/false, wanted);
    if (wanted > 1 && e_.points() >= 100000) SplitOverCores(/*reduced=*/true, wanted);
    ShrinkInsideCores();
  }

  // Cuts dimensions into parts, the one that balances best first, until there are `wanted` parts or
  // nothing is left to cut. Gives the number of parts still wanted per part.
  int64_t SplitOverCores(bool reduced, int64_t wanted) {
    while (wanted > 1) {
      int best = -1;
      int64_t best_tile = 0;
      double best_score = 0;
      for (int d = 0; d < e_.rank(); ++d) {
        if (e_.is_reduction(d) != reduced || p_.tile[0][d] != size(d)) continue;
        // Parts of whole inner tiles, the largest that balance.
        for (int l = 1; l <= innermost_; ++l) {
          const int64_t unit = p_.tile[l][d];
          const int64_t units = (size(d) + unit - 1) / unit;
          const int64_t tile = std::min(size(d), (units + wanted - 1) / wanted * unit);
          if (tile == size(d)) continue;
          const double score = static_cast<double>(size(d)) / static_cast<double>(tile * wanted) -
                               0.02 * l - 0.01 * d;
          if (score > best_score) {
            best_score = score;
            best = d;
            best_tile = tile;
          }
        }
      }
      if (best < 0) break;
      p_.tile[0][best] = best_tile;
      const int64_t parts = (size(best) + best_tile - 1) / best_tile;
      wanted = (wanted + parts - 1) / parts;
    }
    return wanted;
  }

  // Inner tiles must divide those around them: take the largest multiple of the register tile that
  // divides and is no larger.
  void ShrinkInsideCores() {
    for (int d = 0; d < e_.rank(); ++d) {
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
          p_.tile[l][d] = std::min(size(d), (p_.tile[l][d] + inner - 1) / inner * inner);
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
    std::vector<int> reduced;
    for (const int d : order) {
      if (e_.is_reduction(d)) reduced.push_back(d);
    }
    std::sort(reduced.begin(), reduced.end());
    size_t next = 0;
    for (int& d : order) {
      if (e_.is_reduction(d)) d = reduced[next++];
    }
    SetOrderOfLayer(p_.phase, innermost_, order);
  }

  // ---- Packing ----

  void ChooseStaging() {
    if (vector_dimension_ < 0) return;
    for (size_t b = 0; b < e_.inputs().size(); ++b) {
      const Buffer& buffer = e_.inputs()[b];
      if (!CanStageWhole(buffer) || Reuse(buffer) < 16) continue;
      const int64_t stride = Stride(buffer, 0, vector_dimension_);
      int strip = -1;
      for (size_t x = 0; x < buffer.extents.size(); ++x) {
        if (PlainDimension(buffer, static_cast<int>(x)) == vector_dimension_)
          strip = static_cast<int>(x);
      }
      if (stride == 0 || strip < 0) continue;
      const bool rows_far_apart = stride == 1 && buffer.extents.size() > 1 && Reuse(buffer) >= 64 &&
                                  buffer.size_bytes() > device_.l1_bytes;
      if (stride == 1 && !rows_far_apart) continue;
      InputParameters packed = p_.inputs[b];
      packed.stage_layer = InputParameters::kWholeBuffer;
      packed.strip_dimension = strip;
      packed.layout.erase(packed.layout.begin() + strip);
      packed.layout.insert(packed.layout.begin(), strip);
      std::swap(p_.inputs[b], packed);
      if (!Validate(e_, m_, device_, p_).ok()) std::swap(p_.inputs[b], packed);
    }
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const int innermost_;
  TuningParameters p_;
  int vector_dimension_ = -1;
  int64_t lanes_ = 1;
};

// One part, no lanes, no unrolling: valid for everything.
TuningParameters PlainParameters(const Expression& e, const SystemModel& m,
                                 NumericsPolicy numerics) {
  TuningParameters p;
  p.numerics = numerics;
  p.system_model = m.name;
  p.tile.assign(m.layers.size(), std::vector<int64_t>(e.rank(), 1));
  std::vector<int> order(e.rank());
  std::iota(order.begin(), order.end(), 0);
  p.phase.order = NestedOrder(std::vector<std::vector<int>>(m.layers.size(), order));
  for (int l = 0; l < InnermostMemoryLayer(m); ++l) {
    for (int d = 0; d < e.rank(); ++d) p.tile[l][d] = OrderedPart(e, numerics, d);
  }
  for (const Buffer& buffer : e.inputs()) {
    InputParameters input;
    input.layout.resize(buffer.extents.size());
    std::iota(input.layout.begin(), input.layout.end(), 0);
    p.inputs.push_back(std::move(input));
  }
  return p;
}

}  // namespace

TuningParameters DefaultParameters(const Expression& expression, const SystemModel& model,
                                   const DeviceDescription& device, NumericsPolicy numerics) {
  TuningParameters p = Rules(expression, model, device, numerics).Run();
  return Validate(expression, model, device, p).ok() ? p
                                                     : PlainParameters(expression, model, numerics);
}

}  // namespace mdh
