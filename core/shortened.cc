#include "core/shortened.h"

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Of UTF-8.
bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string Shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  // Where an error begins says more than where it ends.
  size_t first = most / 4 * 3;
  size_t last = text.size() - (most - first);
  while (first > 0 && ContinuesCharacter(text[first])) --first;
  while (last < text.size() && ContinuesCharacter(text[last])) ++last;
  return absl::StrCat(std::string(text.substr(0, first)), " ... (", last - first,
                      " bytes left out) ... ", std::string(text.substr(last)));
}

}  // namespace mdh
