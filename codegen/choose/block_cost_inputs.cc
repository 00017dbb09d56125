// What inputs cost: reading them where they are, or through copies in shared memory.
#include <cmath>
#include <numeric>

#include "codegen/choose/block_cost_shape.h"

namespace mdh {
namespace {

using Copy = BlockDesign::Copy;

constexpr double kFewestAsyncBytes = 4;
constexpr double kDirectLoad = 3;  // instructions of a load and its address
constexpr double kPlace = 3;       // of a copy's load and its address, a constant from that before
constexpr double kPosition = 6;    // of one whose place is found anew
constexpr double kDivision = 3;    // instructions of a division by a constant, and what is left
// Registers of an asynchronous copy's source, which are kept from part to part, and of all of them.
constexpr double kAddress = 2, kMostAddresses = 40;
// Of a load from a buffer with borders: an address that is no other one's plus a constant, and the
// selection of what is loaded; and, per dimension that has any, whether the index is inside and the
// nearest one that is, which neighbours that one thread reads have in common.
constexpr double kSelection = 2, kBorder = 2.5;
constexpr double kFewBytes = 1 << 20;  // of an input that is soon there

}  // namespace

// Distinct elements that the accesses of so many points along each dimension read.
double BlockCostModel::Elements(const BufferModel& buffer, const Points& points) const {
  double elements = 1, most = buffer.accesses;
  for (const int d : buffer.used) most *= static_cast<double>(points[d]);
  for (const IndexDimension& index : buffer.dimensions) {
    int64_t extent = index.constants + 1;
    for (const auto& [d, coefficient] : index.terms) extent += coefficient * (points[d] - 1);
    elements *= static_cast<double>(std::min(extent, index.extent));
  }
  return std::min(elements, most);
}

// How many of them are neighbours in memory; of a buffer without elements, whose boundary is read,
// as many as of one with an element.
double BlockCostModel::Run(const BufferModel& buffer, const Points& points) const {
  double run = 1;
  for (size_t x = buffer.dimensions.size(); x-- > 0;) {
    const IndexDimension& index = buffer.dimensions[x];
    if (static_cast<double>(index.stride) != run) break;
    int64_t extent = index.constants + 1;
    for (const auto& [d, coefficient] : index.terms) extent += coefficient * (points[d] - 1);
    run *= static_cast<double>(std::max<int64_t>(1, std::min(extent, index.extent)));
    if (extent < index.extent) break;
  }
  return run;
}

// Lines of that many bytes that the threads of a warp touch with one access of `vector` elements.
template <int kLineBytes>
double BlockCostModel::WarpLines(const BufferModel& buffer, const Shape& shape, int vector) const {
  const auto bytes = static_cast<int64_t>(buffer.bytes);
  const int64_t last = (vector - 1) * bytes;
  const WarpThreads warp = shape.FirstWarp(
      [&](int d) { return buffer.strides[d] * shape.design->cuts[d].vector * bytes; });
  const double touched = warp.TouchedLines<kLineBytes>(last);
  return std::max(touched, std::ceil(touched * (last + bytes) / kLineBytes));
}

template double BlockCostModel::WarpLines<kSector>(const BufferModel&, const Shape&, int) const;

// What the scalar function reads of an input: distinct elements of neighbouring points of a thread,
// for all of its points.
double BlockCostModel::Fragment(const BufferModel& buffer, const Shape& s,
                                const Points& points) const {
  double gaps = 1;
  for (const int d : buffer.used) {
    const BlockDesign::Cut& cut = s.design->cuts[d];
    if (kept_[d] && cut.strided > 1) gaps *= static_cast<double>(cut.strided);
  }
  const std::optional<double> counted = buffer.fragments.Elements(points);
  return (counted ? *counted : Elements(buffer, points)) * gaps;
}

// In dimensions of windows: an index that is compared with the borders stays in a register.
double BlockCostModel::WindowPositions(const BufferModel& buffer, const Points& points) {
  int64_t positions = 0;
  for (const IndexDimension& index : buffer.dimensions) {
    if (index.terms.size() < 2) continue;
    positions += 1 + index.constants;
    for (const auto& [d, coefficient] : index.terms) positions += coefficient * (points[d] - 1);
  }
  return static_cast<double>(positions);
}

// Read where it is, through the first-level cache.
void BlockCostModel::AddDirect(const BufferModel& buffer, const DesignedInput& designed,
                               Shape& s) const {
  const double fragment = Fragment(buffer, s, s.fragment);
  const auto vector = static_cast<int>(std::gcd(int64_t{designed.vector}, buffer.alignment));
  const double loads = std::ceil(fragment / vector) * s.rolled * s.iterations * s.tiles;
  s.local_cycles += loads * WarpLines<kLine>(buffer, s, vector);
  // Without a reduction, loads are only made where the index is inside.
  const bool selects = buffer.borders > 0 && !reductions_.empty();
  s.instructions += loads * (kDirectLoad + (selects ? kSelection : 0));
  // No load begins in front of a branch that another point's value takes.
  const double of_point = std::max<double>(vector, buffer.accesses);
  const double at_once =
      std::min(has_branches_ ? std::min(fragment, of_point) : fragment, kMostInFlight);
  s.fits = s.fits && fragment <= kMostFragment;
  s.registers += std::min(fragment, kMostInFlight) * std::max(1.0, buffer.bytes / 4);
  if (selects) s.registers += WindowPositions(buffer, s.fragment);
  const double run = std::max(1.0, Run(buffer, s.chunk) * buffer.bytes);
  const double bytes =
      s.blocks * Elements(buffer, s.block) * buffer.bytes * std::max(1.0, kSector / run);
  // Threads that read the same elements wait for the same bytes.
  const double distinct =
      Elements(buffer, s.chunk) / (s.threads * std::max(1.0, fragment * s.rolled));
  s.traffic.push_back({bytes, at_once * buffer.bytes * std::min(1.0, distinct)});
  s.direct_waits = s.iterations * s.tiles * s.rolled;
  s.waits += s.direct_waits;
}

// How the elements of a copy in shared memory lie there.
BlockCostModel::CopyLayout BlockCostModel::LayOut(const BufferModel& buffer,
                                                  const DesignedInput& designed,
                                                  const Points& box) const {
  const int last = static_cast<int>(buffer.dimensions.size()) - 1;
  CopyLayout layout;
  layout.is_permuted = designed.innermost >= 0;
  layout.strides.assign(buffer.dimensions.size(), 0);
  for (const IndexDimension& index : buffer.dimensions) {
    int64_t extent = index.constants + 1;
    for (const auto& [d, coefficient] : index.terms) extent += coefficient * (box[d] - 1);
    layout.extents.push_back(extent);
  }
  const int innermost = layout.is_permuted ? designed.innermost : last;
  int64_t stride = layout.extents[innermost] + designed.padding;
  layout.strides[innermost] = 1;
  for (int x = last; x >= 0; --x) {
    if (x == innermost) continue;
    layout.strides[x] = stride;
    stride *= layout.extents[x];
  }
  layout.elements = static_cast<double>(stride);
  return layout;
}

// Threads read what the scalar function needs.
void BlockCostModel::AddSharedReads(const BufferModel& buffer, const DesignedInput& designed,
                                    const CopyLayout& layout, Shape& s) const {
  const int words = std::max(1, static_cast<int>(buffer.bytes / 4));
  const double fragment = Fragment(buffer, s, s.fragment);
  const double loads = std::ceil(fragment / designed.vector) * s.rolled * s.iterations * s.tiles;
  Points steps;  // words
  std::fill_n(steps.begin(), sizes_.size(), 0);
  for (size_t x = 0; x < buffer.dimensions.size(); ++x) {
    for (const auto& [d, coefficient] : buffer.dimensions[x].terms) {
      steps[d] += coefficient * s.design->cuts[d].vector * layout.strides[x] * words;
    }
  }
  const WarpThreads warp = s.FirstWarp([&](int d) { return steps[d]; });
  s.local_cycles += loads * warp.BankCycles(designed.vector * words);
  s.instructions += loads;
  s.registers += Fragment(buffer, s, s.fragment_of_one) * words *
                 (designed.is_along_reduction ? designed.vector : 1);
}

// Cycles in which a warp stores `width` neighbours of the source per thread.
double BlockCostModel::StoreCycles(const BufferModel& buffer, const CopyLayout& layout,
                                   int64_t width, int64_t threads) const {
  const int words = std::max(1, static_cast<int>(buffer.bytes / 4));
  // Neighbours there, too: no two threads meet in a bank.
  if (!layout.is_permuted) return std::clamp<double>(static_cast<double>(width) * words, 1, 4);
  WarpThreads warp(kWarp);  // along the rows of the source, which `width` divides
  const size_t last = layout.extents.size() - 1;
  int64_t row = layout.extents[last], rows = 1;
  size_t next = last;  // the closest other dimension of the source
  for (size_t x = 0; x < last; ++x) {
    rows *= layout.extents[x];
    if (layout.extents[x] > 1) next = x;
  }
  if (width == 1 && layout.strides[next] == 1) {
    row = TransposedRun(row, rows, static_cast<int64_t>(buffer.bytes), threads);
  }
  warp.Add(width * layout.strides[last] * words, row / width);
  for (size_t x = last; x-- > 0;) warp.Add(layout.strides[x] * words, layout.extents[x]);
  warp.Add(0, kWarp);  // where the copy has fewer elements, others wait as long
  return static_cast<double>(width) * warp.BankCycles(words);
}

// Elements that are moved at once where whole rows follow each other in memory and in the copy:
// they need not be multiples by themselves.
double BlockCostModel::JoinedWidth(const BufferModel& buffer, const DesignedInput& designed,
                                   const CopyLayout& layout, double run) const {
  const bool has_rows = run > static_cast<double>(layout.extents.back());
  if (layout.is_permuted || designed.padding > 0 || buffer.borders > 0 || !has_rows) return 1;
  int64_t width = AsyncWidth(static_cast<int64_t>(buffer.bytes), static_cast<int64_t>(run));
  for (const IndexDimension& index : buffer.dimensions) {
    if (static_cast<double>(index.stride) >= run) width = std::gcd(width, index.stride);
  }
  return static_cast<double>(width);
}

// Instructions that find where an item is in the box, and load it. If all threads together copy
// whole rows at a time, places of other rounds are constants away; otherwise positions are found by
// shifts or by divisions.
double BlockCostModel::AddressOfItem(const CopyLayout& layout, double width, double threads) {
  double divisions = 0, inner = 1 / width;  // items
  for (size_t x = 1; x < layout.extents.size(); ++x) {
    const int64_t extent = layout.extents[x];
    divisions += (extent & (extent - 1)) == 0 ? 0 : 1;
    inner *= static_cast<double>(extent);
  }
  return std::fmod(threads, inner) == 0 ? kPlace : kPosition + kDivision * divisions;
}

// Through shared memory: neighbouring threads copy neighbouring elements, then all read.
void BlockCostModel::AddCopied(const BufferModel& buffer, const DesignedInput& designed, Copy copy,
                               int async_stages, Shape& s) const {
  const Points& box = copy == Copy::kChunk ? s.chunk : copy == Copy::kTile ? s.tile : s.block;
  const double times = copy == Copy::kChunk  ? s.iterations * s.tiles
                       : copy == Copy::kTile ? s.tiles
                                             : 1;
  const CopyLayout layout = LayOut(buffer, designed, box);
  s.fits = s.fits &&
           layout.elements * buffer.bytes <= static_cast<double>(limits_.shared_bytes_per_block);
  if (!s.fits) return;
  AddSharedReads(buffer, designed, layout, s);
  const double run = Run(buffer, box);
  const bool is_split = copy == Copy::kChunk && s.iterations > 1;  // from the computation of a part
  const bool is_async = is_split && async_stages > 0;
  const bool is_wide =
      layout.extents.back() % 4 == 0 && run >= 4 && buffer.bytes == 4 && buffer.alignment % 4 == 0;
  double width = is_wide ? 4 : 1;
  if (is_async) {
    const int64_t row = layout.is_permuted ? 1 : std::gcd(layout.extents.back(), buffer.alignment);
    width = static_cast<double>(AsyncWidth(static_cast<int64_t>(buffer.bytes), row));
    s.fits = s.fits && width * buffer.bytes >= kFewestAsyncBytes && buffer.has_zeros_outside;
  }
  width = std::max(width, JoinedWidth(buffer, designed, layout, run));
  const double rounds = std::ceil(layout.elements / (s.threads * width));
  const double sectors = std::max(1.0, kSector / (run * buffer.bytes));
  const double address = AddressOfItem(layout, width, s.threads) +
                         (buffer.borders > 0 ? kSelection + kBorder * buffer.borders : 0);
  // With a load; stores, which asynchronous copies do not need.
  s.instructions += times * rounds * (address + (is_async ? 0 : layout.is_permuted ? width : 1));
  s.local_cycles +=
      times * rounds *
      (std::min(width, std::max(1.0, width * buffer.bytes / 4)) * sectors +
       StoreCycles(buffer, layout, static_cast<int64_t>(width), static_cast<int64_t>(s.threads)));
  s.shared_bytes += layout.elements * buffer.bytes * (is_async ? async_stages : is_split ? 2 : 1);
  if (is_async) s.addresses = std::min(s.addresses + kAddress * rounds, kMostAddresses);
  const double moved = rounds * width;  // elements of a thread
  const double ahead = is_async ? async_stages - 1 : 1;
  if (is_split) s.parts_ahead = s.parts_ahead == 0 ? ahead : std::min(s.parts_ahead, ahead);
  if (is_async) s.async_bytes += ahead * moved * buffer.bytes;
  if (!is_split && buffer.total * buffer.bytes > kFewBytes) s.phases = std::max(s.phases, times);
  s.has_registers_ahead |= is_split && !is_async;
  if (is_split && !is_async) s.prefetched += moved * std::max(1.0, buffer.bytes / 4);
  if (!is_split) s.waits += times * std::max(1.0, moved / kMostInFlight);
  s.barriers += times * (is_split ? 1 : 2);
  s.traffic.push_back({s.blocks * times * layout.elements * buffer.bytes * sectors,
                       (is_async ? ahead * moved : std::min(moved, kMostInFlight)) * buffer.bytes});
}

}  // namespace mdh
