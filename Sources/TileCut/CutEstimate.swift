import LibC
import Support
import TileImage
import TileIndex

/// What a cut will give and take, scaled up from a sample of its subtrees.
package struct CutEstimate: Hashable, Sendable, Codable {
  /// Tiles with a visible pixel.
  package let tiles: Int
  /// The bundle's size. Equal tiles count once.
  package let bytes: Int
  /// Time on this machine.
  package let seconds: Double
  /// Candidate tiles that were cut to know it.
  package let sampledTiles: Int
}

extension Cutter {
  /// Cuts a sample of the map into memory, and scales up what it took: places that are spread evenly over the
  /// ``SubtreeSequence``.
  ///
  /// - Parameter output: its name says what the container adds to the tiles.
  /// - Throws: ``CutError``, as the cut would.
  package func estimate(for output: String, cancellation: CutCancellation = CutCancellation()) throws -> CutEstimate {
    try estimate(for: output, cancellation: cancellation) { _ in }
  }

  /// - Parameter visit: gets the tiles of each subtree of the sample, one subtree at a time.
  func estimate(
    for output: String, cancellation: CutCancellation, visiting visit: @escaping ([EncodedTile]) throws -> Void
  ) throws -> CutEstimate {
    remote?.stop { cancellation.isCancelled }
    return try cancellation.run { try estimate(for: output, visit) }
  }

  private func estimate(
    for output: String, _ visit: @escaping ([EncodedTile]) throws -> Void
  ) throws -> CutEstimate {
    let workers = try prepareWorkers()
    let sample = CutSample(plan, subtrees)
    let cost = SampleCost(isWhole: sample.isWhole)
    var sum = SampleSum()
    // What only the first tile costs, such as a picture that is unpacked, counts once.
    if !sample.isWhole {
      let clock = ContinuousClock.now
      let cutter = try makeSubtreeCutter()
      _ = try cutter.cut(sample.places[0].root)
      cost.first = (ContinuousClock.now - clock) / .seconds(1)
    }
    var places = sample.places.makeIterator()
    let work = OrderedWork<(root: TileID, next: TileID?), (SubtreeSample, SubtreeSample?, [EncodedTile])>(
      AnyIterator { places.next() }, aheadMax: 2 * workers + 2
    ) { found, next, tiles in
      sum.add(found)
      cost.cold.append(found.seconds)
      if let next { cost.pairs.append((found.seconds, next.seconds)) }
      try visit(tiles)
    }
    try work.run(threads: workers) {
      let cutter = try makeSubtreeCutter()
      let encoder = TileEncoder(plan.encoding)
      func timed(_ root: TileID) throws -> (sample: SubtreeSample, tiles: [EncodedTile]) {
        let clock = ContinuousClock.now
        let subtree = try cutter.cut(root)
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        return (try SubtreeSample(subtree, seconds, plan, encoder), subtree.tiles)
      }
      return { place in
        let found = try timed(place.root)
        return (found.sample, try place.next.map { try timed($0).sample }, found.tiles)
      }
    }
    let matrix = plan.matrixSet[sample.rootZoom]
    let blank = PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
    let scaled = sum.scaled(
      to: plan, rootZoom: sample.rootZoom, blankBytes: try TileEncoder(plan.encoding).encode(blank).count)
    let workSeconds = cost.seconds(subtrees: sample.count, rows: sample.rowCount)
    let share = Double(max(plan.tileCountMax, 1)) / Double(max(sum.candidatesInSubtrees(of: plan), 1))
    return CutEstimate(
      tiles: Int(scaled.tiles.rounded()), bytes: Self.fileBytes(scaled, in: output),
      seconds: workSeconds / Double(workers) * max(share, 1) + cost.startSeconds,
      sampledTiles: sum.candidateCount)
  }

  /// Tables and directories beyond the tiles' own bytes (docs/reference/performance.md, "Page size of bundles").
  private static func fileBytes(_ tiles: (tiles: Double, bytes: Double), in output: String) -> Int {
    switch try? BundleFile.kind(ofOutput: output) {
    case .pmtiles: Int(tiles.bytes + tiles.tiles * 3)
    case .folder: Int(tiles.bytes)
    default: Int(tiles.bytes * 1.01 + tiles.tiles * 30) + 24_000
    }
  }
}

/// Which subtrees are cut for an estimate.
private struct CutSample {
  /// The number of subtrees of the whole cut, and in how many rows they lie.
  private(set) var count = 0
  private(set) var rowCount = 0
  let rootZoom: Int
  /// Subtrees, some with the one that follows in their row, which is cut for its time only.
  private(set) var places: [(root: TileID, next: TileID?)] = []
  /// All subtrees are in the sample.
  var isWhole: Bool { places.count == count }

  private static let placeCount = 48

  init(_ plan: CutPlan, _ sequence: SubtreeSequence) {
    rootZoom = sequence.rootZoom
    count = sequence.count
    let everything = count <= Self.placeCount
    // Anywhere within equal parts, so that no column of the map is met again and again.
    let step = Double(count) / Double(Self.placeCount)
    var wanted = (0..<Self.placeCount).map { place -> Int in
      let hash = withUnsafeBytes(of: place.littleEndian) { ContentHash.hash($0) }
      return Int((Double(place) + Double(hash % 1000) / 1000) * step)
    }[...]
    var position = 0
    var row = (zoom: -1, number: -1)
    var open = false
    for root in sequence {
      let isNext = (root.zoom, root.row) == row
      if !isNext { rowCount += 1 }
      if open, isNext { places[places.count - 1].next = root }
      open = false
      if everything {
        places.append((root, nil))
      } else if let next = wanted.first, position >= next {
        wanted.removeFirst()
        places.append((root, nil))
        open = places.count % 3 == 0
      }
      (position, row) = (position + 1, (root.zoom, root.row))
    }
  }
}

/// What is kept of a subtree that was cut.
private struct SubtreeSample: Sendable {
  struct Tile: Sendable {
    let zoom: Int
    let hash: UInt64
    let bytes: Int
  }

  let tiles: [Tile]
  /// Candidate tiles by zoom.
  let candidates: [Int: Int]
  let seconds: Double

  init(_ subtree: CutSubtree, _ seconds: Double, _ plan: CutPlan, _ encoder: TileEncoder) throws {
    var tiles = subtree.tiles.map { tile in
      Tile(zoom: tile.id.zoom, hash: tile.bytes.withUnsafeBytes { ContentHash.hash($0) }, bytes: tile.bytes.count)
    }
    var candidates: [Int: Int] = [:]
    let root = subtree.root
    var range = TileRange(zoom: root.zoom, columns: root.column...root.column, rows: root.row...root.row)
    while range.zoom <= plan.workingZoom {
      let count = plan.coverages[range.zoom]!.tiles(in: range).count
      // An area may end before the working zoom.
      if count > 0 { candidates[range.zoom] = count }
      guard count > 0, let below = plan.matrixSet.children(of: range) else { break }
      range = below
    }
    // Where all stored zooms lie above, the root's picture stands for their tiles.
    if subtree.root.zoom > plan.zooms.upperBound, let pixels = subtree.rootPixels {
      tiles = [Tile(zoom: subtree.root.zoom, hash: 0, bytes: try encoder.encode(pixels).count)]
    }
    (self.tiles, self.candidates, self.seconds) = (tiles, candidates, seconds)
  }
}

/// The tiles of a sample, by zoom.
private struct SampleSum {
  private var candidates: [Int: Int] = [:]
  private var tiles: [Int: [UInt64: (count: Int, bytes: Int)]] = [:]
  private(set) var candidateCount = 0

  mutating func add(_ subtree: SubtreeSample) {
    for (zoom, count) in subtree.candidates {
      candidates[zoom, default: 0] += count
      candidateCount += count
    }
    for (number, tile) in subtree.tiles.enumerated() {
      let key = tile.hash == 0 ? UInt64(candidateCount + number) : tile.hash
      tiles[tile.zoom, default: [:]][key, default: (0, tile.bytes)].count += 1
    }
  }

  /// Stored candidates of the zooms that the subtrees have.
  func candidatesInSubtrees(of plan: CutPlan) -> Int {
    plan.zooms.filter { candidates[$0] != nil }.reduce(0) { $0 + (plan.coverages[$1]?.count ?? 0) }
  }

  /// The tiles of the whole cut and their bytes. A tile that the sample has more than once is taken for one that fills
  /// large parts of the map, and is stored once.
  ///
  /// - Parameter blankBytes: of a tile with one colour.
  func scaled(to plan: CutPlan, rootZoom: Int, blankBytes: Int) -> (tiles: Double, bytes: Double) {
    var sum = (tiles: 0.0, bytes: 0.0)
    let roots = scaled(rootZoom, to: plan)
    for zoom in plan.zooms {
      var level = (tiles: 0.0, bytes: 0.0)
      if zoom >= rootZoom {
        // Zooms between those of the subtrees, where areas end at different ones, are like the next deeper one.
        let sampled = (zoom...plan.workingZoom).first { candidates[$0] != nil } ?? zoom
        level = scaled(sampled, to: plan)
        let share = Double(plan.coverages[zoom]?.count ?? 0) / Double(max(plan.coverages[sampled]?.count ?? 0, 1))
        if sampled != zoom { level = (level.tiles * share, level.bytes * share) }
      } else if let places = plan.coverages[zoom]?.count, let rootPlaces = plan.coverages[rootZoom]?.count,
        places > 0, rootPlaces > 0
      {
        // A coarser zoom has the ground of the roots in fewer pixels, as large each; its tiles may be mostly empty.
        let ratio = plan.matrixSet[rootZoom].cellSize / plan.matrixSet[zoom].cellSize
        let emptyShare = max(1 - roots.tiles / Double(rootPlaces), 0)
        level.tiles = Double(places) * (1 - pow(emptyShare, max(Double(rootPlaces) / Double(places), 1)))
        level.bytes = roots.bytes * ratio * ratio + level.tiles * Double(blankBytes)
      }
      sum = (sum.tiles + level.tiles, sum.bytes + level.bytes)
    }
    return sum
  }

  /// The tiles of a zoom that the sample has.
  private func scaled(_ zoom: Int, to plan: CutPlan) -> (tiles: Double, bytes: Double) {
    guard let sampled = candidates[zoom], sampled > 0 else { return (0, 0) }
    let factor = Double(plan.coverages[zoom]?.count ?? 0) / Double(sampled)
    return (tiles[zoom] ?? [:]).values.reduce(into: (0, 0)) { sum, tile in
      sum.tiles += Double(tile.count) * factor
      sum.bytes += Double(tile.bytes) * (tile.count > 1 ? min(factor, 1) : factor)
    }
  }
}

/// The time of a sample. The first subtree of a row decodes strips that the others of the row share.
private final class SampleCost {
  private let isWhole: Bool
  var cold: [Double] = []
  /// Subtrees that were cut one after the other.
  var pairs: [(cold: Double, warm: Double)] = []
  var first = 0.0

  init(isWhole: Bool) { self.isWhole = isWhole }

  /// One thread's time for all subtrees.
  func seconds(subtrees: Int, rows: Int) -> Double {
    if isWhole { return cold.reduce(0, +) }
    let mean = Self.mean(cold)
    let sum = pairs.reduce(0) { $0 + $1.cold }
    let share = sum > 0 ? min(pairs.reduce(0) { $0 + $1.warm } / sum, 1) : 1
    return Double(subtrees) * mean * share + Double(min(rows, subtrees)) * mean * (1 - share)
  }

  /// What came once, at the beginning.
  var startSeconds: Double { isWhole ? 0 : max(first - Self.mean(cold), 0) }

  private static func mean(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
  }
}
