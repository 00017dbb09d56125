// A shipped expression at small sizes, run by the interpreter on random whole numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"

namespace mdh {

// Elements of buffers are read and written as doubles, which hold all values that occur. Buffers
// are numbered as in their view; `field` is that of a record, 0 for scalars.
class Example {
 public:
  // client/expressions/<name>.mdh with these sizes and types.
  explicit Example(const std::string& name, const Bindings& bindings = {});

  // Random whole numbers from `smallest` to `largest` for all inputs; -4 to 4 at first.
  void Fill(int64_t smallest, int64_t largest);
  void SetInput(int buffer, const std::vector<double>& values, int field = 0);

  std::vector<double> Input(int buffer, int field = 0) const;
  std::vector<double> Output(int buffer, int field = 0) const;
  const Expression& expression() const { return expression_; }

 private:
  const Expression expression_;
  std::vector<BufferBytes> inputs_;
};

// Every element of the output, in row-major order, is `expected`, up to `tolerance`.
void ExpectOutput(const Example& example, const std::vector<double>& expected, double tolerance = 0,
                  int buffer = 0, int field = 0);

}  // namespace mdh
