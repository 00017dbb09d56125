// #pragma mdh [out(NAME{, NAME})] [inp(NAME{, NAME})] [keep(NAME{, NAME})] [combine_ops(OP{, OP})]
//   OP = cc | pw(F{, F}) | ps(F{, F}), F = + * min max & | ^ && || or the name of a function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/c_loops/clang_unit.h"

namespace mdh {

struct AnnotatedName {
  std::string name;
  size_t offset;
};

struct AnnotatedOperator {
  enum class Kind { kConcat, kPointWise, kPrefixSum };
  Kind kind;
  size_t offset;
  std::vector<AnnotatedName> functions;  // one, or one per result; none for cc
};

struct Annotation {
  size_t offset = 0;  // of the '#'
  size_t loop = 0;    // offset of the token after the annotation
  size_t end = 0;     // behind the block that starts there; `loop` if none does
  std::optional<std::vector<AnnotatedName>> outputs;
  std::optional<std::vector<AnnotatedName>> inputs;
  // Outputs that keep what is there in elements that are not assigned.
  std::optional<std::vector<AnnotatedName>> kept;
  std::optional<std::vector<AnnotatedOperator>> operators;
  std::vector<Annotation> inner;  // those in its block
};

// All annotations of the file that are in no other's block, in order. Errors: InvalidArgument with
// position.
Result<std::vector<Annotation>> FindAnnotations(const ClangUnit& unit);

}  // namespace mdh
