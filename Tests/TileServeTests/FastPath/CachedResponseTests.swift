import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Stored responses, and the requests that get them: those that repeat their connection's last one except for the
/// target.
@Suite(.ownThread) struct CachedResponseTests {
  @Test func repeatedRequestsGetTheSameAnswer() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      var first: [String: HTTPResponse] = [:]
      for round in 0..<4 {
        for target in ["/relief/1/1/0.png", "/photo/1/0/0.jpg", "/roads/0/0/0.pbf"] {
          let response = try connection.request(target, ["Accept-Encoding": "gzip"])
          let known = first[target, default: response]
          first[target] = known
          #expect(response.status == 200 && response.body == known.body, "\(target), round \(round)")
          let fields = { (response: HTTPResponse) in response.fields.filter { $0.name != "Date" }.map { "\($0)" } }
          #expect(fields(response) == fields(known), "\(target), round \(round)")
          #expect(response["Date"]?.count == 29)
        }
      }
      #expect(try served.metric("tileserve_ready_bytes")! > 0)
    }
  }

  @Test func replacedBundleIsNotAnsweredFromTheCache() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("a.mbtiles", zooms: 0...1, seed: 1)
    try await serving([folder.path]) { (served) async throws in
      let connection = try served.connect()
      for seed in 2...4 {
        let before = try (0..<3).map { _ in try connection.request("/a/1/0/0.png").body }
        #expect(Set(before).count == 1)
        try folder.writeBundle("new.part", zooms: 0...1, seed: seed)
        #expect(rename(folder.file("new.part"), folder.file("a.mbtiles")) == 0)
        served.registry.refresh()
        let after = try connection.request("/a/1/0/0.png")
        #expect(after.body == (try served.registry["a"]?.storedTile(tile(1, 0, 0))))
        #expect(after.body != before[0])
      }
      try FileManager.default.removeItem(atPath: folder.file("a.mbtiles"))
      served.registry.refresh()
      #expect(try connection.request("/a/1/0/0.png").status == 404)
    }
  }

  /// Large bodies are sent as pages of memory, which the system has until the client reads them: others that were kept
  /// and dropped meanwhile leave them as they were.
  @Test func largeTilesStayWholeUntilTheyAreRead() async throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 3)
    let writer = try BundleWriter(path: folder.file("big.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    var tiles: [String: [UInt8]] = [:]
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 3) {
      let noise = (0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) }
      let bytes = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + noise
      tiles["/big/\(tile.zoom)/\(tile.column)/\(tile.row).png"] = bytes
      try writer.put(tile, bytes)
    }
    _ = try writer.finish(BundleMetadata(name: "big"))
    try await serving([folder.path]) {
      // Room for half of them.
      $0.cacheBytes = 4 << 20
    } _: { (served) async throws in
      let other = try served.connect()
      for (target, bytes) in tiles.sorted(by: { $0.key < $1.key }).prefix(16) {
        let connection = try served.connect()
        // Read, kept, sent from there, and sent as pages.
        for _ in 0..<12 { #expect(try connection.request(target).body == bytes) }
        try connection.send(HTTPConnection.head(target))
        for other in try [served.connect(), other] {
          for target in tiles.keys { #expect(try other.request(target).status == 200) }
        }
        #expect(try connection.response().body == bytes)
      }
    }
  }

  @Test func headerFieldsSelectTheResponse() async throws {
    try await serving([SampleTilesets.path]) {
      $0.allowedHosts = ["localhost", "127.0.0.1", "test"]
    } _: { (served) async throws in
      let connection = try served.connect()
      let gzip = ["Accept-Encoding": "gzip"]
      let packed = try (0..<3).map { _ in try connection.request("/roads/0/0/0.pbf", gzip) }
      #expect(packed.allSatisfy { $0["Content-Encoding"] == "gzip" })
      // The stored tile for a client that does not accept gzip, on this connection and on another.
      for other in [connection, try served.connect()] {
        for _ in 0..<3 {
          let plain = try other.request("/roads/0/0/0.pbf", ["Accept-Encoding": "identity"])
          #expect(plain["Content-Encoding"] == nil && plain.body != packed[0].body)
        }
      }
      let tag = try #require(packed[0]["ETag"])
      for _ in 0..<3 {
        #expect(
          try connection.request("/roads/0/0/0.pbf", ["Accept-Encoding": "gzip", "If-None-Match": tag]).status == 304)
      }
      #expect(try connection.request("/roads/0/0/0.pbf", gzip).status == 200)
      for _ in 0..<3 {
        #expect(
          try connection.request("/roads/0/0/0.pbf", ["Accept-Encoding": "gzip", "Host": "evil.example"]).status == 421)
      }
    }
  }

  @Test func originsGetTheirOwnResponses() async throws {
    try await serving([SampleTilesets.path]) {
      $0.crossOrigin = .origins(["https://a.example"])
    } _: { (served) async throws in
      let connection = try served.connect()
      for _ in 0..<3 {
        for (origin, allowed) in [("https://a.example", "https://a.example"), ("https://b.example", nil)] {
          let response = try connection.request("/relief/1/1/0.png", ["Origin": origin])
          #expect(response["Access-Control-Allow-Origin"] == allowed)
        }
      }
    }
  }

  /// Several requests in one piece, cut anywhere: every response comes, in order.
  @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let targets = ["/relief/1/1/0.png", "/relief/0/0/0.png", "/health", "/relief/1/0/1.png", "/nothing/0/0/0.png"]
      let expected = try targets.map { try served.get($0) }
      var random = SeededGenerator(seed: 11)
      let connection = try served.connect()
      for round in 0..<40 {
        let picks = (0..<Int.random(in: 1...12, using: &random)).map { _ in
          Int.random(in: 0..<targets.count, using: &random)
        }
        let text = picks.map { "GET \(targets[$0]) HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: image/png\r\n\r\n" }.joined()
        let cut = text.index(text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &random))
        try connection.send(String(text[..<cut]))
        try connection.send(String(text[cut...]))
        for pick in picks {
          let response = try connection.response()
          #expect(response.status == expected[pick].status && response.body == expected[pick].body, "round \(round)")
        }
      }
    }
  }
}
