"""python_lookups BUNDLE ROUNDS: times lookups of the Python package. Prints the nanoseconds of a
lookup, median over the rounds."""

import statistics
import sys
import time

import mdh

QUERIES, STEP = 1000, 379  # as in bundle_cases.h


def main(path: str, rounds: int) -> None:
    with mdh.Bundle(path) as bundle:
        queries = [bundle.query(mdh.einsum("ik,kj->ij", i=n * STEP % QUERIES + 1, j=64, k=64))
                   for n in range(QUERIES)]
        times = []
        for _ in range(rounds):
            begin = time.perf_counter_ns()
            for query in queries:
                bundle.find(query)
            times.append((time.perf_counter_ns() - begin) / QUERIES)
    print(f"{statistics.median(times):.1f}")


main(sys.argv[1], int(sys.argv[2]))
