// Texts with {name} in place of values: command lines and options.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/space/formula/value.h"

namespace mdh {

// Immutable.
class TextTemplate {
 public:
  TextTemplate() = default;
  // {name} is one of `names`, {{ stands for {. Errors: InvalidArgument for other names and for a {
  // without its }.
  static Result<TextTemplate> Parse(std::string_view text, const std::vector<std::string>& names);

  bool empty() const { return parts_.empty(); }
  bool Uses(std::string_view name) const;
  // Expects a text for every name that the template uses.
  std::string Fill(const std::map<std::string, std::string>& texts) const;
  // The same, as a command of /bin/sh in which the texts of `paths` stay as they are, whatever
  // blanks and quotes they have: each is quoted as the place where it stands, between quotes or
  // not, needs.
  std::string FillForShell(const std::map<std::string, std::string>& texts,
                           const std::set<std::string>& paths) const;

 private:
  struct Part {
    std::string text;
    bool is_name;
  };
  std::vector<Part> parts_;
};

// A value as command lines, environments and macros have it: numbers as they are, bools as 1 and 0,
// strings without quotes, the items of a permutation with commas between them.
std::string PlainText(const Value& value);

}  // namespace mdh
