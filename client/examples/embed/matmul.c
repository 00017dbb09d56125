/* Runs a matrix product through libmdh.so:
 *   matmul_c BUNDLE    with the kernel of a bundle, without a daemon
 *   matmul_c           with the best kernel that a daemon has at once, and tunes on from
 * Compiled kernels are kept in the user's cache folder. */
#include "matmul.h"

#include <mdh.h>
#include <stdio.h>
#include <stdlib.h>

static float a[kSize * kSize], b[kSize * kSize], c[kSize * kSize];

/* Ends the program with what went wrong. `error`: where the call has put it. */
static void check(mdh_code code, mdh_error** error) {
  if (code == MDH_OK) return;
  fprintf(stderr, "matmul: %s\n", *error != NULL ? mdh_error_message(*error) : "no memory");
  mdh_error_free(*error);
  exit(1);
}

static mdh_kernel* kernel_of_bundle(const char* path, const mdh_query* query) {
  mdh_error* error = NULL;
  mdh_bundle* bundle = NULL;
  mdh_kernel* kernel = NULL;
  check(mdh_bundle_open(path, MDH_CHECK_WHEN_OPENED, &bundle, &error), &error);
  check(mdh_bundle_kernel(bundle, query, &kernel, &error), &error);
  mdh_bundle_close(bundle);
  return kernel;
}

static mdh_kernel* kernel_of_daemon(const mdh_query* query) {
  mdh_error* error = NULL;
  mdh_client* client = NULL;
  mdh_kernel* kernel = NULL;
  check(mdh_client_connect(NULL, &client, &error), &error);
  check(mdh_client_kernel_and_tune(client, query, 0, &kernel, &error), &error);
  mdh_client_free(client);
  return kernel;
}

static int is_right(void) {
  int i, j, k;
  for (i = 0; i < kSize; ++i) {
    for (j = 0; j < kSize; ++j) {
      float sum = 0;
      for (k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[k * kSize + j];
      if (c[i * kSize + j] != sum) return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  static const char* const kProvenance[] = {"unknown", "measured", "repaired", "rules"};
  char sizes[3][32];
  const char* bindings[4] = {NULL, NULL, NULL, NULL};
  void* arguments[] = {a, b, c};
  mdh_error* error = NULL;
  mdh_query* query = NULL;
  mdh_kernel* kernel = NULL;
  mdh_function* function = NULL;
  int n;

  for (n = 0; n < 3; ++n) {
    snprintf(sizes[n], sizeof(sizes[n]), "%c=%d", "IJK"[n], (int)kSize);
    bindings[n] = sizes[n];
  }
  check(mdh_query_create(kMatMul, bindings, NULL, &query, &error), &error);
  kernel = argc > 1 ? kernel_of_bundle(argv[1], query) : kernel_of_daemon(query);
  check(mdh_function_load(kernel, NULL, &function, &error), &error);

  for (n = 0; n < kSize * kSize; ++n) {
    a[n] = (float)(n % 7 - 3);
    b[n] = (float)(n % 5 - 2);
  }
  check(mdh_function_run(function, arguments, 3, &error), &error);
  printf("%s, %s: %s\n", mdh_kernel_entry(kernel), kProvenance[mdh_kernel_provenance(kernel)],
         is_right() ? "right" : "WRONG");

  mdh_function_free(function);
  mdh_kernel_free(kernel);
  mdh_query_free(query);
  return is_right() ? 0 : 1;
}
