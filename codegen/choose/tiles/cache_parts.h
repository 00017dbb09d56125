// How large parts of a computation may be that caches keep: of whole register tiles, by the bytes
// that they touch.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/choose/tiles/tile_choice.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

class CacheParts {
 public:
  CacheParts(const Expression& expression, const DeviceDescription& device)
      : e_(expression), device_(device) {}

  // Whether some input is read more than once by points that are far apart.
  bool ReadAgain() const;
  // Bytes of a buffer that a part with these extents touches, in whole lines of `line_bytes`.
  double BytesOf(const Buffer& buffer, const std::vector<int64_t>& part, int line_bytes) const;
  // The same of all inputs and outputs.
  double FootprintBytes(const std::vector<int64_t>& part, int line_bytes) const;
  // Of what one register tile may read in a part of the reductions, before the next one does.
  // That of the first-level cache with rows on pages of their own. Strips and near rows are fetched
  // ahead from the second level faster than they are used, and results are taken up again the less
  // often the longer they are. With lanes along a reduction, whose results take longer to combine,
  // half the second level, unless parts are short.
  double ReductionBytes(const TileChoice& choice) const;
  // What of the first-level cache has room for that.
  double FirstCacheBytes() const { return 0.75 * static_cast<double>(device_.l1_bytes); }
  // Doubles extents of the dimensions while the part stays within `bytes`, that one first by which
  // it reads and writes the least more; of several, the first of `dimensions`.
  void Grow(std::vector<int64_t>& part, const std::vector<int>& dimensions, double bytes) const;
  // Makes a part of the reductions shorter where few results use what is read across rows of
  // memory: it all comes from there, and what fetches lines ahead follows a few rows at a time.
  void FollowRows(std::vector<int64_t>& part, const TileChoice& choice,
                  const std::vector<int>& reduced) const;
  // How many parts that makes of all points of the reductions.
  double PartsOfFollowedRows(const TileChoice& choice) const;
  // Where all reductions are windows, as those of poolings and depthwise convolutions: makes the
  // part as long as rows along dimension v, if caches still keep many such parts. Pieces of rows
  // would be read and written a few lines at a time, with others in between.
  void KeepRowsOfWindows(std::vector<int64_t>& part, int v) const;
  // What a core may keep of the last cache.
  double LastCacheBytes() const;
  // As many parts of each dimension as there are, as equal as whole register tiles allow. Along
  // `reduced` together they have at most `most` points.
  void Balance(std::vector<int64_t>& part, const std::vector<int64_t>& register_tile,
               const std::vector<int>& reduced, int64_t most = kMostRows) const;
  // Where results are added to once for every few points of the reductions, along all of which the
  // part goes: the second-level cache keeps its results, long rows of them, and of as many points
  // as possible that read the same rows of what no cache keeps. `v`: the dimension with lanes.
  std::vector<int64_t> OfOutputs(const std::vector<int64_t>& register_tile, int v) const;
  // As many points along words as have pages that the first-level translation buffer finds, of
  // the operand that is packed in strips: where strips are as narrow as a line, and used once,
  // finding pages takes longer than all else.
  int64_t NearRows(const TileChoice& choice) const;
  // How many iterations ahead tiles should request what they read in place of rows that are far
  // apart, where what has lanes is packed or small: of each they read part of a line, which nothing
  // fetches ahead. 0: they read no such rows.
  int64_t IterationsAhead(const TileChoice& choice) const;

 private:
  // Fewer than second-level translation buffers have entries: rows may lie on pages of their own.
  static constexpr int64_t kMostRows = 1280;

  int64_t RowsFollowed(const TileChoice& choice) const;
  bool HasNearRows(int v) const;
  bool IsWindow(int d) const;
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  const Expression& e_;
  const DeviceDescription& device_;
};

}  // namespace mdh
