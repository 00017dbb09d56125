#include "codegen/print/c_index.h"

#include <bit>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Precedences of C, larger binds tighter; anything looser than a sum is in parentheses.
enum Precedence { kNone = 0, kSum = 1, kProduct = 2, kFactor = 3 };

bool IsPowerOf2(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

void Print(const Index& index, int precedence, std::string& out);

void PrintBinary(const Index& index, int own, absl::string_view spelling, int precedence,
                 std::string& out) {
  if (own < precedence) out += '(';
  Print(index.left(), own, out);
  absl::StrAppend(&out, spelling);
  // a + (b + c) and a + b + c are the same.
  Print(index.right(), index.kind() == Index::Kind::kAdd ? kSum : own + 1, out);
  if (own < precedence) out += ')';
}

// A shift or mask, which C binds more loosely than it looks.
void PrintBits(const Index& value, absl::string_view spelling, int64_t constant, int precedence,
               std::string& out) {
  if (precedence > kNone) out += '(';
  Print(value, kFactor, out);
  absl::StrAppend(&out, spelling, constant);
  if (precedence > kNone) out += ')';
}

void Print(const Index& index, int precedence, std::string& out) {
  switch (index.kind()) {
    case Index::Kind::kConstant:
    case Index::Kind::kVariable:
    case Index::Kind::kShareBegin:
    case Index::Kind::kShareEnd: {
      const bool braced = index.is_constant() && index.constant() < 0 && precedence > kNone;
      absl::StrAppend(&out, braced ? "(" : "", index.ToString(), braced ? ")" : "");
      return;
    }
    case Index::Kind::kAdd:
      return PrintBinary(index, kSum, " + ", precedence, out);
    case Index::Kind::kSub:
      return PrintBinary(index, kSum, " - ", precedence, out);
    case Index::Kind::kMul:
      return PrintBinary(index, kProduct, " * ", precedence, out);
    case Index::Kind::kDiv: {
      const int64_t divisor = index.right().constant();
      if (!IsPowerOf2(divisor)) return PrintBinary(index, kProduct, " / ", precedence, out);
      const int shift = std::countr_zero(static_cast<uint64_t>(divisor));
      return PrintBits(index.left(), " >> ", shift, precedence, out);
    }
    case Index::Kind::kMod: {
      const int64_t divisor = index.right().constant();
      if (!IsPowerOf2(divisor)) return PrintBinary(index, kProduct, " % ", precedence, out);
      return PrintBits(index.left(), " & ", divisor - 1, precedence, out);
    }
    case Index::Kind::kXor:
      if (precedence > kNone) out += '(';
      Print(index.left(), kFactor, out);
      out += " ^ ";
      Print(index.right(), kFactor, out);
      if (precedence > kNone) out += ')';
      return;
    case Index::Kind::kMin:
      out += "mdh_min(";
      Print(index.left(), kNone, out);
      out += ", ";
      Print(index.right(), kNone, out);
      out += ')';
  }
}

}  // namespace

std::string CIndex(const Index& index, const CDialect& dialect) {
  if (!dialect.has_blocks()) return index.ToString();
  std::string text;
  Print(index, kNone, text);
  return text;
}

std::string COperand(const Index& index, const CDialect& dialect) {
  if (!dialect.has_blocks()) return index.ToString();
  std::string text;
  Print(index, kSum, text);
  return text;
}

}  // namespace mdh
