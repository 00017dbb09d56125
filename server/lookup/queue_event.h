// What a completion queue hands back.
#pragma once

namespace mdh {

// An operation that was started on the queue of a LookupServer, whose tag this is.
class QueueEvent {
 public:
  // It has ended. By the queue's thread.
  virtual void Proceed(bool is_ok) = 0;

 protected:
  ~QueueEvent() = default;
};

}  // namespace mdh
