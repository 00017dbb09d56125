// Functions of the prelude that combine in memory atomically, and tables of keys.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

// Whether sums and bit operations are those of unsigned integers: the same bits.
bool IsOfBits(ScalarOp op) { return op != ScalarOp::kMin && op != ScalarOp::kMax; }

absl::string_view AtomicFunction(ScalarOp op, ScalarType type, const CDialect& dialect) {
  if (IsFloatingPoint(type)) return "";
  switch (op) {
    case ScalarOp::kAdd:
      return dialect.atomic_add;
    case ScalarOp::kMin:
      return dialect.atomic_min;
    case ScalarOp::kMax:
      return dialect.atomic_max;
    case ScalarOp::kBitAnd:
      return dialect.atomic_and;
    case ScalarOp::kBitOr:
      return dialect.atomic_or;
    case ScalarOp::kBitXor:
      return dialect.atomic_xor;
    default:
      return "";
  }
}

std::string OpName(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return "add";
    case ScalarOp::kMul:
      return "mul";
    case ScalarOp::kBitAnd:
      return "and";
    case ScalarOp::kBitOr:
      return "or";
    case ScalarOp::kBitXor:
      return "xor";
    default:
      return std::string(Info(op).name);
  }
}

ScalarType BitsOf(ScalarType type) {
  return SizeBytes(type) == 4 ? ScalarType::kUint32 : ScalarType::kUint64;
}

}  // namespace

std::string CPrelude::CompareAndSwap(ScalarType type, AddressSpace space, absl::string_view address,
                                     absl::string_view expected, absl::string_view value) const {
  const std::string bits = CType(BitsOf(type), dialect_);
  return absl::StrCat(dialect_.compare_and_swap, "((", CPointer(dialect_, space, false, bits), ")",
                      address, ", ", expected, ", ", value, ")");
}

std::string CPrelude::AtomicCombineFunction(ScalarOp op, ScalarType type, AddressSpace space) {
  const auto qualifier = [&](AddressSpace s) { return dialect_.spaces[static_cast<size_t>(s)]; };
  const bool is_named = qualifier(space) != qualifier(AddressSpace::kGlobal);
  const std::string name =
      absl::StrCat("mdh_combine_", OpName(op), "_", ShortName(type), is_named ? "_shared" : "");
  const std::string element = CType(type, dialect_), bits = CType(BitsOf(type), dialect_);
  const std::string head = absl::StrCat(
      "void ", name, "(", CPointer(dialect_, space, false, element), " p, ", element, " x) {\n");
  if (const absl::string_view function = AtomicFunction(op, type, dialect_); !function.empty()) {
    const std::string& of = IsOfBits(op) ? bits : element;
    DefineFunction(name,
                   absl::StrCat(head, "  ", function, "((", CPointer(dialect_, space, false, of),
                                ")p, (", of, ")x);\n}\n"));
    return name;
  }
  if (op == ScalarOp::kAdd && dialect_.adds_atomically()) {
    DefineFunction(name, absl::StrCat(head, AtomicAddition(type, space), "}\n"));
    return name;
  }
  // What changes nothing is not stored.
  const std::string combined =
      IsNativeOperator(op, {type, 1}, {type, 1}, dialect_)
          ? absl::StrCat("old.value ", COperator(op), " x")
          : absl::StrCat(OperationFunction(op, {type, 1}, {type, 1}), "(old.value, x)");
  const std::string swap = CompareAndSwap(type, space, "p", "old.bits", "next.bits");
  DefineFunction(name, absl::Substitute(R"($0  union {
    $1 value;
    $2 bits;
  } old, next, seen;
  old.value = *(volatile $3)p;
  for (;;) {
    next.value = $4;
    if (next.bits == old.bits) return;
    seen.bits = $5;
    if (seen.bits == old.bits) return;
    old = seen;
  }
}
)",
                                        head, element, bits,
                                        CPointer(dialect_, space, false, element), combined, swap));
  return name;
}

// Multiplication by the golden ratio: neighbouring keys come to lie apart from each other.
std::string CPrelude::KeySlotFunction(ScalarType type) {
  const std::string name = absl::StrCat("mdh_key_slot_", ShortName(type));
  const std::string key = CType(type, dialect_), bits = CType(BitsOf(type), dialect_);
  const bool is_wide = SizeBytes(type) == 8;
  const std::string factor = CLiteral(
      is_wide ? ScalarValue::Integer(ScalarType::kUint64, static_cast<int64_t>(0x9e3779b97f4a7c15u))
              : ScalarValue::Integer(ScalarType::kUint32, 0x9e3779b1),
      dialect_);
  DefineFunction(name, absl::Substitute("int $0($1 key, int slot_bits) {\n"
                                        "  return (int)((($2)key * $3) >> ($4 - slot_bits));\n}\n",
                                        name, key, bits, factor, is_wide ? 64 : 32));
  return name;
}

// Slots that are free have the first key, which is in its own slot from the beginning.
std::string CPrelude::InsertKeyFunction(ScalarType type) {
  const std::string name = absl::StrCat("mdh_insert_key_", ShortName(type));
  const std::string key = CType(type, dialect_), bits = CType(BitsOf(type), dialect_);
  DefineFunction(name,
                 absl::Substitute(R"(void $0($1 table, $2 key, $2 first, int slot_bits) {
  const int taken = $3(first, slot_bits);
  int slot = $3(key, slot_bits);
  if (key == first) return;
  for (;; slot = (slot + 1) & ((1 << slot_bits) - 1)) {
    if (slot == taken) continue;
    const $4 seen = $5;
    if (seen == ($4)first || seen == ($4)key) return;
  }
}
)",
                                  name, CPointer(dialect_, AddressSpace::kShared, false, key), key,
                                  KeySlotFunction(type), bits,
                                  CompareAndSwap(type, AddressSpace::kShared, "(table + slot)",
                                                 absl::StrCat("(", bits, ")first"),
                                                 absl::StrCat("(", bits, ")key"))));
  return name;
}

std::string CPrelude::FindKeyFunction(ScalarType type) {
  const std::string name = absl::StrCat("mdh_find_key_", ShortName(type));
  const std::string key = CType(type, dialect_);
  DefineFunction(name, absl::Substitute(R"(int $0($1 table, $2 key, $2 first, int slot_bits) {
  const int taken = $3(first, slot_bits);
  int slot = $3(key, slot_bits);
  for (;; slot = (slot + 1) & ((1 << slot_bits) - 1)) {
    const $2 seen = table[slot];
    if (seen == key) return slot;
    if (seen == first && slot != taken) return -1;
  }
}
)",
                                        name, CPointer(dialect_, AddressSpace::kShared, true, key),
                                        key, KeySlotFunction(type)));
  return name;
}

}  // namespace mdh
