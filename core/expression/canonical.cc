// Canonical form of expressions.
#include "core/expression/canonical.h"

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

std::string Canonical(const IndexFunction& access) {
  return absl::StrCat("(",
                      absl::StrJoin(access.indices, "|",
                                    [](std::string* out, const AffineIndex& index) {
                                      absl::StrAppend(out, absl::StrJoin(index.coefficients, ","),
                                                      "+", index.constant);
                                    }),
                      ")");
}

std::string Bytes(const ScalarValue& value) {
  std::array<char, 8> bytes{};
  value.Store(bytes.data());
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

// Names of fields are no part of it.
std::string FieldTypes(const ElementType& type) {
  const std::string types = absl::StrJoin(
      type.fields(), ",",
      [](std::string* out, const auto& field) { absl::StrAppend(out, Name(field.type)); });
  return type.is_record() ? absl::StrCat("{", types, "}") : types;
}

// What is not row-major, dense, read inside only and written as a whole.
std::string Layout(const Buffer& buffer) {
  std::string text;
  if (!buffer.is_dense()) {
    absl::StrAppend(&text, "strides[", absl::StrJoin(buffer.given_strides, ","), "]");
  }
  if (buffer.boundary.kind == Boundary::Kind::kClamp) absl::StrAppend(&text, "clamp");
  if (buffer.boundary.kind == Boundary::Kind::kConstant) {
    absl::StrAppend(&text, "constant[",
                    absl::StrJoin(buffer.boundary.values, ",",
                                  [](std::string* out, const ScalarValue& value) {
                                    absl::StrAppend(out, Bytes(value));
                                  }),
                    "]");
  }
  if (buffer.keeps_unreached) absl::StrAppend(&text, "keep");
  return text;
}

std::string Canonical(const Buffer& buffer) {
  return absl::StrCat(
      FieldTypes(buffer.type), "[", absl::StrJoin(buffer.extents, ","), "]", Layout(buffer),
      absl::StrJoin(buffer.accesses, "", [](std::string* out, const IndexFunction& access) {
        absl::StrAppend(out, Canonical(access));
      }));
}

std::string Canonical(const CombineOperator& combine) {
  if (combine.is_concat()) return "cc";
  std::string text =
      absl::StrCat(combine.is_prefix_sum() ? "ps " : "pw ", CanonicalForm(combine.function()));
  if (combine.identity().has_value()) {
    absl::StrAppend(
        &text, " identity ",
        absl::StrJoin(*combine.identity(), ",", [](std::string* out, const ScalarValue& value) {
          absl::StrAppend(out, Bytes(value));
        }));
  }
  return text;
}

}  // namespace

std::string CanonicalForm(const Expression& expression) {
  std::string text = "mdh-canonical 1\n";
  for (const Dimension& dimension : expression.dimensions()) {
    absl::StrAppend(&text, "dimension ", dimension.size, "\n");
  }
  for (const CombineOperator& combine : expression.combine_operators()) {
    absl::StrAppend(&text, "combine ", Canonical(combine), "\n");
  }
  for (const Buffer& buffer : expression.inputs()) {
    absl::StrAppend(&text, "input ", Canonical(buffer), "\n");
  }
  for (const Buffer& buffer : expression.outputs()) {
    absl::StrAppend(&text, "output ", Canonical(buffer), "\n");
  }
  if (!expression.index_dimensions().empty()) {
    absl::StrAppend(&text, "indices ", absl::StrJoin(expression.index_dimensions(), ","), "\n");
  }
  absl::StrAppend(&text, "function ", CanonicalForm(expression.function()), "\n");
  if (const StoreFunction* store = expression.store()) {
    for (size_t b = 0; b < store->inputs.size(); ++b) {
      absl::StrAppend(&text, "store_input ", expression.passed_store_input(static_cast<int>(b)),
                      " ", Canonical(store->inputs[b]), "\n");
    }
    if (!store->index_dimensions.empty()) {
      absl::StrAppend(&text, "store_indices ", absl::StrJoin(store->index_dimensions, ","), "\n");
    }
    absl::StrAppend(&text, "store ", CanonicalForm(store->function), "\n");
  }
  return text;
}

std::string Digest(const Expression& expression) { return Sha256Hex(CanonicalForm(expression)); }

}  // namespace mdh
