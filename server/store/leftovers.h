// What a daemon that was killed leaves behind, and the next one clears away.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// Where daemons work that are not told where: "<folder>/mdhd-<pid>".
std::string DefaultWorkDirectory(const std::string& folder);

// Clears away what runners have left in a work directory that nobody uses: ends those that still
// run, as their pid and start time in the directory say, and removes their folders. False, and
// nothing is done, if somebody uses it, or it is not this user's.
bool ClearWorkDirectory(const std::string& directory);

// Of all work directories in `folder` that are called as DefaultWorkDirectory says: removes those
// of this user whose daemon is dead. Gives how many.
int RemoveDeadWorkDirectories(const std::string& folder);

// Removes copies of databases in `folder` that nobody writes any more and that were not finished
// ("*.sqlite.part", and what SQLite keeps beside them). Gives how many.
int RemoveUnfinishedCopies(const std::string& folder);

}  // namespace mdh
