#include "server/store/sqlite/sqlite_writer.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

// In one transaction: so many that the wait for the disk is shared, and so few that nobody waits
// long.
constexpr size_t kMostTogether = 256;

}  // namespace

Status SqliteWriter::Run(const Write& write, const std::function<void()>& on_commit) {
  Waiting mine{write, on_commit, absl::OkStatus()};
  absl::MutexLock lock(&mutex_);
  if (!refusal_.ok()) return refusal_;
  waiting_.push_back(&mine);
  const auto is_my_turn = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return mine.is_done || !has_leader_;
  };
  while (true) {
    mutex_.Await(absl::Condition(&is_my_turn));
    if (mine.is_done) return mine.status;
    has_leader_ = true;
    std::vector<Waiting*> group;
    group.assign(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                          waiting_.size(), kMostTogether)));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(group.size()));
    mutex_.Unlock();
    const Status written = RunGuarded(group);
    mutex_.Lock();
    health_ = written;
    ++transactions_;
    writes_ += static_cast<int64_t>(group.size());
    for (Waiting* done : group) done->is_done = true;
    has_leader_ = false;
  }
}

Status SqliteWriter::RunGuarded(const std::vector<Waiting*>& group) {
  const Status allowed = guard_.check();
  if (allowed.ok()) return RunTogether(group);
  for (Waiting* waiting : group) waiting->status = allowed;
  return allowed;
}

Status SqliteWriter::Use(const Write& use) {
  absl::MutexLock lock(&mutex_);
  const auto is_free = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !has_leader_; };
  mutex_.Await(absl::Condition(&is_free));
  has_leader_ = true;
  mutex_.Unlock();
  Status used = use(*database_);
  mutex_.Lock();
  has_leader_ = false;
  return used;
}

Status SqliteWriter::RunTogether(const std::vector<Waiting*>& group) {
  const auto fail_all = [&](const Status& error) {
    for (Waiting* waiting : group) waiting->status = error;
    return error;
  };
  Result<std::unique_ptr<SqliteTransaction>> transaction = SqliteTransaction::Begin(*database_);
  if (!transaction.ok()) return fail_all(transaction.status());
  for (size_t n = 0; n < group.size(); ++n) {
    group[n]->status = RunInSavepoint(*group[n]);
    if ((*transaction)->IsOpen()) continue;
    // SQLite has rolled everything back by itself, as it does when the disk is full: those before
    // have lost what they wrote.
    return fail_all(group[n]->status);
  }
  Status committed = guard_.on_end(*database_);
  if (committed.ok()) committed = (*transaction)->Commit();
  if (committed.ok()) {
    guard_.on_commit();
    committed = guard_.check();
  }
  if (!committed.ok()) {
    for (Waiting* waiting : group) waiting->status.Update(committed);
    return committed;
  }
  for (Waiting* waiting : group) {
    if (waiting->status.ok() && waiting->on_commit) waiting->on_commit();
  }
  return absl::OkStatus();
}

Status SqliteWriter::RunInSavepoint(Waiting& waiting) {
  MDH_RETURN_IF_ERROR(database_->Execute("SAVEPOINT one"));
  const Status status = waiting.write(*database_);
  if (status.ok()) return database_->Execute("RELEASE one");
  // Fails if the whole transaction is gone, which the caller sees.
  database_->Execute("ROLLBACK TO one; RELEASE one").IgnoreError();
  return status;
}

void SqliteWriter::Refuse(Status why) {
  absl::MutexLock lock(&mutex_);
  refusal_ = std::move(why);
}

Status SqliteWriter::refusal() const {
  absl::ReaderMutexLock lock(&mutex_);
  return refusal_;
}

Status SqliteWriter::health() const {
  absl::ReaderMutexLock lock(&mutex_);
  return refusal_.ok() ? health_ : refusal_;
}

int64_t SqliteWriter::transactions() const {
  absl::ReaderMutexLock lock(&mutex_);
  return transactions_;
}

int64_t SqliteWriter::writes() const {
  absl::ReaderMutexLock lock(&mutex_);
  return writes_;
}

}  // namespace mdh
