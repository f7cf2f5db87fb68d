import OfflineMap
import TestSupport
import Testing
import TileIndex
import TilePrefetch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What cannot be loaded is told: an app that waits for its tiles does not wait for ever.
@Suite(.ownThread) struct FailedTileTests {
  private let folder: TemporaryFolder
  private let clock = Locked(Duration.zero)
  private let damaged = Locked<Set<[UInt8]>>([])
  init() throws { folder = try TemporaryFolder() }

  private struct Unreadable: Error {}

  /// Tiles of 64 pixels, every one with bytes of its own.
  private func bundle(_ name: String = "map.mbtiles") throws -> MapBundle {
    let writer = try BundleWriter(
      path: folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    var seed = 0
    for zoom in 0...4 {
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) {
        seed += 1
        try writer.put(tile, SampleTiles.image(seed, .png, edge: 64, hollow: false))
      }
    }
    _ = try writer.finish(BundleMetadata(name: "map"))
    return try MapBundle(path: folder.file(name))
  }

  /// A session whose decoder refuses ``damaged`` bytes, and whose clock stands.
  private func session(_ bundle: MapBundle) throws -> MapSession<[UInt8]> {
    try MapSession(
      bundle: bundle, budget: 1000, tileCost: 10, now: { [clock] in clock.withLock { $0 } },
      decode: { [damaged] bytes in
        guard !damaged.withLock({ $0.contains(bytes) }) else { throw Unreadable() }
        return (bytes, byteCount: 10)
      })
  }

  private func view(zoom: Double, longitude: Double = 0) -> Viewport {
    Viewport(longitude: longitude, latitude: 0, zoom: zoom - 2, size: (256, 256))
  }

  /// Loads all that the session wants, as its workers do.
  private func load(_ session: MapSession<[UInt8]>) {
    while let load = session.loader.next() { session.finish(load, session.tiles.load(load.key)) }
  }

  private func damage(_ tile: TileID, of bundle: MapBundle) async throws {
    let bytes = try #require(try await bundle.tile(tile))
    damaged.withLock { _ = $0.insert(bytes) }
  }

  /// The loop of the documentation: it ends when each tile of the screen is there or has failed.
  @Test func aScreenWithADamagedTileIsComplete() async throws {
    let bundle = try bundle()
    let viewport = view(zoom: 4)
    let bad = try #require(viewport.inTiles(ofPixels: 64).tiles.first { _ in true })
    try await damage(bad, of: bundle)
    let session = try MapSession(
      bundle: bundle, budget: 4 << 20,
      decode: { [damaged] bytes in
        guard !damaged.withLock({ $0.contains(bytes) }) else { throw Unreadable() }
        return (bytes, byteCount: bytes.count)
      })
    let ready = session.readyTiles()
    session.update(viewport)
    let run = Task { await session.run() }
    var (drawn, failures) = (Set<TileID>(), [TileFailure]())
    for await result in ready {
      switch result {
      case .success(let tile): drawn.insert(tile.tileID)
      case .failure(let failure): failures.append(failure)
      }
      if drawn.count + failures.count == 16 { break }
    }
    #expect(failures.map(\.tileID) == [bad] && failures[0].reason is Unreadable && !drawn.contains(bad))
    #expect(session.failedTiles.map(\.tileID) == [bad])
    run.cancel()
    await run.value
  }

  /// A tile that fails again and again is announced once, and once it is there the failure is over.
  @Test func aFailureIsToldOnceAndEnds() async throws {
    let bundle = try bundle()
    let session = try session(bundle)
    let bad = try TileID(zoom: 4, column: 8, row: 8)
    try await damage(bad, of: bundle)
    let ready = session.readyTiles()
    session.update(view(zoom: 4), phase: .rest)
    for _ in 0..<5 {
      load(session)
      clock.withLock { $0 += .seconds(100) }
    }
    #expect(session.failedTiles.map(\.tileID) == [bad] && session.visibleTiles.count { $0.tileID.zoom == 4 } == 15)
    damaged.withLock { $0 = [] }
    load(session)
    #expect(session.failedTiles.isEmpty && session.visibleTiles.count { $0.tileID.zoom == 4 } == 16)
    var told: [TileID?] = []
    for await result in ready {
      if case .success(let tile) = result { told.append(tile.tileID) } else { told.append(nil) }
      if told.count == 17 { break }
    }
    let failureCount = told.count { $0 == nil }
    #expect(failureCount == 1 && Set(told).count == 17 && told.last == bad)
  }

  /// One that left the screen is tried again when it returns, and told again; one that was loaded ahead in vain is told
  /// when it comes onto the screen.
  @Test func failuresFollowTheScreen() async throws {
    let bundle = try bundle()
    let session = try session(bundle)
    let bad = try TileID(zoom: 4, column: 8, row: 8)
    try await damage(bad, of: bundle)
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    #expect(session.failedTiles.count == 1)
    session.update(view(zoom: 4, longitude: -90), phase: .rest)
    #expect(session.failedTiles.isEmpty)
    load(session)
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    #expect(session.failedTiles.map(\.tileID) == [bad])
    // Loaded ahead: the path of a fling.
    let other = try self.session(bundle)
    let heard = other.readyTiles()
    other.update(view(zoom: 4, longitude: -120), phase: .fling(target: view(zoom: 4)))
    load(other)
    #expect(other.failedTiles.isEmpty)
    other.update(view(zoom: 4), phase: .rest)
    #expect(other.failedTiles.map(\.tileID) == [bad])
    for await result in heard {
      guard case .failure(let failure) = result else { continue }
      #expect(failure.tileID == bad)
      break
    }
  }

  /// A picture that the budget has no room for would be waited for as well.
  @Test func aPictureLargerThanTheBudgetIsAFailure() throws {
    let session = try MapSession<[UInt8]>(
      bundle: bundle(), budget: 1000, tileCost: 10, now: { .zero }, decode: { ($0, byteCount: 5000) })
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    let failures = session.failedTiles
    #expect(!failures.isEmpty && failures.allSatisfy { ($0.reason as? BundleError)?.code == .mismatch })
    #expect(failures.first?.errorDescription?.contains("takes 5000 bytes, and the session has 1000") == true)
  }

  @Test func failuresAreSentences() throws {
    let tile = try TileID(zoom: 4, column: 8, row: 7)
    let error = BundleError(.malformed, path: "/a/map.mbtiles", "is cut off", remedy: "copy it again")
    let failure = TileFailure(tileID: tile, reason: error)
    #expect(failure.errorDescription == "map.mbtiles: is cut off." && failure.recoverySuggestion == "Copy it again.")
    #expect("\(failure)" == "tile 4/8/7: /a/map.mbtiles: is cut off; copy it again")
    let other = TileFailure(tileID: tile, reason: Unreadable())
    #expect(
      other.errorDescription == "The tile 4/8/7 cannot be shown: Unreadable()." && other.recoverySuggestion == nil)
  }
}
