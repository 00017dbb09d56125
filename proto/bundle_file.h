// Reads bundles in place (the format: bundle_layout.h): a file that is mapped read-only, so that
// all processes share one copy, or bytes in memory.
//
//   MDH_ASSIGN_OR_RETURN(const auto bundle, mdh::BundleFile::Open("kernels.mdhb"));
//   MDH_ASSIGN_OR_RETURN(const mdh::BundleEntry found, bundle->Find(query));
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "proto/bundle_query.h"

namespace mdh {

// Views of a bundle; they live as long as it does.
struct BundleEntry {
  std::string_view canonical_form;
  std::string_view device_fingerprint;
  std::string_view compiler;
  int generator_version = 0;
  int numerics_policy = 0;  // v1::NumericsPolicy
  std::string_view record;  // a serialised v1::TuningRecord
  std::string_view kernel;  // a serialised v1::Kernel; empty: the bundle has none
};

// When the contents of entries are compared with their sums. Header, index and everything else are
// always compared when the bundle is opened.
enum class BundleCheck {
  kWhenOpened,     // all of them: a second for each gigabyte, about
  kWhenFirstUsed,  // each one the first time that it is found: a microsecond for each kilobyte
};

// Thread-safe. Changing a file while it is mapped would change what was checked, and cutting it off
// ends the process: writers put a new file in its place (rename) instead.
class BundleFile {
 public:
  // Errors: NotFound and others of the file system; InvalidArgument, naming the file, if it is no
  // bundle, is of another version, is cut off or was changed; PermissionDenied if it is not of this
  // user, root or `trusted`, or others could write it (core/base/trusted_path.h): kernels are code.
  static Result<std::unique_ptr<BundleFile>> Open(const std::string& path,
                                                  BundleCheck check = BundleCheck::kWhenOpened,
                                                  const TrustedUsers& trusted = {});
  // `bytes` must outlive it. Errors: InvalidArgument, saying what "the bundle" is.
  static Result<std::unique_ptr<BundleFile>> FromBytes(
      std::string_view bytes, BundleCheck check = BundleCheck::kWhenOpened);
  ~BundleFile();
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;

  // The first entry that fits, in the order of preference. The whole key is compared.
  // Errors: NotFound; InvalidArgument if the entry was changed (kWhenFirstUsed).
  Result<BundleEntry> Find(const BundleQuery& query) const;

  size_t size() const { return entries_; }
  // `number` < size(). Errors: InvalidArgument if the entry was changed (kWhenFirstUsed).
  Result<BundleEntry> Entry(size_t number) const;
  // A serialised v1::BundleHeader.
  std::string_view info() const;
  // SHA-256 that stands for everything in the bundle, 64 hexadecimal digits: the same bundle iff
  // the same sum.
  std::string Sum() const;
  // The different fingerprints of the entries, sorted. Errors: as Entry.
  Result<std::vector<std::string_view>> DeviceFingerprints() const;

 private:
  class Mapping;
  explicit BundleFile(std::string_view bytes);
  Status CheckHeader();
  Status CheckSlots() const;
  Status CheckRows() const;
  Status CheckContents() const;
  Status CheckContent(size_t number) const;
  const char* Row(size_t number) const;
  std::string_view Identity(size_t number) const;

  std::unique_ptr<Mapping> mapping_;  // nullptr: somebody else's bytes
  std::string_view bytes_;
  uint64_t entries_ = 0;
  uint64_t slots_ = 0;
  uint64_t info_bytes_ = 0;
  // Whether each content was checked; empty: all were.
  mutable std::vector<std::atomic<bool>> is_checked_;
};

}  // namespace mdh
