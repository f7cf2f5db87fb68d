import MemoryPressure
import OfflineMap
import TestSupport
import Testing
import TileImage
import TileIndex
import TilePrefetch

@Suite(.ownThread) struct MapSessionTests {
  private let folder: TemporaryFolder
  private let clock = Locked(Duration.zero)
  init() throws { folder = try TemporaryFolder() }

  private func bundle(zooms: ClosedRange<Int> = 0...5, edge: Int = 64) throws -> MapBundle {
    try MapBundle(path: folder.writeBundle("map.mbtiles", zooms: zooms, edge: edge))
  }

  /// A session whose tiles cost 10 bytes each and whose clock stands.
  private func session(_ bundle: MapBundle, tiles: Int) throws -> MapSession<Int> {
    try MapSession(
      bundle: bundle, budget: tiles * 10, tileCost: 10, now: { [clock] in clock.withLock { $0 } },
      decode: { ($0.count, byteCount: 10) })
  }

  /// A view of tiles of 64 pixels: 4 x 4 of them at whole zooms.
  private func view(zoom: Double, longitude: Double = 0, latitude: Double = 0) -> Viewport {
    Viewport(longitude: longitude, latitude: latitude, zoom: zoom - 2, size: (256, 256))
  }

  /// Loads all that the session wants, as its workers do.
  private func load(_ session: MapSession<Int>) {
    while let load = session.loader.next() { session.finish(load, session.tiles.load(load.key)) }
  }

  /// A decoder would take memory for as many pixels as the header says.
  @Test func tilesOfTooManyPixelsAreNotDecoded() throws {
    var bytes = try SampleTiles.image(1)
    // Width and height of a PNG: 30,000 each.
    bytes.replaceSubrange(16..<24, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])
    try folder.writeSingleTile("huge.mbtiles", bytes)
    let decoded = Locked(0)
    let session = try MapSession(bundle: MapBundle(path: folder.file("huge.mbtiles")), budget: 4 << 30) { bytes in
      decoded.withLock { $0 += 1 }
      return (bytes.count, byteCount: 10)
    }
    guard case .failed(let error) = session.tiles.load(try TileID(zoom: 0, column: 0, row: 0)) else {
      Issue.record("it was loaded")
      return
    }
    #expect("\(error)".contains("30000 x 30000") && decoded.withLock { $0 } == 0)
  }

  /// A map view that repeats the world may go around it several times.
  @Test(arguments: [190.0, 550, -170, -530]) func longitudesGoAroundTheWorld(_ longitude: Double) throws {
    let session = try session(bundle(), tiles: 200)
    session.update(view(zoom: 4, longitude: -140 + longitude + 170, latitude: 20))
    load(session)
    let expected = try self.session(bundle(), tiles: 200)
    expected.update(view(zoom: 4, longitude: -140, latitude: 20))
    load(expected)
    let (found, wanted) = (session.visibleTiles, expected.visibleTiles)
    #expect(found.map(\.tileID) == wanted.map(\.tileID) && found.count >= 16)
    for (one, other) in zip(found, wanted) { #expect(abs(one.frame.x - other.frame.x) < 1e-6) }
    // Where a fling ends is moved with it.
    let target = view(zoom: 4, longitude: -120 + longitude + 170, latitude: 20)
    session.update(view(zoom: 4, longitude: -140 + longitude + 170, latitude: 20), phase: .fling(target: target))
    load(session)
    session.update(view(zoom: 4, longitude: -120, latitude: 20))
    #expect(session.visibleTiles.count { $0.tileID.zoom == 4 } >= 16)
  }

  /// Half of the screen lies on the other side of the antimeridian, seen from either one.
  @Test(arguments: [180.0, -180, 540, 171, -171]) func screenGoesOnBeyondTheAntimeridian(_ longitude: Double) throws {
    let session = try session(bundle(), tiles: 200)
    let viewport = view(zoom: 4, longitude: longitude)
    session.update(viewport)
    load(session)
    let shown = session.visibleTiles
    let columns = Set(shown.map(\.tileID.column))
    #expect(Set(shown.map(\.tileID)).count == shown.count && shown.allSatisfy { $0.tileID.zoom == 4 && $0.picture > 0 })
    #expect(columns.contains(0) && columns.contains(15) && columns.allSatisfy { $0 < 3 || $0 > 12 })
    // The tiles cover the view without a gap, the eastern end of the world left of its western one.
    let edges = Set(shown.map { ($0.frame.x * 1024).rounded() / 1024 }).sorted()
    #expect(edges[0] <= 0 && edges[edges.count - 1] + 64 >= 256)
    for (one, next) in zip(edges, edges.dropFirst()) { #expect(abs(next - one - 64) < 0.01) }
    for tile in shown where tile.tileID.column > 12 {
      #expect(shown.filter { $0.tileID.column < 3 }.allSatisfy { $0.frame.x > tile.frame.x })
    }
  }

  /// A map that is moved over the antimeridian keeps what it shows, and gets what lies ahead before it is on the
  /// screen.
  @Test func crossingTheAntimeridianLosesNoTile() throws {
    let session = try session(bundle(), tiles: 200)
    // As a map view tells it: longitudes from -180 to 180.
    for step in 0..<12 {
      let longitude = 165 + 3 * Double(step)
      session.update(view(zoom: 4, longitude: longitude > 180 ? longitude - 360 : longitude), phase: .follow)
      let ready = session.visibleTiles.count { $0.tileID.zoom == 4 }
      #expect(step < 2 || ready >= 16, "step \(step): \(ready)")
      load(session)
      clock.withLock { $0 += .seconds(1) }
    }
  }

  /// One coarse tile that stands in on both sides of the antimeridian is two tiles of the screen: a list of views that
  /// are told apart by `id` draws both.
  @Test func tileOnBothSidesOfTheAntimeridianHasTwoIDs() throws {
    let session = try session(bundle(), tiles: 200)
    let world = TileID(unchecked: 0, 0, 0)
    _ = try session.tiles.decoded.value(for: world, byteCount: 10) { (1, byteCount: 10) }
    session.update(view(zoom: 4, longitude: 180), phase: .rest)
    let shown = session.visibleTiles
    #expect(shown.map(\.tileID) == [world, world])
    #expect(Set(shown.map(\.id)).count == 2 && Set(shown.map(\.id.world)) == [0, 1])
    let frames = shown.sorted { $0.id.world < $1.id.world }.map(\.frame)
    #expect(abs(frames[0].x + frames[0].side - 128) < 1e-6 && abs(frames[1].x - 128) < 1e-6)
  }

  /// A screen that is wider than the world shows each tile once, around its middle.
  @Test func worldIsDrawnOnce() throws {
    let session = try session(bundle(), tiles: 200)
    for longitude in [0.0, 100, -179] {
      session.update(Viewport(longitude: longitude, latitude: 0, zoom: 1, size: (1600, 512)), phase: .rest)
      load(session)
      let shown = session.visibleTiles
      let zoom = try #require(shown.first?.tileID.zoom)
      #expect(shown.count == 1 << (2 * zoom) && Set(shown.map(\.tileID)).count == shown.count, "\(shown.map(\.tileID))")
      let (left, right) = (shown.map(\.frame.x).min()!, shown.map { $0.frame.x + $0.frame.side }.max()!)
      #expect(abs(right - left - 512) < 0.01 && abs((left + right) / 2 - 800) <= 512 / Double(2 << zoom) + 0.01)
    }
  }

  @Test func screenIsLoadedAndAnnounced() async throws {
    let session = try MapSession(bundle: bundle(), budget: 4 << 20)
    let viewport = view(zoom: 4)
    let ready = session.readyTiles()
    session.update(viewport)
    #expect(session.visibleTiles.isEmpty)
    let run = Task { await session.run() }
    var announced: [TileID] = []
    for await result in ready {
      let tile = try result.get()
      announced.append(tile.tileID)
      #expect(try await session.bundle.tile(tile.tileID) == tile.picture)
      #expect(tile.frame == viewport.frame(of: tile.tileID) && tile.frame.side == 64)
      if announced.count == 16 { break }
    }
    #expect(Set(announced).count == 16 && session.visibleTiles.map(\.tileID).sorted() == announced.sorted())
    #expect(Set(announced.map(\.zoom)) == [4])
    // The frames tile the view.
    #expect(session.visibleTiles.reduce(0) { $0 + $1.frame.side * $1.frame.side } == 256 * 256)
    #expect(session.visibleTiles.map(\.frame.x).min() == 0 && session.visibleTiles.map(\.frame.y).max() == 192)
    run.cancel()
    await run.value
    // It can run again.
    session.update(view(zoom: 5))
    let again = Task { await session.run(workers: 1) }
    #expect(eventually { session.visibleTiles.count { $0.tileID.zoom == 5 } == 16 })
    again.cancel()
    await again.value
  }

  /// An app that tells no phases gets what comes next all the same.
  @Test func mapThatStandsStillIsAtRest() async throws {
    let session = try MapSession(bundle: bundle(), budget: 64 << 20)
    for step in 0..<5 { session.update(view(zoom: 4, longitude: Double(step))) }
    let run = Task { await session.run() }
    let tile = try #require(TileMatrixSet.webMercatorQuad.tile(longitude: 4, latitude: 0, zoom: 5))
    // Only a map at rest expects a zoom.
    #expect(eventually { session.tiles.decoded.contains(tile) })
    run.cancel()
    await run.value
  }

  @Test func coarserTilesStandInForMissingOnes() throws {
    let session = try session(bundle(), tiles: 100)
    session.update(view(zoom: 2), phase: .rest)
    load(session)
    session.update(view(zoom: 5), phase: .rest)
    let shown = session.visibleTiles
    #expect(!shown.isEmpty && shown.allSatisfy { $0.tileID.zoom < 5 })
    // Together they cover the view.
    #expect(shown.map(\.frame.x).min()! <= 0 && shown.map { $0.frame.x + $0.frame.side }.max()! >= 256)
    load(session)
    #expect(session.visibleTiles.count == 16 && session.visibleTiles.allSatisfy { $0.tileID.zoom == 5 })
  }

  /// Beyond the finest zoom its tiles are enlarged, before the coarsest the map is drawn with what there is.
  @Test func zoomsBeyondTheBundleAreDrawnWithItsTiles() throws {
    let session = try session(bundle(zooms: 2...5), tiles: 100)
    session.update(view(zoom: 8), phase: .rest)
    load(session)
    #expect(session.visibleTiles.allSatisfy { $0.tileID.zoom == 5 && $0.frame.side == 512 })
    #expect(session.visibleTiles.count == 4)
    session.update(view(zoom: 1), phase: .rest)
    load(session)
    #expect(session.visibleTiles.count == 16 && session.visibleTiles.allSatisfy { $0.frame.side == 32 })
    session.update(view(zoom: 8, longitude: 90, latitude: 80), phase: .animation(target: view(zoom: 0)))
    load(session)
    #expect(session.visibleTiles.allSatisfy { $0.tileID.zoom == 5 } && session.byteCount <= 1000)
  }

  /// 4 x 4 tiles with loads in progress do not fit into 12: 2 x 2 coarser ones are drawn.
  @Test func screenThatExceedsTheBudgetIsDrawnCoarser() throws {
    let session = try session(bundle(), tiles: 12)
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    #expect(session.visibleTiles.map(\.tileID.zoom) == [3, 3, 3, 3] && session.byteCount <= 120)
    let tiny = try self.session(bundle(), tiles: 2)
    tiny.update(view(zoom: 4), phase: .rest)
    load(tiny)
    #expect(tiny.byteCount <= 20)
  }

  @Test func memoryWarningGivesBackHalf() throws {
    let session = try session(bundle(), tiles: 40)
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    #expect(session.byteCount > 200 && session.byteCount <= 400)
    session.memoryWarning()
    #expect(session.byteCount <= 200)
    load(session)
    #expect(session.visibleTiles.count == 16 && session.byteCount <= 200, "the screen stays, nothing is prefetched")
    clock.withLock { $0 += .seconds(29) }
    session.update(view(zoom: 4, longitude: 1), phase: .rest)
    load(session)
    #expect(session.byteCount <= 200)
    clock.withLock { $0 += .seconds(2) }
    session.update(view(zoom: 4, longitude: 2), phase: .rest)
    load(session)
    #expect(session.byteCount > 200)
    // A quarter is less than the screen: 2 x 2 coarser tiles are drawn.
    session.adjust(to: .critical)
    load(session)
    #expect(session.byteCount <= 100 && session.visibleTiles.allSatisfy { $0.tileID.zoom == 3 })
  }

  /// Also of a session that holds less than half of its budget. Tiles on the screen stay.
  @Test func memoryWarningGivesBackHalfOfWhatIsHeld() throws {
    let session = try session(bundle(), tiles: 400)
    session.update(view(zoom: 4), phase: .rest)
    load(session)
    // What was prefetched becomes used, so that it does not go anyway.
    for longitude in [-60.0, 60, 120, 0] {
      session.update(view(zoom: 4, longitude: longitude), phase: .rest)
      load(session)
    }
    session.tiles.decoded.dropUnused()
    let before = session.byteCount
    #expect((400...2000).contains(before))
    session.memoryWarning()
    #expect(session.byteCount <= before / 2 && session.byteCount >= 160)
    #expect(session.visibleTiles.count == 16 && session.visibleTiles.allSatisfy { $0.tileID.zoom == 4 })
  }

  /// A warning does not take back what the app has told, neither when it comes nor when it is over.
  @Test func memoryWarningRaisesNoBudget() throws {
    let session = try session(bundle(), tiles: 40)
    session.update(view(zoom: 4), phase: .rest)
    session.adjust(to: .critical)
    session.memoryWarning()
    #expect(session.tiles.decoded.byteCountMax == 100)
    clock.withLock { $0 += .seconds(31) }
    session.update(view(zoom: 4, longitude: 1), phase: .rest)
    #expect(session.tiles.decoded.byteCountMax == 100)
    session.memoryWarning()
    session.adjust(to: .normal)
    #expect(session.tiles.decoded.byteCountMax == 400, "the app knows better")
  }

  /// Tiles that cost more than was expected, all of them or some: the screen is drawn coarser, and nothing is held
  /// outside of the budget.
  @Test(arguments: [[25], [10, 25], [10, 10, 10, 10, 10, 10, 10, 60], [500]])
  func budgetHoldsForTilesThatCostMore(_ costs: [Int]) throws {
    let (held, count) = (CountedPicture.Count((bytes: 0, peak: 0)), Locked(0))
    let budget = 200
    let session = try MapSession(
      bundle: bundle(), budget: budget, tileCost: 10,
      decode: { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        let cost = costs[number % costs.count]
        return (CountedPicture(cost, in: held), byteCount: cost)
      })
    for longitude in [0.0, 20, 100, 90] {
      session.update(view(zoom: 4, longitude: longitude), phase: .rest)
      while let load = session.loader.next() {
        #expect(session.byteCount <= budget)
        session.finish(load, session.tiles.load(load.key))
        #expect(session.byteCount <= budget && held.withLock { $0.bytes } <= budget)
      }
      let shown = session.visibleTiles
      guard costs != [500] else { continue }
      let zoom = try #require(shown.last?.tileID.zoom)
      #expect(zoom < 4)
      // They cover the view.
      #expect(shown.map(\.frame.x).min()! <= 0 && shown.map { $0.frame.x + $0.frame.side }.max()! >= 256)
      #expect(shown.map(\.frame.y).min()! <= 0 && shown.map { $0.frame.y + $0.frame.side }.max()! >= 256)
    }
    #expect(count.withLock { $0 } < 100, "what has no room is not loaded again and again")
  }

  /// Map views tell such numbers before they have a size.
  @Test func viewportsThatNoMapHasChangeNothing() throws {
    let session = try session(bundle(), tiles: 100)
    let view = view(zoom: 4)
    session.update(view, phase: .rest)
    load(session)
    let shown = session.visibleTiles.map(\.tileID)
    for bad in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
      for path in [\Viewport.x, \.y, \.zoom, \.width, \.height, \.scale] {
        var broken = view
        broken[keyPath: path] = bad
        guard !broken.isUsable else { continue }
        session.update(broken)
        #expect(session.visibleTiles.map(\.tileID) == shown)
        session.update(view, phase: .fling(target: broken), point: MapPoint(x: bad, y: bad))
        load(session)
      }
    }
    session.update(Viewport(longitude: 0, latitude: 0, zoom: 4, size: (256, 256), scale: 0))
    session.update(Viewport(longitude: .nan, latitude: 0, zoom: 4, size: (256, 256)))
    #expect(session.visibleTiles.map(\.tileID) == shown)
  }

  /// A view of the whole Earth in a few pixels has more tiles of a fine zoom than integers of 64 bits count.
  @Test func farViewOfAFineBundleShowsItsTile() throws {
    let writer = try BundleWriter(path: folder.file("fine.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    let tile = TileID(unchecked: 28, 1 << 27, 1 << 27)
    try writer.put(tile, try SampleTiles.image(1))
    _ = try writer.finish(BundleMetadata(name: "Fine"))
    let session = try session(MapBundle(path: folder.file("fine.mbtiles")), tiles: 100)
    session.update(Viewport(longitude: 0, latitude: 0, zoom: -38, size: (4096, 4096)))
    load(session)
    #expect(session.visibleTiles.map(\.tileID) == [tile])
  }

  /// The end of one call leaves the workers of the other.
  @Test func runsAtTheSameTimeAddUp() async throws {
    let session = try session(bundle(), tiles: 100)
    let first = Task { await session.run(workers: 2) }
    let second = Task { await session.run(workers: 3) }
    #expect(eventually { session.workerCount == 5 })
    first.cancel()
    await first.value
    #expect(session.workerCount == 3)
    session.update(view(zoom: 4))
    #expect(eventually { session.visibleTiles.count { $0.tileID.zoom == 4 } == 16 })
    second.cancel()
    await second.value
    #expect(session.workerCount == 0)
  }

  /// What the warning gives back is gone when the call returns, not only from the session's count.
  @Test func memoryWarningLetsGoOfPictures() throws {
    let held = CountedPicture.Count((bytes: 0, peak: 0))
    let session = try MapSession(
      bundle: bundle(), budget: 400, tileCost: 10, decode: { _ in (CountedPicture(10, in: held), byteCount: 10) })
    session.update(view(zoom: 4), phase: .rest)
    while let load = session.loader.next() { session.finish(load, session.tiles.load(load.key)) }
    let before = held.withLock { $0 }
    #expect(before.bytes > 200 && before.bytes == session.byteCount && before.peak <= 400, "\(before)")
    session.memoryWarning()
    #expect(held.withLock { $0.bytes } <= 200 && held.withLock { $0.bytes } == session.byteCount)
  }

  @Test func othersGridsAreRefused() throws {
    let path = try folder.writeBundle("degrees.mbtiles", zooms: 0...0, matrixSet: .degrees)
    let bundle = try MapBundle(path: path)
    let error = try #require(throws: BundleError.self) { try MapSession(bundle: bundle, budget: 1 << 20) }
    #expect(error.code == .mismatch && error.remedy != nil)
  }

  /// The map moves by the clock while two workers read and decode: the budget holds at every frame, and so it does
  /// under the thread sanitizer.
  @Test func budgetHoldsWhileTheMapMoves() async throws {
    let budget = 3 << 20
    let session = try MapSession(bundle: bundle(edge: 256), budget: budget, encodedBytes: 256 << 10) { bytes in
      let picture = TilePicture(try bytes.withUnsafeBytes { try ImageDecoder.decode($0) })
      return (picture, byteCount: picture.byteCount)
    }
    let run = Task { await session.run() }
    let drawing = Task {
      var count = 0
      for await _ in session.readyTiles() { count += 1 }
      return count
    }
    for frame in 0..<150 {
      let angle = Double(frame) / 20
      session.update(
        Viewport(
          longitude: 60 * angle.truncatingRemainder(dividingBy: 2) - 60, latitude: 10 * (angle - 4), zoom: 4.2,
          size: (320, 480)))
      #expect(session.byteCount <= budget && session.visibleTiles.count <= 20)
      if frame == 75 { session.memoryWarning() }
      try await Task.sleep(for: .milliseconds(4))
    }
    #expect(eventually { !session.visibleTiles.isEmpty })
    run.cancel()
    await run.value
    drawing.cancel()
    #expect(await drawing.value > 0)
  }
}
