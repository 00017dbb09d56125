// Names and spelling of values.
#include "tuner/space/formula/value.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/base/status.h"

namespace mdh {
namespace {

std::string Quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += kDigits[byte / 16];
      quoted += kDigits[byte % 16];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// The shortest decimal number that reads back to the same real.
std::string RealText(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string_view Name(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "bool";
    case ValueType::kInteger:
      return "integer";
    case ValueType::kReal:
      return "real";
    case ValueType::kString:
      return "string";
    case ValueType::kPermutation:
      return "permutation";
  }
  return "";
}

std::string ToText(const Value& value) {
  return std::visit(Overloaded{[](bool b) { return std::string(b ? "true" : "false"); },
                               [](int64_t integer) { return std::to_string(integer); },
                               [](double real) { return RealText(real); },
                               [](const std::string& text) { return Quoted(text); },
                               [](const std::vector<std::string>& items) {
                                 std::string text = "[";
                                 for (size_t i = 0; i < items.size(); ++i) {
                                   if (i > 0) text += ", ";
                                   text += Quoted(items[i]);
                                 }
                                 return text + "]";
                               }},
                    value);
}

}  // namespace mdh
