// The least time in which any kernel that this generator can make computes something on a device.
// The proofs are in deploy/docs/bounds.md.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "codegen/bounds/certain_work.h"
#include "codegen/bounds/device_rates.h"
#include "core/expression/numerics.h"
#include "core/pipeline/computation.h"

namespace mdh {

// What a proof needs, beside that rates are limits.
enum class ProofClass : char {
  kDevice = 'A',    // who computes what, and nothing of compilers
  kCompiler = 'C',  // compilers hoist, share, fuse, unroll and pack operations, and nothing else
};

// The time that one resource alone takes.
struct Floor {
  std::string resource;  // "memory"
  double time_ns = 0;
  std::string reason;  // "134 MB at 4.92 TB/s"
  ProofClass proof = ProofClass::kDevice;
  std::string assumption = {};  // empty: none
};

struct ProblemBound {
  std::vector<Floor> floors;  // of more than 0 ns; the largest first

  double time_ns() const { return floors.empty() ? 0 : floors.front().time_ns; }
};

// What a bound is asked for.
struct BoundQuestion {
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  // Caches hold nothing of the inputs when a call begins, but results may stay in them.
  bool has_cold_caches = false;
  // Calls take turns on so many sets of inputs and outputs.
  double sets = 1;
  // The time of so many calls that follow each other, divided by their number: what is in caches at
  // the beginning and at the end counts once. A multiple of the sets.
  double calls = std::numeric_limits<double>::infinity();
};

// The peaks of a device on which what the floor bounds took only `time_ns`: what was reached, so
// that rates that are made of them (RatesOf) contradict it no more.
MachinePeaks RaisedBy(const Floor& floor, double time_ns, const DeviceRates& rates,
                      MachinePeaks peaks);

// `device`: that the rates are of. Floors whose rates are not known are left out.
ProblemBound ProblemBoundOf(ComputationView computation, const DeviceDescription& device,
                            const DeviceRates& rates, const BoundQuestion& question = {});

}  // namespace mdh
