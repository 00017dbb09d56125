// C = A * B in tiles of TI x TJ x TK, whose loops have the order ORDER, e.g. "i,k,j".
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

static float a[N][N], b[N][N], c[N][N];

static void tile(int i0, int j0, int k0) {
  for (int i = i0; i < i0 + TI; ++i)
    for (int k = k0; k < k0 + TK; ++k)
      for (int j = j0; j < j0 + TJ; ++j) c[i][j] += a[i][k] * b[k][j];
}

// The loops over tiles, from the outermost to the innermost.
static void product(void) {
  const char* order = ORDER;
  int extent[3], step[3], at[3];
  for (int level = 0; level < 3; ++level) {
    const char name = order[2 * level];
    extent[level] = N;
    step[level] = name == 'i' ? TI : name == 'j' ? TJ : TK;
  }
  for (at[0] = 0; at[0] < extent[0]; at[0] += step[0])
    for (at[1] = 0; at[1] < extent[1]; at[1] += step[1])
      for (at[2] = 0; at[2] < extent[2]; at[2] += step[2])
        tile(at[(strchr(order, 'i') - order) / 2], at[(strchr(order, 'j') - order) / 2],
             at[(strchr(order, 'k') - order) / 2]);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(void) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      a[i][j] = (i + j) % 4;
      b[i][j] = (i + 3 * j) % 8;
    }
  const double begin = now();
  product();
  const double end = now();
  long long sum = 0;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) sum += (long long)c[i][j];
  printf("checksum %lld\nseconds: %.9f\n", sum, end - begin);
  return 0;
}
