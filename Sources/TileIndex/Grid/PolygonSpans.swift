/// The parts of a horizontal line that lie in polygons: within the outer ring of one, and in none of its holes. Holes
/// may overlap each other and reach beyond the outer ring.
package struct PolygonSpans: Sendable {
  /// Where the line crosses a ring.
  package struct Crossing: Sendable {
    let polygon: Int32
    /// Its number in the polygon; 0 is the outer one.
    let ring: Int32
    let x: Double

    @inlinable package init(polygon: Int32, ring: Int32, x: Double) {
      (self.polygon, self.ring, self.x) = (polygon, ring, x)
    }
  }

  package struct Span: Sendable {
    package var start: Double
    package var end: Double

    @inlinable package init(start: Double, end: Double) { (self.start, self.end) = (start, end) }
  }

  private var holes: [Span] = []

  package init() {}

  /// Replaces `spans` by the parts of the line, disjoint and from left to right.
  ///
  /// - Parameter crossings: in any order; an even number of each ring, because rings are closed.
  package mutating func find(_ crossings: inout [Crossing], into spans: inout [Span]) {
    spans.removeAll(keepingCapacity: true)
    crossings.sort { ($0.polygon, $0.ring, $0.x) < ($1.polygon, $1.ring, $1.x) }
    var i = 0
    while i + 1 < crossings.count {
      let (polygon, first) = (crossings[i].polygon, spans.count)
      holes.removeAll(keepingCapacity: true)
      while i + 1 < crossings.count, crossings[i].polygon == polygon {
        let span = Span(start: crossings[i].x, end: crossings[i + 1].x)
        if crossings[i].ring == 0 { spans.append(span) } else { holes.append(span) }
        i += 2
      }
      guard !holes.isEmpty else { continue }
      holes.sort { $0.start < $1.start }
      let outer = Array(spans[first...])
      spans.removeSubrange(first...)
      for span in outer {
        var start = span.start
        for hole in holes where hole.end > start && hole.start < span.end {
          if hole.start > start { spans.append(Span(start: start, end: hole.start)) }
          start = hole.end
        }
        if start < span.end { spans.append(Span(start: start, end: span.end)) }
      }
    }
    guard let first = crossings.first, first.polygon != crossings[crossings.count - 1].polygon, !spans.isEmpty else {
      return
    }
    spans.sort { $0.start < $1.start }
    var count = 1
    for span in spans.dropFirst() {
      if span.start <= spans[count - 1].end {
        spans[count - 1].end = max(spans[count - 1].end, span.end)
      } else {
        spans[count] = span
        count += 1
      }
    }
    spans.removeLast(spans.count - count)
  }
}
