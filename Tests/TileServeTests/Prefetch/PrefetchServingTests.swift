import Foundation
import MemoryPressure
import Support
import TestSupport
import Testing
import TileIndex
import TilePrefetch

@testable import TileServe

/// Prefetching over real connections. The tests check which loads came before their requests, not how long anything
/// took.
@Suite(.ownThread) struct PrefetchServingTests {
  private static let image = Result { try SampleTiles.image(1, .png) }

  private func describe(_ origin: TileOrigin, _ more: String = "") throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let text =
      #"""
      {"url": "\#(origin.url)/{z}/{x}/{y}.png", "format": "png", "maxzoom": 14, "prefetch": true, \#
      "rate": 1000\#(more)}
      """#
    try text.write(toFile: folder.file("far.upstream.json"), atomically: true, encoding: .utf8)
    return folder
  }

  private func issued(_ served: Served) throws -> Int {
    Int(try served.metric("tileserve_prefetch_issued_total") ?? -1)
  }

  /// Opens a map of 3 by 3 tiles.
  private func open(_ served: Served, column: Int = 30, row: Int = 20) throws {
    let connection = try served.connect()
    for x in column..<(column + 3) {
      for y in row..<(row + 3) { #expect(try connection.request("/far/6/\(x)/\(y).png").status == 200) }
    }
  }

  @Test func panningFindsPrefetchedTiles() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path]) { (served) async throws in
        try open(served)
        let column = (20..<23).map { "/6/33/\($0).png" }
        #expect(eventually { Set(origin.targets).isSuperset(of: column) }, "\(origin.targets)")
        // These are loaded before the client requests them.
        #expect(try eventually { try issued(served) >= 3 })
        let connection = try served.connect()
        for target in column { #expect(try connection.request("/far\(target)").body == image) }
        for target in column { #expect(origin.targets.filter { $0 == target }.count == 1) }
        #expect(try eventually { try served.metric("tileserve_prefetch_used_total") ?? 0 >= 3 })
        #expect(try served.metric("tileserve_prefetch_bytes_total") ?? 0 >= Double(3 * image.count))
        #expect(try served.metric("tileserve_prefetch_maps") == 1)
      }
    }
  }

  @Test func offPrefetchesNothing() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin)
      try await serving([folder.path]) {
        $0.prefetch = .off
      } _: { (served) async throws in
        try open(served)
        try open(served, column: 31)
        // Prefetches would have run before this, on the same lane.
        try await Task.sleep(for: .milliseconds(300))
        #expect(origin.requests.count == 12)
        #expect(try issued(served) == 0)
      }
    }
  }

  /// On a metered upstream prefetched bytes are at most half of the requested ones, also for rendered tiles.
  @Test(arguments: [".png", "@2x.png", ".webp"]) func meteredSources(_ suffix: String) async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin, #", "metered": true"#)
      try await serving([folder.path]) { (served) async throws in
        let connection = try served.connect()
        var asked: Set<String> = []
        for x in 30..<38 {
          for y in 20..<23 {
            #expect(try connection.request("/far/6/\(x)/\(y)\(suffix)").status == 200)
            let tile = TileID(unchecked: 6, x, y)
            for piece in suffix.hasPrefix("@") ? tile.children : [tile] {
              asked.insert("/\(piece.zoom)/\(piece.column)/\(piece.row).png")
            }
          }
        }
        // Dropped prefetches are planned again at the next request.
        #expect(
          try eventually {
            _ = try connection.request("/far/6/37/22\(suffix)")
            return try issued(served) > 0
          })
        // All allowed prefetches have run when the count does not change any more.
        var count = -1
        while count != origin.requests.count {
          count = origin.requests.count
          try await Task.sleep(for: .milliseconds(300))
        }
        // Some of the requested tiles were prefetched.
        let received = Set(origin.targets)
        #expect(origin.targets.count == received.count && received.isSuperset(of: asked))
        #expect(received.count <= asked.count + asked.count / 2, "\(received.count) of \(asked.count)")
      }
    }
  }

  /// A map without requests for two minutes is forgotten, so that its tiles may be evicted.
  @Test func idleMapsAreForgotten() throws {
    let cache = DrawnTileCache(byteCountMax: 1 << 20)
    let work = WorkPool()
    let prefetcher = Prefetcher(.on, TileResolver(cache: cache), work, coreCount: 1)
    let tileset = try #require(try TilesetRegistry([SampleTilesets.path]).tilesets.first)
    _ = try tileset.info()
    let request = PrefetchRequest(
      client: 1, layers: [tileset], policies: [.overzoom], tile: TileID(unchecked: 2, 1, 1), scale: 1, format: nil)
    prefetcher.note(request)
    #expect(eventually { prefetcher.statistics.maps == 1 })
    let now = MonotonicClock.seconds
    prefetcher.forgetQuiet(at: now + Prefetcher.mapSeconds / 2)
    #expect(prefetcher.statistics.maps == 1)
    prefetcher.forgetQuiet(at: now + 2 * Prefetcher.mapSeconds)
    #expect(prefetcher.statistics.maps == 0 && cache.statistics.pinnedBytes == 0)
  }

  /// Requests take priority over prefetching.
  @Test func requestsTakePriorityOverPrefetching() async throws {
    let image = try Self.image.get()
    try await withOrigin { _ in
      .answer(200, image)
    } _: { (origin) async throws in
      let folder = try describe(origin, #", "connections": 2"#)
      try await serving([folder.path]) { (served) async throws in
        try open(served)
        #expect(try eventually { try issued(served) > 0 })
        let gate = Gate()
        defer { gate.open() }
        origin.gate.withLock { $0 = gate }
        // After a jump, prefetches of the old plan that are in progress hold at most their threads.
        let waiting = try served.connect()
        try waiting.send(HTTPConnection.head("/far/6/1/1.png"))
        try await Task.sleep(for: .milliseconds(100))
        gate.open()
        #expect(try waiting.response().status == 200)
      }
    }
  }

  /// Enlarged tiles are rendered ahead, and used.
  @Test func enlargedTilesArePrefetched() async throws {
    try await serving([SampleTilesets.path]) {
      $0.missing = .overzoom
    } _: { (served) async throws in
      let connection = try served.connect()
      for column in 4..<6 {
        for row in 4..<6 { #expect(try connection.request("/relief/4/\(column)/\(row).png").status == 200) }
      }
      // 4 requested tiles and the 12 around them. Dropped prefetches are planned again at the next request.
      #expect(
        try eventually {
          _ = try connection.request("/relief/4/4/4.png")
          return try served.metric("tileserve_cache_entries") ?? 0 >= 16
        })
      let misses = try served.metric("tileserve_cache_misses_total")
      for row in 4..<6 { #expect(try connection.request("/relief/4/6/\(row).png").status == 200) }
      #expect(try served.metric("tileserve_cache_misses_total") == misses)
    }
  }

  /// Stored tiles of a fast disk are not prefetched.
  @Test func storedTilesAreNotPrefetched() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for row in 0..<4 { _ = try served.get("/relief/2/0/\(row).png") }
      #expect(try issued(served) == 0 && served.metric("tileserve_prefetch_maps") == 0)
    }
  }

  /// A cache of 0 bytes stores nothing, and all requests are answered.
  @Test func worksWithoutACache() async throws {
    try await serving([SampleTilesets.path]) {
      $0.missing = .overzoom
      $0.cacheBytes = 0
    } _: { (served) async throws in
      for _ in 0..<3 { #expect(try served.get("/relief/4/4/4.png").status == 200) }
      #expect(try served.metric("tileserve_cache_bytes") == 0)
    }
  }
}
