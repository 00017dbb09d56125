// What memory and copies take of the cycles of tiles.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "codegen/choose/tiles/tile_cost.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr double kPackRow = 0.1, kPackByte = 0.1;        // an element, and each of its bytes
constexpr double kPackColumn = 1.2, kPackFarColumn = 5;  // an element, or a word
constexpr double kLineCycles = 12;       // a line of memory that nothing fetches ahead
constexpr double kPackedLineCycles = 2;  // a line that is packed
constexpr double kLongRunBytes = 512;
constexpr double kFewStreams = 8, kStreamCycles = 3;
constexpr int64_t kL2Ways = 16;
constexpr double kL2BytesPerCycle = 30;

}  // namespace

// Rows that a tile reads of an input at a time.
double TileCost::Streams(const TileChoice& choice, int input) const {
  const Buffer& buffer = *inputs_[input].buffer;
  double streams = 1;
  for (size_t x = 0; x + 1 < buffer.extents.size(); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, static_cast<int>(x));
    double rows = static_cast<double>(constants.high - constants.low + 1);
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t c = std::abs(buffer.accesses[0].indices[x].coefficients[d]);
      rows += static_cast<double>(c * (choice.tile[d] - 1));
    }
    streams *= std::min(rows, static_cast<double>(buffer.extents[x]));
  }
  return streams;
}

// Lines of memory `stride` bytes apart that the second-level cache keeps: they share its sets.
int64_t TileCost::LinesKept(int64_t stride) const {
  const int64_t line = device_.cache_line_bytes;
  const int64_t way = std::max(line, device_.l2_bytes / kL2Ways);
  return kL2Ways * (way / std::max(line, std::gcd(stride, way)));
}

// Rows of large inputs that are read a few bytes at a time, and too many at once.
double TileCost::MemoryCycles(const TileChoice& choice) const {
  int innermost = -1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && choice.tile[d] < e_.dimensions()[d].size) innermost = d;
  }
  double cycles = 0;
  const int v = choice.vector_dimension;
  const bool has_parts_of_lines = v >= 0 && choice.tile[v] * 4 < device_.cache_line_bytes;
  for (const auto& [strides, bytes] : outputs_) {
    if (bytes <= static_cast<double>(device_.l2_bytes) || !has_parts_of_lines) continue;
    if (strides[v] == 1) cycles += bytes / device_.cache_line_bytes * kLineCycles / 2;
  }
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    const Input& input = inputs_[b];
    if (input.bytes <= static_cast<double>(device_.l2_bytes) || choice.packed[b]) continue;
    const double lines = input.bytes / device_.cache_line_bytes;
    const int64_t element = input.buffer->type.size_bytes();
    const bool walks_rows = innermost >= 0 && !choice.accumulates_in_output &&
                            input.strides[0][innermost] * element >= kPageBytes / 2;
    const int64_t in_row = v >= 0 && input.strides[0][v] == 1 ? choice.tile[v] : 1;
    const auto run = static_cast<double>(in_row * element);
    if (walks_rows &&
        e_.dimensions()[innermost].size > LinesKept(input.strides[0][innermost] * element)) {
      cycles += lines * kLineCycles * std::max(0.0, device_.cache_line_bytes / run - 1);
    }
    if (input.reuse >= 64) continue;  // caches are filled once and read often
    if (walks_rows) cycles += lines * kLineCycles * std::max(0.0, 1 - run / kLongRunBytes);
    if (has_parts_of_lines && !e_.is_reduction(v) && input.strides[0][v] == 1)
      cycles += lines * kLineCycles / 2;
    // The rows of stencils were read a row or a plane before.
    const double streams = input.strides.size() > 1 ? 1 : Streams(choice, b);
    if (streams > kFewStreams) cycles += lines * kStreamCycles * (streams / kFewStreams - 1);
  }
  return cycles;
}

// What a tile reads along the lanes may be more than the first-level cache keeps for the next tile.
double TileCost::StreamCycles(const TileChoice& choice) const {
  const int v = choice.vector_dimension;
  if (v < 0) return 0;
  double streamed = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (!e_.is_reduction(v) && inputs_[b].strides[0][v] == 0) continue;
    const int64_t each = inputs_[b].buffer->type.size_bytes() * choice.group;
    double bytes = DistinctVectors(choice, b) * static_cast<double>(each * choice.lanes);
    double again = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.is_reduction(d) || inputs_[b].strides[0][d] == 0) continue;
      again *= static_cast<double>(e_.dimensions()[d].size) / static_cast<double>(choice.tile[d]);
    }
    if (bytes * again > static_cast<double>(device_.l1_bytes) / 2) streamed += bytes;
  }
  return streamed / kL2BytesPerCycle;
}

double TileCost::PackingCycles(const TileChoice& choice) const {
  double cycles = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (!choice.packed[b] || HasStrips(*inputs_[b].buffer, choice.vector_dimension, choice))
      continue;
    const int64_t stride = inputs_[b].strides[0][choice.vector_dimension];
    const bool are_words = choice.dot > 0 && inputs_[b].strides[0][choice.dot - 1] == 1;
    const auto element = static_cast<double>(inputs_[b].buffer->type.size_bytes());
    const bool is_far = 4 * stride >= kPageBytes;
    const double each =
        are_words     ? (is_far ? kPackFarColumn : kPackColumn) / static_cast<double>(choice.group)
        : stride == 1 ? (kPackRow + kPackByte * element) * PartsOfVectors(choice, b)
        : is_far      ? kPackFarColumn
                      : kPackColumn;
    double copy = static_cast<double>(inputs_[b].buffer->elements()) * each;
    if (stride == 1) copy += LineCyclesOfStrips(choice, b);
    cycles += copy / inputs_[b].runs;
  }
  return cycles;
}

// What it costs more to join rows to words of strips that are no multiple of vectors: compilers
// take vectors that divide them.
double TileCost::PartsOfVectors(const TileChoice& choice, int input) const {
  if (choice.dot == 0) return 1;
  const int64_t bytes =
      choice.tile[choice.vector_dimension] * inputs_[input].buffer->type.size_bytes();
  const int64_t most = device_.simd_bytes;
  return std::sqrt(static_cast<double>(most) / static_cast<double>(std::gcd(bytes, most)));
}

// Lines of memory, of which those that two strips have parts of are fetched for both.
double TileCost::LineCyclesOfStrips(const TileChoice& choice, int input) const {
  const int64_t line = device_.cache_line_bytes;
  if (2 * inputs_[input].bytes <= static_cast<double>(device_.l2_bytes)) return 0;
  const int64_t width =
      choice.tile[choice.vector_dimension] * inputs_[input].buffer->type.size_bytes();
  const double strips = inputs_[input].bytes / static_cast<double>(width);
  const double shared = 1 - static_cast<double>(std::gcd(width, line)) / static_cast<double>(line);
  return strips * (shared * kLineCycles + static_cast<double>(width) / line * kPackedLineCycles);
}

}  // namespace mdh
