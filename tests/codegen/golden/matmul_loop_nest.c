// Plain loop nest.
//
// matmul :=
//   out_view<fp32>( C: (i,j,k) -> (i, j) ) o
//   md_hom<100,500,64>( f, (++, ++, +) ) o
//   inp_view<fp32,fp32>( A: (i,j,k) -> (i, k), B: (i,j,k) -> (k, j) )
// where f(a, b) -> c { c = a * b }
//
// Index map:
//   A: (i,j,k) -> (i, k)   A[i * 64 + k]
//   B: (i,j,k) -> (k, j)   B[j + k * 500]
//   C: (i,j,k) -> (i, j)   C[i * 500 + j]

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Threads of a call at most.
#define MDH_MOST_THREADS 1

static inline int64_t mdh_min(int64_t a, int64_t b) { return a < b ? a : b; }
// First of `items` that belongs to `thread`.
static inline int64_t mdh_share(int64_t items, int64_t thread, int64_t threads) {
  return items * thread / threads;
}

// The whole computation.
static void stage_0(const float* restrict A, const float* restrict B, float* restrict C, char* restrict scratch) {
  (void)scratch;
  for (int64_t i = 0; i < 100; i++) {
    for (int64_t j = 0; j < 500; j++) {
      float c = 0.0f;
      for (int64_t k = 0; k < 64; k++) {
        const float t = A[i * 64 + k] * B[j + k * 500];
        c += t;
      }
      C[i * 500 + j] = c;
    }
  }
}

int64_t mdh_matmul_scratch_bytes(int threads) {
  (void)threads;
  return 0;
}

void mdh_matmul_body(int stage, int thread, int threads, const float* A, const float* B, float* C, void* scratch) {
  (void)threads;
  if (thread != 0) return;
  switch (stage) {
    case 0: stage_0(A, B, C, (char*)scratch); break;
    default: break;
  }
}

int mdh_matmul(const float* A, const float* B, float* C, void* scratch) {
  stage_0(A, B, C, (char*)scratch);
  return 0;
}
