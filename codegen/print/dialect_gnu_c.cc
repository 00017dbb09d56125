#include "codegen/print/c_dialect.h"

namespace mdh {
namespace {

constexpr CDialect kGnuC = {
    .signed_types = {"int8_t", "int16_t", "int32_t", "int64_t"},
    .unsigned_types = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
    .signed_literals = {"$0", "$0", "$0", "INT64_C($0)"},
    .unsigned_literals = {"UINT8_C($0)", "UINT16_C($0)", "UINT32_C($0)", "UINT64_C($0)"},
    .int32_minimum = "-2147483648",
    .int64_minimum = "INT64_MIN",
    .nan = {"__builtin_nanf(\"\")", "__builtin_nan(\"\")"},
    .infinity = {"__builtin_inff()", "__builtin_inf()"},
    .narrow_index = "int64_t",
    .wide_index = "int64_t",
    .computes_with_vectors = true,
    .signed_wraps = true,
    .round_function = "nearbyint",
    .lone_function_qualifier = "static __attribute__((noinline))",
    .pointer_restrict = " restrict",
    .private_array = "$0 $1[$2] __attribute__((aligned(64)))",
    .unroll = "#pragma GCC unroll $0",
    .unroll_by = "#pragma GCC unroll $0",
    .define_vector =
        "typedef $1 $0 __attribute__((vector_size($3)));\n"
        "typedef $1 $0_unaligned __attribute__((vector_size($3), aligned($4), may_alias));\n",
    .vector = "($0){$1}",
    .lane = "[$0]",
};

}  // namespace

const CDialect& GnuC() { return kGnuC; }

}  // namespace mdh
