#include "core/decomposition/constraints.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/index_box.h"
#include "core/decomposition/nest_shape.h"

namespace mdh {

double MostStagedBytes(const DeviceDescription& device) {
  constexpr double kFewest = 64.0 * 1024;
  const double cache = static_cast<double>(device.l2_bytes) +
                       static_cast<double>(device.l3_bytes) / std::max(1, device.cores);
  return std::max(4 * cache, kFewest);
}

int InnermostMemoryLayer(const SystemModel& model) {
  int innermost = -1;
  for (size_t l = 0; l < model.layers.size(); ++l) {
    if (model.layers[l].role == LayerRole::kMemory) innermost = static_cast<int>(l);
  }
  return innermost;
}

namespace {

bool MoveAlike(const IndexFunction& a, const IndexFunction& b) {
  return std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(),
                    [](const AffineIndex& of_a, const AffineIndex& of_b) {
                      return of_a.coefficients == of_b.coefficients;
                    });
}

bool MovesForward(const IndexFunction& access) {
  return std::ranges::all_of(access.indices, [](const AffineIndex& index) {
    return std::ranges::all_of(index.coefficients, [](int64_t c) { return c >= 0; });
  });
}

}  // namespace

bool CanStage(const Buffer& buffer) {
  return CanStageApart(buffer) &&
         std::ranges::all_of(buffer.accesses, [&](const IndexFunction& access) {
           return MoveAlike(access, buffer.accesses[0]);
         });
}

bool CanStageApart(const Buffer& buffer) {
  return !buffer.extents.empty() && !buffer.type.is_record() &&
         std::ranges::all_of(buffer.accesses, MovesForward);
}

Expression WithSeparateAccesses(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  std::vector<std::vector<std::array<int, 2>>> places;  // of accesses: input, number
  for (int b = 0; b < std::ssize(expression.inputs()); ++b) {
    const Buffer& buffer = expression.inputs()[b];
    std::vector<int> kinds = {b};  // inputs for accesses that move alike
    places.emplace_back();
    spec.inputs[b].accesses.clear();
    for (const IndexFunction& access : buffer.accesses) {
      auto kind = std::ranges::find_if(kinds, [&](int k) {
        const std::vector<IndexFunction>& others = spec.inputs[k].accesses;
        return !CanStageApart(buffer) || others.empty() || MoveAlike(access, others[0]);
      });
      if (kind == kinds.end()) {
        kinds.push_back(static_cast<int>(spec.inputs.size()));
        spec.inputs.push_back(buffer);
        spec.inputs.back().accesses.clear();
        kind = kinds.end() - 1;
      }
      std::vector<IndexFunction>& accesses = spec.inputs[*kind].accesses;
      places.back().push_back({*kind, static_cast<int>(accesses.size())});
      accesses.push_back(access);
    }
  }
  // Parameters of f are in the order of inputs, accesses and fields; indices are behind them.
  const ScalarFunction& f = expression.function();
  std::vector<int> order(f.parameters().size()), position(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.begin() + expression.input_parameters(), [&](int p, int q) {
    const Expression::AccessRef a = expression.input_access(p), b = expression.input_access(q);
    return places[a.buffer][a.access] < places[b.buffer][b.access];
  });
  std::vector<TypedName> parameters;
  for (const int p : order) {
    position[p] = static_cast<int>(parameters.size());
    parameters.push_back(f.parameters()[p]);
  }
  std::vector<ScalarInstruction> instructions = f.instructions();
  for (ScalarInstruction& i : instructions) {
    if (i.op == ScalarOp::kParameter) i.parameter = position[i.parameter];
  }
  spec.function = *ScalarFunction::Create(f.name(), std::move(parameters), f.results(),
                                          std::move(instructions), f.result_instructions());
  return Expression::Unchecked(std::move(spec));
}

TuningParameters WithSeparateAccesses(TuningParameters parameters, const Expression& separate) {
  for (int b = static_cast<int>(parameters.inputs.size()); b < std::ssize(separate.inputs()); ++b) {
    const int owner = OwnerOf(separate, b);
    parameters.inputs.push_back(parameters.inputs[owner]);
    if (parameters.scalar_inputs.empty()) continue;
    parameters.scalar_inputs.push_back(parameters.scalar_inputs[owner]);
  }
  return parameters;
}

bool HasSeparateCopies(const NestShape& nest) {
  const std::vector<Buffer>& inputs = nest.expression().inputs();
  for (int b = 0; b < std::ssize(inputs); ++b) {
    if (!CanStage(inputs[b]) && CanStageApart(inputs[b]) && !nest.CopyPlaces(b).empty())
      return true;
  }
  return false;
}

bool HasSeparateStrips(const Expression& expression, const TuningParameters& parameters) {
  for (int b = 0; b < std::ssize(expression.inputs()); ++b) {
    const Buffer& buffer = expression.inputs()[b];
    const bool is_copied = parameters.inputs[b].stage_layer != InputParameters::kInPlace;
    if (is_copied && !CanStage(buffer) && CanStageApart(buffer)) return true;
  }
  return false;
}

TuningParameters WithSeparateStrips(const TuningParameters& parameters, const Expression& separate,
                                    const SystemModel& model) {
  const int v = LaneDimension(model, parameters);
  TuningParameters apart = WithSeparateAccesses(parameters, separate);
  const auto owners = static_cast<int>(parameters.inputs.size());
  std::vector<bool> is_one_of_several(separate.inputs().size(), false);
  for (int b = owners; b < std::ssize(separate.inputs()); ++b) {
    is_one_of_several[b] = is_one_of_several[OwnerOf(separate, b)] = true;
  }
  for (int b = 0; b < std::ssize(separate.inputs()); ++b) {
    const Buffer& buffer = separate.inputs()[b];
    const int x = apart.inputs[b].strip_dimension;
    if (!is_one_of_several[b]) continue;
    const bool has_strips = x >= 0 && x < std::ssize(buffer.extents) && v >= 0;
    if (!has_strips || PlainDimension(buffer, x) != v) apart.inputs[b] = ReadInPlace(buffer);
  }
  return apart;
}

int LaneDimension(const SystemModel& model, const TuningParameters& parameters) {
  const int layer = model.LayerWith(LayerRole::kLanes) - 1;
  if (layer < 0) return -1;
  const std::vector<int64_t>& tile = parameters.tile[layer];
  const auto along = std::ranges::find_if(tile, [](int64_t lanes) { return lanes > 1; });
  return along == tile.end() ? -1 : static_cast<int>(along - tile.begin());
}

int OwnerOf(const Expression& separate, int b) {
  const std::vector<Buffer>& inputs = separate.inputs();
  return static_cast<int>(std::ranges::find(inputs, inputs[b].name, &Buffer::name) -
                          inputs.begin());
}

int PlainDimension(const Buffer& buffer, int x) {
  const auto moves = [x](const IndexFunction& i) { return i.indices[x].constant != 0; };
  const std::vector<int64_t>& all = buffer.accesses[0].indices[x].coefficients;
  const bool is_one = std::ranges::count(all, 0) + 1 == std::ssize(all);
  const auto along = std::ranges::find(all, 1);
  if (std::ranges::any_of(buffer.accesses, moves) || !is_one || along == all.end()) return -1;
  return static_cast<int>(along - all.begin());
}

ConstantRange ConstantsOf(const Buffer& buffer, int x) {
  ConstantRange range{INT64_MAX, INT64_MIN};
  for (const IndexFunction& access : buffer.accesses) {
    range.low = std::min(range.low, access.indices[x].constant);
    range.high = std::max(range.high, access.indices[x].constant);
  }
  return range;
}

namespace {

// Per dimension of the buffer.
std::vector<bool> LeavesBuffer(const Expression& expression, const Buffer& buffer) {
  std::vector<bool> leaves(buffer.extents.size(), false);
  if (buffer.boundary.kind == Boundary::Kind::kNone) return leaves;
  IndexBox points;
  for (const Dimension& dimension : expression.dimensions()) {
    points.first.push_back(0);
    points.last.push_back(dimension.size - 1);
  }
  const IndexBox indices = IndicesOf(buffer, points);
  for (size_t x = 0; x < leaves.size(); ++x) {
    leaves[x] = indices.first[x] < 0 || indices.last[x] >= buffer.extents[x];
  }
  return leaves;
}

}  // namespace

int DimensionsLeft(const Expression& expression, const Buffer& buffer) {
  return static_cast<int>(std::ranges::count(LeavesBuffer(expression, buffer), true));
}

bool KeepsToRows(const Expression& expression, const Buffer& buffer) {
  if (buffer.boundary.kind == Boundary::Kind::kNone) return true;
  return !buffer.extents.empty() && buffer.elements() > 0 &&
         !LeavesBuffer(expression, buffer).back();
}

bool ReadsZerosOutside(const Buffer& buffer) {
  if (buffer.boundary.kind == Boundary::Kind::kNone) return true;
  const std::vector<ScalarValue>& values = buffer.boundary.values;
  return std::ranges::all_of(
             values,
             [](const ScalarValue& value) { return value == ScalarValue::Zero(value.type()); }) &&
         buffer.boundary.kind == Boundary::Kind::kConstant;
}

int64_t Footprint(const Buffer& buffer, int x, const std::vector<int64_t>& tile) {
  const ConstantRange constants = ConstantsOf(buffer, x);
  int64_t extent = constants.high - constants.low + 1;
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
  for (size_t d = 0; d < coefficients.size(); ++d) extent += coefficients[d] * (tile[d] - 1);
  return extent;
}

namespace {

// Lanes per dimension: all 1, or one of them more.
std::vector<int64_t> Lanes(const Expression& expression, const SystemModel& model,
                           const TuningParameters& p) {
  const int lanes = model.LayerWith(LayerRole::kLanes);
  if (lanes <= 0) return std::vector<int64_t>(expression.rank(), 1);
  return p.tile[lanes - 1];
}

int64_t Pieces(int64_t points, int64_t lanes, bool reduced) {
  const int64_t rest = points % lanes;
  if (reduced) return points / lanes + rest;
  return points / lanes + __builtin_popcountll(rest);
}

}  // namespace

int64_t OperationsOfPoint(const Expression& expression) {
  int64_t combining = 0;
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    for (const ScalarInstruction& i : expression.reduction().function().instructions()) {
      if (i.op != ScalarOp::kParameter && i.op != ScalarOp::kConstant) ++combining;
    }
  }
  const auto computing = static_cast<int64_t>(expression.function().instructions().size());
  return std::min(computing + std::max<int64_t>(combining, 1), kMaxUnrolledOperations);
}

int64_t UnrolledOperations(const Expression& expression, const SystemModel& model,
                           const TuningParameters& p) {
  const std::vector<int64_t>& tile = p.tile[InnermostMemoryLayer(model)];
  const std::vector<int64_t> lanes = Lanes(expression, model, p);
  double operations = static_cast<double>(expression.function().instructions().size() + 1);
  const std::optional<DotPlan> dot = DotOf(expression, p);
  for (int d = 0; d < expression.rank(); ++d) {
    const bool reduced = expression.is_reduction(d);
    const int64_t rest = expression.dimensions()[d].size % tile[d];
    if (dot.has_value() && dot->on_tiles()) {
      // Rows and lanes of a tile are one.
      const int64_t unit = d == dot->dimension ? kTileWords * dot->group : reduced ? 1 : kTileRows;
      operations *= static_cast<double>(CeilDivide(tile[d], unit) + CeilDivide(rest, unit));
      continue;
    }
    if (dot.has_value() && d == dot->dimension) {
      operations *=
          static_cast<double>(CeilDivide(tile[d], dot->group) + CeilDivide(rest, dot->group));
      continue;
    }
    const int64_t pieces =
        Pieces(tile[d], lanes[d], reduced) + (rest == 0 ? 0 : Pieces(rest, lanes[d], reduced));
    operations *= static_cast<double>(pieces);
  }
  return static_cast<int64_t>(std::min(operations, 9e18));
}

namespace {

// The first index of a copy's rows: every part of its sum must be a multiple of `width`.
std::string OriginObstacle(const Expression& expression, const NestShape& nest, int b, int n,
                           int width) {
  const Buffer& buffer = expression.inputs()[b];
  const int last = static_cast<int>(buffer.extents.size()) - 1;
  const int64_t low = ConstantsOf(buffer, last).low;
  if (low % width != 0) return absl::StrCat("its smallest constant is ", low, ", no multiple");
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[last].coefficients;
  for (int m = 0; m < nest.count(); ++m) {
    const NestShape::Level& level = nest.levels()[m];
    const int64_t stride = coefficients[level.level.dimension] * level.tile;
    if (level.parts == 1 || nest.IsInBox(m, n, /*shared=*/true) || stride % width == 0) continue;
    return absl::StrCat("parts of level (", level.level.layer + 1, ",", level.level.dimension + 1,
                        ") begin ", stride, " elements apart, no multiple");
  }
  return "";
}

}  // namespace

std::string CopyWidthObstacle(const Expression& expression, const NestShape& nest, int b, int n,
                              int width) {
  const Buffer& buffer = expression.inputs()[b];
  if (buffer.type.is_record()) return "its elements are records";
  const int64_t bytes = width * buffer.type.size_bytes();
  if (bytes > kMaxCopyBytes) return absl::StrCat("that is ", bytes, " bytes > ", kMaxCopyBytes);
  if (buffer.extents.empty()) return "it has no dimensions";
  if (!KeepsToRows(expression, buffer)) return "its rows have a boundary, which is read";
  const std::vector<int64_t> strides = buffer.strides();
  const size_t last = strides.size() - 1;
  if (strides[last] != 1) {
    return absl::StrCat("elements of its rows are ", strides[last], " apart, not 1");
  }
  const int64_t step = nest.CopyBox(b, n, /*shared=*/true).steps[last];
  if (step != 1) return absl::StrCat("its rows are copied in steps of ", step, ", not 1");
  if (buffer.extents[last] % width != 0) {
    return absl::StrCat("its rows have ", buffer.extents[last], " elements, no multiple");
  }
  for (size_t x = 0; x < last; ++x) {
    if (strides[x] % width == 0) continue;
    return absl::StrCat("its dimension ", x + 1, " has stride ", strides[x], ", no multiple");
  }
  return OriginObstacle(expression, nest, b, n, width);
}

int64_t PrivateWords(const NestShape& inputs, const NestShape& results) {
  int64_t words = 0;
  if (!results.AccumulatesInSharedMemory()) {
    for (const ScalarType type : results.PartialTypes()) {
      words += results.AccumulatorElements() * Words(SizeBytes(type));
    }
  }
  const std::vector<Buffer>& buffers = inputs.expression().inputs();
  for (int b = 0; b < std::ssize(buffers); ++b) {
    for (const int n : inputs.CopyPlaces(b)) {
      if (inputs.InputRegion(b, n) <= inputs.shared_region()) continue;
      const NestShape::Box box = inputs.CopyBox(b, n, /*shared=*/false);
      words += box.elements() * Words(buffers[b].type.size_bytes());
    }
  }
  return words;
}

bool HasAtomicAdd(const DeviceDescription& device, ScalarType type) {
  if (!device.features.atomic_additions) return false;
  return type == ScalarType::kFloat32 || type == ScalarType::kFloat64 ||
         (IsInteger(type) && SizeBytes(type) >= 4);
}

bool HasAtomicCombination(const DeviceDescription& device, PointWiseKind kind, ScalarType type) {
  if (kind == PointWiseKind::kCustom || !(IsInteger(type) || IsFloatingPoint(type))) return false;
  const int bytes = SizeBytes(type);
  return (bytes == 4 && device.features.atomics_32) || (bytes == 8 && device.features.atomics_64);
}

std::string AtomicsObstacle(const Expression& expression, const DeviceDescription& device,
                            NumericsPolicy numerics) {
  if (!device.features.atomic_additions) return "the device does not add atomically";
  if (!expression.has_reduction() || expression.has_prefix_sum()) {
    return expression.has_prefix_sum() ? "there are prefix sums" : "no dimension is reduced";
  }
  if (!Reassociates(numerics)) {
    return absl::StrCat("numerics=", Name(numerics), " fixes the order of additions");
  }
  if (expression.store() != nullptr) {
    return absl::StrCat("the store function '", expression.store()->function.name(),
                        "' is applied to final results, which no block that adds atomically has");
  }
  const std::vector<TypedName>& results = expression.function().results();
  for (int r = 0; r < static_cast<int>(results.size()); ++r) {
    const ScalarType type = results[r].type, stored = expression.stored_type(r);
    const std::string name = absl::StrCat("result ", results[r].name);
    if (expression.reduction().kinds()[r] != PointWiseKind::kAdd) {
      return absl::StrCat(name, " is combined by ", expression.reduction().ToString(), ", not +");
    }
    if (type != stored) {
      return absl::StrCat(name, " is combined as ", Name(type), " and stored as ", Name(stored));
    }
    if (!HasAtomicAdd(device, type)) {
      return absl::StrCat(name, " is of type ", Name(type), ", which is not added atomically");
    }
  }
  return "";
}

std::string CooperationObstacle(const Expression& expression, const DeviceDescription& device,
                                NumericsPolicy numerics, CombineBlocks combine) {
  if (combine == CombineBlocks::kCluster && !device.features.clusters) {
    return "the device has no clusters of blocks (CUDA's have them from compute capability 9.0 on)";
  }
  if (combine == CombineBlocks::kLastBlock && !device.features.last_block) {
    return "the last block does not see what others have written on this device";
  }
  if (!expression.has_reduction()) return "no dimension is reduced";
  if (expression.has_prefix_sum()) return "there are prefix sums";
  if (Reassociates(numerics)) return "";
  return absl::StrCat("numerics=", Name(numerics), " fixes the order in which values combine");
}

std::string CooperationObstacle(const NestShape& nest, CombineBlocks combine) {
  if (nest.AccumulatesInSharedMemory()) return "results accumulate in shared memory";
  for (int n = 0; n < nest.count(); ++n) {
    if (nest.levels()[n].parts == 1) continue;
    if (nest.IsSlot(n) && nest.is_thread(n)) {
      return "threads, too, leave partial results in device memory";
    }
    if (!nest.is_parallel(n) && n < nest.AccumulatorPlace()) {
      return "loops run around where results accumulate";
    }
  }
  if (combine != CombineBlocks::kCluster) return "";
  if (nest.Slots() > kMaxClusterBlocks) {
    return absl::StrCat(nest.Slots(), " blocks share results, a cluster has at most ",
                        kMaxClusterBlocks);
  }
  const std::array<int64_t, 3> cluster = nest.Cluster(), grid = nest.Grid();
  for (int axis = 0; axis < 3; ++axis) {
    if (cluster[axis] != 1 && cluster[axis] != grid[axis]) {
      return absl::StrCat("of ", grid[axis], " blocks along axis ", axis, " of the grid, ",
                          cluster[axis], " share results");
    }
  }
  return "";
}

int64_t RegistersPerThread(const BlockLimits& limits, int64_t threads, int resident_blocks) {
  constexpr int64_t kGranularity = 8;  // of what a thread of a warp is given
  const int64_t most = limits.registers_per_thread;
  if (limits.registers_per_block == 0) return most;
  const int64_t of_thread =
      limits.registers_per_block / (threads * std::max(1, resident_blocks)) / kGranularity;
  return std::min(most, of_thread * kGranularity);
}

std::string AsyncCopyObstacle(const Expression& expression, const NestShape& nest,
                              const TuningParameters& p, int b, int n) {
  const Buffer& buffer = expression.inputs()[b];
  const InputParameters& input = p.inputs[b];
  if (!ReadsZerosOutside(buffer)) return "it has a boundary other than 0";
  if (n > 0 && nest.InputRegion(b, n - 1) == nest.shared_region()) {
    return "it is from another copy in shared memory";
  }
  const int64_t bytes = input.copy_width * buffer.type.size_bytes();
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    return absl::StrCat("elements that are copied at once have ", bytes, " bytes, not 4, 8 or 16");
  }
  if (input.copy_width == 1) return "";
  const std::vector<int> layout = nest.LayoutAt(b, n);
  if (layout.back() + 1 != static_cast<int>(layout.size())) {
    return absl::StrCat(
        "elements that are copied at once are no neighbours in the copy, where "
        "dimension ",
        layout.back() + 1, " is innermost");
  }
  if (input.padding % input.copy_width != 0) {
    return absl::StrCat("its rows are padded by ", input.padding, " elements, no multiple of ",
                        input.copy_width);
  }
  return "";
}

double ResultArrayBytes(const Expression& expression) {
  double bytes = 0;
  for (const TypedName& r : expression.function().results())
    bytes += SizeBytes(Info(r.type).computed);
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.is_reduction(d)) bytes *= static_cast<double>(expression.dimensions()[d].size);
  }
  return bytes;
}

int64_t StagedElements(const Expression& expression, const TuningParameters& p, int b, int layer) {
  const Buffer& buffer = expression.inputs()[b];
  int64_t elements = 1;
  if (layer == InputParameters::kWholeBuffer) {
    for (const int64_t extent : buffer.extents) elements *= extent;
    return elements;
  }
  for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
    elements *= Footprint(buffer, x, p.tile[layer]);  // at most the buffer's elements
  }
  return elements;
}

}  // namespace mdh
