// The bundle that lookups are measured in, and how it is asked: what the programs in C++, C and
// Python agree on.
#ifndef TESTS_BENCHMARKS_BUNDLE_BUNDLE_CASES_H_
#define TESTS_BENCHMARKS_BUNDLE_BUNDLE_CASES_H_

/* Entry number n is for a matrix product with I = n + 1, J = K = 64 in the text of
 * client/expressions/matmul.mdh. */
#define MDH_BENCHMARK_DEVICE "cpu \"benchmark\" cores=2 simd=64 registers=32 l1=32768 l2=1048576"
/* So many different queries are asked, in an order that no cache can know. */
#define MDH_BENCHMARK_QUERIES 1000
#define MDH_BENCHMARK_STEP 379 /* coprime to the number of queries */

#endif /* TESTS_BENCHMARKS_BUNDLE_BUNDLE_CASES_H_ */
