// A board of trials that does not answer when a test says so, and a store that has it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/store/layers/forwarding_store.h"
#include "server/store/trial_board.h"

namespace mdh {

class BoardDouble final : public TrialBoard {
 public:
  explicit BoardDouble(std::shared_ptr<TrialBoard> board) : board_(std::move(board)) {}

  // While it is, calls are Unavailable.
  std::atomic<bool> is_gone = false;

  Status Announce(const HelpedJob& job) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Announce(job);
  }
  Result<News> Trade(const JobClaim& claim, absl::Span<const OfferedTrial> offers,
                     absl::Span<const MeasuredTrial> settled) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Trade(claim, offers, settled);
  }
  Status End(const JobClaim& claim) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->End(claim);
  }
  Result<std::unique_ptr<BoardWatch>> WatchJob(int64_t number) override {
    return board_->WatchJob(number);
  }
  Result<std::vector<HelpedJob>> Find(const std::string& environment) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Find(environment);
  }
  Result<int64_t> Join(const HelpedJob& job, const std::string& name,
                       absl::Duration lease) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Join(job, name, lease);
  }
  Result<std::vector<OfferedTrial>> Exchange(int64_t seat, absl::Duration lease,
                                             absl::Span<const MeasuredTrial> measured,
                                             absl::Span<const int64_t> in_work, int room) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Exchange(seat, lease, measured, in_work, room);
  }
  Status Leave(int64_t seat) override {
    MDH_RETURN_IF_ERROR(CheckThere());
    return board_->Leave(seat);
  }
  Result<std::unique_ptr<BoardWatch>> WatchSeat(int64_t seat) override {
    return board_->WatchSeat(seat);
  }

 private:
  Status CheckThere() const {
    return is_gone ? absl::UnavailableError("the server is not there") : absl::OkStatus();
  }

  const std::shared_ptr<TrialBoard> board_;
};

class StoreWithBoard final : public ForwardingStore {
 public:
  explicit StoreWithBoard(std::unique_ptr<Store> store)
      : StoreWithBoard(std::move(store), nullptr) {}
  Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() override { return board_; }
  BoardDouble& board() { return *board_; }

 private:
  StoreWithBoard(std::unique_ptr<Store> store, std::nullptr_t)
      : ForwardingStore(std::move(store)),
        board_(std::make_shared<BoardDouble>(*ForwardingStore::OpenTrialBoard())) {}
  const std::shared_ptr<BoardDouble> board_;
};

}  // namespace mdh
