/// Pieces of a file: ranges of bytes in ascending order that do not touch.
struct ByteIntervals: Hashable, Sendable {
  private(set) var ranges: [Range<Int>]

  init(_ range: Range<Int>) { ranges = range.isEmpty ? [] : [range] }

  var isEmpty: Bool { ranges.isEmpty }
  var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }

  mutating func subtract(_ taken: Range<Int>) {
    guard !taken.isEmpty else { return }
    ranges = ranges.flatMap { range in
      guard range.overlaps(taken) else { return [range] }
      let before = range.lowerBound..<max(range.lowerBound, min(taken.lowerBound, range.upperBound))
      let after = min(range.upperBound, max(taken.upperBound, range.lowerBound))..<range.upperBound
      return [before, after].filter { !$0.isEmpty }
    }
  }

  /// What of a range is in them.
  func intersection(_ range: Range<Int>) -> [Range<Int>] {
    ranges.compactMap { own in
      let common = own.clamped(to: range)
      return common.isEmpty ? nil : common
    }
  }
}
