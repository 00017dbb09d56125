// Contents of a kernel's buffers before a run, and what they must be after it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/program/kernel_plan.h"
#include "tuner/space/formula/formula_number.h"

namespace mdh {

using ArgumentBytes = std::vector<std::byte>;

// `count` random elements, which depend on name and type only: reals in [0, 1), integers in
// -100..100, of types without sign 0..100.
ArgumentBytes RandomElements(const std::string& name, ArgumentType type, int64_t count);

// What arguments hold for one configuration: buffers before a run, values as they are passed. In
// the order of the kernel's arguments.
using ArgumentContents = std::vector<ArgumentBytes>;

// Remembers what random buffers hold from one configuration to the next. Not thread-safe.
class ArgumentMaker {
 public:
  // The plan must outlive this. `most_bytes`: that the device can hold.
  ArgumentMaker(const KernelPlan& plan, const StudyDefinition& study, int64_t most_bytes)
      : plan_(plan), study_(study), most_bytes_(most_bytes), made_(plan.arguments.size()) {}
  // Errors: InvalidArgument or OutOfRange, naming the argument, if a formula has no value, or none
  // that the argument can take; ResourceExhausted if the device cannot hold it.
  Result<const ArgumentContents*> Make(const Configuration& configuration);

 private:
  Status MakeOne(size_t argument, const Configuration& configuration);

  const KernelPlan& plan_;
  const StudyDefinition& study_;
  const int64_t most_bytes_;
  ArgumentContents made_;
};

// Judges results; remembers references from one configuration to the next. Not thread-safe.
class ResultJudge {
 public:
  ResultJudge(const KernelPlan& plan, const StudyDefinition& study)
      : plan_(plan), study_(study), references_(plan.expected.size()) {}
  // What is wrong with `results`, the contents of all buffers after a run that began with
  // `contents`; empty if nothing is. Errors: if a reference cannot be computed.
  Result<std::string> Judge(const Configuration& configuration, const ArgumentContents& contents,
                            const ArgumentContents& results);

 private:
  struct Reference {
    std::string key;  // all that it was computed from
    ArgumentBytes bytes;
  };
  Result<const ArgumentBytes*> ReferenceFor(size_t expectation, const Configuration& configuration,
                                            const ArgumentContents& contents);
  Result<std::map<std::string, Number>> Constants(const Formula& elements,
                                                  const Configuration& configuration,
                                                  const ArgumentContents& contents) const;

  // The buffers that its formula reads, which have as many elements as it at least.
  Result<std::vector<size_t>> Columns(const PlannedExpectation& expected,
                                      const std::map<std::string, Number>& constants,
                                      const ArgumentContents& contents) const;
  // Elements of a buffer.
  int64_t Count(size_t argument, const ArgumentContents& contents) const;
  Result<ArgumentBytes> Compute(const PlannedExpectation& expected,
                                const std::map<std::string, Number>& constants,
                                const ArgumentContents& contents) const;

  const KernelPlan& plan_;
  const StudyDefinition& study_;
  std::vector<Reference> references_;
};

// The positive integer that a formula gives, also as a real without a fraction. Errors: naming the
// formula.
Result<int64_t> PositiveInteger(const Formula& formula, const StudyDefinition& study,
                                const Configuration& configuration);

}  // namespace mdh
