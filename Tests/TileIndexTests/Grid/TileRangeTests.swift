import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct TileRangeTests {
  let set = TileMatrixSet.webMercatorQuad

  @Test func rangesAreSequencesOfTiles() {
    let range = TileRange(zoom: 3, columns: 2...4, rows: 5...6)
    #expect(range.count == 6)
    #expect(range.map(\.description) == ["3/2/5", "3/3/5", "3/4/5", "3/2/6", "3/3/6", "3/4/6"])
    #expect(Array(range) == range.sorted())
    #expect(range.description == "3/2-4/5-6")
    for tile in set.wholeRange(zoom: 3) { #expect(range.contains(tile) == Array(range).contains(tile)) }
    #expect(!range.contains(TileID(unchecked: 4, 3, 5)))
  }

  @Test func setOperationsMatchSetsOfTiles() {
    var random = SeededGenerator(seed: 31)
    for _ in 0..<300 {
      let (a, b) = (random.range(zoom: 4), random.range(zoom: 4))
      let both = Set(a).intersection(b)
      #expect(Set(a.intersection(b).map(Array.init) ?? []) == both, "seed 31")
      #expect(Set(a.union(b)).isSuperset(of: Set(a).union(b)), "seed 31")
      #expect(Set(set.parents(of: a)!) == Set(a.compactMap(\.parent)), "seed 31")
      #expect(Set(set.children(of: a)!) == Set(a.flatMap(\.children)), "seed 31")
    }
    #expect(
      TileRange(zoom: 1, columns: 0...0, rows: 0...0).intersection(TileRange(zoom: 2, columns: 0...0, rows: 0...0))
        == nil)
  }

  /// A box made of tile edges, in CRS units or degrees, covers exactly those tiles.
  @Test(arguments: TileMatrixSetTests.sets)
  func alignedBoxesHaveNoExtraTiles(set: TileMatrixSet) throws {
    var random = SeededGenerator(seed: 32)
    for _ in 0..<2_000 {
      let zoom = Int.random(in: set.zooms, using: &random)
      let range = random.range(zoom: zoom, in: set)
      let first = TileID(unchecked: zoom, range.columns.lowerBound, range.rows.lowerBound)
      let last = TileID(unchecked: zoom, range.columns.upperBound, range.rows.upperBound)
      let box = set.bounds(of: first).union(set.bounds(of: last))
      #expect(set.range(coveringCRSBounds: box, zoom: zoom) == range, "seed 32, \(set.identifier)")
      let degrees = set.geographicBounds(of: first).union(set.geographicBounds(of: last))
      #expect(set.ranges(covering: degrees, zoom: zoom) == [range], "seed 32, \(set.identifier)")
    }
  }

  /// A box that extends a hundredth of a pixel into the neighbouring tiles includes them.
  @Test func boxesBeyondAnEdgeIncludeTheNextTile() {
    for zoom in [2, 8, 16, 22] {
      let middle = 1 << (zoom - 1)
      let tile = TileID(unchecked: zoom, middle, middle)
      var box = set.bounds(of: tile)
      let reach = set[zoom].cellSize / 100
      box = BoundingBox(
        west: box.west - reach, south: box.south - reach, east: box.east + reach, north: box.north + reach)
      #expect(
        set.range(coveringCRSBounds: box, zoom: zoom)
          == TileRange(zoom: zoom, columns: (middle - 1)...(middle + 1), rows: (middle - 1)...(middle + 1)))
    }
  }

  /// Compared with the definition: the tiles whose bounds overlap the box.
  @Test(arguments: TileMatrixSetTests.sets)
  func rangesContainExactlyTheOverlappingTiles(set: TileMatrixSet) {
    var random = SeededGenerator(seed: 33)
    for _ in 0..<300 {
      let zoom = Int.random(in: 0...min(3, set.zooms.upperBound) - (set == tradeDegrees ? 2 : 0), using: &random)
      let west = Double.random(in: -180...179, using: &random)
      let south = Double.random(in: -89...88, using: &random)
      let box = BoundingBox(
        west: west, south: south, east: .random(in: west...180, using: &random),
        north: .random(in: south...89, using: &random))
      let expected = set.wholeRange(zoom: zoom).filter { tile in
        let other = set.geographicBounds(of: tile)
        return other.west < box.east && other.east > box.west && other.south < box.north && other.north > box.south
      }
      let found = set.ranges(covering: box, zoom: zoom).flatMap(Array.init)
      #expect(found == expected, "seed 33, \(box) at zoom \(zoom) of \(set.identifier)")
    }
  }

  @Test(arguments: [
    (170.0, -170.0, ["4/15-15/7-8", "4/0-0/7-8"]),
    (170, 190, ["4/15-15/7-8", "4/0-0/7-8"]),
    (-190, -170, ["4/15-15/7-8", "4/0-0/7-8"]),
    (180, 190, ["4/0-0/7-8"]),
    (180, -170, ["4/0-0/7-8"]),
    (170, -180, ["4/15-15/7-8"]),
    (170, 180, ["4/15-15/7-8"]),
    (-180, -170, ["4/0-0/7-8"]),
    (-180, 180, ["4/0-15/7-8"]),
    (-200, 200, ["4/0-15/7-8"]),
    // Nearly all longitudes: both parts end in the same tile.
    (10, 5, ["4/0-15/7-8"]),
    (530, 550, ["4/15-15/7-8", "4/0-0/7-8"]),
  ])
  func boxesAcrossTheAntimeridianAreTwoRanges(west: Double, east: Double, expected: [String]) {
    let box = BoundingBox(west: west, south: -5, east: east, north: 5)
    #expect(set.ranges(covering: box, zoom: 4).map(\.description) == expected)
  }

  @Test func boxesOutsideTheGridHaveNoRange() {
    #expect(set.ranges(covering: BoundingBox(west: 0, south: 86, east: 10, north: 89), zoom: 5).isEmpty)
    #expect(set.ranges(covering: BoundingBox(west: 0, south: -90, east: 10, north: -86), zoom: 5).isEmpty)
    #expect(set.ranges(covering: BoundingBox(west: 0, south: 10, east: 10, north: -10), zoom: 5).isEmpty)
    let beyond = BoundingBox(west: WebMercator.halfWorld, south: 0, east: WebMercator.halfWorld * 2, north: 10)
    #expect(set.range(coveringCRSBounds: beyond, zoom: 5) == nil)
  }

  @Test func pointsHaveOneTile() {
    let point = BoundingBox(west: 10, south: 10, east: 10, north: 10)
    for zoom in 0...30 {
      let tile = set.tile(longitude: 10, latitude: 10, zoom: zoom)!
      #expect(set.ranges(covering: point, zoom: zoom).flatMap(Array.init) == [tile])
    }
    let edge = BoundingBox(west: 180, south: 0, east: 180, north: 0)
    #expect(set.ranges(covering: edge, zoom: 2).map(\.description) == ["2/3-3/2-2"])
  }

  @Test func worldBoxHasEveryTile() {
    for zoom in 0...30 {
      #expect(set.ranges(covering: .world, zoom: zoom) == [set.wholeRange(zoom: zoom)])
      #expect(TileMatrixSet.worldCRS84Quad.ranges(covering: .world, zoom: zoom).first?.count == 2 << (2 * zoom))
    }
  }
}

extension SeededGenerator {
  /// A random range of a zoom of a set.
  mutating func range(zoom: Int, in set: TileMatrixSet = .webMercatorQuad) -> TileRange {
    let a = tile(zooms: zoom...zoom, in: set)
    let b = tile(zooms: zoom...zoom, in: set)
    return TileRange(
      zoom: zoom, columns: min(a.column, b.column)...max(a.column, b.column),
      rows: min(a.row, b.row)...max(a.row, b.row))
  }
}
