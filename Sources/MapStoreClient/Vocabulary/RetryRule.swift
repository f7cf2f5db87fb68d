/// How often and after which waits a request is made again. Times are seconds.
public struct RetryRule: Sendable {
  /// Attempts one after the other that bring nothing; one that brings bytes starts the count again.
  public var attemptsMax = 6
  /// The longest first wait; each further one may be twice as long.
  public var firstDelay = 0.5
  public var delayMax = 30.0
  /// A server that asks for a longer wait than this ends the work; it goes on from there another time.
  public var retryAfterMax = 120.0
  /// Without a byte for this long a connection counts as dead.
  public var idleMax = 30.0
  public var connectMax = 10.0

  public init() {}

  /// The wait before attempt `number`, counted from 1 for the first repetition. Anywhere between nothing and the doubled delay, so that many devices do not come back at once; on top of
  /// what the server asked for.
  func delay(_ number: Int, asked: Double? = nil) -> Double {
    let most = min(delayMax, firstDelay * Double(1 << min(max(number, 1) - 1, 20)))
    return (asked ?? 0) + Double.random(in: 0...most)
  }
}
