// The least time that kernels take which cut a computation in certain ways: of one configuration,
// or of all those that decisions leave open. The proofs are in deploy/docs/bounds.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "codegen/bounds/point_work.h"
#include "codegen/bounds/problem_bound.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"

namespace mdh {

// What an extent in points may be: low <= high.
struct ExtentRange {
  int64_t low = 1, high = 1;
  friend bool operator==(const ExtentRange&, const ExtentRange&) = default;
};
using ExtentRanges = absl::InlinedVector<ExtentRange, 8>;  // by dimension

// How the points of a computation may be divided.
struct DesignRanges {
  ExtentRanges part = {};  // what a core, or a block of threads, computes
  // Blocks of threads: what their threads compute together before they go on, and each of them.
  // Empty: there are none.
  ExtentRanges around_threads = {}, thread = {};
  int64_t most_threads = 0;  // of a call, on the host's cores; 0: one on each
  // Cores of hosts compute in vectors along one of these dimensions, of so many lanes at most.
  // None: there may be no vectors but what compilers make, unless there are none at all.
  DimensionSet vectors_along = 0;
  bool may_be_scalar = false;               // or there are no vectors, nor do compilers make any
  int64_t most_lanes = 1, least_lanes = 1;  // the least of those with vectors
  // Register tiles of hosts, and what loops go through around them. Empty: there are none.
  ExtentRanges tile = {}, around_tile = {};
  bool reduces_in_tile = false;  // reductions of what is around a tile are loops inside of it
  bool never_grows = false;      // no compiler unrolls loops where that makes code longer
  // By input: along which dimensions vectors of it are put together from elements that are no
  // neighbours, wherever tiles read them.
  absl::InlinedVector<DimensionSet, 4> apart = {};

  friend bool operator==(const DesignRanges&, const DesignRanges&) = default;
};

// The layer of threads, of models without one of warps; -1: there is none.
int ThreadLayer(const SystemModel& model);

struct DesignFloor;  // one way to bound a design

// Immutable, thread-safe. Never less for ranges that are in others: every floor is made of
// functions that rise, or fall, with each of the extents.
class DesignBound {
 public:
  // `expression`: whose dimensions are fused; `device`: that the rates are of.
  DesignBound(const Expression& expression, const DeviceDescription& device,
              const DeviceRates& rates, NumericsPolicy numerics);

  // The largest of the floors; 0 where nothing is known.
  double TimeNs(const DesignRanges& ranges) const;
  // Of more than 0 ns; the largest first.
  std::vector<Floor> Floors(const DesignRanges& ranges) const;

  // What floors are made of.
  struct Facts {
    // Core-cycles of a point: what f takes, and with a combination at each of its points.
    struct Cycles {
      double least = 0, combined = 0;
    };
    ExtentRanges sizes;
    DimensionSet reduced = 0;
    Cycles of_core;
    Cycles of_scheduler;  // of units that each scheduler of a multiprocessor has of its own
    // On hosts, with instructions on vectors of 2^n lanes.
    std::array<Cycles, 8> of_lanes;
    std::vector<PointWork::Read> reads;
    double cores = 1;
    bool is_host = false;
    bool has_warps = false;    // NVIDIA's multiprocessors
    double access_bytes = 16;  // that a thread reads by one instruction, at most
    double joins = 0;          // DeviceRates::joins
    double vector_bytes = 16;  // of the widest vectors of a host
    // Blocks leave out results that are equal to others (BlockChoices::mirrors): of so many parts,
    // rounded up, one is left. Cores of hosts leave out as many of all points.
    double equal_results = 1;
  };

 private:
  double CyclesOf(const DesignFloor& floor, const DesignRanges& ranges) const;

  Facts facts_;
  double clock_hz_ = 0;
  std::string assumption_;
};

}  // namespace mdh
