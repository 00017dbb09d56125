// Random valid pipelines and inputs for them, made of random expressions.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"
#include "tests/random_expression.h"

namespace mdh {

struct RandomPipelineOptions {
  int min_steps = 2;
  int max_steps = 5;
  int keyed_one_in = 0;  // one of so many steps has results by key (RandomKeyedExpression); 0: none
  RandomExpressionOptions expression;  // given_inputs are chosen
};

// Steps read inputs of the pipeline and what steps before them have written, all of it or parts,
// some of them several times; some steps are written twice; what steps with results by key read is
// an input, or a copy of one. Most buffers between steps are temporaries, some are outputs, too.
// The same generator state gives the same pipeline on every machine.
Pipeline RandomPipeline(Rng& rng, const RandomPipelineOptions& options = {});

// Contents for all inputs, as those of RandomInputs for expressions.
std::vector<BufferBytes> RandomInputs(Rng& rng, const Pipeline& pipeline);

// The same as those of RandomSpecialInputs.
std::vector<BufferBytes> RandomSpecialInputs(Rng& rng, const Pipeline& pipeline);

}  // namespace mdh
