// The cost model of GPUs: occupancy, coalescing, bank conflicts and latencies of a design. It
// chooses a configuration before anything is measured, and what is measured first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "codegen/choose/block_design.h"
#include "codegen/choose/counting/fragment_table.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "core/pipeline/factor_order.h"

namespace mdh {

// In clock cycles of a multiprocessor.
struct BlockCost {
  double total = 0;
  // What total is made of: instructions issued, accesses to shared memory and the first-level
  // cache, traffic of the second level and of device memory, waiting, and launches.
  double issue = 0, local = 0, level2 = 0, memory = 0, latency = 0, launches = 0;
  // Until results of parts that blocks share are written and read again. Not in total, where such
  // traffic is beside the rest.
  double partial = 0;
  double threads = 0, registers = 0, shared_bytes = 0;
  bool fits = true;  // within the limits of a block, as far as the model knows
};

std::string ToString(const BlockCost& cost);

// A multiprocessor issues four instructions of a warp per cycle and moves 128 bytes between threads
// and shared memory or first-level cache; bandwidths and latencies are those of the data-centre
// GPUs of recent years relative to their clock. What is counted is exact for loops that divide:
// instructions, distinct elements of register tiles and blocks, lines that warps touch.
// Refers to `expression`. An estimate takes about a microsecond.
class BlockCostModel {
 public:
  BlockCostModel(const Expression& expression, const DeviceDescription& device);

  BlockCost Estimate(const BlockDesign& design) const;

  // Whether results are equal (ExchangeableDimensions); the design with half of them computed where
  // that takes less (BlockChoices::mirrors), else with all.
  bool has_equal_results() const { return !exchangeable_.empty(); }
  BlockDesign WithMirrors(BlockDesign design) const;

 private:
  // Estimates are made by the thousand: nothing in them is allocated, nor set before it is known.
  using Points = std::array<int64_t, Expression::kMaxDimensions>;  // per MDA dimension
  using Extents = absl::InlinedVector<int64_t, 8>;                 // per dimension of a buffer

  struct IndexDimension {
    std::vector<std::pair<int, int64_t>> terms;  // MDA dimension, coefficient
    int64_t constants;                           // distance of the outermost accesses
    int64_t extent, stride;                      // of the buffer
  };
  struct BufferModel {
    std::vector<IndexDimension> dimensions;
    std::vector<int> used;  // MDA dimensions
    FragmentTable fragments;
    std::vector<int64_t> strides;   // elements per step in each MDA dimension
    double accesses, bytes, total;  // bytes of an element, elements
    int64_t alignment;              // elements that divide the distances of rows and accesses
    double borders = 0;             // dimensions in which accesses leave the buffer
    bool has_zeros_outside = true;  // there, if they do
  };
  struct Shape;  // of one design
  struct CopyLayout {
    Extents extents, strides;  // elements
    double elements = 0;
    bool is_permuted = false;
  };

  static BufferModel ModelOf(const Expression& expression, const Buffer& buffer);
  double Elements(const BufferModel& buffer, const Points& points) const;
  double Run(const BufferModel& buffer, const Points& points) const;
  template <int kLineBytes>
  double WarpLines(const BufferModel& buffer, const Shape& shape, int vector) const;
  double Fragment(const BufferModel& buffer, const Shape& shape, const Points& points) const;
  static double WindowPositions(const BufferModel& buffer, const Points& points);
  void AddDirect(const BufferModel& buffer, const DesignedInput& designed, Shape& shape) const;
  void AddCopied(const BufferModel& buffer, const DesignedInput& designed, BlockDesign::Copy copy,
                 int async_stages, Shape& shape) const;
  CopyLayout LayOut(const BufferModel& buffer, const DesignedInput& designed,
                    const Points& box) const;
  void AddSharedReads(const BufferModel& buffer, const DesignedInput& designed,
                      const CopyLayout& layout, Shape& shape) const;
  double JoinedWidth(const BufferModel& buffer, const DesignedInput& designed,
                     const CopyLayout& layout, double run) const;
  static double AddressOfItem(const CopyLayout& layout, double width, double threads);
  double StoreCycles(const BufferModel& buffer, const CopyLayout& layout, int64_t width,
                     int64_t threads) const;
  void LeaveOutEqualResults(Shape& shape) const;
  void AddKept(size_t d, Shape& shape) const;
  void AddReduced(size_t d, Shape& shape) const;
  double Operations(const Shape& shape) const;
  bool IsRagged(size_t d, const Shape& shape) const;
  void Unroll(Shape& shape) const;
  int AddedAtOnce(const BlockDesign& design) const;
  bool CombinesByShuffles(const Shape& shape) const;
  void AddShuffles(Shape& shape) const;
  void AddExchange(Shape& shape) const;
  double Owners(const Shape& shape) const;
  void AddStores(Shape& shape) const;
  void AddAtomics(Shape& shape) const;
  void AddCooperation(Shape& shape) const;
  void AddResults(Shape& shape) const;
  void AddWaiting(Shape& shape) const;
  void Finish(Shape& shape) const;
  bool IsBlock(const Shape& shape) const;

  std::vector<int64_t> sizes_;
  std::vector<bool> kept_;
  std::vector<std::vector<int>> exchangeable_;  // groups of dimensions
  std::vector<int> reductions_;                 // the outermost loop first
  std::vector<int> result_order_;               // of all dimensions
  double latency_;                              // of the memory that the inputs are in, in cycles
  std::vector<BufferModel> inputs_, outputs_;
  // Of inputs, of which those with several kinds of accesses are there once for each.
  std::vector<InputDesigner> designers_;
  std::vector<int> owners_;  // their numbers in the expression
  // Per dimension: the largest divisor of the first output's strides along all others.
  std::vector<int64_t> divisors_;
  const Expression& expression_;
  BlockLimits limits_;
  double operations_;  // instructions per point, of f as it is written
  double combine_;     // of two results (CombineInstructions)
  bool has_shuffles_ = false;
  bool has_branches_ = false;  // whether compilers make branches of some of them (Branches)
  std::optional<FactorOrder> factors_;
  double result_words_;  // registers per result
  double result_bytes_;
};

}  // namespace mdh
