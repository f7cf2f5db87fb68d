import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// A tileset of shards is served as one bundle with the same tiles would be.
@Suite(.ownThread) struct ShardedServingTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let grid = TileMatrixSet.webMercatorQuad
  /// Roots of the shards.
  private static let roots = Array(grid.wholeRange(zoom: 1))

  /// Tiles of zooms 0 to 3 without one shard; some are so large that they are sent from the file.
  private static func bytes(_ tile: TileID) -> [UInt8] {
    let start = UInt8(truncatingIfNeeded: tile.column * 37 + tile.row)
    let count = tile.zoom == 3 ? 40_000 : 500
    return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
  }

  private static func tiles(below root: TileID) -> [TileID] {
    (1...3).flatMap { zoom in grid.wholeRange(zoom: zoom).filter { grid.ancestor(of: $0, zoom: 1) == root } }
  }

  /// Writes `shards/map.tileset` beside the folder with its shards, and the same tiles as one bundle,
  /// `one/map.mbtiles`.
  private func write(_ container: String = "pmtiles") throws {
    let metadata = BundleMetadata(name: "Ä & map", attribution: "© us")
    for name in ["shards/map.shards", "one"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    let sharded = try ShardedWriter(
      path: folder.file("shards/map.tileset"), top: folder.file("shards/map.shards/top.pmtiles"), shardZoom: 1,
      matrixSet: Self.grid, format: .png)
    let one = try BundleWriter(path: folder.file("one/map.mbtiles"), matrixSet: Self.grid, format: .png)
    for (number, root) in Self.roots.dropLast().enumerated() {
      let path = folder.file("shards/map.shards/\(number).\(container)")
      let shard = try BundleFile.create(path, matrixSet: Self.grid, format: .png)
      let tiles = Self.tiles(below: root)
      for tile in tiles {
        try shard.put(tile, Self.bytes(tile))
        try one.put(tile, Self.bytes(tile))
      }
      _ = try shard.finish(metadata)
      try sharded.add(BundleFile.open(path), root: root, tiles: tiles.count)
    }
    let top = TileID(unchecked: 0, 0, 0)
    try sharded.put(top, Self.bytes(top))
    try one.put(top, Self.bytes(top))
    _ = try sharded.finish(metadata)
    _ = try one.finish(metadata)
  }

  private static func target(_ tile: TileID) -> String { "/map/\(tile.zoom)/\(tile.column)/\(tile.row).png" }

  /// What a server says, each request twice: the second answer is one that was ready.
  private func answers(_ path: String, _ targets: [String]) async throws -> [String: String] {
    var answers: [String: String] = [:]
    try await serving([folder.file(path)]) { (served) async throws in
      let connection = try served.connect()
      for round in 1...2 {
        for target in targets {
          let response = try connection.request(target)
          let fields = response.fields.filter { !["Date", "Last-Modified"].contains($0.name) }
            .map { "\($0.name): \($0.value)" }
          let body = target.hasSuffix("json") ? response.text : "\(response.body.count) \(response.body.hashValue)"
          answers["\(round) \(target)"] = ([response.statusLine] + fields + [body]).joined(separator: "\n")
            .replacingOccurrences(of: ":\(served.port)", with: "")
        }
      }
    }
    return answers
  }

  @Test(arguments: ["pmtiles", "mbtiles"]) func aTilesetOfShardsIsServedAsOneBundle(_ container: String) async throws {
    try write(container)
    let tiles = (0...3).flatMap { Self.grid.wholeRange(zoom: $0) }
    let targets = tiles.map(Self.target) + ["/map.json", "/map/9/0/0.png"]
    let expected = try await answers("one", targets)
    #expect(expected.values.count { $0.hasPrefix("HTTP/1.1 200 OK") } > 2 * 60)
    #expect(expected.values.count { $0.hasPrefix("HTTP/1.1 404") } >= 2 * 21)
    let found = try await answers("shards", targets)
    for (request, answer) in expected { #expect(found[request] == answer, "\(request)") }
  }

  @Test func shardsAreNoTilesetsOfTheirOwn() async throws {
    try write()
    try await serving([folder.path]) { (served) async throws in
      let list = try served.get("/tilesets.json").text
      #expect(list.contains("one--map") && list.contains("shards--map") && !list.contains("map.shards"), "\(list)")
      #expect(try served.get("/shards--map.shards--0.json").status == 404)
    }
  }

  /// The other shards are served. What is missing is said, and asked for again later: a 404 would be kept.
  @Test func aShardThatIsGoneOrDamagedIsNamed() async throws {
    try write()
    try FileManager.default.removeItem(atPath: folder.file("shards/map.shards/1.pmtiles"))
    try folder.write("shards/map.shards/2.pmtiles", bytes: [UInt8]("PMTiles".utf8) + [3, 0, 0])
    try await serving([folder.file("shards")]) { (served) async throws in
      #expect(try served.get(Self.target(Self.roots[0])).status == 200)
      let gone = try served.get(Self.target(Self.roots[1]))
      #expect(gone.status == 503 && gone.text.contains("its shard 1.pmtiles is not there"), "\(gone.text)")
      #expect(gone.fields.contains { $0.name == "Retry-After" })
      let damaged = try served.get(Self.target(Self.roots[2]))
      #expect(damaged.status == 500 && damaged.text.contains("2.pmtiles"), "\(damaged.text)")
      #expect(try served.get("/map/0/0/0.png").status == 200)
    }
  }

  /// Readers of all threads share the open shards.
  @Test func openShardsAreShared() async throws {
    try write()
    try await serving([folder.file("shards")]) { (served) async throws in
      let connection = try served.connect()
      for _ in 0..<3 {
        for tile in Self.tiles(below: Self.roots[0]) + Self.tiles(below: Self.roots[1]) {
          let response = try connection.request(Self.target(tile))
          #expect(response.status == 200 && response.body == Self.bytes(tile), "\(tile)")
        }
      }
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      let open = descriptors.count { name in
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        return path?.hasPrefix(folder.file("shards/map.shards/")) == true
      }
      #expect(open <= 12, "\(open) descriptors")
    }
  }
}
