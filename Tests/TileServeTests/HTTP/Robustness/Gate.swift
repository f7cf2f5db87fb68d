import Foundation

/// Blocks threads until it is opened. Tests also open it with `defer`, so that a failed test does not hang.
final class Gate: @unchecked Sendable {
  private let condition = NSCondition()
  private var isOpen = false

  func wait() {
    condition.lock()
    // A limit, so that a failure ends.
    let limit = Date(timeIntervalSinceNow: 60)
    while !isOpen, condition.wait(until: limit) {}
    condition.unlock()
  }

  func open() {
    condition.lock()
    isOpen = true
    condition.broadcast()
    condition.unlock()
  }
}

/// Passes a value to another thread; the caller ensures that only one thread uses it at a time.
struct Unshared<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
