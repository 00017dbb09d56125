// Einstein summation strings, as numpy's einsum takes them, as a front end: "ij,jk->ik".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/scalar/scalar_type.h"
#include "core/text/parser.h"

namespace mdh {

struct EinsumOptions {
  // A value for each letter that no shape gives.
  Bindings sizes = {};
  // Of each operand its extents in elements, as numpy has shapes: a dimension of one element fits
  // any size of its letter. None: all sizes are in `sizes`.
  std::vector<std::vector<int64_t>> shapes = {};
  ScalarType type = ScalarType::kFloat32;   // of the operands
  std::optional<ScalarType> out_type = {};  // of the output; none: that of the operands
  // In which products are computed and added up; none: of `type` and `out_type` the one that holds
  // more: floating point before integers before bool, then more bytes (fp32 for fp16 with bf16).
  std::optional<ScalarType> accumulate = {};
  // What is made of the sums before they are stored, as "max(out + bias[j], 0) + skip[i,j]" (see
  // core/einsum/einsum_epilogue.h); empty: nothing. Buffers have the type of the operands; one that
  // is called as an operand (A, B, ...) is that operand, the others follow the operands in a call.
  std::string epilogue = {};
};

// "OPERAND{,OPERAND}[->OUTPUT]": each operand is a word of letters, one per dimension of a buffer;
// blanks mean nothing. A letter that occurs several times in an operand reads its diagonal. "..."
// stands for the dimensions of an operand that have no letter, which its shape gives; those of
// several operands are aligned at the last one. Without "->" the output has the dimensions of
// "...", then the letters that occur once, in alphabetical order.
//
// The dimensions are those of the output, then the others in the order of their first appearance;
// inputs are called A, B, ... without names of dimensions, the output is `out`. f is the product of
// the operands from the left; letters that are not in the output are reduced with + (bool: && and
// ||).
//
// Errors: InvalidArgument with position and caret for anything else than letters and "...", "..."
// without shapes or missing in the output, letters of the output that are unknown or occur twice,
// shapes that do not fit the operands or one another, letters without a size or with one that is no
// integer from 0 on; InvalidArgument for sizes of letters that do not occur, and for an epilogue
// that uses a letter that is summed over; what Expression::Create says.
Result<Expression> ParseEinsum(std::string_view text, const EinsumOptions& options,
                               std::string_view source_name = "<einsum>");
// All in one type, with a value for each letter.
Result<Expression> ParseEinsum(std::string_view text, const Bindings& sizes, ScalarType type,
                               std::string_view source_name = "<einsum>");

// "a=24,b=16" as bindings, added to *sizes. Errors: InvalidArgument for another form, and for two
// different values of a letter.
Status AddSizes(std::string_view text, Bindings* sizes);

// "8,16,32" as extents; empty: that of a single value. Errors: InvalidArgument.
Result<std::vector<int64_t>> ParseShape(std::string_view text);

}  // namespace mdh
