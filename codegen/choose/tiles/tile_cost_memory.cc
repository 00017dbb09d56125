// What memory and copies take of the cycles of tiles.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "codegen/choose/tiles/tile_cost.h"
#include "codegen/lower/tiles/staging.h"
#include "codegen/program/shuffled_stride.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr double kPackRow = 0.1, kPackByte = 0.1;        // an element, and each of its bytes
constexpr double kPackColumn = 1.2, kPackFarColumn = 5;  // an element, or a word
constexpr double kLineCycles = 12;         // a line of memory that nothing fetches ahead
constexpr double kTransposedVector = 1.3;  // its load, its store, or a shuffle for it
constexpr double kPackedLineCycles = 2;    // a line that is packed
constexpr double kLongRunBytes = 512;
constexpr double kOfParts = 0.25;  // of that, for a line where tiles go through parts of long rows
constexpr double kFewUses = 8;     // of an element
constexpr int64_t kLongReduction = 64;
constexpr double kFewStreams = 8, kStreamCycles = 3;
constexpr double kCutRowCycles = 6;      // a line, of rows of which tiles jump from part to part
constexpr double kLoneStreamCycles = 2;  // a line, for half as many rows at a time
constexpr int64_t kL2Ways = 16;
constexpr double kL2BytesPerCycle = 30, kFarBytesPerCycle = 10;
constexpr double kTilesInL2 = 4;              // that use again what came to it
constexpr double kRoundingOfSums = 1 + 1e-9;  // of sums of parts

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

// Whether steps along the windows of an input that memory has, and of which each element is in one
// window, go from part to part of its rows: what fetches lines ahead follows whole rows.
bool TileCost::CutsRows(const TileChoice& choice, int input) const {
  const Input& in = inputs_[input];
  const int v = choice.vector_dimension;
  if (v < 0 || choice.accumulates_in_output || !ReadsWindowsOnce(e_, *in.buffer)) return false;
  const int64_t step = in.strides[0][v];
  return step >= 1 && step <= kFarthestShuffled && choice.tile[v] < e_.dimensions()[v].size;
}

// Whether tiles go along a long reduction through parts of the rows of an input that memory has,
// and that is used a few times only: what fetches lines ahead follows whole rows better, however
// long the parts are.
bool TileCost::CutsLongRows(const TileChoice& choice, int input, int reduction) const {
  const Input& in = inputs_[input];
  const int v = choice.vector_dimension;
  if (v < 0 || reduction < 0 || in.strides[0][v] != 1) return false;
  const double far = static_cast<double>(std::max(device_.l2_bytes, device_.l3_bytes / 4));
  return in.bytes > far && in.reuse <= kFewUses &&
         e_.dimensions()[reduction].size >= kLongReduction &&
         choice.tile[v] < e_.dimensions()[v].size;
}

// Rows of large inputs that are read a few bytes at a time, and too many at once.
double TileCost::MemoryCycles(const TileChoice& choice) const {
  int innermost = -1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && choice.tile[d] < e_.dimensions()[d].size) innermost = d;
  }
  double cycles = 0;
  const int v = choice.vector_dimension;
  const bool comes_ahead = !choice.accumulates_in_output && parts_.IterationsAhead(choice) > 0;
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
    int64_t in_row = v >= 0 && input.strides[0][v] == 1 ? choice.tile[v] : 1;
    for (int d = 0; comes_ahead && d < e_.rank(); ++d) {
      if (input.strides[0][d] == 1) in_row = std::max(in_row, choice.tile[d]);
    }
    const auto run = static_cast<double>(in_row * element);
    if (walks_rows &&
        e_.dimensions()[innermost].size > LinesKept(input.strides[0][innermost] * element)) {
      cycles += lines * kLineCycles * std::max(0.0, device_.cache_line_bytes / run - 1);
    }
    if (input.reuse >= 64) continue;  // caches are filled once and read often
    const double each = comes_ahead ? kStreamCycles : kLineCycles;
    const double least = CutsLongRows(choice, b, innermost) ? kOfParts : 0;
    if (walks_rows) cycles += lines * each * std::max(least, 1 - run / kLongRunBytes);
    if (has_parts_of_lines && !e_.is_reduction(v) && input.strides[0][v] == 1)
      cycles += lines * kLineCycles / 2;
    // The rows of stencils were read a row or a plane before.
    const double streams = input.strides.size() > 1 ? 1 : Streams(choice, b);
    if (streams > kFewStreams) cycles += lines * kStreamCycles * (streams / kFewStreams - 1);
    if (CutsRows(choice, b)) cycles += lines * kCutRowCycles;
    // What is fetched ahead of one long row is too little for memory to be busy.
    const bool is_once = input.strides.size() == 1 && input.reuse < kLeastReuseOfShortParts;
    const bool is_along_rows = v >= 0 && e_.is_reduction(v) && input.strides[0][v] == 1 &&
                               e_.dimensions()[v].size * element >= kPageBytes / 2;
    if (is_once && is_along_rows && streams < kFewStreams)
      cycles += lines * kLoneStreamCycles * std::log2(kFewStreams / streams);
  }
  return cycles;
}

// Whether a tile reads vectors of an input, not elements for all lanes.
bool TileCost::HasLanes(const TileChoice& choice, int input) const {
  const int v = choice.vector_dimension;
  return v >= 0 && inputs_[input].strides[0][v] != 0;
}

// Bytes that a step of a tile reads of an input.
double TileCost::StepBytes(const TileChoice& choice, int input) const {
  const int64_t lanes = HasLanes(choice, input) ? choice.lanes : 1;
  const int64_t each = inputs_[input].buffer->type.size_bytes() * choice.group * lanes;
  return DistinctVectors(choice, input) * static_cast<double>(each);
}

// Steps of a tile, all reductions together, along which an input has other elements.
double TileCost::StepsAlong(const TileChoice& choice, int input) const {
  double steps = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d) || inputs_[input].strides[0][d] == 0) continue;
    steps *= static_cast<double>(e_.dimensions()[d].size) / static_cast<double>(choice.tile[d]);
  }
  return steps;
}

// Parts of the reductions, of which each gives results of a tile that are combined with the others.
double TileCost::PartsOfReductions(const TileChoice& choice) const {
  double bytes = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    bytes += StepBytes(choice, b) * StepsAlong(choice, b);
  }
  return std::max(1.0, bytes / parts_.ReductionBytes(choice));
}

// Of what a tile reads in a part of the reductions, the input that it has most of is that of the
// next tile, too: the first-level cache keeps it if it has room for all that a tile reads. Others
// come from the second level, unless there is room for all that all tiles read of them; what other
// steps of the tile read again comes once.
double TileCost::StreamCycles(const TileChoice& choice) const {
  if (choice.vector_dimension < 0) return 0;
  const double room = parts_.FirstCacheBytes() * kRoundingOfSums;
  const double parts = PartsOfReductions(choice);
  std::vector<double> bytes;
  double steps = 1, most = 0, together = 0;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d)) continue;
    steps *= static_cast<double>(e_.dimensions()[d].size) / static_cast<double>(choice.tile[d]);
  }
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    bytes.push_back(StepBytes(choice, b) * StepsAlong(choice, b) / parts);
    most = std::max(most, bytes.back());
    together += bytes.back();
  }
  double cycles = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (!HasLanes(choice, b)) continue;  // a few elements a step
    const double kept = bytes[b] == most ? together : most + inputs_[b].bytes / parts;
    if (std::max(together, kept) <= room) continue;
    const double once = bytes[b] <= room / 2 ? StepsAlong(choice, b) / steps : 1;
    // What is read once comes from memory, whatever tiles there are.
    const bool is_near = inputs_[b].reuse < kLeastReuseOfShortParts ||
                         kTilesInL2 * together <= static_cast<double>(device_.l2_bytes);
    cycles += StepBytes(choice, b) * once / (is_near ? kL2BytesPerCycle : kFarBytesPerCycle);
  }
  return cycles;
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
    const double column = is_far ? kPackFarColumn : kPackColumn;
    const double each = are_words     ? column / static_cast<double>(choice.group)
                        : stride == 1 ? (kPackRow + kPackByte * element) * PartsOfVectors(choice, b)
                                      : TransposedCycles(choice, b, column);
    double copy = static_cast<double>(inputs_[b].buffer->elements()) * each;
    if (stride == 1) copy += LineCyclesOfStrips(choice, b);
    cycles += copy / inputs_[b].runs;
  }
  return cycles;
}

// Of an element, where neighbours of the copy are none in the buffer. Elements of tiles that are
// transposed in registers (staging.h) take their share of a load, a store and the shuffles between;
// those of rows that fill no tile take `column` cycles.
double TileCost::TransposedCycles(const TileChoice& choice, int input, double column) const {
  const Buffer& buffer = *inputs_[input].buffer;
  const int64_t width = buffer.extents.back();
  const int64_t rows = RowsOfTransposedTile(
      buffer, std::min({choice.lanes, width, choice.tile[choice.vector_dimension]}));
  if (choice.dot > 0 || rows == 1) return column;
  const auto tile = static_cast<double>(rows);
  const double rest = static_cast<double>(width % rows) / static_cast<double>(width);
  return (1 - rest) * kTransposedVector * (2 + std::log2(tile)) / tile + rest * column;
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
