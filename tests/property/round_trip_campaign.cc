// round_trip_campaign COUNT [SEED]: random expressions, and half as many random pipelines, through
// the text form and the wire. Prints what does not come back as it was; exits with 1 if there is
// any.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/property/round_trip.h"
#include "tests/random_expression.h"
#include "tests/random_pipeline.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: round_trip_campaign COUNT [SEED]\n";
    return 2;
  }
  const int64_t count = std::atoll(argv[1]);
  mdh::Rng rng(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  int64_t failures = 0;
  const auto report = [&](const char* what, int64_t n, const std::string& failure) {
    if (failure.empty()) return;
    ++failures;
    std::cerr << what << " " << n << ": " << failure << "\n";
  };
  for (int64_t n = 0; n < count; ++n) {
    report("expression", n, mdh::RoundTripFailure(mdh::RandomExpression(rng)));
  }
  for (int64_t n = 0; n < count / 2; ++n) {
    report("pipeline", n, mdh::RoundTripFailure(mdh::RandomPipeline(rng)));
  }
  std::cout << count << " expressions, " << count / 2 << " pipelines, " << failures
            << " failures\n";
  return failures == 0 ? 0 : 1;
}
