// A transaction that changes records, kernels and pins, and numbers what it does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/store/postgres/postgres_connection.h"
#include "server/store/postgres/stored_messages.h"
#include "server/store/store.h"

namespace mdh {

// One at a time in the whole database, from its begin to its end: the row of the counter is locked,
// so that numbers have no gaps and what was read is as it is when it is written. Undone unless it
// was committed. Not thread-safe. Errors are those of Store.
class RecordChanges {
 public:
  // Reads the records with these ids.
  static Result<RecordChanges> Begin(PostgresConnection& connection,
                                     const std::vector<std::string>& ids);

  // As it is by now; nullopt if there is none, or it cannot be read.
  std::optional<v1::TuningRecord> Find(const std::string& id) const;
  // Errors: NotFound; FailedPrecondition if it cannot be read.
  Result<v1::TuningRecord> Get(const std::string& id) const;
  bool IsDamaged(const std::string& id) const { return damaged_.contains(id); }

  // Stores a record, which is not pinned, in place of the one that was there.
  void Put(const std::string& id, const v1::TuningRecord& record, const v1::Kernel& kernel);
  // Replaces a record whose kernel, key and time stay.
  void Update(const std::string& id, const v1::TuningRecord& record);
  void SetPinning(const std::string& id, Pinning pinning);
  void Remove(const std::string& id);
  // Moves a record and its kernel to the quarantine; nobody is told.
  void SetAside(const std::string& id);

  // Forgets changes but for so many before this transaction. Gives the number of the last change;
  // 0: nothing was changed.
  Result<int64_t> Commit(int64_t remembered_changes);

 private:
  explicit RecordChanges(std::unique_ptr<PostgresTransaction> transaction)
      : transaction_(std::move(transaction)) {}
  PgChecked StoredOf(const v1::TuningRecord& record) const;
  void Delete(const std::string& id);
  void AddChange(const std::string& id, v1::KernelChangeKind kind, const v1::TuningRecord& record,
                 PgValue removed = std::nullopt);

  std::unique_ptr<PostgresTransaction> transaction_;
  int64_t first_ = 0;  // the last change before this
  int64_t last_ = 0;
  bool compresses_ = false;  // the records that it stores
  std::map<std::string, v1::TuningRecord> records_;
  std::map<std::string, std::string> damaged_;  // why, by id
  std::vector<PgStatement> writes_;
};

}  // namespace mdh
