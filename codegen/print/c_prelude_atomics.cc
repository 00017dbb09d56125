// Functions of the prelude that add to memory atomically.
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/c_names.h"

namespace mdh {

std::string CPrelude::AtomicAddition(ScalarType type, AddressSpace space) {
  uses_ptx_ |= dialect_.takes_ptx();
  const bool is_wide = SizeBytes(type) == 8;
  const char* bits = is_wide ? "64" : "32";
  const char* memory = space == AddressSpace::kShared ? "shared" : "global";
  if (IsFloatingPoint(type)) {
    return absl::Substitute(dialect_.atomic_add_real, "", bits, is_wide ? "d" : "f", memory);
  }
  const auto bytes = static_cast<unsigned>(SizeBytes(type));
  return absl::Substitute(dialect_.atomic_add_integer,
                          dialect_.unsigned_types.at(std::bit_width(bytes) - 1), bits,
                          is_wide ? "l" : "r", memory);
}

std::string CPrelude::AtomicAddFunction(LoopValueType type) {
  const std::string element = CType(type.scalar, dialect_);
  const std::string name = absl::StrCat("mdh_atomic_add_", ShortName(type.scalar),
                                        type.lanes > 1 ? absl::StrCat("x", type.lanes) : "");
  const std::string head =
      absl::StrCat("void ", name, "(", CPointer(dialect_, AddressSpace::kGlobal, false, element),
                   " p, ", type.lanes > 1 ? VectorType(type) : element, " x) {\n");
  if (type.lanes == 1) {
    DefineFunction(name,
                   absl::StrCat(head, AtomicAddition(type.scalar, AddressSpace::kGlobal), "}\n"));
    return name;
  }
  const std::string add_lane = AtomicAddFunction({type.scalar, 1});
  std::string lanes, numbers, operands;
  for (int l = 0; l < type.lanes; ++l) {
    const std::string lane = CLane(dialect_, type, "x", l);
    absl::StrAppend(&lanes, "  ", add_lane, "(p + ", l, ", ", lane, ");\n");
    absl::StrAppend(&numbers, l == 0 ? "%" : ", %", l + 1);
    absl::StrAppend(&operands, l == 0 ? "" : ", ", "\"f\"(", lane, ")");
  }
  const bool is_at_once =
      type.scalar == ScalarType::kFloat32 && type.lanes <= 4 && !dialect_.atomic_add_vector.empty();
  const std::string body =
      is_at_once ? absl::StrCat(
                       "#if ", dialect_.atomic_add_vectors, "\n",
                       absl::Substitute(dialect_.atomic_add_vector, type.lanes, numbers, operands),
                       "#else\n", lanes, "#endif\n")
                 : lanes;
  DefineFunction(name, absl::StrCat(head, body, "}\n"));
  return name;
}

}  // namespace mdh
