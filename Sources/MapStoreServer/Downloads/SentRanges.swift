/// Which bytes of a file have gone to an account, in whatever parts and order.
struct SentRanges: Equatable, Sendable {
  /// Apart from each other, in order.
  private(set) var ranges: [Range<Int>] = []

  /// Clients go on where they were cut off; who asks for crumbs loses the last of them.
  private static let countMax = 64

  init() {}

  /// - Parameter text: as ``text`` wrote it.
  init(text: String) {
    for part in text.split(separator: ",") {
      let ends = part.split(separator: "-").compactMap { Int($0) }
      if ends.count == 2, ends[0] < ends[1] { add(ends[0]..<ends[1]) }
    }
  }

  var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }

  mutating func add(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    var joined = range
    var others: [Range<Int>] = []
    for other in ranges {
      if other.upperBound < joined.lowerBound || other.lowerBound > joined.upperBound {
        others.append(other)
      } else {
        joined = min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      }
    }
    others.insert(joined, at: others.firstIndex { $0.lowerBound > joined.lowerBound } ?? others.count)
    ranges = Array(others.prefix(Self.countMax))
  }

  func areAll(of byteCount: Int) -> Bool { byteCount == 0 || ranges == [0..<byteCount] }
}
