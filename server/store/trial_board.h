// Where the owner of a job offers trials to idle daemons, and these say what they have measured.
// What is on it is lost with the storage, at no harm: owners offer again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

struct JobClaim;

// What all trials of a job have in common.
struct HelpedJob {
  int64_t number = 0;
  int64_t epoch = 0;
  std::string owner = "";        // the daemon that searches
  std::string environment = "";  // what devices of helpers must be, and compile with
  std::string problem = "";      // what is measured: a v1::RunnerSetProblem
  // Until the search is to be over; zero: nobody knows.
  absl::Duration time_left = absl::ZeroDuration();
};

// A device that helps with a job, from Join to Leave.
struct HelperSeat {
  int64_t seat = 0;
  std::string name = "";  // of the device, among those of all daemons
};

struct OfferedTrial {
  int64_t seat = 0;    // whom it is offered to
  int64_t number = 0;  // which the owner knows it by, at that seat
  std::string parameters = "";
  std::string kernel_digest = "";  // of what the parameters must become
  std::string options = "";        // how it is measured: a v1::RunnerMeasureOptions
};

struct MeasuredTrial {
  int64_t seat = 0;
  int64_t number = 0;
  std::string measured = "";  // a v1::RunnerMeasured
};

// Waits for what others write on the board. It is a hint: who waits looks from time to time anyway.
class BoardWatch {
 public:
  virtual ~BoardWatch() = default;
  // Until there may be something new, or the time is over. Of one thread.
  virtual void Wait(absl::Duration timeout) = 0;
  // Lets Wait return, or the next one. Of any thread.
  virtual void Wake() = 0;
};

// Thread-safe, and safe among processes as Store is; any call may be repeated. Errors of every
// call: those of Store.
class TrialBoard {
 public:
  virtual ~TrialBoard() = default;

  // ---- For the owner of a job ----

  // Asks for help with a job; what was on the board for it is gone. Errors: Aborted if it was taken
  // by another since, or has ended.
  virtual Status Announce(const HelpedJob& job) = 0;
  struct News {
    std::vector<MeasuredTrial> measured;  // until they are `settled`
    std::vector<HelperSeat> helpers;      // those that there are; offers to others are gone
  };
  // Offers trials, takes `settled` ones away, which are known or not wanted any more, and tells
  // what there is. Errors: Aborted, as Announce; NotFound if the job is not announced.
  virtual Result<News> Trade(const JobClaim& claim, absl::Span<const OfferedTrial> offers,
                             absl::Span<const MeasuredTrial> settled) = 0;
  // No help is wanted any more.
  virtual Status End(const JobClaim& claim) = 0;
  virtual Result<std::unique_ptr<BoardWatch>> WatchJob(int64_t number) = 0;

  // ---- For helpers ----

  // The jobs that ask for help in this environment, whose owners have not given them up, the oldest
  // first.
  virtual Result<std::vector<HelpedJob>> Find(const std::string& environment) = 0;
  // Takes a seat, for so long: who does not renew it has given up what was offered there. Errors:
  // Aborted if no help is wanted any more.
  virtual Result<int64_t> Join(const HelpedJob& job, const std::string& name,
                               absl::Duration lease) = 0;
  // Says what was measured, renews the seat, and gives up to `room` trials that are offered there
  // and are not `in_work`. Errors: Aborted if the seat is gone, or the job's owner: then what was
  // measured does not count.
  virtual Result<std::vector<OfferedTrial>> Exchange(int64_t seat, absl::Duration lease,
                                                     absl::Span<const MeasuredTrial> measured,
                                                     absl::Span<const int64_t> in_work,
                                                     int room) = 0;
  virtual Status Leave(int64_t seat) = 0;
  // Of seat 0: for new jobs.
  virtual Result<std::unique_ptr<BoardWatch>> WatchSeat(int64_t seat) = 0;
};

// One that no other seat has.
int64_t NewSeat();

}  // namespace mdh
