/// How long reading a tileset's tiles takes on threads that may wait: a disk that is slow shows in it, whatever the reason.
struct ReadTimes {
  /// A reading that takes longer is worth doing ahead of time: a page in memory takes a hundredth of it, one on a good disk a tenth.
  static let slowSeconds = 0.005
  private static let weight = 0.1

  /// The mean of the last dozen or so; 0 until something was read.
  private(set) var seconds = 0.0

  var isSlow: Bool { seconds >= Self.slowSeconds }

  mutating func add(_ seconds: Double) {
    // One stall of a minute must not count for a thousand readings.
    let bounded = min(seconds, 1)
    self.seconds = self.seconds == 0 ? bounded : self.seconds + Self.weight * (bounded - self.seconds)
  }
}
