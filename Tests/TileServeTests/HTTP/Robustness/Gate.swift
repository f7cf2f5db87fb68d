import Foundation

/// Holds threads up until it is opened. Whoever makes one opens it with `defer` too, so that a failed test does not hang.
final class Gate: @unchecked Sendable {
  private let condition = NSCondition()
  private var isOpen = false

  func wait() {
    condition.lock()
    // A bound, so that whatever goes wrong ends.
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

/// Hands something to another thread; whoever does it knows that only one uses it at a time.
struct Unshared<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
