// Assignments <(=, bullet, bullet), [x, y]>, with everything that building loops around them needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/teml/program_text.h"
#include "core/teml/tensor_tree.h"

namespace mdh {

struct TensorAssignment {
  int number = 0;  // in the order of the statements
  Token token;     // the statement, for messages
  TensorPointer target;
  IteratorList indices;  // of the target
  TensorTree value;      // y; an accumulator is an access to the target in it
  // One loop each: those that the target's list names, then the others, as they appear in `value`.
  std::vector<std::string> iterators;
  size_t kept = 0;  // in the target's list
  // The number of values of all iterators, bound ones too.
  std::map<std::string, int64_t> ranges;
  // How values are combined with what the target holds: then value = target combined with `terms`.
  // None: the target is overwritten, and terms == value.
  std::optional<PointWiseKind> accumulates;
  TensorTree terms;
  // Whether it accumulates because of a virtual contraction only: the target is assigned as a
  // whole, so that it has no value before.
  bool overwrites = false;
  // Whether `terms` read the target at the index that is written.
  bool reads_target = false;

  bool is_reduction() const { return kept < iterators.size(); }
  // Whether every element of the target is written.
  bool is_whole() const;
};
using AssignmentPointer = std::shared_ptr<const TensorAssignment>;

// The target of an assignment before it is known to be well-formed.
struct TargetSyntax {
  std::string name;
  TensorPointer tensor;  // null: it is not declared, which this assignment does
  Token token;           // of its list
  IteratorList indices;
};

// Equation (14), with sums of virtual contractions moved into the accumulation where that is
// possible, as (33) defines contractions: t = a * sum_k b[k] is t = t + a * b[k] for all k.
// `statement`: for messages. Errors: InvalidArgument with position.
Result<TensorAssignment> MakeAssignment(const Token& statement, TargetSyntax target,
                                        const TensorTree& value, NameSupply* names,
                                        const ProgramText& text);

}  // namespace mdh
