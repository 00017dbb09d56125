// Index arithmetic in the languages of the C family.
#pragma once

#include <string>

#include "codegen/print/c_dialect.h"
#include "codegen/program/index.h"

namespace mdh {

// A whole expression: between brackets or commas, behind "=". Functions of the prelude:
// IndexFunctions. Where threads are many, a division costs: quotients and remainders of powers of
// two are shifts and masks then.
std::string CIndex(const Index& index, const CDialect& dialect);
// As an operand of a comparison.
std::string COperand(const Index& index, const CDialect& dialect);

}  // namespace mdh
