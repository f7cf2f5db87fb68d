import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundleMergeTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private let own = TileID(unchecked: 2, 0, 0)
  private let shared = TileID(unchecked: 2, 1, 1)

  private func bundle(
    _ name: String, _ tiles: [TileID: [UInt8]], _ metadata: BundleMetadata = BundleMetadata(name: "A"),
    format: TileFormat = .png, set: TileMatrixSet = .webMercatorQuad, places: [Place] = []
  ) throws -> any BundleReader {
    let writer = try BundleWriter(path: folder.file(name), matrixSet: set, format: format)
    for (tile, bytes) in tiles.sorted(by: { $0.key < $1.key }) { try writer.put(tile, bytes) }
    if !places.isEmpty { try writer.write(places: places) }
    _ = try writer.finish(metadata)
    return try BundleFile.open(folder.file(name))
  }

  /// Of bundles whose areas end at different zooms the row says where the first and the last of all end.
  @Test func variableDepthsAreJoined() throws {
    func part(_ name: String, _ tile: TileID, _ depth: String?) throws -> any BundleReader {
      let extra = depth.map { ["variable_depth": $0] } ?? [:]
      return try bundle(name, [tile: blob(UInt8(tile.column))], BundleMetadata(name: "A", extra: extra))
    }
    let bundles = [
      try part("a.mbtiles", TileID(unchecked: 2, 0, 0), "2-6"),
      try part("b.mbtiles", TileID(unchecked: 2, 1, 0), "1-3"),
      try part("c.mbtiles", TileID(unchecked: 2, 2, 0), nil),
    ]
    for order in [[0, 1, 2], [2, 1, 0]] {
      try BundleMerge().write(order.map { bundles[$0] }, to: folder.file("out.mbtiles"), replacing: true)
      #expect(try BundleFile.open(folder.file("out.mbtiles")).metadata["variable_depth"] == "1-6")
    }
  }

  /// A town's zooms beside the world's: the bounds hold all tiles, and `verify` finds none outside.
  @Test(arguments: ["mbtiles", "pmtiles", "gpkg"]) func boundsHoldAllTiles(_ container: String) throws {
    let world = (0...2).flatMap { Array(TileMatrixSet.webMercatorQuad.wholeRange(zoom: $0)) }
    let town = (3...5).map { TileID(unchecked: $0, (1 << $0) - 1, (1 << $0) / 3) }
    func part(_ name: String, _ tiles: [TileID]) throws -> any BundleReader {
      try bundle(name, Dictionary(uniqueKeysWithValues: tiles.map { ($0, Images.grey256("\($0)")) }))
    }
    let parts = [try part("world.mbtiles", world), try part("town.mbtiles", town)]
    for order in [[0, 1], [1, 0]] {
      let output = folder.file("out.\(container)")
      try BundleMerge().write(order.map { parts[$0] }, to: output, replacing: true)
      let merged = try BundleFile.open(output)
      #expect(merged.metadata.bounds.map { $0.west < -179.9 && $0.east > 179.9 && $0.south < -85 } == true)
      #expect(merged.metadata["variable_depth"] == "2-5")
      let report = try BundleVerifier(path: output, decode: BundleVerifierTests.decode).verify()
      let found = report.outcomes.filter { $0.rule.id == "bounds" }.flatMap(\.findings)
      #expect(found.isEmpty, "\(found)")
    }
    // Zooms of one area end where its last ones do.
    let whole = try part("whole.mbtiles", world)
    try BundleExtract(zooms: 0...1).write(whole, to: folder.file("top.mbtiles"))
    try BundleExtract(zooms: 2...2).write(whole, to: folder.file("deep.mbtiles"))
    let halves = try ["top", "deep"].map { try BundleFile.open(folder.file("\($0).mbtiles")) }
    try BundleMerge().write(halves, to: folder.file("joined.mbtiles"))
    #expect(try BundleFile.open(folder.file("joined.mbtiles")).metadata["variable_depth"] == nil)
  }

  @Test func conflictsAreResolvedAsRequested() throws {
    let bundles = [
      try bundle("a.mbtiles", [own: blob(1), shared: blob(2)]), try bundle("b.mbtiles", [shared: blob(3)]),
      try bundle("c.mbtiles", [shared: blob(4)]),
    ]
    func merged(_ conflict: BundleMerge.Conflict) throws -> [TileID: [UInt8]] {
      try BundleMerge(conflict: conflict).write(bundles, to: folder.file("out.mbtiles"), replacing: true)
      return try BundleContents(folder.file("out.mbtiles")).tiles
    }
    #expect(try merged(.first) == [own: blob(1), shared: blob(2)])
    #expect(try merged(.last) == [own: blob(1), shared: blob(4)])
    // Each later tile is drawn over the earlier ones once.
    #expect(
      try merged(.combine { _, lower, upper in lower + upper.suffix(1) })
        == [own: blob(1), shared: blob(2) + blob(3).suffix(1) + blob(4).suffix(1)])
    let error = #expect(throws: BundleError.self) { try merged(.error) }
    #expect(error?.code == .conflict && error?.message.contains("2/1/1") == true)
  }

  @Test func equalTilesDoNotConflict() throws {
    let bundles = [
      try bundle("a.mbtiles", [shared: blob(2)]), try bundle("b.mbtiles", [own: blob(1), shared: blob(2)]),
    ]
    try BundleMerge(conflict: .error).write(bundles, to: folder.file("out.mbtiles"))
    #expect(try BundleContents(folder.file("out.mbtiles")).tiles == [own: blob(1), shared: blob(2)])
  }

  @Test func metadataAreMerged() throws {
    let place = Place(name: "Here", longitude: 1, latitude: 2)
    let bundles = [
      try bundle(
        "a.mbtiles", [own: blob(1)],
        BundleMetadata(name: "A", attribution: "© one", type: .overlay, extra: ["x": "1"]), places: [place]),
      try bundle(
        "b.mbtiles", [shared: blob(2)],
        BundleMetadata(
          name: "B", description: "words", attribution: "© two | © one", version: "2", extra: ["x": "2", "y": "3"]),
        places: [place, Place(name: "There", longitude: 3, latitude: 4, importance: 0.5)]),
    ]
    try BundleMerge(name: "Both").write(bundles, to: folder.file("out.mbtiles"))
    let found = try BundleFile.open(folder.file("out.mbtiles"))
    let metadata = found.metadata
    #expect(metadata.name == "Both" && metadata.description == "words" && metadata.attribution == "© one | © two")
    #expect(metadata.type == .baselayer && metadata.version == "1" && metadata["x"] == "1" && metadata["y"] == "3")
    let bounds = try #require(metadata.bounds)
    #expect(bounds.west == -180 && bounds.east == 0)
    #expect(try found.places().all().map(\.name) == ["There", "Here"])
  }

  @Test func incompatibleBundlesAreRefused() throws {
    let first = try bundle("a.mbtiles", [own: blob(1)])
    for (other, word) in [
      (try bundle("b.mbtiles", [own: [0xff, 0xd8, 0xff, 1]], format: .jpg), "jpg"),
      (try bundle("c.mbtiles", [own: blob(1)], set: .worldCRS84Quad), "WorldCRS84Quad"),
      (try bundle("d.mbtiles", [own: blob(1)], BundleMetadata(name: "D", extra: ["flat_image": "100,80"])), "100,80"),
    ] {
      let error = #expect(throws: BundleError.self) {
        try BundleMerge().write([first, other], to: folder.file("out.mbtiles"))
      }
      #expect(error?.code == .mismatch && error?.message.contains(word) == true && error?.path == other.path)
      #expect(!folder.names.contains("out.mbtiles") && folder.names.allSatisfy { !$0.hasPrefix(".") })
    }
  }
}
