// Which of two results for one key is kept.
#pragma once

#include <optional>

#include "mdh/v1/record.pb.h"
#include "server/store/store.h"

namespace mdh {

// Whether the record that is stored stays when `result` comes (Store::PutResult). `stored` says
// whether it is pinned.
bool StaysBefore(const v1::TuningRecord& stored, const StoredResult& result);

// The record that stays, with what was searched for `worse` in vain; nullopt: it stays as it is.
std::optional<v1::TuningRecord> WithEffortOf(const StoredResult& worse, v1::TuningRecord stored);

}  // namespace mdh
