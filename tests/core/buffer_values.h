// Contents of buffers as values of a type of C++, and the reverse.
#pragma once

#include <cstring>
#include <vector>

#include "core/expression/interpreter.h"

namespace mdh {

template <typename T>
BufferBytes BytesOfValues(const std::vector<T>& values) {
  BufferBytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> ValuesOfBytes(const BufferBytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace mdh
