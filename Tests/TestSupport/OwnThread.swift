import Foundation
public import Testing

/// Runs each test of a suite on threads of its own, and two more tests at a time than there are cores.
///
/// Most tests here wait for programs, files and sockets: one a core would leave the cores idle half the time. On
/// Swift's few threads all tests would queue at once, and would delay the tests that measure time, and the servers of
/// this process, by minutes.
public struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
  private static let gate = Gate(width: ProcessInfo.processInfo.activeProcessorCount + 2)
  /// A suite inside a suite has the trait twice.
  @TaskLocal private static var isInside = false

  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard !Self.isInside else { return try await function() }
    await Self.gate.enter()
    let start = ContinuousClock.now
    let result = await Result {
      try await Self.$isInside.withValue(true) {
        try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
      }
    }
    TestTimes.add(test, ContinuousClock.now - start)
    await Self.gate.leave()
    try result.get()
  }
}

extension Trait where Self == OwnThreadTrait {
  /// Every test runs on threads of its own, where it may block.
  public static var ownThread: Self { Self() }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}

/// Lets a number of tasks run at a time, first come, first served.
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

/// The seconds that each test ran, without the wait for its turn that the runner's own figures include: a line each in
/// the file that `TEST_TIMES` names. Sort it to find the slow ones.
private enum TestTimes {
  private static let descriptor = ProcessInfo.processInfo.environment["TEST_TIMES"].map {
    open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
  }

  static func add(_ test: Test, _ duration: Duration) {
    guard let descriptor else { return }
    // One write a line, so that lines of several threads do not mix.
    let line = Array("\(String(format: "%.2f", duration / .seconds(1))) \(test.id)\n".utf8)
    _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  }
}
