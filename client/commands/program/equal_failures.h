// Whether a search is hopeless: its program does not compile, whatever the configuration.
#pragma once

#include <map>
#include <set>
#include <string>

#include "mdh/v1/study.pb.h"

namespace mdh {

class EqualFailures {
 public:
  // Of the next trial. Of messages that differ in numbers alone the configuration may be the cause
  // of the difference; they count as equal.
  void Note(const v1::StudyTrial& trial);

  // The error, if no trial did anything else than to fail to compile with it: of 8 trials in which
  // every parameter had several values, or of 64. Empty: there is hope.
  std::string Verdict() const;

 private:
  bool is_over_ = false;  // another outcome was met
  int count_ = 0;
  std::string first_;                                    // failure
  std::string comparable_;                               // the same without its numbers
  std::map<std::string, std::set<std::string>> values_;  // that parameters had
};

}  // namespace mdh
