// What a device reaches, as microbenchmarks measure it.
#pragma once

namespace mdh {

// Operations per second of matrix units without memory traffic, multiply-adds counted as two, by
// what the operands are; 0: the device has none, or it was not measured.
struct UnitPeaks {
  double half_flops_per_s = 0;  // fp16 and bf16
  double tf32_flops_per_s = 0;
  double fp8_flops_per_s = 0;
  double int8_ops_per_s = 0;
  double fp64_flops_per_s = 0;

  friend bool operator==(const UnitPeaks&, const UnitPeaks&) = default;
};

struct MachinePeaks {
  double fp32_flops_per_s = 0;  // all cores, fused multiply-adds counted as two
  double fp64_flops_per_s = 0;
  double memory_bytes_per_s = 0;  // reading arrays larger than the caches, all cores
  double copy_bytes_per_s = 0;    // copying them: bytes read and bytes written together
  double launch_overhead_ns = 0;  // from one launch to the next of kernels that do nothing
  double clock_hz = 0;            // cycles per second of a core while all of them work; 0: unknown
  // Some of these figures could not be reached twice, as others worked on the machine: they may be
  // too low.
  bool is_disturbed = false;
  UnitPeaks units = {};
};

}  // namespace mdh
