public import Support

/// How often and after which delays requests are repeated. Times are in seconds.
public struct RetryRule: Sendable {
  /// Successive attempts without progress; one of a download that brings `progressBytesMin` resets the count.
  public var attemptsMax = 6
  /// The longest first delay; each further one may be twice as long.
  public var firstDelay = 0.5
  /// The longest delay.
  public var delayMax = 30.0
  /// A longer `Retry-After` ends the operation; a later one continues from there.
  package var retryAfterMax = 120.0
  /// A connection without a byte for this long counts as dead.
  public var idleMax = 30.0
  /// A call ends after this long as a whole, all attempts and the delays between them included. Not for files. A large
  /// answer may take a second more for each 8 kB, and the waits that the server asks for are not counted.
  public var callMax = 35.0
  /// A download that brings fewer bytes within ``idleMax`` counts as dead, even if some arrive now and then.
  package var progressBytesMin = 16 << 10
  /// A connection that is not made after this long counts as failed. `URLSession` has ``idleMax`` for that too.
  public var connectMax = 10.0

  /// The rule with times from nothing to a year, and one attempt at least: others cannot be waited for.
  var limited: RetryRule {
    var rule = self
    rule.attemptsMax = max(attemptsMax, 1)
    rule.progressBytesMin = min(max(progressBytesMin, 0), 1 << 40)
    for time in [\RetryRule.firstDelay, \.delayMax, \.retryAfterMax, \.idleMax, \.callMax, \.connectMax] {
      rule[keyPath: time] = self[keyPath: time] > 0 ? min(self[keyPath: time], 31_536_000) : 0
    }
    return rule
  }

  /// Six attempts, half a second to half a minute apart.
  public init() {}

  /// The delay before repetition `number`, counted from 1: random between 0 and the doubled delay, so that many devices
  /// do not return at the same time, after what the server asked for.
  func delay(_ number: Int, asked: Double? = nil) -> Double {
    let rule = limited
    let most = min(rule.delayMax, rule.firstDelay * Double(1 << min(max(number, 1) - 1, 20)))
    return (asked ?? 0) + Double.random(in: 0...most)
  }
}

/// The device's clock; tests replace it.
public struct DeviceClock: Sendable {
  /// Milliseconds since 1970.
  public var now: @Sendable () -> Int64

  /// A clock that is asked for each time.
  ///
  /// - Parameter now: returns milliseconds since 1970; the system's clock unless given.
  public init(now: @escaping @Sendable () -> Int64 = WallClock.now) { self.now = now }
}
