import TileIndex

/// An area in the pixel coordinates of a zoom or of a raster: the union of shapes.
///
/// Edges are half-open and always computed from their upper end, so areas that share an edge divide the pixels between
/// them.
package struct PixelArea: Sendable {
  /// An outer ring and holes, which may overlap. Each ring may have several closed parts: a grid's edges cut it.
  package struct Shape: Sendable {
    var rings: [[[SIMD2<Double>]]]

    init(parts rings: [[[SIMD2<Double>]]]) { self.rings = rings }

    /// Rings of one part each.
    package init(_ rings: [[SIMD2<Double>]]) { self.rings = rings.map { [$0] } }
  }

  /// Horizontal ones bound nothing that a line between rows would meet; they tell which tiles the area's edge crosses.
  struct Edge: Sendable {
    let top: SIMD2<Double>
    let bottom: SIMD2<Double>
    let shape: Int32
    /// 0 for the outer ring.
    let ring: Int32
  }

  /// By their upper ends.
  let edges: [Edge]
  /// The box of all edges as `low` and `high`; empty areas have none.
  let bounds: (low: SIMD2<Double>, high: SIMD2<Double>)?
  /// For each band of rows the indices of its edges, ascending: those of band i are from `starts[i]` on.
  private let starts: [Int32]
  private let members: [Int32]
  private let firstBand: Int

  private static let bandHeight = 256
  /// Lines on which coverage is measured in each row of pixels; along a line it is exact.
  private static let linesPerRow = 16

  /// - Parameters:
  ///   - shapes: closed rings of pixel coordinates.
  ///   - rows: edges outside these rows of pixels are left out.
  package init(shapes: [Shape], rows: Range<Int>) {
    let (top, bottom) = (Double(rows.lowerBound), Double(rows.upperBound))
    var edges: [Edge] = []
    var low = SIMD2<Double>(repeating: .infinity)
    var high = -low
    for (shape, rings) in shapes.map(\.rings).enumerated() {
      for (ring, parts) in rings.enumerated() {
        for (a, b) in parts.lazy.flatMap({ zip($0, $0.dropFirst()) }) {
          low = pointwiseMin(low, pointwiseMin(a, b))
          high = pointwiseMax(high, pointwiseMax(a, b))
          guard min(a.y, b.y) < bottom, max(a.y, b.y) > top else { continue }
          let (upper, lower) = a.y < b.y ? (a, b) : (b, a)
          edges.append(Edge(top: upper, bottom: lower, shape: Int32(shape), ring: Int32(ring)))
        }
      }
    }
    edges.sort { $0.top.y < $1.top.y }
    self.edges = edges
    bounds = low.x <= high.x ? (low, high) : nil

    firstBand = rows.lowerBound / Self.bandHeight
    let bandCount = max((rows.upperBound + Self.bandHeight - 1) / Self.bandHeight - firstBand, 1)
    let first = firstBand
    func bands(_ edge: Edge) -> ClosedRange<Int> {
      let from = Int(max(edge.top.y, top)) / Self.bandHeight - first
      let to = Int(min(edge.bottom.y, bottom)) / Self.bandHeight - first
      return min(from, bandCount - 1)...min(max(to, from), bandCount - 1)
    }
    var counts = [Int32](repeating: 0, count: bandCount + 1)
    for edge in edges { for band in bands(edge) { counts[band + 1] += 1 } }
    for band in 0..<bandCount { counts[band + 1] += counts[band] }
    starts = counts
    var members = [Int32](repeating: 0, count: Int(counts[bandCount]))
    for (index, edge) in edges.enumerated() {
      for band in bands(edge) {
        members[Int(counts[band])] = Int32(index)
        counts[band] += 1
      }
    }
    self.members = members
  }

  /// The edges that may cross some rows, by their upper ends.
  private func edges(rows: Range<Int>) -> [Edge] {
    let last = starts.count - 2
    let from = min(max(rows.lowerBound / Self.bandHeight - firstBand, 0), last)
    let to = min(max((rows.upperBound - 1) / Self.bandHeight - firstBand, from), last)
    var indices = Array(members[Int(starts[from])..<Int(starts[from + 1])])
    if to > from {
      indices += members[Int(starts[from + 1])..<Int(starts[to + 1])]
      indices = Array(Set(indices)).sorted()
    }
    return indices.map { edges[Int($0)] }
  }

  /// How much of a rectangle an area covers.
  package enum Cover: Sendable {
    case nothing, part, everything
  }

  /// Computes the share of each pixel of a rectangle that lies in the area.
  ///
  /// - Parameter shares: receives `rect.width * rect.height` numbers from 0 to 1, row by row.
  func coverage(of rect: PixelRect, into shares: UnsafeMutablePointer<Float>) -> Cover {
    var scanner = Scanner(edges(rows: rect.y..<(rect.y + rect.height)))
    let (left, width) = (Double(rect.x), rect.width)
    let limit = Double(width)
    let line = 1 / Float(Self.linesPerRow)
    // Changes of the share from one pixel to the next, for runs of covered pixels.
    var changes = [Float](repeating: 0, count: width + 1)
    var (least, most) = (Float.infinity, -Float.infinity)
    for row in 0..<rect.height {
      let out = shares + row * width
      for x in 0..<width { out[x] = 0 }
      for x in 0...width { changes[x] = 0 }
      for k in 0..<Self.linesPerRow {
        let y = Double(rect.y + row) + (Double(k) + 0.5) / Double(Self.linesPerRow)
        for span in scanner.spans(at: y) {
          let start = max(span.start - left, 0)
          let end = min(span.end - left, limit)
          guard start < end else { continue }
          let (first, last) = (Int(start), Int(end))
          if first == last {
            out[first] += Float(end - start)
          } else {
            out[first] += Float(Double(first + 1) - start)
            changes[first + 1] += 1
            changes[last] -= 1
            if last < width { out[last] += Float(end - Double(last)) }
          }
        }
      }
      var run: Float = 0
      for x in 0..<width {
        run += changes[x]
        // The sums of a full row of lines are exact.
        let share = min((out[x] + run) * line, 1)
        out[x] = share
        least = min(least, share)
        most = max(most, share)
      }
    }
    return most <= 0 ? .nothing : least >= 1 ? .everything : .part
  }

  /// Calls `body` with the runs of pixels in a rectangle whose centres lie in the area, row by row from left to right.
  func forEachRun(in rect: PixelRect, _ body: (_ row: Int, _ columns: Range<Int>) -> Void) {
    var scanner = Scanner(edges(rows: rect.y..<(rect.y + rect.height)))
    let limits = rect.x..<(rect.x + rect.width)
    for row in rect.y..<(rect.y + rect.height) {
      for span in scanner.spans(at: Double(row) + 0.5) {
        let columns = Self.centres(span, limits)
        if !columns.isEmpty { body(row, columns) }
      }
    }
  }

  /// The integers i for which i + 0.5 lies in a span.
  static func centres(_ span: PolygonSpans.Span, _ limits: Range<Int>) -> Range<Int> {
    func index(_ x: Double) -> Int {
      let first = (x - 0.5).rounded(.up)
      return min(
        max(first < Double(limits.upperBound) ? Int(max(first, -1)) : limits.upperBound, limits.lowerBound),
        limits.upperBound)
    }
    return index(span.start)..<max(index(span.end), index(span.start))
  }

  /// Whether the area covers all of a box.
  func covers(low: SIMD2<Double>, high: SIMD2<Double>) -> Bool {
    let rows = Int(low.y.rounded(.down))..<(Int(high.y.rounded(.down)) + 1)
    let near = edges(rows: rows)
    for edge in near {
      let (top, bottom) = (max(edge.top.y, low.y), min(edge.bottom.y, high.y))
      guard top <= bottom else { continue }
      let slope = (edge.bottom.x - edge.top.x) / (edge.bottom.y - edge.top.y)
      let (a, b) =
        slope.isFinite
        ? (edge.top.x + (top - edge.top.y) * slope, edge.top.x + (bottom - edge.top.y) * slope)
        : (edge.top.x, edge.bottom.x)
      if min(a, b) <= high.x, max(a, b) >= low.x { return false }
    }
    var scanner = Scanner(near)
    return scanner.spans(at: (low.y + high.y) / 2).contains { $0.start <= low.x && $0.end >= high.x }
  }

  /// Whether the area may cover a part of a rectangle; false only if it certainly does not.
  func mayTouch(_ rect: PixelRect) -> Bool {
    let (left, right) = (Double(rect.x), Double(rect.x + rect.width))
    let (top, bottom) = (Double(rect.y), Double(rect.y + rect.height))
    for edge in edges(rows: rect.y..<(rect.y + rect.height)) {
      guard edge.top.y <= bottom, edge.bottom.y >= top else { continue }
      if min(edge.top.x, edge.bottom.x) <= right, max(edge.top.x, edge.bottom.x) >= left { return true }
    }
    var scanner = Scanner(edges(rows: rect.y..<(rect.y + rect.height)))
    return scanner.spans(at: (top + bottom) / 2).contains { $0.start < right && $0.end > left }
  }
}

/// Finds the parts of horizontal lines that lie in an area, from top to bottom.
struct Scanner {
  private let edges: [PixelArea.Edge]
  private var next = 0
  private var active: [PixelArea.Edge] = []
  private var crossings: [PolygonSpans.Crossing] = []
  private var spans = PolygonSpans()
  private var found: [PolygonSpans.Span] = []

  /// - Parameter edges: by their upper ends.
  init(_ edges: [PixelArea.Edge]) { self.edges = edges }

  /// The spans at a height, disjoint and from left to right. Heights must not decrease from call to call.
  mutating func spans(at y: Double) -> [PolygonSpans.Span] {
    active.removeAll { $0.bottom.y <= y }
    while next < edges.count, edges[next].top.y <= y {
      if edges[next].bottom.y > y { active.append(edges[next]) }
      next += 1
    }
    crossings.removeAll(keepingCapacity: true)
    for edge in active {
      let part = (y - edge.top.y) / (edge.bottom.y - edge.top.y)
      let x = edge.top.x + (edge.bottom.x - edge.top.x) * part
      crossings.append(PolygonSpans.Crossing(polygon: edge.shape, ring: edge.ring, x: x))
    }
    spans.find(&crossings, into: &found)
    return found
  }
}
