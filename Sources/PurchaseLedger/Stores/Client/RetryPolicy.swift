/// How often and after which waits a request is made again. Times are seconds.
public struct RetryPolicy: Sendable {
  public var attemptsMax: Int
  /// The first wait; each further one is twice as long.
  public var firstDelay: Double
  public var delayMax: Double
  /// A store that asks for a longer wait than this ends the work; it goes on from its cursor another time.
  public var retryAfterMax: Double
  /// One request, from connecting to the last byte.
  public var timeout: Double

  public init(
    attemptsMax: Int = 6, firstDelay: Double = 0.5, delayMax: Double = 30, retryAfterMax: Double = 300,
    timeout: Double = 60
  ) {
    self.attemptsMax = attemptsMax
    self.firstDelay = firstDelay
    self.delayMax = delayMax
    self.retryAfterMax = retryAfterMax
    self.timeout = timeout
  }

  /// The wait before attempt `number`, counted from 1 for the first repetition: anywhere between nothing and the doubled delay, so that many clients
  /// do not come back at once.
  func delay(_ number: Int) -> Double {
    Double.random(in: 0...min(delayMax, firstDelay * Double(1 << min(number - 1, 20))))
  }
}
