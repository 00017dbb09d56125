#include "codegen/lower/tiles/tile_inputs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr int64_t kLineBytes = 64;
// Requests for the next part of a copy that are written out one by one.
constexpr int64_t kFewRequests = 16;

// The smallest constant of the accesses: where a copy starts relative to the part's origin.
int64_t CopyConstant(const Buffer& buffer, const StagedCopy& copy, size_t x) {
  if (copy.layer == InputParameters::kWholeBuffer) return 0;
  return ConstantsOf(buffer, static_cast<int>(x)).low;
}

// Per dimension of the buffer, whether the access is inside of it wherever it reads.
std::vector<bool> InsideOfAll(const Expression& expression, const Expression::AccessRef& ref) {
  const Buffer& buffer = expression.inputs()[ref.buffer];
  std::vector<bool> inside;
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    const AffineIndex& index = buffer.accesses[ref.access].indices[x];
    int64_t low = index.constant, high = index.constant;
    for (int d = 0; d < expression.rank(); ++d) {
      const int64_t last = index.coefficients[d] * (expression.dimensions()[d].size - 1);
      (last < 0 ? low : high) += last;
    }
    inside.push_back(low >= 0 && high < buffer.extents[x]);
  }
  return inside;
}

}  // namespace

std::string StagedOriginName(const LoopPlan& plan, const StagedCopy& copy, int d) {
  std::string name = plan.core_parts(d) > 1 ? plan.core_variable(d) : "";
  for (const PlannedLoop& loop : plan.outer_loops()) {
    if (loop.dimension == d && loop.layer <= copy.layer) name = loop.variable;
  }
  return name;
}

void TileInputs::PrefetchAlong(int d, int64_t step, int iterations) {
  prefetched_dimension_ = iterations == 0 ? -1 : d;
  prefetch_points_ = step * iterations;
}

void TileInputs::StartBlock() {
  loads_.clear();
  requested_.clear();
  bases_.clear();
}

TileInputs::Address TileInputs::AddressOf(int parameter) const {
  const Expression::AccessRef ref = plan_.expression().input_access(parameter);
  const Buffer& buffer = plan_.expression().inputs()[ref.buffer];
  Address address;
  address.step.assign(plan_.rank(), 0);
  const StagedCopy* copy = plan_.StagedInput(ref.buffer);
  if (copy == nullptr) {
    const ElementType::Field& field = buffer.type.fields()[ref.field];
    address.stem = plan_.input_name(ref.buffer);
    address.pointer = plan_.input_pointer(parameter);
    if (buffer.type.is_record()) absl::StrAppend(&address.stem, "_", field.name, "_");
    const AffineIndex linear = buffer.Linearized(ref.access, ref.field);
    address.constant = linear.constant;
    for (int d = 0; d < plan_.rank(); ++d) {
      address.base = address.base + origins_[d] * linear.coefficients[d];
      address.step[d] = linear.coefficients[d];
    }
    return address;
  }
  address.pointer = address.stem = copy->name;
  if (copy->group_dimension >= 0) {
    address.grouped = plan_.dot()->dimension;
    address.group = copy->group;
  }
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    const AffineIndex& index = buffer.accesses[ref.access].indices[x];
    const bool strip = static_cast<int>(x) == copy->strip_dimension;
    address.constant += copy->strides[x] * (index.constant - CopyConstant(buffer, *copy, x));
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t coefficient = index.coefficients[d];
      if (coefficient == 0) continue;
      Index origin = origins_[d];
      if (strip && copy->strip_shift > 0) {
        // A last tile begins earlier than its strip.
        origin = (origin + Index(copy->strip - 1)) / copy->strip * copy->strip;
      }
      const bool grouped = static_cast<int>(x) == copy->group_dimension;
      const Index from = origin - CopyOrigin(*copy, d);
      address.base =
          address.base + (grouped ? from / copy->group : from) * (coefficient * copy->strides[x]);
      const bool in_strip = strip && d == copy->strip_of;
      address.step[d] += coefficient * (in_strip ? 1 : copy->strides[x]);
    }
  }
  return address;
}

// Once per cache line and block, as far as neighbours are counted from the tile: of those up to
// `neighbours` elements further the last one, as the tile before has read what begins the line.
void TileInputs::Request(const Address& address, const std::string& base, const Index& at,
                         int64_t offset, int64_t neighbours, int bytes, Block& block) {
  if (prefetched_dimension_ < 0) return;
  const int64_t ahead = address.step[prefetched_dimension_] * prefetch_points_;
  if (ahead == 0) return;
  const int64_t line =
      offset * bytes >= 0 ? offset * bytes / kLineBytes : (offset * bytes + 1) / kLineBytes - 1;
  if (!requested_.insert(absl::StrCat(address.pointer, "|", base, "|", line)).second) return;
  const int64_t last = std::min(offset + neighbours, (line + 1) * kLineBytes / bytes - 1);
  block.push_back(
      {PrefetchElement{address.pointer, at + Index(last + ahead), /*for_writing=*/false}});
}

void TileInputs::RequestNextParts(const std::vector<int64_t>& points, Block& block) {
  for (const StagedCopy& copy : plan_.staged()) {
    const Buffer& buffer = plan_.expression().inputs()[copy.input];
    const AffineIndex linear = buffer.Linearized(0);
    const int64_t line = kLineBytes / buffer.type.size_bytes();
    Index at(linear.constant + copy.next);
    int64_t run = 1, rows = 1;  // neighbours in the buffer; of them, others
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t step = linear.coefficients[d];
      at = at + origins_[d] * step;
      if (step != 0) (step == 1 ? run : rows) *= points[d];
    }
    // Shorter runs would ask for a line several times.
    if (copy.next == 0 || 2 * run < line) continue;
    const bool in_loops = rows * CeilDivide(run, line) > kFewRequests;
    std::vector<Index> places = {at};
    std::vector<std::pair<std::string, int64_t>> loops;
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t step = linear.coefficients[d];
      if (step == 0 || step == 1 || points[d] == 1) continue;
      std::vector<Index> all;
      if (in_loops) loops.emplace_back(names_.Unique("ahead"), points[d]);
      for (const Index& place : places) {
        if (in_loops) all.push_back(place + Index::Variable(loops.back().first) * step);
        for (int64_t n = 0; n < points[d] && !in_loops; ++n) all.push_back(place + Index(n * step));
      }
      places = std::move(all);
    }
    Block requests;
    for (const Index& place : places) {
      for (int64_t n = 0; n < run; n += line) {
        requests.push_back({PrefetchElement{plan_.input_name(copy.input), place + Index(n),
                                            /*for_writing=*/false}});
      }
    }
    for (const auto& [name, count] : loops) {
      requests = {{For{name, Index(0), Index(count), 1, false, ShareBlock(std::move(requests))}}};
    }
    Append(std::move(requests), &block);
  }
}

Index TileInputs::CopyOrigin(const StagedCopy& copy, int d) const {
  if (copy.layer == InputParameters::kWholeBuffer) return Index(0);
  const std::string name = StagedOriginName(plan_, copy, d);
  return name.empty() ? Index(0) : Index::Variable(name);
}

LoopValue TileInputs::Load(int parameter, const TilePoint& point, Block& block) {
  const Expression& expression = plan_.expression();
  if (expression.is_index(parameter)) {
    return LoadIndex(expression.index_dimension(parameter), point);
  }
  const int b = expression.input_access(parameter).buffer;
  if (place_ == TilePlace::kAnywhere && plan_.StagedInput(b) == nullptr &&
      expression.inputs()[b].boundary.kind != Boundary::Kind::kNone) {
    return LoadAtBoundary(parameter, point, block);
  }
  const Address address = AddressOf(parameter);
  const ScalarType type = plan_.expression().function().parameters()[parameter].type;
  const NarrowReduction* narrow = plan_.narrow_reduction();
  const bool stays_short = narrow != nullptr && narrow->parameter == parameter;
  const auto load = [&](const Index& at, int width, int64_t stride) {
    const LoopValueType loaded{type, width};
    if (stays_short && width > 1) return MakeLoad(address.pointer, at, loaded, stride);
    return LoadValue(address.pointer, at, loaded, stride, width > 1 ? point.off() : 0);
  };
  return LoadOnce(address, point, "", plan_.StagedInput(b) == nullptr ? SizeBytes(type) : 0, load,
                  block);
}

int64_t TileInputs::Address::OffsetOf(const TilePoint& point) const {
  int64_t offset = constant;
  for (int d = 0; d < std::ssize(step); ++d) {
    const int64_t at = point.pieces[d].offset;
    offset += step[d] * (d == grouped ? at / group : at);
  }
  return offset;
}

// Results of the tile that read places behind the point's, one after the other.
int64_t TileInputs::NeighboursOf(const Address& address, const TilePoint& point) const {
  int64_t neighbours = 0;
  for (int d = 0; d < plan_.rank(); ++d) {
    if (address.step[d] == 1 && !plan_.is_reduction(d))
      neighbours = std::max(neighbours, plan_.register_tile(d) - 1 - point.pieces[d].offset);
  }
  return neighbours;
}

// Its base, a variable of the block if it is no simple one.
Index TileInputs::BaseOf(const Address& address, Block& block) {
  if (address.base.is_constant() || address.base.IsVariable()) return address.base;
  std::string& name = bases_[absl::StrCat(address.pointer, "|", address.base.ToString())];
  if (name.empty()) {
    name = names_.Unique(absl::StrCat(address.stem, "_at"));
    block.push_back({DeclareIndex{name, address.base}});
  }
  return Index::Variable(name);
}

// `what` tells loads of one place apart; `bytes` of an element that is also requested ahead, or 0.
LoopValue TileInputs::LoadOnce(const Address& address, const TilePoint& point,
                               absl::string_view what, int bytes, Loader load, Block& block) {
  const int64_t offset = address.OffsetOf(point);
  const int v = plan_.vector_dimension();
  const int64_t stride = v >= 0 ? address.step[v] : 0;
  const int width = v >= 0 && stride != 0 ? point.pieces[v].width : 1;
  const std::string base = address.base.ToString();
  // Two accesses may begin at one element and go on with different ones.
  const std::string key =
      absl::StrJoin({address.pointer, base, absl::StrCat(offset), absl::StrCat(width),
                     absl::StrCat(width == 1 ? 0 : stride),
                     absl::StrCat(width == 1 ? 0 : point.off()), std::string(what)},
                    "|");
  if (const auto known = loads_.find(key); known != loads_.end()) return known->second;

  const Index at = BaseOf(address, block);
  if (bytes > 0) Request(address, base, at, offset, NeighboursOf(address, point), bytes, block);
  const LoopValue value = load(at + Index(offset), width, stride);
  const std::string name = names_.Unique(absl::StrCat(address.stem, "_0"));
  block.push_back({DeclareValue{name, value}});
  return loads_[key] = MakeNamed(name, value->type);
}

LoopValue TileInputs::LoadIndex(int dimension, const TilePoint& point) const {
  const TilePiece& piece = point.pieces[dimension];
  const int lanes = dimension == plan_.vector_dimension() ? piece.width : 1;
  return MakeIndexValue(origins_[dimension] + Index(piece.offset), lanes, 1);
}

// Every lane finds its element by itself.
LoopValue TileInputs::LoadAtBoundary(int parameter, const TilePoint& point, Block& block) {
  const Expression::AccessRef ref = plan_.expression().input_access(parameter);
  const Buffer& buffer = plan_.expression().inputs()[ref.buffer];
  const InsidePlace place = PlaceInside(parameter, point, /*dimension=*/0, /*further=*/0);
  std::string key = absl::StrCat("inside|", ref.buffer, "|", ref.field, "|", place.lanes);
  for (size_t x = 0; x < place.indices.size(); ++x) {
    absl::StrAppend(&key, "|", place.indices[x].ToString(), "|",
                    place.lanes == 1 ? 0 : place.lane_steps[x]);
  }
  if (const auto known = loads_.find(key); known != loads_.end()) return known->second;
  // Lanes that are off are of no point, perhaps not even of the buffer: they are looked up, too.
  std::vector<bool> inside = InsideOfAll(plan_.expression(), ref);
  for (size_t x = 0; x < inside.size(); ++x) {
    if (place.lanes > 1 && point.off() > 0 && place.lane_steps[x] != 0) inside[x] = false;
  }
  const LoopValue value = LoadInsideValue(buffer, plan_.input_pointer(parameter), ref.field,
                                          place.indices, place.lane_steps, place.lanes, inside);
  const std::string variable = names_.Unique(
      absl::StrCat(plan_.input_name(ref.buffer), "_", buffer.type.fields()[ref.field].name, "_0"));
  block.push_back({DeclareValue{variable, value}});
  return loads_[key] = MakeNamed(variable, value->type);
}

// Of the point, `further` points further along a dimension.
TileInputs::InsidePlace TileInputs::PlaceInside(int parameter, const TilePoint& point,
                                                int dimension, int64_t further) const {
  const Expression::AccessRef ref = plan_.expression().input_access(parameter);
  const Buffer& buffer = plan_.expression().inputs()[ref.buffer];
  const int v = plan_.vector_dimension();
  InsidePlace place;
  for (const AffineIndex& affine : buffer.accesses[ref.access].indices) {
    Index index(affine.constant);
    for (int d = 0; d < plan_.rank(); ++d) {
      const int64_t more = d == dimension ? further : 0;
      const Index at = origins_[d] + Index(point.pieces[d].offset + more);
      index = at * affine.coefficients[d] + index;
    }
    place.indices.push_back(index);
    place.lane_steps.push_back(v < 0 ? 0 : affine.coefficients[v]);
    if (place.lane_steps.back() != 0) place.lanes = point.pieces[v].width;
  }
  return place;
}

}  // namespace mdh
