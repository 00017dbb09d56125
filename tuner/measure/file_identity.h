// Whether a file is still the one that it was.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mdh {

// Of what a path, through all links, leads to. Installing another version changes it.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t bytes = 0;
  int64_t changed_ns = 0;  // of the content

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// nullopt if there is no such file.
std::optional<FileIdentity> IdentityOf(const std::string& path);

}  // namespace mdh
