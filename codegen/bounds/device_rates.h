// What a device can do at most: the rates from which bounds on times follow. A rate is a limit,
// never less than anything that was reached; a peak (core/device/machine_peaks.h) is what a
// microbenchmark reached.
#pragma once

#include <array>
#include <string>

#include "codegen/bounds/certain_work.h"
#include "core/device/device_description.h"
#include "core/device/machine_peaks.h"

namespace mdh {

// Of what bounds say; counts up when one of them, or a rate, is defined in another way.
inline constexpr int kBoundVersion = 10;
// A rate is at least so much of what was reached, and a launch takes at least so much of the least
// one.
inline constexpr double kAboveReached = 1.02;
inline constexpr double kBelowReached = 0.95;

// Results per cycle of one core (multiprocessor).
struct ArithmeticRate {
  double multiplications = 0;  // fused with an addition or not
  double additions = 0;        // on these units and on others
  double all = 0;              // instructions of any kind

  friend bool operator==(const ArithmeticRate&, const ArithmeticRate&) = default;
};

// Plain data. An assumption is a sentence, empty where none is made: then the rate is the
// specification's.
struct DeviceRates {
  int cores = 0;
  double clock_hz = 0;                            // of the fastest core; 0: not known
  std::array<ArithmeticRate, 3> arithmetic = {};  // by RealKind
  ArithmeticRate instructions = {};  // of processors: that a core starts in a cycle, on any vectors
  // Of processors: instructions per cycle that put an element, or a part of a vector, beside
  // others; 0: not known.
  double joins = 0;
  double special = 0;  // exponentials, roots of fp32 per cycle and core; 0: as all others
  double memory_bytes_per_s = 0;  // 0: not known
  double cache_bytes = 0;         // that may keep data from call to call; < 0: not known
  double launch_ns = 0;           // that a call takes at least; 0: not known
  std::string clock_assumption, memory_assumption, cache_assumption, launch_assumption;

  const ArithmeticRate& of(RealKind kind) const { return arithmetic[static_cast<size_t>(kind)]; }

  // One line for each rate, the version and the device's architecture, which decides the rates of
  // matrix units.
  std::string ToText() const;
  // SHA-256 of the text, 64 hexadecimal digits.
  std::string Digest() const;

  std::string architecture;
};

// Specification and what was reached: of both the larger one. Peaks that are 0 are not known.
DeviceRates RatesOf(const DeviceDescription& device, const MachinePeaks& peaks);

}  // namespace mdh
