// SHA-256 of bytes that come in parts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"

namespace mdh {

// Not thread-safe.
class Sha256 {
 public:
  using Sum = std::array<uint8_t, 32>;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& Add(absl::string_view bytes);
  // Of everything that was added. Called once, and nothing after it.
  Sum Finish();

  static Sum Of(absl::string_view bytes) { return Sha256().Add(bytes).Finish(); }

 private:
  struct Context;
  const std::unique_ptr<Context> context_;
};

}  // namespace mdh
