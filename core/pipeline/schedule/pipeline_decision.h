// What one line of a schedule says of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline/schedule/step_names.h"
#include "core/schedule/decision.h"

namespace mdh {

// What is said of steps that run together (JointGroup). Dimensions are called as in the expressions
// of the steps, which are known with a partition only.
struct SaidGroup {
  // Common dimensions, a list per step, or one for all steps; empty: any.
  std::vector<std::vector<std::string>> by = {};
  // By common dimension, as the last step calls it.
  std::vector<std::pair<std::string, ValueSet>> part = {};
  // Per step the streamed dimension, "none": the step has none; of one "none" alone: nothing is
  // streamed. nullopt: any.
  std::optional<std::vector<std::string>> streamed = std::nullopt;
  // Numbers by their row in kGroupNumbers.
  std::vector<std::pair<int, ValueSet>> numbers = {};
};

struct PipelineDecision {
  enum class Kind : uint8_t {
    kEdge,      // how what the consumer reads of the producer gets there, numbers of EdgeKind
    kSiblings,  // `pairs` are one, and, unless there may be others, no other steps
    kSplit,     // idem, of products of many factors (a pair is one step twice)
    kTogether,  // `steps` run together
    kAlone,     // each of `steps` runs by itself
  };
  Kind kind;
  int line = 0;
  int producer = -1, consumer = -1;
  ValueSet edge_kinds = {};
  std::vector<std::pair<int, int>> pairs = {};  // ascending
  bool has_others = false;
  std::vector<StepName> steps = {};
  SaidGroup group = {};
};

// What is said of one step, in lines of its own: where they are in the text.
struct StepSection {
  StepName name;
  int line = 0;
  std::vector<std::pair<size_t, size_t>> lines = {};  // offset and length
};

}  // namespace mdh
