// Records as a daemon that tunes for a long time has them: keys and configurations of several
// computations in many sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "server/store/store.h"

namespace mdh {

// Every number gives one record, always the same and different from all others. Thread-safe.
class RecordGenerator {
 public:
  // `expressions`: the folder of the shipped expressions. Errors: NotFound; what the generator of
  // code says.
  static Result<RecordGenerator> Create(const std::string& expressions,
                                        const DeviceDescription& device);

  // The expression of a record alone.
  Result<Expression> ExpressionOf(int64_t number) const;
  // Key, text and sizes are the record's own; the configuration and what it is made of are those
  // that the rules give for a common size. The kernel has its source cut off, which is on no path
  // that is measured.
  Result<StoredResult> Generate(int64_t number) const;
  // Stores records 0 to count - 1 in large transactions.
  Status Fill(Store& store, int64_t count) const;

 private:
  struct Computation {
    std::string text;
    std::vector<std::string> sizes;  // names of the parameters
    StoredResult common;
  };
  explicit RecordGenerator(const DeviceDescription& device) : device_(device) {}

  DeviceDescription device_;
  std::vector<Computation> computations_;
};

}  // namespace mdh
