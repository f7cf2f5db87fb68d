import Foundation
public import Testing

/// How much the tests try: the variable `LONG_TESTS`.
///
/// - not set (`make test`): everything but suites and tests with the trait ``Testing/Trait/long`` or
///   ``Testing/Trait/veryLong``;
/// - `1` (`make test-long`): also those with ``Testing/Trait/long``, which take some minutes by themselves;
/// - `full`: everything, and tests that try a number of rounds, seeds or cases try many more.
public enum TestEffort: Int, Comparable, Sendable {
  case short
  case long
  case full

  public static let current: Self =
    switch ProcessInfo.processInfo.environment["LONG_TESTS"] {
    case nil, "", "0": .short
    case "full": .full
    default: .long
    }

  /// Whether tests try as many rounds, seeds and cases as they can.
  public static var isFull: Bool { current == .full }

  public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension Trait where Self == ConditionTrait {
  /// `make test` leaves the suite or test out, and `make test-long` runs it. scripts/long-tests.sh finds them by this
  /// name.
  public static var long: Self {
    .enabled(if: TestEffort.current >= .long, "takes long: make test-long runs it")
  }

  /// Only `LONG_TESTS=full` runs the suite or test.
  public static var veryLong: Self {
    .enabled(if: TestEffort.isFull, "takes very long: make test-full FILTER=NAME runs it")
  }
}

extension Array {
  /// The elements whose index is a multiple of `step`: the cases that a test tries where it need not try all.
  public func every(_ step: Int) -> [Element] { indices.filter { $0 % step == 0 }.map { self[$0] } }

  /// The elements that ``every(_:)`` leaves out.
  public func allBut(every step: Int) -> [Element] { indices.filter { $0 % step != 0 }.map { self[$0] } }
}
