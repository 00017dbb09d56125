// Makes absl::Mutex and absl::CondVar known to the thread sanitizer.
//
// Debian's abseil is a shared library that is not instrumented: to the sanitizer its locks do
// nothing, so that all that they guard looks like a race. The definitions here come before the
// library's (the dynamic linker asks the program first, also for calls from gRPC) and tell the
// sanitizer what the library's, which they call, are about to do. Linked into every program of a
// build with MDH_SANITIZE=thread, into no other.
//
// A lock that is held for reading must not be awaited: the sanitizer would take the waiter for a
// writer. ReaderLockWhen, absl::Notification, call_once and the like are not covered: nothing here
// uses them.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace {

#define MDH_TEXT_OF(name) #name
#define MDH_TEXT(name) MDH_TEXT_OF(name)

// The library's function. `name`: within namespace absl, as the linker knows it.
template <typename Function>
Function* Real(const char* name) {
  constexpr char kNamespace[] = MDH_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  char symbol[256];
  std::snprintf(symbol, sizeof symbol, "_ZN4absl%zu%s%s", sizeof kNamespace - 1, kNamespace, name);
  void* function = dlsym(RTLD_NEXT, symbol);
  if (function == nullptr) {
    std::fprintf(stderr, "the thread sanitizer cannot follow abseil: there is no %s\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function*>(function);
}

// The library's functions call each other, and so those here: only the first of them counts.
class Nesting {
 public:
  Nesting() : is_outermost_(depth_++ == 0) {}
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool is_outermost() const { return is_outermost_; }

 private:
  static thread_local int depth_;
  const bool is_outermost_;
};

thread_local int Nesting::depth_ = 0;

// While one exists the sanitizer looks away: what happens is that the lock is taken.
class Locking {
 public:
  Locking(void* mutex, unsigned flags) : mutex_(mutex), flags_(flags) {
    if (nesting_.is_outermost()) __tsan_mutex_pre_lock(mutex_, flags_);
  }
  ~Locking() {
    if (nesting_.is_outermost()) __tsan_mutex_post_lock(mutex_, flags_, /*recursion=*/0);
  }
  Locking(const Locking&) = delete;
  Locking& operator=(const Locking&) = delete;
  void Failed() { flags_ |= __tsan_mutex_try_lock_failed; }

 private:
  const Nesting nesting_;
  void* const mutex_;
  unsigned flags_;
};

class Unlocking {
 public:
  Unlocking(void* mutex, unsigned flags) : mutex_(mutex), flags_(flags) {
    if (nesting_.is_outermost()) __tsan_mutex_pre_unlock(mutex_, flags_);
  }
  ~Unlocking() {
    if (nesting_.is_outermost()) __tsan_mutex_post_unlock(mutex_, flags_);
  }
  Unlocking(const Unlocking&) = delete;
  Unlocking& operator=(const Unlocking&) = delete;

 private:
  const Nesting nesting_;
  void* const mutex_;
  const unsigned flags_;
};

// A wait gives the lock up and takes it again.
class Waiting {
 public:
  explicit Waiting(void* mutex) : locking_(GiveUp(mutex), 0) {}

 private:
  static void* GiveUp(void* mutex) {
    Unlocking unlocking(mutex, 0);
    return mutex;
  }
  Locking locking_;
};

}  // namespace

Mutex::~Mutex() {
  static auto* const real = Real<void(Mutex*)>("5MutexD1Ev");
  __tsan_mutex_destroy(this, 0);
  real(this);
}

void Mutex::Lock() {
  static auto* const real = Real<void(Mutex*)>("5Mutex4LockEv");
  Locking locking(this, 0);
  real(this);
}

void Mutex::Unlock() {
  static auto* const real = Real<void(Mutex*)>("5Mutex6UnlockEv");
  Unlocking unlocking(this, 0);
  real(this);
}

bool Mutex::TryLock() {
  static auto* const real = Real<bool(Mutex*)>("5Mutex7TryLockEv");
  Locking locking(this, __tsan_mutex_try_lock);
  const bool has_lock = real(this);
  if (!has_lock) locking.Failed();
  return has_lock;
}

void Mutex::ReaderLock() {
  static auto* const real = Real<void(Mutex*)>("5Mutex10ReaderLockEv");
  Locking locking(this, __tsan_mutex_read_lock);
  real(this);
}

void Mutex::ReaderUnlock() {
  static auto* const real = Real<void(Mutex*)>("5Mutex12ReaderUnlockEv");
  Unlocking unlocking(this, __tsan_mutex_read_lock);
  real(this);
}

bool Mutex::ReaderTryLock() {
  static auto* const real = Real<bool(Mutex*)>("5Mutex13ReaderTryLockEv");
  Locking locking(this, __tsan_mutex_read_lock | __tsan_mutex_try_lock);
  const bool has_lock = real(this);
  if (!has_lock) locking.Failed();
  return has_lock;
}

void Mutex::LockWhen(const Condition& condition) {
  static auto* const real =
      Real<void(Mutex*, const Condition&)>("5Mutex8LockWhenERKNS0_9ConditionE");
  Locking locking(this, 0);
  real(this, condition);
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Time)>(
      "5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  Locking locking(this, 0);
  return real(this, condition, deadline);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Duration)>(
      "5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Locking locking(this, 0);
  return real(this, condition, timeout);
}

void Mutex::Await(const Condition& condition) {
  static auto* const real = Real<void(Mutex*, const Condition&)>("5Mutex5AwaitERKNS0_9ConditionE");
  Waiting waiting(this);
  real(this, condition);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Time)>(
      "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  Waiting waiting(this);
  return real(this, condition, deadline);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const real = Real<bool(Mutex*, const Condition&, Duration)>(
      "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Waiting waiting(this);
  return real(this, condition, timeout);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const real = Real<void(CondVar*, Mutex*)>("7CondVar4WaitEPNS0_5MutexE");
  Waiting waiting(mutex);
  real(this, mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const real =
      Real<bool(CondVar*, Mutex*, Time)>("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  Waiting waiting(mutex);
  return real(this, mutex, deadline);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const real = Real<bool(CondVar*, Mutex*, Duration)>(
      "7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  Waiting waiting(mutex);
  return real(this, mutex, timeout);
}

ABSL_NAMESPACE_END
}  // namespace absl
