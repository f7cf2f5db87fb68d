import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// PMTiles archives on web servers, read in parts.
@Suite(.ownThread) struct RemoteArchiveTests {
  /// The behaviour of a web server for a file (RFC 9110, section 14).
  private static func answer(_ request: TileOrigin.Request, _ file: [UInt8], tag: String) -> TileOrigin.Reply {
    if let wanted = request["If-Match"], wanted != tag { return .answer(412) }
    guard let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap({ Int($0) }),
      range.count == 2, range[0] < file.count
    else { return .answer(200, file, ["etag": tag]) }
    let end = min(range[1], file.count - 1)
    return .answer(
      206, Array(file[range[0]...end]), ["etag": tag, "content-range": "bytes \(range[0])-\(end)/\(file.count)"])
  }

  /// Zooms 0 to 5 with images of one seed, in leaf directories; 5/0/0 is missing.
  private static func archive(_ seed: Int, name: String = "Afar") throws -> [UInt8] {
    var archive = SmallArchive()
    let images = try (0..<4).map { try SampleTiles.image(seed * 4 + $0, .png, edge: 64) }
    for zoom in 0...5 {
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) where tile != TileID(unchecked: 5, 0, 0) {
        archive.tiles[tile.hilbertID] = images[(tile.column + tile.row) % 4] + [UInt8(truncatingIfNeeded: tile.column)]
      }
    }
    archive.zooms = (0, 5)
    archive.leafEntries = 100
    // Larger than the first read, so that directories and tiles need separate requests.
    archive.metadata = Array(
      #"{"name":"\#(name)","attribution":"© Afar","x":"\#(String(repeating: "y", count: 9000))"}"#.utf8)
    archive.internalCompression = 1
    return archive.bytes
  }

  private func describe(_ origin: TileOrigin, fresh: Int) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try #"""
    {"url": "\#(origin.url)/afar.pmtiles", "timeout": 5, "rate": 1000, "fresh": \#(fresh), \#
    "missingFresh": \#(fresh)}
    """#
    .write(
      toFile: folder.file("afar.upstream.json"), atomically: true, encoding: .utf8)
    return folder
  }

  @Test func tilesAreReadInPartsAndCached() async throws {
    let file = try Self.archive(1)
    try await withOrigin {
      Self.answer($0, file, tag: "\"one\"")
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 3600)
      var bodies: [Int: [UInt8]] = [:]
      try await serving([folder.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        let document = try served.get("/afar.json").text
        #expect(document.contains("Afar") && document.contains("\"maxzoom\":5") && document.contains("© Afar"))
        for column in 1..<20 {
          let response = try served.get("/afar/5/\(column)/7.png")
          #expect(response.status == 200)
          bodies[column] = response.body
        }
        #expect(try served.get("/afar/5/0/0.png").status == 404)
        #expect(try served.get("/afar/6/0/0.png").status == 404)
        // A header, a few directories, and one request for each tile; never the whole file.
        #expect(origin.requests.count < 19 + 15 && origin.requests.allSatisfy { $0["Range"] != nil })
        let count = origin.requests.count
        for column in 1..<20 { #expect(try served.get("/afar/5/\(column)/7.png").body == bodies[column]) }
        #expect(origin.requests.count == count)
      }
      // A start without a network: description and tiles are cached.
      try await origin.goAway()
      try await serving([folder.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        #expect(try served.get("/afar/5/3/7.png").body == bodies[3])
        #expect(try served.get("/afar.json").text.contains("\"maxzoom\":5"))
      }
    }
  }

  /// Nine megabytes, of places: they are fetched and parsed once, not for each tile.
  @Test func metadataAreReadOnce() async throws {
    var archive = SmallArchive()
    for column in 0..<16 { archive.tiles[TileID(unchecked: 4, column, 3).hilbertID] = try SampleTiles.image(column) }
    archive.zooms = (4, 4)
    archive.internalCompression = 1
    let place =
      #"{"type":"Feature","properties":{"name":"\#(String(repeating: "n", count: 900))"},"#
      + #""geometry":{"type":"Point","coordinates":[1,2]}}"#
    let places = Array(repeating: place, count: 9000).joined(separator: ",")
    archive.metadata = Array(#"{"places":{"type":"FeatureCollection","features":[\#(places)]}}"#.utf8)
    let file = archive.bytes
    try await withOrigin {
      Self.answer($0, file, tag: "\"one\"")
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 3600)
      try await serving([folder.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        for column in 0..<16 { #expect(try served.get("/afar/4/\(column)/3.png").status == 200) }
      }
      let large = origin.requests.compactMap { $0["Range"]?.dropFirst("bytes=".count).split(separator: "-") }
        .filter { Int($0[1])! - Int($0[0])! > 1 << 20 }
      #expect(large.count == 1, "\(large)")
    }
  }

  /// A start without a network: of an archive that was read before, cached tiles and enlarged parts of them; of a new
  /// one nothing until the network is back.
  @Test func startWithoutANetwork() async throws {
    let file = try Self.archive(1)
    try await withOrigin {
      Self.answer($0, file, tag: "\"one\"")
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 3600)
      let options: @Sendable (inout TileServerOptions) -> Void = {
        $0.prefetch = .off
        $0.missing = .overzoom
      }
      try await serving([folder.path], options) { (served) async throws in
        #expect(try served.get("/afar/3/4/2.png").status == 200)
      }
      let never = try describe(origin, fresh: 3600)
      try await origin.goAway()
      try await serving([folder.path], options) { (served) async throws in
        #expect(try served.get("/afar.json").text.contains("\"maxzoom\":5"))
        let part = try served.get("/afar/5/17/10.png")
        #expect(part.status == 200 && part["Cache-Control"] == "no-store", "\(part)")
        #expect(try served.get("/afar/5/1/10.png").status == 503)
      }
      try await serving([never.path], options) { (served) async throws in
        for target in ["/afar/3/4/2.png", "/afar.json"] {
          let response = try served.get(target)
          #expect(response.status == 503 && response["Retry-After"] != nil, "\(response)")
        }
        origin.comeBack()
        #expect(try eventually { try served.get("/afar/3/4/2.png").status == 200 })
        #expect(try served.get("/afar.json").status == 200)
      }
    }
  }

  /// The archive is replaced while it is read: no tile mixes two archives.
  @Test func replacedArchive() async throws {
    let (old, new) = (try Self.archive(1), try Self.archive(2))
    let current = Locked((file: old, tag: "\"one\""))
    try await withOrigin { request in
      let (file, tag) = current.withLock { $0 }
      return Self.answer(request, file, tag: tag)
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 1)
      try await serving([folder.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        let before = try served.get("/afar/5/3/7.png").body
        current.withLock { $0 = (new, "\"two\"") }
        let other = try served.get("/afar/5/4/7.png").body
        #expect(try BundleBytes.tile(new, 5, 4, 7) == other)
        // Cached tiles are revalidated when they are stale.
        #expect(try eventually { try served.get("/afar/5/3/7.png").body != before })
        #expect(try served.get("/afar/5/3/7.png").body == BundleBytes.tile(new, 5, 3, 7))
      }
    }
  }

  /// When the archive is known to be replaced, neither tiles nor description of the old one are served, however fresh
  /// they are.
  @Test(arguments: ["\"two\"", "W/\"two\"", ""]) func tilesOfAReplacedArchiveAreDropped(tag: String) async throws {
    let old = try Self.archive(1)
    let new = try Self.archive(2, name: "Anew")
    let current = Locked((file: old, tag: tag.replacing("two", with: "one")))
    try await withOrigin { request in
      let (file, tag) = current.withLock { $0 }
      return Self.answer(request, file, tag: tag)
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 3600)
      let options: @Sendable (inout TileServerOptions) -> Void = { $0.prefetch = .off }
      func expectNew(_ served: Served) throws {
        for column in 1..<6 {
          #expect(
            try served.get("/afar/5/\(column)/7.png").body == BundleBytes.tile(new, 5, column, 7), "\(column) is old")
        }
        #expect(try served.get("/afar.json").text.contains("Anew"))
      }
      try await serving([folder.path], options) { (served) async throws in
        for column in 1..<4 {
          #expect(try served.get("/afar/5/\(column)/7.png").body == BundleBytes.tile(old, 5, column, 7))
        }
        #expect(try served.get("/afar/5/1/7.jpg").status == 200)
        #expect(try served.get("/afar.json").text.contains("Afar"))
      }
      // While no server was running.
      current.withLock { $0 = (new, tag) }
      try await serving([folder.path], options) { (served) async throws in
        #expect(try served.get("/afar/5/4/7.png").body == BundleBytes.tile(new, 5, 4, 7))
        try expectNew(served)
      }
      // And back again, while the server runs.
      try await serving([folder.path], options) { (served) async throws in
        try expectNew(served)
        current.withLock { $0 = (old, tag.replacing("two", with: "three")) }
        // Without an entity tag the change is found at the next read.
        guard !tag.isEmpty, !tag.hasPrefix("W/") else { return }
        let drawn = try served.get("/afar/5/1/7.jpg").body
        #expect(try served.get("/afar/5/9/7.png").body == BundleBytes.tile(old, 5, 9, 7))
        #expect(try served.get("/afar/5/1/7.png").body == BundleBytes.tile(old, 5, 1, 7))
        #expect(try served.get("/afar/5/1/7.jpg").body != drawn)
        #expect(try served.get("/afar.json").text.contains("Afar"))
      }
      let kept = try BundleFile.open(folder.file("afar.mbtiles"))
      #expect(try tag != "\"two\"" || kept.tile(TileID(unchecked: 5, 2, 7)) == nil)
    }
  }

  /// Servers without ranges, and files that are no archives.
  @Test(arguments: [0, 1, 2]) func invalidArchives(_ kind: Int) async throws {
    let file = try Self.archive(1)
    try await withOrigin { request in
      switch kind {
      case 0: .answer(200, file)
      case 1: Self.answer(request, [UInt8](repeating: 7, count: 30_000), tag: "\"x\"")
      default: .answer(206, Array(file[0..<100]), ["content-range": "bytes 0-99/100000"])
      }
    } _: { (origin) async throws in
      let folder = try describe(origin, fresh: 1)
      try await serving([folder.path, SampleTilesets.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        let response = try served.get("/afar/5/3/7.png")
        #expect(response.status == 503, "\(response)")
        #expect(try served.get("/relief/1/0/0.png").status == 200)
      }
    }
  }
}

/// A tile of an archive's bytes, read as a file.
private enum BundleBytes {
  static func tile(_ archive: [UInt8], _ zoom: Int, _ column: Int, _ row: Int) throws -> [UInt8]? {
    let folder = try TemporaryFolder()
    _ = try folder.write("a.pmtiles", bytes: archive)
    return try PMTilesReader(path: folder.file("a.pmtiles")).tile(TileID(unchecked: zoom, column, row))
  }
}
