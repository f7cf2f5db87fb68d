import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Tilesets of upstreams over real connections.
@Suite(.ownThread) struct UpstreamServingTests {
  private static let image = Result { try SampleTiles.image(1, .png) }
  private static let other = Result { try SampleTiles.image(2, .png) }

  /// Without prefetching.
  private static let plainly: @Sendable (inout TileServerOptions) -> Void = { $0.prefetch = .off }

  /// A folder with `far.upstream.json`.
  private func describe(_ origin: TileOrigin, _ more: String = "", url: String = "/{z}/{x}/{y}.png") throws
    -> TemporaryFolder
  {
    let folder = try TemporaryFolder()
    try write(folder, origin, more, url: url)
    return folder
  }

  private func write(_ folder: TemporaryFolder, _ origin: TileOrigin, _ more: String, url: String) throws {
    let text = """
      {"url": "\(origin.url)\(url)", "format": "png", "maxzoom": 12, "timeout": 2, "name": "Far away",
       "attribution": "© Far"\(more.isEmpty ? "" : ", " + more)}
      """
    try text.write(toFile: folder.file("far.upstream.json"), atomically: true, encoding: .utf8)
  }

  /// A server of the tileset `far`, whose tiles come from one that answers so.
  private func servingFar(
    _ answer: @escaping @Sendable (TileOrigin.Request) -> TileOrigin.Reply,
    _ body: (_ origin: TileOrigin, _ folder: TemporaryFolder, Served) async throws -> Void
  ) async throws {
    try await withOrigin(answer) { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path], Self.plainly) { (served) async throws in try await body(origin, folder, served) }
    }
  }

  private func count(_ served: Served, _ outcome: String) throws -> Int {
    Int(try served.metric("tileserve_upstream_requests_total{tileset=\"far\",outcome=\"\(outcome)\"}") ?? 0)
  }

  @Test func tileIsFetchedOnceAndStored() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image, ["etag": "\"a\"", "cache-control": "max-age=3600"])
    } _: {
      (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        for _ in 0..<5 {
          let response = try served.get("/far/5/17/11.png")
          #expect(response.status == 200 && response.body == image && response["Content-Type"] == "image/png")
        }
        #expect(origin.targets == ["/5/17/11.png"])
        let request = try #require(origin.requests.first)
        #expect(request["User-Agent"]?.hasPrefix("tileserve/") == true && request["Cookie"] == nil)
        let document = try served.get("/far.json").text
        #expect(document.contains("Far away") && document.contains("© Far") && document.contains("\"maxzoom\":12"))
        #expect(try count(served, "fetched") == 1)
        #expect(try served.metric("tileserve_upstream_received_bytes_total{tileset=\"far\"}") == Double(image.count))
      }
      // A new start, without a network.
      try await origin.goAway()
      try await serving([folder.path], Self.plainly) { (served) async throws in
        #expect(try served.get("/far/5/17/11.png").body == image)
        #expect(try served.get("/far/5/17/12.png").status == 503)
      }
      #expect(try BundleFile.open(folder.file("far.mbtiles")).tile(TileID(unchecked: 5, 17, 11)) == image)
    }
  }

  @Test func tilesOutsideTheDescriptionAreNotRequested() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin, #""minzoom": 3, "bounds": [0, 40, 20, 50]"#)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        for target in ["/far/2/2/1.png", "/far/13/4300/2800.png", "/far/5/0/0.png", "/far/5/17/20.png"] {
          #expect(try served.get(target).status == 404, "\(target)")
        }
        #expect(origin.requests.isEmpty)
        #expect(try served.get("/far/5/17/11.png").status == 200)
      }
    }
  }

  /// Concurrent requests share one fetch.
  @Test func concurrentRequestsShareOneFetch() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let gate = Gate()
      defer { gate.open() }
      origin.gate.withLock { $0 = gate }
      let folder = try describe(origin)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        let waiting = try (0..<6).map { _ in try served.connect() }
        for connection in waiting { try connection.send(HTTPConnection.head("/far/3/4/2.png")) }
        #expect(eventually { origin.requests.count == 1 })
        // The event loops answer other requests meanwhile.
        #expect(try served.get("/health").status == 200)
        gate.open()
        for connection in waiting { #expect(try connection.response().body == image) }
        #expect(origin.requests.count == 1)
      }
    }
  }

  @Test(arguments: [404, 410, 204]) func noSuchTile(status: Int) async throws {
    try await servingFar { _ in
      .answer(status)
    } _: { (origin, _, served) async throws in
      for _ in 0..<4 { #expect(try served.get("/far/3/4/2.png").status == 404) }
      #expect(origin.requests.count == 1)
      #expect(try count(served, "missing") == 1)
    }
  }

  /// A stale tile is served at once and revalidated in the background by its entity tag.
  @Test func revalidation() async throws {
    let (image, other) = (try Self.image.get(), try Self.other.get())
    try await servingFar { request in
      request["If-None-Match"] == "\"a\""
        ? .answer(304, [], ["etag": "\"a\"", "cache-control": "max-age=60"])
        : .answer(200, image, ["etag": "\"a\"", "cache-control": "max-age=60"])
    } _: { (origin, folder, served) async throws in
      #expect(try served.get("/far/3/4/2.png").status == 200)
      try age(folder)
      #expect(try served.get("/far/3/4/2.png").body == image)
      #expect(try eventually { try count(served, "unchanged") == 1 })
      #expect(origin.requests.count == 2)
      // Fresh again.
      #expect(try served.get("/far/3/4/2.png").body == image)
      #expect(origin.requests.count == 2)
      // The map changes: tiles rendered from the old one are rendered again too.
      let drawn = try served.get("/far/3/4/2.jpg").body
      origin.say { _ in .answer(200, other, ["etag": "\"b\"", "cache-control": "max-age=60"]) }
      try age(folder)
      #expect(try served.get("/far/3/4/2.png").body == image)
      #expect(try eventually { try served.get("/far/3/4/2.png").body == other })
      #expect(try served.get("/far/3/4/2.jpg").body != drawn)
    }
  }

  /// Makes all cached tiles a day old.
  private func age(_ folder: TemporaryFolder) throws {
    let database = try Database(folder.file("far.mbtiles"))
    try database.execute("UPDATE upstream SET fetched = fetched - 86400, expires = fetched - 1")
  }

  @Test func cachedTilesAreServedOffline() async throws {
    let image = try Self.image.get()
    try await servingFar { _ in
      .answer(200, image, ["cache-control": "max-age=60"])
    } _: { (origin, folder, served) async throws in
      for column in 0..<8 { #expect(try served.get("/far/3/\(column)/2.png").status == 200) }
      try await origin.goAway()
      try age(folder)
      for _ in 0..<3 {
        for column in 0..<8 { #expect(try served.get("/far/3/\(column)/2.png").body == image) }
      }
      for row in 3..<8 {
        let response = try served.get("/far/3/0/\(row).png")
        #expect(response.status == 503 && response["Retry-After"] != nil)
        #expect(response.text.contains("127.0.0.1") && !response.text.contains("{z}"))
      }
      // After some failures it is not asked any more.
      #expect(try count(served, "skipped") > 0)
      // The network is back.
      origin.comeBack()
      #expect(try eventually { try served.get("/far/3/0/7.png").body == image })
    }
  }

  /// Without a network and with overzoom, cached tiles are enlarged; the result is not cached.
  @Test func cachedAncestorsReplaceTilesOffline() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image, ["cache-control": "max-age=3600"])
    } _: { (origin) async throws in
      let folder = try describe(origin)
      let overzooming: @Sendable (inout TileServerOptions) -> Void = {
        $0.prefetch = .off
        $0.missing = .overzoom
      }
      try await serving([folder.path], overzooming) { (served) async throws in
        #expect(try served.get("/far/3/4/2.png").status == 200)
      }
      try await origin.goAway()
      try await serving([folder.path, SampleTilesets.path], overzooming) { (served) async throws in
        #expect(try served.get("/far/3/4/2.png").body == image)
        // Twice: the first result was not cached.
        for target in [
          "/far/5/17/11.png", "/far/5/17/11.png", "/far/14/8200/5000.png", "/far/4/8/4@2x.png", "/relief,far/4/9/5.png",
        ] {
          let response = try served.get(target)
          #expect(response.status == 200 && response["Cache-Control"] == "no-store", "\(target) \(response)")
          #expect(response.body != image)
        }
        // No ancestor is cached.
        let other = try served.get("/far/5/1/1.png")
        #expect(other.status == 503 && other["Retry-After"] != nil, "\(other)")
        // The network is back.
        origin.comeBack()
        #expect(try eventually { try served.get("/far/5/17/11.png").body == image })
        #expect(try served.get("/far/5/17/11.png")["Cache-Control"] != "no-store")
      }
    }
  }

  struct Misbehaviour: Sendable, CustomTestStringConvertible {
    var name: String
    var reply: TileOrigin.Reply
    var outcome: String
    var testDescription: String { name }
  }

  @Test(arguments: [
    Misbehaviour(name: "500", reply: .answer(500, Array("oops".utf8)), outcome: "failed"),
    Misbehaviour(name: "403", reply: .answer(403), outcome: "refused"),
    Misbehaviour(name: "429", reply: .answer(429, [], ["retry-after": "1"]), outcome: "failed"),
    Misbehaviour(name: "page", reply: .answer(200, Array("<html>no such map</html>".utf8)), outcome: "invalid"),
    Misbehaviour(name: "nothing", reply: .answer(200), outcome: "invalid"),
    Misbehaviour(name: "hang", reply: .hang, outcome: "timeout"),
    Misbehaviour(name: "cut", reply: .cut([UInt8](repeating: 0x89, count: 4000)), outcome: "unreachable"),
    Misbehaviour(name: "close", reply: .close, outcome: "unreachable"),
    Misbehaviour(name: "endless", reply: .endless, outcome: "invalid"),
    Misbehaviour(name: "elsewhere", reply: .answer(302, [], ["location": "http://127.0.0.2/x"]), outcome: "refused"),
    Misbehaviour(name: "file", reply: .answer(302, [], ["location": "file:///etc/passwd"]), outcome: "refused"),
    Misbehaviour(name: "circle", reply: .answer(302, [], ["location": "/3/4/2.png"]), outcome: "refused"),
  ])
  func misbehaviour(_ case: Misbehaviour) async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      `case`.reply
    } _: { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path, SampleTilesets.path], Self.plainly) { (served) async throws in
        let waiting = try served.connect()
        try waiting.send(HTTPConnection.head("/far/3/4/2.png"))
        // No other request waits for it.
        #expect(try served.get("/relief/1/0/0.png").status == 200)
        let response = try waiting.response()
        #expect(response.status == 503, "\(response)")
        #expect(try count(served, `case`.outcome) == 1)
        // Nothing of it is cached.
        origin.say { _ in .answer(200, image) }
        #expect(try eventually { try served.get("/far/3/4/2.png").body == image })
      }
    }
  }

  /// Half a tile that is stored already, by an earlier version or another program, is found and fetched again.
  @Test(arguments: [TileFormat.png, .jpg, .webp]) func halfOfAStoredTileIsFetchedAgain(_ format: TileFormat)
    async throws
  {
    let whole = try SampleTiles.image(1, format)
    try await withOrigin { _ in
      .answer(200, whole, ["etag": "\"a\"", "cache-control": "max-age=3600"])
    } _: { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        #expect(try served.get("/far/3/4/2.png").body == whole)
      }
      try Database(folder.file("far.mbtiles")).execute(
        "UPDATE tiles SET tile_data = substr(tile_data, 1, \(whole.count / 2))")
      // While the other server is away there is none.
      origin.say { _ in .answer(503) }
      try await serving([folder.path], Self.plainly) { (served) async throws in
        #expect(try served.get("/far/3/4/2.png").status == 503)
      }
      origin.forgetRequests()
      origin.say { _ in .answer(200, whole, ["etag": "\"a\""]) }
      try await serving([folder.path], Self.plainly) { (served) async throws in
        for _ in 0..<3 { #expect(try served.get("/far/3/4/2.png").body == whole) }
        // Not asked whether the half is still current.
        #expect(origin.requests.count == 1 && origin.requests.first?["If-None-Match"] == nil)
      }
    }
  }

  /// Without a length an answer ends where the connection breaks.
  @Test(arguments: [TileFormat.png, .jpg, .webp]) func halfOfATileIsNone(_ format: TileFormat) async throws {
    let image = try SampleTiles.image(3, format)
    for count in [image.count / 2, image.count - 1] {
      try await withOrigin { _ in
        .answer(200, Array(image[..<count]))
      } _: { (origin) async throws in
        let folder = try describe(origin)
        try await serving([folder.path], Self.plainly) { (served) async throws in
          #expect(try served.get("/far/3/4/2").status == 503)
          #expect(try self.count(served, "invalid") == 1)
          origin.say { _ in .answer(200, image) }
          #expect(try eventually { try served.get("/far/3/4/2").body == image })
        }
      }
    }
  }

  /// Also of a vector tile that is not compressed: its layers have lengths.
  @Test func halfOfAVectorTileIsNone() async throws {
    func layer(_ name: String) -> [UInt8] {
      let fields = [0x0a, UInt8(name.utf8.count)] + Array(name.utf8) + [0x78, 0x02, 0x28, 0x80, 0x20]
      return [0x1a, UInt8(fields.count)] + fields
    }
    let tile = layer("roads") + layer("rivers")
    try await withOrigin { _ in
      .answer(200, Array(tile.dropLast()))
    } _: { (origin) async throws in
      let folder = try describe(origin)
      let path = folder.file("far.upstream.json")
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try text.replacing("\"format\": \"png\"", with: "\"format\": \"pbf\"").write(
        toFile: path, atomically: true, encoding: .utf8)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        #expect(try served.get("/far/3/4/2.pbf").status == 503)
        #expect(try self.count(served, "invalid") == 1)
        origin.say { _ in .answer(200, tile) }
        #expect(try eventually { try served.get("/far/3/4/2.pbf").status == 200 })
      }
    }
  }

  /// What the server wants nobody to keep is neither stored nor given to clients to keep.
  @Test(arguments: ["no-store", "max-age=600, Private"]) func tilesThatNobodyMayKeep(_ field: String) async throws {
    let image = try Self.image.get()
    try await servingFar { _ in
      .answer(200, image, ["cache-control": field])
    } _: { (origin, _, served) async throws in
      for _ in 0..<3 {
        let response = try served.get("/far/5/17/11.png")
        #expect(response.status == 200 && response.body == image && response["Cache-Control"] == "no-store")
      }
      #expect(origin.targets.count == 3)
      origin.say { _ in .answer(200, image, ["cache-control": "max-age=600"]) }
      _ = try served.get("/far/5/17/11.png")
      let kept = try served.get("/far/5/17/11.png")
      #expect(kept["Cache-Control"] != "no-store" && kept.body == image && origin.targets.count == 4)
    }
  }

  /// What the server wants checked at each use, clients check at each use too; and what they may keep, they may keep.
  @Test(arguments: [
    ("no-cache", "no-cache"), ("max-age=0", "no-cache"), ("max-age=0, must-revalidate", "no-cache"),
    ("max-age=600", "public, max-age=300"),
  ]) func tilesThatAreCheckedAtEachUse(_ field: String, _ expected: String) async throws {
    let image = try Self.image.get()
    try await servingFar { _ in
      .answer(200, image, ["cache-control": field])
    } _: { (_, _, served) async throws in
      for _ in 0..<2 {
        let response = try served.get("/far/5/17/11.png")
        #expect(response.status == 200 && response["Cache-Control"] == expected, "\(response)")
      }
    }
  }

  /// An answer that there is no tile is one as well.
  @Test(arguments: [
    ("no-store", "no-store", 3), ("no-cache", "no-cache", 1), ("max-age=900", "public, max-age=300", 1),
  ])
  func missingTilesThatNobodyMayKeep(_ field: String, _ expected: String, _ requests: Int) async throws {
    try await servingFar { _ in
      .answer(404, [], ["cache-control": field])
    } _: { (origin, _, served) async throws in
      for _ in 0..<3 {
        let response = try served.get("/far/5/17/11.png")
        #expect(response.status == 404 && response["Cache-Control"] == expected, "\(response)")
      }
      #expect(origin.targets.count == requests)
    }
  }

  /// The rate limit of the description: requests wait for it, at most as long as a request may take.
  @Test func requestRateIsLimited() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin, #""rate": 4"#)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        let start = MonotonicClock.seconds
        let waiting = try (0..<10).map { _ in try served.connect() }
        for (column, connection) in waiting.enumerated() {
          try connection.send(HTTPConnection.head("/far/4/\(column)/2.png"))
        }
        for connection in waiting { #expect(try connection.response().status == 200) }
        // The first four at once, four a second later, two after another second.
        #expect(MonotonicClock.seconds - start >= 2)
        // Cached tiles do not count.
        for column in 0..<10 { #expect(try served.get("/far/4/\(column)/2.png").status == 200) }
        #expect(origin.requests.count == 10)
      }
    }
  }

  @Test func requestsThatWouldWaitTooLongAre503() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin, #""rate": 1"#)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        // The description allows two seconds for a request.
        let waiting = try (0..<6).map { _ in try served.connect() }
        for (column, connection) in waiting.enumerated() {
          try connection.send(HTTPConnection.head("/far/4/\(column)/2.png"))
        }
        let responses = try waiting.map { try $0.response() }
        #expect(responses.contains { $0.status == 200 })
        let refused = responses.filter { $0.status == 503 }
        #expect(!refused.isEmpty && refused.allSatisfy { $0["Retry-After"] != nil }, "\(responses)")
        #expect(try count(served, "limited") > 0)
        // This is not a failure of the upstream.
        #expect(try served.metric("tileserve_upstream_away{tileset=\"far\"}") == 0)
      }
    }
  }

  /// Upstreams get no prefetch requests unless the description allows them.
  @Test(arguments: [TileServerOptions.Prefetch.auto, .on]) func prefetchingNeedsPermission(
    mode: TileServerOptions.Prefetch
  ) async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path, SampleTilesets.path]) {
        $0.prefetch = mode
        $0.missing = .overzoom
      } _: { (served) async throws in
        for column in 30..<33 {
          for row in 20..<22 { #expect(try served.get("/far/6/\(column)/\(row).png").status == 200) }
        }
        for suffix in [".webp", "@2x.png"] { #expect(try served.get("/far/6/30/20\(suffix)").status == 200) }
        #expect(try served.get("/relief,far/6/31/20.png").status == 200)
        // Prefetches would have run before this, on the same lane.
        try await Task.sleep(for: .milliseconds(300))
        #expect(origin.requests.count == 6 + 4, "\(origin.targets)")
      }
    }
  }

  @Test func redirectsOnTheSameServerAreFollowed() async throws {
    let image = try Self.image.get()
    try await servingFar { request in
      request.target.hasPrefix("/new") ? .answer(200, image) : .answer(301, [], ["location": "/new\(request.target)"])
    } _: { (origin, _, served) async throws in
      #expect(try served.get("/far/3/4/2.png").body == image)
      #expect(origin.targets == ["/3/4/2.png", "/new/3/4/2.png"])
    }
  }

  /// 429 with Retry-After pauses requests.
  @Test func tooManyRequestsPausesTheUpstream() async throws {
    try await servingFar { _ in
      .answer(429, [], ["retry-after": "3600"])
    } _: { (origin, _, served) async throws in
      for column in 0..<8 { #expect(try served.get("/far/3/\(column)/2.png").status == 503) }
      #expect(origin.requests.count == 1)
      #expect(try count(served, "skipped") == 7)
    }
  }

  /// Never more concurrent requests than the description allows.
  @Test func connectionsAreLimited() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let gate = Gate()
      defer { gate.open() }
      origin.gate.withLock { $0 = gate }
      let folder = try describe(origin, #""connections": 2"#)
      try await serving([folder.path], Self.plainly) { (served) async throws in
        let waiting = try (0..<8).map { _ in try served.connect() }
        for (column, connection) in waiting.enumerated() {
          try connection.send(HTTPConnection.head("/far/3/\(column)/2.png"))
        }
        #expect(eventually { origin.requests.count == 2 })
        // A third one could have started by now.
        try await Task.sleep(for: .milliseconds(200))
        #expect(origin.requests.count == 2)
        gate.open()
        for connection in waiting { #expect(try connection.response().status == 200) }
      }
    }
  }

  @Test func compositesAndOtherFormats() async throws {
    let image = try Self.image.get()
    try await withOrigin { request in
      request.target.hasPrefix("/2/") ? .answer(404) : .answer(200, image)
    } _: {
      (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path, SampleTilesets.path]) {
        $0.missing = .overzoom
        $0.prefetch = .off
      } _: { (served) async throws in
        #expect(try served.get("/far,labels/1/0/0.png").status == 200)
        #expect(try served.get("/relief,far/1/0/0.jpg")["Content-Type"] == "image/jpeg")
        #expect(try served.get("/far/0/0/0@2x.png").status == 200)
        // The enlarged part of its parent.
        #expect(try served.get("/far/2/1/1.png").status == 200)
        #expect(try served.get("/").text.contains("Far away"))
      }
    }
  }

  @Test func invalidDescriptions() async throws {
    let folder = try TemporaryFolder()
    try #"{"url": "ftp://a/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#.write(
      toFile: folder.file("bad.upstream.json"), atomically: true, encoding: .utf8)
    try await serving([folder.path], Self.plainly) { (served) async throws in
      #expect(served.registry.failures["bad"]?.contains("bad.upstream.json: url: must begin with http") == true)
      #expect(try served.get("/bad/0/0/0.png").status == 503)
    }
  }
}
