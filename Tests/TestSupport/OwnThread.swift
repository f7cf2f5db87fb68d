import Foundation
public import Testing

/// Runs every test of a suite on threads of its own, so many tests at a time as there are cores.
///
/// Most tests here wait: for programs, files, sockets. Left to Swift's few threads, which all tests would queue for at once, they hold up for minutes the tests
/// that watch the clock and the servers that live in this process.
public struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
  private static let gate = Gate(width: max(2, ProcessInfo.processInfo.activeProcessorCount))
  /// A suite in a suite has the trait twice.
  @TaskLocal private static var isInside = false

  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard !Self.isInside else { return try await function() }
    await Self.gate.enter()
    do {
      try await Self.$isInside.withValue(true) {
        try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
      }
    } catch {
      await Self.gate.leave()
      throw error
    }
    await Self.gate.leave()
  }
}

extension Trait where Self == OwnThreadTrait {
  /// Every test runs on threads of its own, where it may block.
  public static var ownThread: Self { Self() }
}

/// Lets so many tasks through at a time, in their order.
private actor Gate {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(width: Int) { free = width }

  func enter() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func leave() {
    if waiting.isEmpty {
      free += 1
    } else {
      waiting.removeFirst().resume()
    }
  }
}
