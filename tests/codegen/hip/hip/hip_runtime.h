// Stands in for ROCm's header of this name where there is no ROCm: what generated kernels use of
// it, as ROCm 5 and 6 declare it, so that a clang alone can check and compile them.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))

struct mdh_dim {
  unsigned int x, y, z;
};
extern const __device__ mdh_dim threadIdx, blockIdx;

__device__ inline void __syncthreads() { __builtin_amdgcn_s_barrier(); }
__device__ int __syncthreads_or(int predicate);
__device__ void __threadfence();

__device__ int min(int a, int b);
__device__ int max(int a, int b);
__device__ unsigned int __float_as_uint(float x);
__device__ float __uint_as_float(unsigned int x);

#define MDH_SHUFFLES(T)                                   \
  __device__ T __shfl_down(T x, unsigned int d, int = 0); \
  __device__ T __shfl_up(T x, unsigned int d, int = 0);   \
  __device__ T __shfl_xor(T x, int d, int = 0);
MDH_SHUFFLES(int)
MDH_SHUFFLES(unsigned int)
MDH_SHUFFLES(float)
MDH_SHUFFLES(double)
MDH_SHUFFLES(long)
MDH_SHUFFLES(unsigned long)
MDH_SHUFFLES(long long)
MDH_SHUFFLES(unsigned long long)

__device__ float atomicAdd(float* p, float x);
__device__ double atomicAdd(double* p, double x);
__device__ int atomicAdd(int* p, int x);
__device__ unsigned int atomicAdd(unsigned int* p, unsigned int x);
__device__ unsigned long long atomicAdd(unsigned long long* p, unsigned long long x);
#define MDH_ATOMICS(T)               \
  __device__ T atomicMin(T* p, T x); \
  __device__ T atomicMax(T* p, T x); \
  __device__ T atomicAnd(T* p, T x); \
  __device__ T atomicOr(T* p, T x);  \
  __device__ T atomicXor(T* p, T x); \
  __device__ T atomicCAS(T* p, T a, T b);
MDH_ATOMICS(int)
MDH_ATOMICS(unsigned int)
MDH_ATOMICS(unsigned long long)
__device__ long long atomicMin(long long* p, long long x);
__device__ long long atomicMax(long long* p, long long x);

#define MDH_VECTORS(name, T)                                                    \
  struct __attribute__((aligned(2 * sizeof(T)))) name##2 {                      \
    T x, y;                                                                     \
  };                                                                            \
  struct __attribute__((aligned(sizeof(T) > 4 ? 16 : 4 * sizeof(T)))) name##4 { \
    T x, y, z, w;                                                               \
  };                                                                            \
  __device__ inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  __device__ inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
MDH_VECTORS(char, signed char)
MDH_VECTORS(uchar, unsigned char)
MDH_VECTORS(short, short)
MDH_VECTORS(ushort, unsigned short)
MDH_VECTORS(int, int)
MDH_VECTORS(uint, unsigned int)
MDH_VECTORS(longlong, long long)
MDH_VECTORS(ulonglong, unsigned long long)
MDH_VECTORS(float, float)
MDH_VECTORS(double, double)

#define MDH_FUNCTION(name)                    \
  extern "C" __device__ float name##f(float); \
  extern "C" __device__ double name(double);
#define MDH_FUNCTION_2(name)                         \
  extern "C" __device__ float name##f(float, float); \
  extern "C" __device__ double name(double, double);
MDH_FUNCTION(acos)
MDH_FUNCTION(asin)
MDH_FUNCTION(atan)
MDH_FUNCTION(cbrt)
MDH_FUNCTION(ceil)
MDH_FUNCTION(cos)
MDH_FUNCTION(cosh)
MDH_FUNCTION(erf)
MDH_FUNCTION(exp)
MDH_FUNCTION(exp2)
MDH_FUNCTION(expm1)
MDH_FUNCTION(fabs)
MDH_FUNCTION(floor)
MDH_FUNCTION(log)
MDH_FUNCTION(log1p)
MDH_FUNCTION(log2)
MDH_FUNCTION(rint)
MDH_FUNCTION(sin)
MDH_FUNCTION(sinh)
MDH_FUNCTION(sqrt)
MDH_FUNCTION(tan)
MDH_FUNCTION(tanh)
MDH_FUNCTION(trunc)
MDH_FUNCTION_2(atan2)
MDH_FUNCTION_2(copysign)
MDH_FUNCTION_2(fmax)
MDH_FUNCTION_2(fmin)
MDH_FUNCTION_2(fmod)
MDH_FUNCTION_2(pow)
