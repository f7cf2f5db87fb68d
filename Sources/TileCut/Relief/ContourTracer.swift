import RegionCatalog
import Support
import TileIndex

/// Traces the lines of equal height of an elevation model.
///
/// 1. Read all heights. Those at the model's edges go on to the edges of their pixels, as gdal_contour's do.
/// 2. In each cell of four neighbouring heights, find where each level crosses its edges, linear between heights
///    (marching squares); at a saddle the mean of the four decides. A height that equals a level is above it, so that a
///    lake at the level of a contour has one shore.
/// 3. Join the crossings of a level to lines, which are closed or end at the edge of the heights.
/// 4. Lines of small models become curves through their crossings (``LineCurve``). A surface that is interpolated
///    between heights would bend too, but it swings at the steps of whole metres: with a cubic kernel an SRTM model's
///    gentle slopes have three to five times the length of lines.
struct ContourTracer {
  /// With one more height on all sides.
  private let heights: [Float]
  private let width: Int
  private let height: Int
  /// Into how many parts each segment of a line is divided.
  private let parts: Int
  private let georeference: Georeference
  private let toDegrees: CoordinateTransform

  /// 64 MB.
  private static let heightsMax = 1 << 24
  /// Segments that are held at a time; levels with more are traced alone.
  private static let segmentsMax = 1 << 19
  /// Contours of coarse models bend between heights.
  private static let partsMax = 4
  /// Heights that are enough for any map, so that straight segments are.
  private static let heightsWanted = 1 << 21

  /// - Parameters:
  ///   - model: pixels are heights as ``HeightCode``.
  ///   - bytesMax: memory for heights, 4 bytes each.
  /// - Throws: ``CutError`` for a model with too many pixels, or one that cannot be decoded.
  init(_ model: any RasterSource, bytesMax: Int = .max) throws {
    let pixels = model.width * model.height
    guard pixels <= min(Self.heightsMax, bytesMax / 4) else {
      let coarser = "make a coarser model for them: gdalwarp -r average -tr X Y"
      guard pixels > Self.heightsMax else {
        throw CutError(
          .badSource, path: model.path,
          "has \(pixels) heights, and half of --memory has room for \(bytesMax / 4) to trace contours among",
          remedy: "give --memory of more than \((pixels * 8 + 999_999) / 1_000_000)MB, as the contours take some, too,"
            + " or \(coarser)")
      }
      throw CutError(
        .badSource, path: model.path, "has \(pixels) heights, and contours are traced among \(Self.heightsMax) at most",
        remedy: coarser)
    }
    var parts = 1
    while parts < Self.partsMax, pixels * parts * parts * 4 <= Self.heightsWanted { parts *= 2 }
    self.parts = parts
    (width, height) = (model.width + 2, model.height + 2)
    georeference = model.georeference
    toDegrees = try CoordinateTransform(from: georeference.crs, to: .wgs84LongLat, areaOfInterest: model.areaOfInterest)
    heights = try Self.read(model)
  }

  private static func read(_ model: any RasterSource) throws -> [Float] {
    let width = model.width + 2
    var heights = [Float](repeating: .nan, count: width * (model.height + 2))
    let bandRows = 64
    let band = UnsafeMutablePointer<Float>.allocate(capacity: width * (bandRows + 2))
    defer { band.deallocate() }
    for top in stride(from: 0, to: model.height, by: bandRows) {
      try Cancellation.check()
      let window = PixelRect(x: 0, y: top, width: model.width, height: min(bandRows, model.height - top))
      try HeightWindow.read(window, of: model, factor: 1, into: band)
      for y in 1...window.height {
        let row = (top + y) * width
        for x in 1...model.width { heights[row + x] = band[y * width + x] }
        (heights[row], heights[row + width - 1]) = (heights[row + 1], heights[row + width - 2])
      }
    }
    let last = heights.count - width
    for x in 0..<width { (heights[x], heights[last + x]) = (heights[width + x], heights[last - width + x]) }
    return heights
  }

  /// The contours as features, from the lowest level: lines in degrees with the properties `ele`, the height, and
  /// `index`, whether it is one of every `indexEvery` levels.
  func features(interval: Double, indexEvery: Int) throws -> [MapFeature] {
    var features: [MapFeature] = []
    try forEachFeature(interval: interval, indexEvery: indexEvery) { features.append($0) }
    return features
  }

  /// Passes the contours to a closure, from the lowest level, unless their positions alone take more than some bytes.
  ///
  /// - Returns: what the positions take.
  /// - Throws: `CancellationError`.
  @discardableResult
  func forEachFeature(
    interval: Double, indexEvery: Int, bytesMax: Int = .max, _ body: (MapFeature) -> Void
  ) throws -> Int {
    var counts: [Int: Int] = [:]
    try forEachCell { addCell($0, $1, $2, interval) { number, _, _ in counts[number, default: 0] += 1 } }
    let bytes = counts.values.reduce(0, +) * parts * MemoryLayout<SIMD2<Double>>.stride
    // Each group of levels is a walk over all heights.
    guard bytes <= bytesMax else { return bytes }
    var numbers = counts.keys.sorted()[...]
    while let first = numbers.first {
      // As many levels as there is room for.
      var segmentCount = 0
      let group = numbers.prefix { number in
        segmentCount += counts[number]!
        return number == first || segmentCount <= Self.segmentsMax
      }
      let wanted = first...group[group.endIndex - 1]
      var levels: [Int: [Segment]] = [:]
      for number in group { levels[number, default: []].reserveCapacity(counts[number]!) }
      try forEachCell {
        addCell($0, $1, $2, interval) { number, from, to in
          if wanted.contains(number) { levels[number, default: []].append(Segment(from: from, to: to)) }
        }
      }
      for number in group {
        try Cancellation.check()
        let level = Double(Self.level(number, interval))
        let lines = Self.joined(levels.removeValue(forKey: number)!).compactMap { line($0, level: level) }
        guard !lines.isEmpty else { continue }
        let ele = StyleValue.number(Self.multiple(number, of: interval))
        body(
          MapFeature(
            .lines(lines), properties: ["ele": ele, "index": .bool(number.isMultiple(of: max(indexEvery, 1)))]))
      }
      numbers = numbers[group.endIndex...]
    }
    return bytes
  }

  /// A multiple as it is written: three times 0.1 is 0.3, not 0.30000000000000004.
  static func multiple(_ number: Int, of interval: Double) -> Double {
    var scale = 1.0
    while scale < 1e9, (interval * scale).rounded() / scale != interval { scale *= 10 }
    let product = Double(number) * interval
    return scale < 1e9 ? (product * scale).rounded() / scale : product
  }

  /// A level as heights are stored, so that a height of 0.7 is at the level of 0.7.
  @inline(__always)
  private static func level(_ number: Int, _ interval: Double) -> Float {
    HeightCode.height(HeightCode.word(Double(number) * interval))
  }

  /// The number of the highest level that a height reaches.
  @inline(__always)
  private static func number(of height: Float, _ interval: Double) -> Int {
    let number = Int((Double(height) / interval).rounded(.down))
    if level(number + 1, interval) <= height { return number + 1 }
    return level(number, interval) > height ? number - 1 : number
  }

  private func forEachCell(_ body: (_ x: Int, _ y: Int, UnsafeBufferPointer<Float>) -> Void) throws {
    try heights.withUnsafeBufferPointer { heights in
      for y in 0..<max(height - 1, 0) {
        try Cancellation.check()
        for x in 0..<max(width - 1, 0) { body(x, y, heights) }
      }
    }
  }

  /// Two edges that a contour crosses in a cell. The edge to the right of a height has twice the height's number, the
  /// one below it one more.
  private struct Segment {
    let from: Int
    let to: Int
  }

  /// - Parameter addSegment: called with the number of the level and the two edges of each segment.
  @inline(__always)
  private func addCell(
    _ x: Int, _ y: Int, _ heights: UnsafeBufferPointer<Float>, _ interval: Double,
    _ addSegment: (_ number: Int, _ from: Int, _ to: Int) -> Void
  ) {
    let i = y * width + x
    let (a, b, c, d) = (heights[i], heights[i + 1], heights[i + width + 1], heights[i + width])
    guard !(a + b + c + d).isNaN else { return }
    let (lowest, highest) = (min(a, b, c, d), max(a, b, c, d))
    guard lowest < highest else { return }
    let (low, high) = (Self.number(of: lowest, interval), Self.number(of: highest, interval))
    guard low < high else { return }
    let (top, right, bottom, left) = (2 * i, 2 * (i + 1) + 1, 2 * (i + width), 2 * i + 1)
    for number in low + 1...high {
      let level = Self.level(number, interval)
      func add(_ from: Int, _ to: Int) { addSegment(number, from, to) }
      // Which corners are at the level or above it, clockwise from the top left.
      switch (a >= level, b >= level, c >= level, d >= level) {
      case (true, true, true, true), (false, false, false, false): break
      case (true, false, false, false), (false, true, true, true): add(left, top)
      case (false, true, false, false), (true, false, true, true): add(top, right)
      case (false, false, true, false), (true, true, false, true): add(right, bottom)
      case (false, false, false, true), (true, true, true, false): add(bottom, left)
      case (true, true, false, false), (false, false, true, true): add(left, right)
      case (true, false, false, true), (false, true, true, false): add(top, bottom)
      case (true, false, true, false), (false, true, false, true):
        // The corners that are like the middle are joined.
        if ((a + b + c + d) / 4 >= level) == (a >= level) {
          add(top, right)
          add(bottom, left)
        } else {
          add(left, top)
          add(right, bottom)
        }
      }
    }
  }

  /// The edges along each line. A closed line ends with its first edge.
  private static func joined(_ segments: [Segment]) -> [[Int]] {
    // An edge lies between two cells, so at most two segments end at it.
    var ends: [Int: (Int, Int)] = [:]
    for (number, segment) in segments.enumerated() {
      for edge in [segment.from, segment.to] {
        if let first = ends[edge]?.0 { ends[edge] = (first, number) } else { ends[edge] = (number, -1) }
      }
    }
    var isUsed = [Bool](repeating: false, count: segments.count)
    func follow(_ start: Int, from number: Int) -> [Int] {
      var line = [start]
      var (edge, next) = (start, number)
      while next >= 0, !isUsed[next] {
        isUsed[next] = true
        edge = segments[next].from == edge ? segments[next].to : segments[next].from
        line.append(edge)
        let (a, b) = ends[edge]!
        next = a == next ? b : a
      }
      return line
    }
    var lines: [[Int]] = []
    // First the lines with ends, then closed ones.
    for (number, segment) in segments.enumerated() where !isUsed[number] {
      if ends[segment.from]!.1 < 0 {
        lines.append(follow(segment.from, from: number))
      } else if ends[segment.to]!.1 < 0 {
        lines.append(follow(segment.to, from: number))
      }
    }
    for (number, segment) in segments.enumerated() where !isUsed[number] {
      lines.append(follow(segment.from, from: number))
    }
    return lines
  }

  /// A line in degrees; nil if it has less than two points: a summit at a level, or places without an image.
  private func line(_ edges: [Int], level: Double) -> [SIMD2<Double>]? {
    let last = SIMD2(Double(width - 2), Double(height - 2))
    let crossings = edges.map { edge in
      let (i, isDown) = (edge / 2, !edge.isMultiple(of: 2))
      let (a, b) = (Double(heights[i]), Double(heights[isDown ? i + width : i + 1]))
      let share = a == b ? 0.5 : max(0, min(1, (level - a) / (b - a)))
      let along = isDown ? SIMD2(0, share) : SIMD2(share, 0)
      // Heights are those of the middles of pixels; the first and last ones are those of the model's edges.
      let (from, to) = (SIMD2(i % width, i / width), SIMD2(i % width + (isDown ? 0 : 1), i / width + (isDown ? 1 : 0)))
      return place(from, last) + (place(to, last) - place(from, last)) * along
    }
    var points = LineCurve.points(crossings, parts: parts).map { georeference.place(ofPixel: $0) }
    points.withUnsafeMutableBufferPointer { toDegrees.transform($0) }
    points.removeAll { !($0.x.isFinite && $0.y.isFinite) }
    return points.count > 1 ? points : nil
  }

  /// Where in the model's pixels a height lies.
  @inline(__always)
  private func place(_ height: SIMD2<Int>, _ last: SIMD2<Double>) -> SIMD2<Double> {
    (SIMD2<Double>(height) - 0.5).clamped(lowerBound: .zero, upperBound: last)
  }
}
