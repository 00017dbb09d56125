/* c_lookups BUNDLE MATMUL.mdh ROUNDS: times lookups through libmdh.so. Prints the nanoseconds of a
 * lookup, median over the rounds: with queries that are there, and from the text. */
#define _POSIX_C_SOURCE 200809L
#include <mdh.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/benchmarks/bundle/bundle_cases.h"

#define TEXT_LOOKUPS 100

static void check(mdh_code code, mdh_error** error) {
  if (code == MDH_OK) return;
  fprintf(stderr, "c_lookups: error: %s\n",
          *error != NULL ? mdh_error_message(*error) : "no error");
  exit(1);
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(*values), compare);
  return values[count / 2];
}

static char* read_text(const char* path) {
  static char text[1 << 16];
  FILE* file = fopen(path, "r");
  size_t size;
  if (file == NULL) {
    fprintf(stderr, "c_lookups: error: cannot read %s\n", path);
    exit(1);
  }
  size = fread(text, 1, sizeof(text) - 1, file);
  text[size] = '\0';
  fclose(file);
  return text;
}

static void set_size(char* word, size_t bytes, int number) {
  snprintf(word, bytes, "I=%d", number + 1);
}

int main(int argc, char** argv) {
  static mdh_query* queries[MDH_BENCHMARK_QUERIES];
  char size[32];
  const char* bindings[] = {size, "J=64", "K=64", NULL};
  mdh_query_options options = {sizeof(mdh_query_options), MDH_NUMERICS_DEFAULT, NULL,
                               MDH_BENCHMARK_DEVICE};
  mdh_bundle* bundle = NULL;
  mdh_bundle_entry entry;
  mdh_error* error = NULL;
  double *prepared, *from_text;
  const char* text;
  int rounds, round, n;
  if (argc != 4) return 2;
  text = read_text(argv[2]);
  rounds = atoi(argv[3]);
  prepared = calloc((size_t)rounds, sizeof(*prepared));
  from_text = calloc((size_t)rounds, sizeof(*from_text));
  if (rounds < 1 || prepared == NULL || from_text == NULL) return 2;
  check(mdh_bundle_open(argv[1], MDH_CHECK_WHEN_OPENED, &bundle, &error), &error);
  for (n = 0; n < MDH_BENCHMARK_QUERIES; ++n) {
    set_size(size, sizeof(size), n * MDH_BENCHMARK_STEP % MDH_BENCHMARK_QUERIES);
    check(mdh_query_create(text, bindings, &options, &queries[n], &error), &error);
  }
  for (round = 0; round < rounds; ++round) {
    double begin = now_ns();
    for (n = 0; n < MDH_BENCHMARK_QUERIES; ++n) {
      check(mdh_bundle_find(bundle, queries[n], &entry, NULL), &error);
    }
    prepared[round] = (now_ns() - begin) / MDH_BENCHMARK_QUERIES;
    begin = now_ns();
    for (n = 0; n < TEXT_LOOKUPS; ++n) {
      set_size(size, sizeof(size), n);
      check(mdh_bundle_find_text(bundle, text, bindings, &options, &entry, &error), &error);
    }
    from_text[round] = (now_ns() - begin) / TEXT_LOOKUPS;
  }
  printf("%.1f %.1f\n", median(prepared, rounds), median(from_text, rounds));
  for (n = 0; n < MDH_BENCHMARK_QUERIES; ++n) mdh_query_free(queries[n]);
  mdh_bundle_close(bundle);
  free(prepared);
  free(from_text);
  return 0;
}
