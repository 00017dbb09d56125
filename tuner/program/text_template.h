// Texts with {name} in place of values: command lines and options.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tuner/space/value.h"

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
  // The same for a command of /bin/sh: texts of `paths` come out as they are, whatever is in them,
  // also where the template has them within quotes. The others are a part of the command.
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
