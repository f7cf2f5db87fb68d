/// Stands for the pixels of a tile: its cost counts from when it is made until nothing holds it, so that a test sees
/// what a cache keeps alive, whatever the cache counts itself.
public final class CountedPicture: Sendable {
  public typealias Count = Locked<(bytes: Int, peak: Int)>

  public let number: Int
  private let cost: Int
  private let count: Count

  public init(_ cost: Int, number: Int = 0, in count: Count) {
    (self.number, self.cost, self.count) = (number, cost, count)
    count.withLock { $0 = ($0.bytes + cost, max($0.peak, $0.bytes + cost)) }
  }

  deinit { count.withLock { $0.bytes -= cost } }
}
