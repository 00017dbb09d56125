// What a TeML program means: its statements evaluated over the state (paper, Section 3).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_value.h"
#include "core/teml/assignment.h"
#include "core/teml/dependences.h"
#include "core/teml/loop_tree.h"
#include "core/text/parser.h"

namespace mdh {

// Immutable; positions in it refer to a text that may be gone.
struct TemlProgram {
  std::vector<TensorPointer> tensors;  // in the order in which they are introduced
  // What codegen's loops compute, in the order of the statements: this is what the program means.
  std::vector<AssignmentPointer> assignments;
  // How: codegen's list, or the last loops of every assignment, which compute the same.
  std::vector<LoopTrees> loops;
  std::map<std::string, ScalarValue> initial;  // of init, by the names of tensors

  // The first one that has this target; nullptr if there is none.
  const TensorAssignment* FirstAssignment(const std::string& tensor) const;
  bool IsAssigned(const std::string& tensor) const { return FirstAssignment(tensor) != nullptr; }
  // What a tensor holds before its first assignment: what init says, or else the neutral element
  // of the operation that accumulates in it.
  ScalarValue InitialValue(const RealTensor& tensor) const;
};

// Errors: InvalidArgument or OutOfRange; the message is source_name:LINE:COLUMN: MESSAGE, followed
// by the line and a caret, and has the number of the paper's equation that does not hold.
Result<TemlProgram> ParseTemlProgram(std::string_view text, const Bindings& bindings = {},
                                     std::string_view source_name = "<text>");

// Declarations and loops, in C's notation.
std::string ToText(const TemlProgram& program);

}  // namespace mdh
