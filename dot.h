// Device:  pthread-skylake-avx512-AMD EPYC, OpenCL 3.0 PoCL HSTR:
//          pthread-x86_64-pc-linux-gnu-skylake-avx512
// Origin:  Measured: 472 us, 2026-11-27 04:20 UTC,
//          records/4be3fdbabef57e0fc47dbc94d882e55a
// Compile: when the program is built, with -cl-std=CL1.2
//          -cl-fp32-correctly-rounded-divide-sqrt
//
#ifndef MDH_DOT_H
#define MDH_DOT_H

// How to launch mdh_dot, OpenCL C.
//
// Arguments, in this order; arrays do not overlap:
//   x: float[1000000], 1000000 elements, aligned to 16 bytes, read
//   y: float[1000000], 1000000 elements, aligned to 16 bytes, read
//   s: float, 1 elements, aligned to 16 bytes, written
//
// Kernel functions, one after the other in one stream or queue:
//   mdh_dot_0: grid of (1, 1, 1) blocks of (2, 1, 1) threads

#endif  // MDH_DOT_H
