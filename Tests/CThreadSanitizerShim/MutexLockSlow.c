// Swift's Mutex takes its lock in the code that uses it when nobody holds it, and otherwise in its library. That library is not built with the thread
// sanitizer, which then does not see that the lock was taken and reports races where there are none. In sanitized tests this function is found in place of
// the library's: it waits by asking again, and the sanitizer sees how it ends. Elsewhere this file is empty.

#if defined(__linux__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic(uint32_t) MutexState;

// Synchronization._MutexHandle._lockSlow(_: UInt32): the state is 0 or the thread that holds the lock; no waiters are noted in it, so that unlocking wakes nobody.
__attribute__((swiftcall)) void mutexLockSlow(uint32_t thread, __attribute__((swift_context)) MutexState *state)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");

__attribute__((swiftcall)) void mutexLockSlow(uint32_t thread, __attribute__((swift_context)) MutexState *state) {
  for (;;) {
    uint32_t nobody = 0;
    if (atomic_compare_exchange_weak_explicit(
            state, &nobody, thread, memory_order_acquire, memory_order_relaxed)) {
      return;
    }
    sched_yield();
  }
}

#endif
#endif
