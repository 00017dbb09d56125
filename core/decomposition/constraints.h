// Single constraints on tuning parameters (paper, Section 3.4 and appendix C.1), shared by Validate
// and by the search space that must offer only what Validate accepts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

class NestShape;

// Bounds of the limits; larger programs compile for minutes, larger copies do not pay.
inline constexpr int64_t kMaxUnrolledOperations = 6000;
inline constexpr int64_t kMaxSharedScratchBytes = int64_t{1} << 30;
inline constexpr int kMaxLanes = 64;
inline constexpr int64_t kMaxCopiedElements = 1 << 30;  // more than any shared memory has
inline constexpr int64_t kMaxCopyBytes = 16;            // what one instruction moves
// Registers of 32 bits that so many bytes of a thread take, and those that a thread may have; where
// the device does not say, as many as larger kernels are compiled for.
inline int64_t Words(int64_t bytes) { return (bytes + 3) / 4; }
inline int64_t MostPrivateWords(const BlockLimits& limits) {
  constexpr int64_t kUnlimited = 4096;
  return limits.registers_per_thread > 0 ? limits.registers_per_thread : kUnlimited;
}
// Bytes of the packed copies of one thread: 4 times its share of the caches.
double MostStagedBytes(const DeviceDescription& device);
// Of shared memory, for results that threads of a block combine; one result of every thread always
// has room.
inline constexpr int64_t kExchangeBytes = 16384;

// Index of the innermost layer with role kMemory: its tiles are the register tiles.
int InnermostMemoryLayer(const SystemModel& model);

// Whether copies of this input can be described at all: all accesses move alike, and forward.
bool CanStage(const Buffer& buffer);
// Whether copies can be described that each are for some of its accesses, those that move alike.
bool CanStageApart(const Buffer& buffer);
// The same computation, in which every input with CanStageApart has only accesses that move alike:
// those that move otherwise are of further inputs with its name, behind all others. Parameters of a
// copy are for the copies of all of them.
Expression WithSeparateAccesses(const Expression& expression);
TuningParameters WithSeparateAccesses(TuningParameters parameters, const Expression& separate);
// Whether copies of some input of the nest are made apart.
bool HasSeparateCopies(const NestShape& nest);
// Of register tiles: whether an input is copied whose accesses move apart. Such a copy is in
// strips, and of those accesses that have lanes along them; the others are read where they are.
bool HasSeparateStrips(const Expression& expression, const TuningParameters& parameters);
TuningParameters WithSeparateStrips(const TuningParameters& parameters, const Expression& separate,
                                    const SystemModel& model);
// The dimension that lanes are along; -1: there are none.
int LaneDimension(const SystemModel& model, const TuningParameters& parameters);
// The number of the input that number `b` of such an expression has the name of.
int OwnerOf(const Expression& separate, int b);
// Whether the whole input can be packed: it has nothing to read outside of itself.
inline bool CanStageWhole(const Buffer& buffer) {
  return CanStage(buffer) && buffer.boundary.kind == Boundary::Kind::kNone;
}
// In how many dimensions accesses leave the buffer, and read its boundary; and whether they never
// do so in the last one, so that neighbours in a row exist all or not at all.
int DimensionsLeft(const Expression& expression, const Buffer& buffer);
bool KeepsToRows(const Expression& expression, const Buffer& buffer);
// Whether that is nothing but zeros, as asynchronous copies can leave where there is no source.
bool ReadsZerosOutside(const Buffer& buffer);
// The one MDA dimension that buffer dimension x is, or -1.
int PlainDimension(const Buffer& buffer, int x);

// Smallest and largest constant of the accesses' indices in buffer dimension x.
struct ConstantRange {
  int64_t low;
  int64_t high;
};
ConstantRange ConstantsOf(const Buffer& buffer, int x);
// Indices of buffer dimension x that a part with these extents touches: 1 + their largest
// difference. Expects CanStage(buffer).
int64_t Footprint(const Buffer& buffer, int x, const std::vector<int64_t>& tile);

// Operations of one point in unrolled loops of kernels of blocks of threads, of which there may be
// kMaxUnrolledOperations: of the scalar function, and of the operator that combines its results; an
// operator on records can be many times as long as the function. At most the limit, so that one
// point, which unrolls nothing, is always allowed.
int64_t OperationsOfPoint(const Expression& expression);

// Operations in all variants of the unrolled register tile, counting one per point and piece.
int64_t UnrolledOperations(const Expression& expression, const SystemModel& model,
                           const TuningParameters& parameters);

// Elements of the copy of input b that a part of layer `layer` needs (kWholeBuffer: of the buffer);
// strips not counted.
int64_t StagedElements(const Expression& expression, const TuningParameters& parameters, int b,
                       int layer);

// Why threads that make the shared copy of input `buffer` at place n of the nest cannot move
// `width` elements (a power of two) at once; empty if they can: then `width` consecutive elements
// of a copied row are consecutive and aligned to `width` in the buffer, which begins aligned to 16
// bytes, and all of them are inside of it, or none where it has a boundary.
std::string CopyWidthObstacle(const Expression& expression, const NestShape& nest, int buffer,
                              int n, int width);

// Whether threads of the device can add to elements of that type in device memory at the same time.
// (NVIDIA's take subnormal fp32 for zero then.)
bool HasAtomicAdd(const DeviceDescription& device, ScalarType type);

// Words of 32 bits of registers that a thread takes for the results of one nest that it keeps and
// for the copies of inputs of another one, which may be the same.
int64_t PrivateWords(const NestShape& inputs, const NestShape& results);

// Whether threads of a warp can read each other's registers.
inline bool HasShuffles(const DeviceDescription& device) { return device.features.shuffles_down; }

// Whether threads of the device can combine a value of that type with an element by that operation,
// in shared or device memory, at the same time as others.
bool HasAtomicCombination(const DeviceDescription& device, PointWiseKind kind, ScalarType type);

// Why blocks that share a reduction cannot add their results to the outputs atomically
// (CombineBlocks::kAtomics), however the computation is cut; empty if they can: every result is
// added up, in any order, in the type that its output stores, and the device can add to that.
std::string AtomicsObstacle(const Expression& expression, const DeviceDescription& device,
                            NumericsPolicy numerics);

// Why blocks that share a reduction cannot combine their results themselves, in the last one of
// them or as a cluster, however the computation is cut; empty if they can: any order is allowed,
// results are all reduced, and the device has what it takes.
std::string CooperationObstacle(const Expression& expression, const DeviceDescription& device,
                                NumericsPolicy numerics, CombineBlocks combine);
// Why those of the nest cannot; empty if they can. Clusters fill axes of the grid and have at most
// kMaxClusterBlocks blocks.
inline constexpr int64_t kMaxClusterBlocks = 8;
std::string CooperationObstacle(const NestShape& nest, CombineBlocks combine);

// Whether threads of the device can copy to shared memory asynchronously.
inline bool HasAsyncCopies(const DeviceDescription& device) { return device.features.async_copies; }
// Why the copy of input `buffer` at place n of the nest, with the width and padding that its
// parameters say, cannot be asynchronous on a device that can; empty if it can. Expects that
// CopyWidthObstacle has nothing against its width.
std::string AsyncCopyObstacle(const Expression& expression, const NestShape& nest,
                              const TuningParameters& parameters, int buffer, int n);

// Blocks that a multiprocessor can be asked to have room for (TuningParameters::resident_blocks).
// Its registers are as many as one block may have. With fewer than kFewestRegisters for a thread
// there would be more threads than multiprocessors hold.
inline constexpr int kMaxResidentBlocks = 32;
inline constexpr int64_t kFewestRegisters = 32;
// Of shared memory, that every block takes beside what it asks for.
inline constexpr int64_t kReservedSharedBytes = 1024;
// Whether compilers for the device can be told so.
inline bool HasResidentBlocks(const DeviceDescription& device) {
  return device.features.resident_blocks;
}
// Whether kernels for the device may be launched early (EarlyLaunches). Those that cannot launch
// them so launch them as usual.
inline bool HasEarlyLaunches(const DeviceDescription& device) {
  return device.features.early_launches;
}
// Registers that a thread may use at most if so many blocks of so many threads are resident; 0
// blocks: one.
int64_t RegistersPerThread(const BlockLimits& limits, int64_t threads, int resident_blocks);

// Bytes of arrays that hold every result once, in the types in which results are combined: partial
// results and prefix sums live in such arrays.
double ResultArrayBytes(const Expression& expression);

}  // namespace mdh
