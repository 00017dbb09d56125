// Canonical text of scalar functions.
#include "core/scalar/scalar_canonical.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

// The instruction without its operands. Constants are given by their bytes.
std::string Head(const ScalarInstruction& instruction) {
  std::string head = absl::StrCat(static_cast<int>(instruction.op), ":", Name(instruction.type));
  if (instruction.op == ScalarOp::kParameter) absl::StrAppend(&head, ":", instruction.parameter);
  const auto append = [&](const ScalarValue& value) {
    std::array<char, 8> bytes{};
    value.Store(bytes.data());
    absl::StrAppend(&head, ":", absl::BytesToHexString(absl::string_view(bytes.data(), 8)));
  };
  if (instruction.op == ScalarOp::kConstant) append(instruction.constant);
  for (const ScalarValue& value : instruction.table) append(value);
  return head;
}

// Operands of commutative operations sorted by `rank`, others as they are.
std::vector<int> OrderedOperands(const ScalarInstruction& instruction,
                                 absl::Span<const std::string> rank) {
  std::vector<int> operands = instruction.operands;
  if (Info(instruction.op).is_commutative) {
    std::ranges::stable_sort(operands, [&](int a, int b) { return rank[a] < rank[b]; });
  }
  return operands;
}

// A digest per instruction of the whole computation that it stands for; it orders operands in a way
// that does not depend on the order in which the instructions were written.
std::vector<std::string> StructuralDigests(const ScalarFunction& function) {
  std::vector<std::string> digests;
  digests.reserve(function.instructions().size());
  for (const ScalarInstruction& instruction : function.instructions()) {
    std::string text = Head(instruction);
    for (int operand : OrderedOperands(instruction, digests)) {
      absl::StrAppend(&text, ",", digests[operand]);
    }
    digests.push_back(Sha256Hex(text));
  }
  return digests;
}

// Instructions in the order of a depth-first walk from the results.
class CanonicalOrder {
 public:
  CanonicalOrder(const ScalarFunction& function, absl::Span<const std::string> digests)
      : function_(function), digests_(digests), number_(digests.size(), -1) {
    for (int result : function.result_instructions()) Visit(result);
  }

  int number(int instruction) const { return number_[instruction]; }
  const std::vector<int>& order() const { return order_; }
  std::vector<int> Operands(int instruction) const {
    return OrderedOperands(function_.instructions()[instruction], digests_);
  }

 private:
  // Not recursive: chains of thousands of instructions are legal.
  void Visit(int root) {
    std::vector<std::pair<int, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [instruction, operands_done] = stack.back();
      stack.pop_back();
      if (number_[instruction] >= 0) continue;
      if (operands_done) {
        number_[instruction] = static_cast<int>(order_.size());
        order_.push_back(instruction);
        continue;
      }
      stack.push_back({instruction, true});
      const std::vector<int> operands = Operands(instruction);
      for (auto it = operands.rbegin(); it != operands.rend(); ++it) stack.push_back({*it, false});
    }
  }

  const ScalarFunction& function_;
  absl::Span<const std::string> digests_;
  std::vector<int> number_;
  std::vector<int> order_;
};

std::string Types(const std::vector<TypedName>& names) {
  return absl::StrJoin(names, ",", [](std::string* out, const TypedName& name) {
    absl::StrAppend(out, Name(name.type));
  });
}

}  // namespace

std::string CanonicalForm(const ScalarFunction& function) {
  const std::vector<std::string> digests = StructuralDigests(function);
  const CanonicalOrder order(function, digests);
  std::string text =
      absl::StrCat("(", Types(function.parameters()), ")->(", Types(function.results()), "){");
  const auto append_number = [&](std::string* out, int instruction) {
    absl::StrAppend(out, order.number(instruction));
  };
  for (int instruction : order.order()) {
    absl::StrAppend(&text, Head(function.instructions()[instruction]), "(",
                    absl::StrJoin(order.Operands(instruction), ",", append_number), ");");
  }
  absl::StrAppend(&text, "=>", absl::StrJoin(function.result_instructions(), ",", append_number),
                  "}");
  return text;
}

std::string Sha256Hex(absl::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace mdh
