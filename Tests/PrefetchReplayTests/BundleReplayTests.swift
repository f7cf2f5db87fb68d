import PrefetchReplay
import TestSupport
import Testing
import TileImage
import TileIndex

/// Replays on real bundles, in virtual and in real time.
@Suite(.ownThread) struct BundleReplayTests {
  /// Zooms 0 to 6 of the world, without a quarter of it.
  private struct Sample {
    let folder: TemporaryFolder
    let path: String

    init() throws {
      folder = try TemporaryFolder()
      let missing = (3...6).flatMap { zoom in
        TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom).filter {
          $0.column >= 1 << (zoom - 1) && $0.row >= 1 << (zoom - 1)
        }
      }
      path = try folder.writeBundle("world.mbtiles", zooms: 0...6, edge: 64, without: Set(missing))
    }

    func sessions() throws -> [RecordedSession] {
      try [2, 3].map { try SessionGenerator.session(seed: $0, gestureCount: 12, bundle: path) }
    }
  }

  private static var settings: ReplaySettings {
    var settings = ReplaySettings()
    settings.budget = 200 << 18
    return settings
  }

  /// The tiles that come onto the screen depend on the session alone; how many of them were cached depends on time.
  @Test(arguments: [ReplayPolicy.lru, .default, .oracle]) func realTimeAndVirtualTimeShowTheSameTiles(
    _ policy: ReplayPolicy
  )
    throws
  {
    let sample = try Sample()
    let sessions = try sample.sessions()
    let virtual = try Self.settings.replay(sessions, policy: policy, bundle: sample.path)
    let real = try Self.settings.replay(sessions, policy: policy, bundle: sample.path, speed: 25)
    #expect(virtual.total.requests > 200 && virtual.total.absent > 0)
    for (real, virtual) in zip(real.sessions, virtual.sessions) {
      #expect(real.score.requests == virtual.score.requests && real.score.absent == virtual.score.absent)
      #expect(real.score.hits <= real.score.requests && real.score.loads > 0)
      #expect(real.score.bytesPeak <= Self.settings.budget)
      #expect((real.score.prefetches > 0) == (policy != .lru))
    }
  }

  /// There are no loads where the bundle has no tiles.
  @Test(arguments: [nil, 40.0]) func absentTilesAreNotBlank(_ speed: Double?) throws {
    let folder = try TemporaryFolder()
    let whole = TileMatrixSet.webMercatorQuad.wholeRange(zoom: 5)
    let path = try folder.writeBundle(
      "dot.mbtiles", zooms: 5...5, without: Set(whole.filter { $0.column != 16 || $0.row != 16 }))
    let session = try SessionReader.read(
      Array(
        """
        {"op": "start", "t": 0, "z": 5, "x": 0.5, "y": 0.5}
        {"op": "pan", "t": 1, "dur": 0.5, "dx": 3, "dy": 0}
        {"op": "pan", "t": 3, "dur": 0.5, "dx": 3, "dy": 0}
        """.utf8), name: "away", file: "away")
    let score = try Self.settings.replay([session], policy: .default, bundle: path, speed: speed).total
    #expect(score.requests == 0 && score.blankTileFrames == 0 && score.absent > 20, "\(score)")
  }

  /// A tile that cannot be decoded stays missing, and the replay still ends.
  @Test func damagedTilesCountAsMissing() throws {
    let folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("bad.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    let image = try SampleTiles.image(1, .png)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 4) {
      try writer.put(tile, tile.column < 8 ? image : Array(image.prefix(200)) + [UInt8(tile.row)])
    }
    _ = try writer.finish(BundleMetadata(name: "Bad"))
    let session = try SessionReader.read(
      Array(
        """
        {"op": "start", "t": 0, "z": 4, "x": 0.2, "y": 0.5}
        {"op": "pan", "t": 0.2, "dur": 0.2, "dx": 1.5, "dy": 0}
        """.utf8), name: "s", file: "s")
    var placed = session
    placed.isPlaced = true
    for speed in [nil, 10.0] {
      let score = try Self.settings.replay([placed], policy: .lru, bundle: folder.file("bad.mbtiles"), speed: speed)
        .total
      #expect(score.requests > 0 && score.absent == 0, "\(score)")
    }
  }

  @Test func generatedSessionsStayOnTheBundle() throws {
    let folder = try TemporaryFolder()
    let quarter = TileMatrixSet.webMercatorQuad.wholeRange(zoom: 7).filter { $0.column < 64 || $0.row >= 64 }
    let path = try folder.writeBundle("east.mbtiles", zooms: 7...7, edge: 64, without: Set(quarter))
    for seed in UInt64(1)...3 {
      let session = try SessionGenerator.session(seed: seed, bundle: path)
      #expect(session == (try SessionGenerator.session(seed: seed, bundle: path)) && session.isPlaced)
      var settings = Self.settings
      settings.budget = 100 << 18
      let score = try settings.replay([session], policy: .lru, bundle: path).total
      // The middle of the screen stays on the bundle.
      #expect(score.requests > score.absent, "seed \(seed): \(score)")
    }
  }

  @Test func otherMatrixSetsAreRejected() throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle("degrees.mbtiles", matrixSet: .worldCRS84Quad)
    #expect(throws: ReplayError.self) {
      try Self.settings.replay([SessionGenerator.session(seed: 1)], policy: .lru, bundle: path)
    }
  }

  @Test func paletteCensusCountsTilesWithFewColours() throws {
    let folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("mixed.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    let flat = try SampleTiles.image(1, .png)
    let pixels = PixelBuffer(width: 256, height: 256)
    for place in 0..<65_536 {
      pixels.bytes.storeBytes(of: 0xff00_0000 | UInt32(place), toByteOffset: place * 4, as: UInt32.self)
    }
    let rich = try TileEncoder(.png(PNGOptions())).encode(pixels)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 1) { try writer.put(tile, tile.row == 0 ? flat : rich) }
    try writer.put(TileID(unchecked: 0, 0, 0), flat)
    _ = try writer.finish(BundleMetadata(name: "Mixed"))
    let census = try PaletteCensus(folder.file("mixed.mbtiles"))
    #expect(census.zooms.map(\.tiles) == [1, 4] && census.zooms.map(\.inPalette) == [1, 2])
    #expect(census.total.share == 0.6 && census.total.bytes == 5 << 18)
    #expect(census.total.paletteBytes == 2 << 18 + 3 * (65_536 + 8))
    #expect(census.json.contains(#""paletteShare":0.6"#) && census.text.contains("60.0%"))
  }
}
