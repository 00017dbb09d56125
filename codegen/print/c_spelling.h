// How the C family (codegen/print/c_dialect.h) spells types, literals and operations.
#pragma once

#include <string>

#include "codegen/print/c_dialect.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// "float", "int32_t"; bool is stored as uint8_t, fp16 and the like (IsStorageOnly) are their bits
// as uint16_t or uint8_t.
std::string CType(ScalarType type, const CDialect& dialect = GnuC());
// "float", or for more lanes the language's own vector, else "f32x8".
std::string CType(LoopValueType type, const CDialect& dialect = GnuC());
// "1.5f", "INT64_C(3)", ...; of fp16 and the like their bits.
std::string CLiteral(const ScalarValue& value, const CDialect& dialect = GnuC());
// Whether the language's own operator does `op` on this type, scalar or vector.
bool IsNativeOperator(ScalarOp op, LoopValueType type, LoopValueType operand,
                      const CDialect& dialect = GnuC());

}  // namespace mdh
