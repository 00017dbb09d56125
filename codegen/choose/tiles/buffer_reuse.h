// How often points read what buffers have.
#pragma once

#include "core/expression/expression.h"

namespace mdh {

// Bytes of a buffer that the points use at most: those of a part of a pipeline's dimensions less
// than the buffer has.
double BytesUsed(const Expression& expression, const Buffer& buffer);
// How often each element of a buffer is read.
double ReuseOf(const Expression& expression, const Buffer& buffer);
// Whether a reduction runs over windows of a buffer that share few elements with others, as those
// of pooling do.
bool ReadsWindowsOnce(const Expression& expression, const Buffer& buffer);

}  // namespace mdh
