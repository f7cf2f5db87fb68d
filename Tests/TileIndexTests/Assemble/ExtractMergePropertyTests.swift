import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct ExtractMergePropertyTests {
  /// Extracts along the edges of coarse tiles have each tile once, and together all tiles.
  @Test(arguments: 1...15 as ClosedRange<UInt64>)
  func mergedPartsEqualTheWhole(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let grid = RandomBundle.grids[Int(seed % 3)]
    let whole = try MBTilesReader(
      path: RandomBundle(grid, count: 60, using: &random).write(folder.file("whole.mbtiles")), matrixSet: grid)
    let split = Int.random(in: 1...2, using: &random)
    var parts: [any BundleReader] = []
    func add(_ extract: BundleExtract) throws {
      let path = folder.file("part\(parts.count).mbtiles")
      try extract.write(whole, to: path)
      parts.append(try MBTilesReader(path: path, matrixSet: grid))
    }
    if try whole.zooms()[0] < split { try add(BundleExtract(zooms: 0...(split - 1))) }
    // Most coarse tiles of a fine grid are empty.
    var roots: Set<TileID> = []
    try whole.forEachTile { tile, _ in
      var root = tile
      while root.zoom > split, let parent = grid.parent(of: root) { root = parent }
      if root.zoom == split { roots.insert(root) }
    }
    for root in roots {
      var box = grid.geographicBounds(of: root)
      // Degrees from Mercator have rounding errors, so the box is shrunk slightly; it selects the same tiles.
      let hair = 1e-7
      (box.west, box.east, box.south, box.north) = (
        box.west + hair, box.east - hair, box.south + hair, box.north - hair
      )
      try add(BundleExtract(area: TileArea(bounds: box), zooms: split...grid.zooms.upperBound))
    }
    let merged = folder.file("merged.mbtiles")
    try BundleMerge(conflict: .error).write(parts.shuffled(using: &random), to: merged)
    let found = try MBTilesReader(path: merged, matrixSet: grid)
    #expect(try TilesHash.of(found) == TilesHash.of(whole))
    let count = try parts.reduce(0) { try $0 + ($1 as! MBTilesReader).tileCount() }
    #expect(try count == whole.tileCount())
  }

  /// An extract has exactly the tiles whose boxes in degrees intersect the requested box.
  @Test(arguments: 1...15 as ClosedRange<UInt64>)
  func extractsContainExactlyTheIntersectingTiles(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let grid = RandomBundle.grids[Int(seed % 3)]
    let path = try RandomBundle(grid, count: 80, using: &random).write(folder.file("whole.mbtiles"))
    let whole = try MBTilesReader(path: path, matrixSet: grid)
    let west = Double.random(in: -179...100, using: &random)
    let south = Double.random(in: -80...40, using: &random)
    let box = BoundingBox(
      west: west, south: south, east: west + Double.random(in: 1...70, using: &random),
      north: south + Double.random(in: 1...40, using: &random))
    let zooms = 0...Int.random(in: 1...4, using: &random)
    let all = try BundleContents(whole)
    let expected = all.tiles.filter { tile, _ in
      let tileBox = grid.geographicBounds(of: tile)
      return zooms.contains(tile.zoom) && tileBox.west < box.east && tileBox.east > box.west
        && tileBox.south < box.north && tileBox.north > box.south
    }
    let ring = [
      [box.west, box.south], [box.east, box.south], [box.east, box.north], [box.west, box.north],
      [box.west, box.south],
    ]
    let polygon = try folder.write("box.json", #"{"type":"Polygon","coordinates":[\#(ring)]}"#)
    for area in [TileArea(bounds: box), try TileArea(polygonFile: polygon)] {
      let output = folder.file("part.mbtiles")
      guard !expected.isEmpty else {
        #expect(throws: BundleError.self) { try BundleExtract(area: area, zooms: zooms).write(whole, to: output) }
        continue
      }
      try BundleExtract(area: area, zooms: zooms).write(whole, to: output, replacing: true)
      let found = try BundleContents(output, grid)
      #expect(found.tiles == expected)
      #expect(found.places == all.places.filter { box.contains(SIMD2($0.longitude, $0.latitude)) })
    }
  }
}
