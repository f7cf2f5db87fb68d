/// One axis of a separable map: the source coordinate of every pixel column, or of every pixel row, of a tile.
package struct AxisMap: Sendable {
  /// In source pixels; NaN where the target has no source.
  package let positions: [Double]
  /// Source pixels per target pixel at each position.
  package let scales: [Double]

  package init(_ positions: [Double]) {
    self.positions = positions
    let steps = zip(positions, positions.dropFirst()).map { abs($1 - $0) }
    scales = positions.indices.map { i in
      // At the ends the step after the next one tells whether the next one is a jump.
      let before = i > 0 ? i - 1 : 1
      let after = i < steps.count ? i : i - 2
      return MapStep.length(
        steps.indices.contains(before) ? steps[before] : .nan, steps.indices.contains(after) ? steps[after] : .nan)
    }
  }

  /// The runs of indices whose positions lie inside the source and follow each other.
  ///
  /// There are several where the source crosses the meridian that faces its own middle: positions jump there by a turn round the Earth.
  package func runs(_ indices: Range<Int>, limit: Int) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start: Int?
    for i in indices {
      let isInside = positions[i] >= 0 && positions[i] < Double(limit)
      if let first = start {
        let step = abs(positions[i] - positions[i - 1])
        if isInside, step <= 4 * max(scales[i - 1], scales[i]) { continue }
        runs.append(first..<i)
      }
      start = isInside ? i : nil
    }
    if let first = start { runs.append(first..<indices.upperBound) }
    return runs
  }
}

/// How far a map goes from one target pixel to the next.
enum MapStep {
  /// The length of the step at a pixel, from the two steps next to it, which are NaN where the map ends.
  ///
  /// Where the map jumps by a turn round the Earth one of them is many times the other, and not meant.
  @inline(__always)
  static func length(_ a: Double, _ b: Double) -> Double {
    guard a.isFinite else { return b.isFinite ? b : 1 }
    guard b.isFinite else { return a }
    let (less, more) = a < b ? (a, b) : (b, a)
    return more > 2 * less ? less : (less + more) / 2
  }
}
