// Times, sizes and speeds for people.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "mdh/v1/record.pb.h"

namespace mdh {

std::string FormatTime(int64_t nanoseconds);      // "1.23 ms"
std::string FormatBytes(int64_t bytes);           // "4.00 MiB"
std::string FormatFlops(double flops_per_s);      // "12.3 GFLOP/s"
std::string FormatBandwidth(double bytes_per_s);  // "12.3 GB/s"
// "[######..................]" for the share of a whole, between 0 and 1.
std::string FormatBar(double share);

// What the counts of a BoundHistogram (mdh/v1/candidate.proto) are of: "1/2 to 1" of a time.
extern const std::array<const char*, 6> kBoundClasses;

// What a device could do at best: the longer of operations over peak and, for data larger than its
// caches, bytes over bandwidth. `unit_flops_per_s`: the peak of the matrix unit that the kernel
// computes with; 0: threads compute, whose peak was measured.
struct Bound {
  double time_ns = 0;  // 0: not known
  bool is_bandwidth = false;
};
Bound LowerBound(const v1::TuningRecord& record, double unit_flops_per_s = 0);

// Why a time can be shorter than what a device could do at best by its measured peaks: "part of the
// data stays in the caches", ...; empty if it is not, or by less than is shown. `bytes`: touched.
std::string WhyAbovePeak(double time_ns, const Bound& bound, int64_t bytes,
                         const v1::DeviceDescription& device);

}  // namespace mdh
