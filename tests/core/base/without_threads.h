// A system that gives no threads.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace mdh {

// While it exists, no thread can be started in this process: none has room for its stack.
class WithoutThreads {
 public:
  WithoutThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t wanted;
    pthread_attr_init(&wanted);
    pthread_attr_setstacksize(&wanted, size_t{1} << 56);
    pthread_setattr_default_np(&wanted);
    pthread_attr_destroy(&wanted);
  }
  ~WithoutThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  WithoutThreads(const WithoutThreads&) = delete;
  WithoutThreads& operator=(const WithoutThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace mdh
