// TeML programs as a front end: tensor expressions become a pipeline of md_homs. The language is
// that of A. Susungi, N. Rink, A. Cohen, J. Castrillon, C. Tadonki, "Meta-programming for
// Cross-domain Tensor Optimizations", GPCE 2018; deploy/docs/teml.md says where ours differs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "core/teml/program.h"
#include "core/text/parser.h"

namespace mdh {

// What the assignments of a program mean, whatever its loops look like: one step each, in their
// order, but for those that are overwritten before anything reads them, and one for every sum that
// is not the whole value of an assignment. Tensors that are not assigned are the inputs, in the
// order in which they are introduced; those that are read by no step are the outputs, in the order
// of their last assignments; tensors that are not assigned and have a value from init are
// constants. Errors: what Pipeline::Create and Expression::Create say; OffsetInProgram tells where.
Result<Pipeline> ToPipeline(const TemlProgram& program, const std::string& name);

// The same with what steps are of.
struct TemlSteps {
  Pipeline pipeline;
  std::vector<const TensorAssignment*> assignments;  // one per step; nullptr: a sum of its own
};
Result<TemlSteps> ToSteps(const TemlProgram& program, const std::string& name);

// Where in the text the assignment is that an error of ToPipeline is of; 0: it is of the whole.
size_t OffsetInProgram(const Status& status);
Status WithOffsetInProgram(Status status, size_t offset);

// The name of the pipeline of a file: that of the file without folder and ending, if it can be one.
std::string NameOfTemlFile(std::string_view path);

// Parses a program. The name of the pipeline is NameOfTemlFile. Errors: as ParseTemlProgram.
Result<Pipeline> ParseTemlPipeline(std::string_view text, const Bindings& bindings = {},
                                   std::string_view source_name = "<text>");

// Whether a text is meant as a TeML program: its first statement is NAME = ..., init(...) or
// codegen(...), where expressions and pipelines of .mdh files begin with NAME := or NAME <. Costs
// the reading of comments before it.
bool LooksLikeTeml(std::string_view text);

// Whether a file, whatever is in it, or a text is TeML.
bool IsTeml(std::string_view text, std::string_view source_name);

// ParseTemlPipeline or ParseComputation, as IsTeml says.
Result<Computation> ParseTextOfAnyKind(std::string_view text, const Bindings& bindings = {},
                                       std::string_view source_name = "<text>");

}  // namespace mdh
