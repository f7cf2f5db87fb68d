import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Cuts of which each area ends where its sources have no more detail: a coarse source of 30 x 30 degrees, whose own
/// zoom is 5, and a fine one of 0.4 x 0.4 degrees in it, whose own zoom is 10.
@Suite("Variable depth", .ownThread)
struct VariableDepthTests {
  let folder: TemporaryFolder
  private static let coarseBox = BoundingBox(west: 10, south: 20, east: 40, north: 50)
  private static let fineBox = BoundingBox(west: 21.3, south: 40.8, east: 21.7, north: 41.2)
  private static let set = TileMatrixSet.webMercatorQuad

  init() throws {
    folder = try TemporaryFolder()
    try source("coarse.tif", edge: 600, in: Self.coarseBox) { x, y, band in
      Double((x * 3 + y * 5 + band * 70) % 251)
    }
    try source("fine.tif", edge: 400, in: Self.fineBox) { x, y, band in Double((x ^ y) * (band + 1) % 256) }
  }

  private func source(
    _ name: String, edge: Int, in box: BoundingBox, sample: @escaping @Sendable (Int, Int, Int) -> Double
  ) throws {
    var fixture = TIFFFixture(width: edge, height: edge)
    (fixture.samples, fixture.photometric, fixture.sample, fixture.tags) = (3, 2, sample, TIFFFixture.placed)
    fixture.tags[33550] = .double([box.width / Double(edge), box.height / Double(edge), 0])
    fixture.tags[33922] = .double([0, 0, 0, box.west, box.north, 0])
    _ = try fixture.write(folder, name)
  }

  private func options(
    _ names: [String] = ["coarse.tif", "fine.tif"], _ change: (inout CutOptions) throws -> Void = { _ in }
  ) rethrows -> CutOptions {
    var options = CutOptions(sources: names.map(folder.file))
    options.variableDepth = true
    options.encoding = .png(PNGOptions(effort: .fast))
    try change(&options)
    return options
  }

  private func cut(_ options: CutOptions, threads: Int = 2) throws -> [TileID: [UInt8]] {
    try folder.tiles(of: options, threads: threads)
  }

  private static func meets(_ tile: TileID, _ box: BoundingBox) -> Bool {
    set.range(coveringCRSBounds: set.crsBounds(ofGeographicBounds: box), zoom: tile.zoom)!.contains(tile)
  }

  /// What the rule says of a tile and all below it: refined where a source has more detail, into all or none.
  private static func expected(_ tile: TileID = TileID(unchecked: 0, 0, 0)) -> Set<TileID> {
    guard meets(tile, coarseBox) else { return [] }
    guard tile.zoom < 5 || tile.zoom < 10 && meets(tile, fineBox) else { return [tile] }
    return tile.children.reduce(into: [tile]) { $0.formUnion(expected($1)) }
  }

  @Test("A tile has children where a source has more detail, all or none, and all ancestors")
  func tiles() throws {
    let found = try cut(options())
    #expect(Set(found.keys) == Self.expected())
    #expect(found.keys.count(where: { $0.zoom == 10 }) > 4 && found.count < 100)
    for tile in found.keys where tile.zoom > 0 { #expect(found[tile.parent!] != nil) }
  }

  @Test("Coarse areas have the tiles of a cut of the coarse source alone, fine ones those of one depth")
  func pixels() throws {
    let found = try cut(options())
    let coarse = try cut(options(["coarse.tif"]))
    #expect(coarse.keys.map(\.zoom).max() == 5)
    var same = 0
    for (tile, bytes) in coarse where !Self.meets(tile, Self.fineBox) {
      #expect(found[tile] == bytes, "\(tile)")
      same += 1
    }
    #expect(same > 8)
    // Around the fine source the coarse one is enlarged as in a cut of one depth.
    let around = try #require(found.keys.first { $0.zoom == 8 && Self.meets($0, Self.fineBox) })
    let uniform = try cut(
      options {
        $0.variableDepth = false
        $0.zoom = .levels(8...10)
        $0.bounds = Self.set.geographicBounds(of: around)
      })
    let deepest = uniform.keys.filter { $0.zoom == 10 && found[$0] != nil }
    #expect(deepest.count >= 4)
    for tile in deepest { #expect(found[tile] == uniform[tile], "\(tile)") }
    let mixed = deepest.map { $0.parent! }.filter { $0.children.allSatisfy { found[$0] != nil } }
    #expect(!mixed.isEmpty)
    for tile in mixed { #expect(found[tile] == uniform[tile], "\(tile)") }
  }

  @Test("A clip that also shows ground beside the sources leaves no zoom out", arguments: [false, true])
  func clipBesideTheSource(asBoundary: Bool) throws {
    // In tiles that the source reaches into, but where it is not.
    let boxes = [(21.4, 40.9, 21.6, 41.0), (21.72, 40.9, 22.4, 41.0)]
    let rings = boxes.map { w, s, e, n in "[[[\(w),\(s)],[\(e),\(s)],[\(e),\(n)],[\(w),\(n)],[\(w),\(s)]]]" }
    let text = "{\"type\": \"MultiPolygon\", \"coordinates\": [\(rings.joined(separator: ","))]}"
    let file = try folder.write("shown.geojson", text)
    func tiles(_ variableDepth: Bool) throws -> Set<TileID> {
      let options = try options(["fine.tif"]) {
        $0.variableDepth = variableDepth
        if asBoundary { $0.boundary = try RegionBoundary(file: file) } else { $0.clip = try ClipArea(file: file) }
      }
      return Set(try cut(options).keys)
    }
    let uniform = try tiles(false)
    #expect(try tiles(true) == uniform && Set(uniform.map(\.zoom)) == Set(0...10))
  }

  @Test("The bytes do not depend on threads and memory")
  func threads() throws {
    func bytes(_ resources: CutResources) throws -> Data {
      _ = try Cutter(options(), resources: resources).cut(to: folder.file("out.mbtiles"), replacing: true)
      return try folder.bytes("out.mbtiles")
    }
    let one = try bytes(CutResources(threads: 1))
    #expect(try bytes(CutResources(threads: 2)) == one)
    #expect(try bytes(CutResources(threads: 7, memoryBytes: 32_000_000)) == one)
  }

  @Test("Bounds are those of all sources, and the metadata say that areas end at different zooms")
  func metadata() throws {
    for name in ["out.mbtiles", "out.pmtiles"] {
      let path = folder.file(name)
      let summary = try Cutter(options()).cut(to: path)
      #expect(summary.zoomMin == 0 && summary.zoomMax == 10)
      let metadata = try BundleFile.open(path).metadata
      #expect(metadata["variable_depth"] == "5-10")
      let bounds = try #require(metadata.bounds)
      #expect(abs(bounds.west - 10) < 1e-6 && abs(bounds.north - 50) < 1e-6, "\(bounds)")
      #expect(abs(bounds.east - 40) < 1e-6 && abs(bounds.south - 20) < 1e-6, "\(bounds)")
    }
    let path = folder.file("one.mbtiles")
    _ = try Cutter(options(["coarse.tif"])).cut(to: path)
    #expect(try BundleFile.open(path).metadata["variable_depth"] == nil)
  }

  @Test("The zooms that are asked for are the limits")
  func limits() throws {
    let shallow = try Cutter(options { $0.zoom = .levels(2...7) }).plan
    #expect(shallow.zooms == 2...7 && shallow.endZooms == 5...7 && shallow.depths == [5, 9])
    let deep = try Cutter(options { $0.zoom = .levels(7...14) }).plan
    #expect(deep.zooms == 7...10 && deep.endZooms == 7...10)
    // Both have more detail than is stored, and the fine one is drawn deeper.
    let coarse = try Cutter(options { $0.zoom = .levels(0...3) }).plan
    #expect(coarse.zooms == 0...3 && coarse.endZooms == 3...3 && coarse.depths == [3, 9])
    #expect(coarse.coverages[9]!.count < 50)
    let uniform = options {
      $0.zoom = .levels(0...3)
      $0.variableDepth = false
      $0.bounds = BoundingBox(west: 20, south: 40, east: 22, north: 42)
    }
    let variable = options {
      $0.zoom = .levels(0...3)
      $0.bounds = BoundingBox(west: 20, south: 40, east: 22, north: 42)
    }
    #expect(try Set(cut(variable).keys) == Set(cut(uniform).keys))
  }

  @Test("Of a fine source outside of the area, boundary or bounds nothing is left")
  func areas() throws {
    func square(_ west: Double, _ south: Double) throws -> RegionBoundary {
      let (east, north) = (west + 13, south + 13)
      let ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
      return try JSONDecoder().decode(
        RegionBoundary.self, from: Data(#"{"type": "MultiPolygon", "coordinates": [[\#(ring)]]}"#.utf8))
    }
    let boundary = try square(25, 25)
    let changes: [(inout CutOptions) -> Void] = [
      { $0.clip = ClipArea(boundary) }, { $0.boundary = boundary },
      { $0.bounds = BoundingBox(west: 25, south: 25, east: 38, north: 38) },
    ]
    for change in changes {
      let found = try cut(options { change(&$0) })
      #expect(found == (try cut(options(["coarse.tif"]) { change(&$0) })))
      #expect(found.keys.map(\.zoom).max() == 5)
    }
    // One that has a part of the fine source: soft edges at both zooms.
    let part = try square(21.5, 28)
    let (found, coarse) = (
      try cut(options { $0.clip = ClipArea(part) }), try cut(options(["coarse.tif"]) { $0.clip = ClipArea(part) })
    )
    #expect(found.keys.contains { $0.zoom == 10 })
    for (tile, bytes) in coarse where !Self.meets(tile, Self.fineBox) { #expect(found[tile] == bytes, "\(tile)") }
    for tile in found.keys where tile.zoom > 0 { #expect(found[tile.parent!] != nil) }
  }

  /// A way through all rows and columns of the deepest zoom would take hours here.
  @Test("A world relief beside a town is planned at once, and the plan has few tiles")
  func worlds() throws {
    try source("world.tif", edge: 360, in: BoundingBox(west: -180, south: -85, east: 180, north: 85)) { x, y, _ in
      Double((x + y) % 256)
    }
    try source("town.tif", edge: 300, in: BoundingBox(west: 8.5, south: 47.3, east: 8.501, north: 47.301)) { x, y, _ in
      Double((x * y) % 256)
    }
    let plan = try Cutter(options(["world.tif", "town.tif"])).plan
    #expect(plan.zooms.upperBound > 17 && plan.tileCountMax < 400)
    // The order is made of what is there: beside the town nearly all rows of its zoom are empty.
    try source("house.tif", edge: 300, in: BoundingBox(west: 8.5, south: 47.3, east: 8.5001, north: 47.3001)) {
      x, y, _ in Double((x * y) % 256)
    }
    let house = try Cutter(options(["world.tif", "house.tif"]))
    let roots = Array(house.subtrees)
    #expect(house.plan.zooms.upperBound > 20 && roots.count < 200)
    #expect(Set(roots).count == roots.count)
    // Two towns at both ends of the world, in another grid too.
    try source("other.tif", edge: 300, in: BoundingBox(west: 175.5, south: -41.3, east: 175.501, north: -41.299)) {
      x, y, _ in Double((x * y) % 256)
    }
    for set in [TileMatrixSet.webMercatorQuad, .worldCRS84Quad] {
      let cutter = try Cutter(options(["world.tif", "town.tif", "other.tif"]) { $0.matrixSet = set })
      #expect(cutter.plan.zooms.upperBound > 16 && cutter.plan.tileCountMax < 900)
      let all = Array(cutter.subtrees)
      #expect(Set(all).count == all.count && all.count < 400)
    }
  }

  @Test("Appending to and with variable depth is refused, and so are lines and labels")
  func refusals() throws {
    let path = folder.file("out.mbtiles")
    _ = try Cutter(options()).cut(to: path)
    func refused(_ words: String, _ body: () throws -> Void) {
      let error = #expect(throws: CutError.self) { try body() }
      #expect(error?.code == .invalidOption && error?.description.contains(words) == true, "\(error as Any)")
    }
    refused("its areas end at different zooms, 5-10") {
      _ = try BundleAppend(to: path, options: CutOptions(sources: [folder.file("fine.tif")]))
    }
    refused("leave --variable-depth out") { _ = try BundleAppend(to: path, options: options(["fine.tif"])) }
    refused("drawn anew at every zoom") {
      try options { $0.drawing = [VectorLayer(.graticule(interval: nil), rules: [])] }.check()
    }
  }
}

/// The tiles of a pyramid of variable depth, and the order in which it is cut, against the rule itself.
@Suite(.ownThread) struct VariableDepthPlanTests {
  private static let set = TileMatrixSet.webMercatorQuad

  /// Boxes of CRS units around some tiles, shrunk so that they meet no others, with the zooms at which they end.
  private struct Sample {
    var ranges: [TileRange] = []
    var depths: [Int] = []
    let zoomMin: Int
    let plan: VariableDepth

    init(seed: UInt64) throws {
      var random = SeededGenerator(seed: seed)
      zoomMin = Int.random(in: 0...3, using: &random)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let depth = Int.random(in: zoomMin...8, using: &random)
        let zoom = min(depth, Int.random(in: 3...8, using: &random))
        let edge = 1 << zoom
        let (c, r) = (Int.random(in: 0..<edge, using: &random), Int.random(in: 0..<edge, using: &random))
        ranges.append(
          TileRange(
            zoom: zoom, columns: c...min(edge - 1, c + Int.random(in: 0...6, using: &random)),
            rows: r...min(edge - 1, r + Int.random(in: 0...6, using: &random))))
        depths.append(depth)
      }
      let boxes = ranges.map { range in
        let first = TileID(unchecked: range.zoom, range.columns.lowerBound, range.rows.lowerBound)
        let last = TileID(unchecked: range.zoom, range.columns.upperBound, range.rows.upperBound)
        var box = set.bounds(of: first).union(set.bounds(of: last))
        (box.west, box.east, box.south, box.north) = (box.west + 9, box.east - 9, box.south + 9, box.north - 9)
        return [box]
      }
      plan = try VariableDepth(
        boxes: boxes, depths: depths, zoomMin: zoomMin, in: set, showing: ShownArea(boundaryZoom: 8))
    }

    /// Whether a source that ends below a zoom meets a tile.
    func isMet(_ tile: TileID, below zoom: Int) -> Bool {
      zip(ranges, depths).contains { range, depth in
        guard depth > zoom else { return false }
        let (deep, shallow) = (max(tile.zoom, range.zoom), min(tile.zoom, range.zoom))
        guard deep == tile.zoom else {
          let shift = deep - shallow
          return range.columns.contains { $0 >> shift == tile.column }
            && range.rows.contains { $0 >> shift == tile.row }
        }
        return range.contains(set.ancestor(of: tile, zoom: shallow))
      }
    }

    /// All tiles and those that are drawn, by the rule.
    func expected() -> (tiles: Set<TileID>, leaves: Set<TileID>) {
      var found = (tiles: Set<TileID>(), leaves: Set<TileID>())
      func add(_ tile: TileID) {
        guard isMet(tile, below: -1) else { return }
        if tile.zoom >= zoomMin { found.tiles.insert(tile) }
        guard tile.zoom < zoomMin || isMet(tile, below: tile.zoom) else {
          found.leaves.insert(tile)
          return
        }
        for child in tile.children { add(child) }
      }
      add(TileID(unchecked: 0, 0, 0))
      return found
    }
  }

  private static func all(_ tiles: CandidateTiles) -> [TileID] {
    tiles.rows.flatMap { row in tiles.runs(inRow: row).joined().map { TileID(unchecked: tiles.zoom, $0, row) } }
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func tilesAreThoseOfTheRule(seed: UInt64) throws {
    let sample = try Sample(seed: seed)
    let expected = sample.expected()
    let deepest = try #require(sample.plan.deepest)
    #expect(Set(sample.plan.coverages.values.flatMap(Self.all)) == expected.tiles, "seed \(seed)")
    let leaves = sample.plan.leaves.values.flatMap(Self.all) + Self.all(sample.plan.coverages[deepest]!)
    #expect(Set(leaves) == expected.leaves && leaves.count == expected.leaves.count, "seed \(seed)")
  }

  /// Each drawn tile lies in one subtree, and no subtree has more than two levels below its root.
  @Test(arguments: 0..<40 as Range<UInt64>) func subtreesCoverEveryDrawnTileOnce(seed: UInt64) throws {
    let sample = try Sample(seed: seed)
    let working = try #require(sample.plan.deepest)
    let subtrees = SubtreeSequence(
      sample.plan.coverages, leaves: sample.plan.leaves, depths: Set(sample.depths).sorted(), matrixSet: Self.set,
      workingZoom: working, zoomMin: sample.zoomMin)
    let roots = Array(subtrees)
    #expect(roots.count == subtrees.count && Set(roots).count == roots.count)
    let leaves = sample.expected().leaves
    var left = leaves
    for root in roots {
      #expect(root.zoom >= subtrees.rootZoom && subtrees.rootZoom >= sample.zoomMin)
      let below = leaves.filter { $0.zoom >= root.zoom && Self.set.ancestor(of: $0, zoom: root.zoom) == root }
      #expect(!below.isEmpty && below.isSubset(of: left), "seed \(seed), \(root)")
      #expect(below.allSatisfy { $0.zoom <= root.zoom + 2 }, "seed \(seed), \(root)")
      left.subtract(below)
    }
    #expect(left.isEmpty, "seed \(seed)")
    for zoom in 0...subtrees.rootZoom {
      for (top, part) in Dictionary(grouping: roots, by: { Self.set.ancestor(of: $0, zoom: zoom) }) {
        #expect(Array(subtrees.under(top, in: Self.set)) == part, "seed \(seed), \(top)")
      }
    }
  }
}
