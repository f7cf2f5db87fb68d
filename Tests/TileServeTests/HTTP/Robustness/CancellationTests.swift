import Support
import TestSupport
import Testing
import TileIndex
import TilePrefetch

@testable import TileServe

/// Work for a request ends with the request: when its client leaves, and when the server stops.
@Suite(.ownThread) struct CancellationTests {
  /// A folder with a tile, and a bundle of which each look-up goes on for more than a minute.
  private func folderWithEndlessView() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.writeSingleTile("good.mbtiles", SampleTiles.image(1))
    try folder.writeEndlessView("v.mbtiles", megabytes: 256)
    return folder
  }

  /// Requests for tiles of a slow bundle: enough that some wait.
  private func ask(_ served: Served, count: Int = 6) throws -> [HTTPConnection] {
    try (0..<count).map { number in
      let connection = try served.connect()
      try connection.send(HTTPConnection.head("/v/4/\(number)/0.png"))
      return connection
    }
  }

  @Test func theServerEndsInSpiteOfEndlessQueries() async throws {
    let folder = try folderWithEndlessView()
    try await serving([folder.path]) {
      // Nobody waits for that.
      $0.limits.drainSeconds = 3600
    } _: { (served) async throws in
      let connections = Unshared(try ask(served))
      #expect(eventually { served.registry.work.urgentCount > 0 })
      let start = ContinuousClock.now
      try await served.server.shutdown(afterSeconds: 1)
      let elapsed = ContinuousClock.now - start
      #expect(elapsed < .seconds(20), "the queries ended by themselves")
      for connection in connections.value {
        let response = try await onThread { [one = Unshared(connection)] in try one.value.response() }
        #expect(response.status == 503 && response.closes, "\(response)")
      }
    }
  }

  @Test func aQueryEndsWhenItsClientLeaves() async throws {
    let folder = try folderWithEndlessView()
    try await serving([folder.path]) { _ in
    } _: { (served) async throws in
      let connections = try ask(served)
      #expect(eventually { served.registry.work.urgentCount > 0 })
      for connection in connections { connection.socket.close() }
      #expect(eventually(seconds: 20) { served.registry.work.urgentCount == 0 }, "the queries go on")
      #expect(try served.get("/good/0/0/0.png").status == 200)
    }
  }

  /// A request that waits for a thread is not worked on when its client has left.
  @Test func waitingRequestsAreDroppedWithTheirClients() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let gate = Gate()
      defer { gate.open() }
      let lane = try #require(served.registry["relief"]).lane
      for _ in 0..<WorkPool.laneWidth { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      let misses = try served.metric("tileserve_cache_misses_total")
      let connection = try served.connect()
      try connection.send(HTTPConnection.head("/relief/1/0/0@2x.png"))
      #expect(try eventually { try served.metric("tileserve_connections") == 2 })
      connection.socket.close()
      #expect(try served.isQuiet())
      gate.open()
      #expect(eventually { served.registry.work.urgentCount == 0 })
      #expect(try served.metric("tileserve_cache_misses_total") == misses)
    }
  }

  /// During the delay too, so that clients turn to another server.
  @Test func answersCloseTheirConnectionsFromTheStopOn() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = Unshared(try served.connect())
      #expect(try connection.value.request("/photo/0/0/0.jpg").closes == false)
      let server = served.server
      let end = Task { try await server.shutdown(afterSeconds: 3) }
      #expect(try eventually { try served.get("/ready").status == 503 })
      let response = try connection.value.request("/photo/0/0/0.jpg")
      #expect(response.status == 200 && response.closes)
      #expect(try served.get("/photo/0/0/0.jpg").closes)
      try await end.value
    }
  }

  @Test func whatWaitsIsCancelledAtTheEnd() async throws {
    let pool = WorkPool()
    let lane = pool.lane(device: 1)
    let gate = Gate()
    defer { gate.open() }
    let (done, dropped) = (Locked(0), Locked(0))
    for _ in 0..<WorkPool.laneWidth { #expect(pool.submit(lane) { gate.wait() }) }
    for _ in 0..<100 {
      #expect(pool.submit(lane) { (Cancellation.isCancelled ? dropped : done).withLock { $0 += 1 } })
    }
    let end = Task { await pool.shutdown() }
    #expect(try await onThread { eventually { pool.cancellation().isCancelled } })
    gate.open()
    await end.value
    #expect(try await onThread { eventually { dropped.withLock { $0 } == 100 } })
    #expect(done.withLock { $0 } == 0)
  }

  /// Two clients ask for one tile, and the one whose request reads it leaves.
  @Test func theOtherClientGetsTheTile() async throws {
    let gate = Gate()
    defer { gate.open() }
    let source = MemorySource(
      "slow", matrixSet: Grids.quad, tiles: [tile(1, 0, 0): try Drawings.hills(seed: 1).encoded()], isSlow: true)
    source.gate.withLock { $0 = gate }
    let resolver = TileResolver()
    @Sendable func answer() throws -> Tile? { try resolver.answer(source, tile: tile(2, 0, 0), policy: .overzoom).tile }
    let leaving = Cancellation()
    let first = Task { try await onThread { try leaving.run { try answer() } } }
    #expect(try await onThread { eventually { !source.readTiles.isEmpty } })
    let second = Task { try await onThread { try answer() } }
    #expect(try await onThread { eventually { resolver.cache.statistics.joined == 1 } })
    leaving.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await second.value != nil)
  }
}
