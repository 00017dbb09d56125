// Reference results.
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
#ifdef _OPENMP
#include <omp.h>
#endif

static inline int64_t mdh_min(int64_t a, int64_t b) { return a < b ? a : b; }
// First of `items` that belongs to `thread`.
static inline int64_t mdh_share(int64_t items, int64_t thread, int64_t threads) {
  return items * thread / threads;
}

// The whole computation.
static void stage_0(const int64_t thread, const int64_t threads, const float* restrict A, const float* restrict B, float* restrict C, char* restrict scratch) {
  (void)scratch;
  for (int64_t i = mdh_share(100, thread, threads); i < mdh_share(100, thread + 1, threads); i++) {
    for (int64_t j = 0; j < 500; j++) {
      C[i * 500 + j] = 0.0f;
    }
    for (int64_t k = 0; k < 64; k++) {
      for (int64_t j = 0; j < 500; j++) {
        const float t = C[i * 500 + j];
        const float t_1 = A[i * 64 + k] * B[j + k * 500];
        C[i * 500 + j] = t + t_1;
      }
    }
  }
}

int64_t mdh_matmul_scratch_bytes(int threads) { return 0 + (int64_t)threads * 0; }

void mdh_matmul_body(int stage, int thread, int threads, const float* A, const float* B, float* C, void* scratch) {
  switch (stage) {
    case 0: stage_0(thread, threads, A, B, C, (char*)scratch); break;
    default: break;
  }
}

int mdh_matmul(const float* A, const float* B, float* C, void* scratch) {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
#else
  const int threads = 1;
#endif
  void* own = NULL;
  if (scratch == NULL && mdh_matmul_scratch_bytes(threads) > 0) {
    own = aligned_alloc(64, (size_t)mdh_matmul_scratch_bytes(threads));
    if (own == NULL) return 1;
    scratch = own;
  }
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
  for (int stage = 0; stage < 1; ++stage) {
    if (stage > 0) {
#pragma omp barrier
    }
    mdh_matmul_body(stage, omp_get_thread_num(), omp_get_num_threads(), A, B, C, scratch);
  }
#else
  for (int stage = 0; stage < 1; ++stage) mdh_matmul_body(stage, 0, 1, A, B, C, scratch);
#endif
  free(own);
  return 0;
}
