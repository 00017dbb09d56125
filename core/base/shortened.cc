#include "core/base/shortened.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Of UTF-8.
bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Length of the UTF-8 sequence at the beginning of `text`; 0 if there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and beyond the last character.
  const bool is_wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
                        (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
  return is_wrong ? 0 : length;
}

}  // namespace

std::string ValidText(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0 || text[0] == '\0') {
      valid += '?';
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return valid;
}

std::string Shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return ValidText(text);
  // Where an error begins says more than where it ends.
  size_t first = most / 4 * 3;
  size_t last = text.size() - (most - first);
  while (first > 0 && ContinuesCharacter(text[first])) --first;
  while (last < text.size() && ContinuesCharacter(text[last])) ++last;
  return absl::StrCat(ValidText(text.substr(0, first)), " ... (", last - first,
                      " bytes left out) ... ", ValidText(text.substr(last)));
}

}  // namespace mdh
