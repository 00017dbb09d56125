// Whose word is taken: files, folders and sockets that nobody else could have made or can change.
//
// What a client loads is code: kernels come from a socket, a bundle or a cache, and who can put
// something else in their place runs code as this user. The same holds for what the daemon reads.
// So a path is walked from the root, before it is used, as the kernel walks it: each folder, each
// symbolic link and what is at the end must belong to root, to this user or to somebody who is
// trusted by name, and nobody else may write there. That cannot change between the look and the
// use: only those who are trusted can replace, rename or remove any of it. The one exception are
// shared folders such as /tmp (sticky): an entry there is its owner's, but a name that is not taken
// yet, or no longer, is anybody's. A socket there is trusted while it is there; who stays connected
// until its daemon ends may find another listener at its name (IsNameShared).
// python/mdh/trust.py does the same in Python.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mdh {

// Who is trusted beside root and the user of this process. A value.
class TrustedUsers {
 public:
  // Nobody.
  TrustedUsers() = default;
  // Names and numbers of users, separated by commas; "*": everybody who can use this machine, as in
  // a container with one user. Errors: InvalidArgument if there is no such user.
  static Result<TrustedUsers> Parse(std::string_view text);

  void Add(uid_t user) { users_.insert(user); }
  bool Includes(uid_t user) const;
  bool includes_everybody() const { return everybody_; }

 private:
  bool everybody_ = false;
  std::set<uid_t> users_;
};

enum class PathUse { kFile, kSocket };

// OK if whatever `path` (relative: to the current folder) leads to is of those who are trusted,
// also if it is not there yet but only they can make it; a file that is not there may lie in a
// shared folder. Errors: PermissionDenied, naming the path, what is wrong with which part of it,
// its owner and the remedy; NotFound for a socket that is not there and that anybody could make;
// FailedPrecondition if the path cannot be walked.
Status CheckTrustedPath(const std::string& path, const TrustedUsers& trusted = {},
                        PathUse use = PathUse::kFile);

// Whether `path` lies directly in a shared folder: once it is removed anybody can take its name.
bool IsNameShared(const std::string& path);

// The same of one thing alone, whose state was taken from a descriptor that is open.
Status CheckTrustedState(const std::string& path, const struct stat& state,
                         const TrustedUsers& trusted = {});

}  // namespace mdh
