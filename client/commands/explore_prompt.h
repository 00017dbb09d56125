// What `mdh explore` shows of a candidate, and its prompt.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/candidate.pb.h"

namespace mdh {

// How many configurations remain, and of each parameter the values.
void PrintCandidate(const v1::DescribeCandidateResponse& described);
// What a parameter means, and how many configurations each of its values has.
void PrintDecision(const v1::CandidateDecision& decision);
void PrintFinished(const v1::FinishCandidateResponse& finished);
// What bounds say of the configurations, by sizes.
void PrintBounds(const v1::BoundHistogram& bounds);

// "", "record", or a time such as "1.5ms". Errors: InvalidArgument.
Result<v1::BoundComparison> ParseBoundComparison(const std::string& text);

// "rules", "record", "sample". Errors: InvalidArgument for other words.
Result<v1::FinishRule> FinishRuleNamed(const std::string& word);

// What a prompt asks the daemon.
struct ExploreCalls {
  std::function<Result<v1::DescribeCandidateResponse>(const v1::Candidate&)> describe;
  // With bounds compared.
  std::function<Result<v1::DescribeCandidateResponse>(const v1::Candidate&,
                                                      const v1::BoundComparison&)>
      compare;
  std::function<Result<v1::FinishCandidateResponse>(const v1::Candidate&, v1::FinishRule,
                                                    uint64_t seed)>
      finish;
  // A job for what remains, until its end; the argument is a budget, "20s".
  std::function<Status(const v1::Candidate&, const std::string& budget)> search;
};

// Reads commands line by line until `quit` or the end. What is wrong with one of them is said, and
// changes nothing. `is_echoed`: commands are printed, as nobody sees them typed. Errors: of the
// connection.
Status RunExplorePrompt(const ExploreCalls& calls, v1::Candidate candidate, std::istream& commands,
                        bool is_echoed);

}  // namespace mdh
