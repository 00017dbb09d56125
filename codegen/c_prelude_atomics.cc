// Functions of the prelude that add to memory atomically.
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/c_prelude.h"
#include "codegen/c_spelling.h"

namespace mdh {

std::string CPrelude::AtomicAddFunction(LoopValueType type) {
  const std::string element = CType(type.scalar, dialect_);
  const std::string name = absl::StrCat("mdh_atomic_add_", ShortName(type.scalar),
                                        type.lanes > 1 ? absl::StrCat("x", type.lanes) : "");
  const std::string head = absl::Substitute("void $0($1* p, $2 x) {\n", name, element,
                                            type.lanes > 1 ? VectorType(type) : element);
  if (type.lanes == 1) {
    const auto bytes = static_cast<unsigned>(SizeBytes(type.scalar));
    const std::string body =
        IsFloatingPoint(type.scalar)
            ? std::string(dialect_.atomic_add_real)
            : absl::Substitute(dialect_.atomic_add_integer,
                               dialect_.unsigned_types.at(std::bit_width(bytes) - 1));
    DefineFunction(name, absl::StrCat(head, body, "}\n"));
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
  const bool is_at_once = type.scalar == ScalarType::kFloat32 && type.lanes <= 4;
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
