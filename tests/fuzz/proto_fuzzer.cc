// Any bytes as an expression's message: it is refused, or it comes back as it was, through the wire
// and through the text form.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "proto/expression_conversion.h"
#include "tests/fuzz/message_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mdh {
namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void Check(const v1::Expression& message) {
  const Result<Expression> expression = FromProto(message, ExpressionLimits());
  if (!expression.ok()) return;
  const Result<Expression> back = FromProto(ToProto(*expression), ExpressionLimits());
  Require(back.ok(), "what was accepted is refused: " + back.status().ToString());
  Require(Digest(*back) == Digest(*expression), "the message means something else");
  const std::string text = ToText(*expression);
  const Result<Expression> parsed = ParseExpression(text);
  Require(parsed.ok(), "the text is refused: " + parsed.status().ToString() + "\n" + text);
  Require(Digest(*parsed) == Digest(*expression), "the text means something else: " + text);
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::v1::Expression message;
  if (message.ParseFromArray(data, static_cast<int>(size))) mdh::Check(message);
  return 0;
}

// Mostly changes of fields; sometimes of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand rng(seed);
  mdh::v1::Expression message;
  if (rng() % 16 == 0 || !message.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (unsigned int n = 0; n <= rng() % 3; ++n) mdh::Mutate(rng(), &message);
  const size_t mutated = message.ByteSizeLong();
  if (mutated > max_size) return LLVMFuzzerMutate(data, size, max_size);
  message.SerializeToArray(data, static_cast<int>(mutated));
  return mutated;
}
