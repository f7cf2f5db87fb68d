import LibC
import TileImage
import TileIndex
import TilePrefetch

/// A tile in the cache of a replay.
enum ReplayTile: Sendable {
  case virtual
  case picture(TilePicture)
}

/// Where a replay's tiles come from.
protocol ReplayTiles {
  /// Loads a tile, and returns how long that takes in seconds.
  func load(_ tile: TileID) -> (outcome: LoadOutcome<ReplayTile>, seconds: Double)
  /// True when the source has the tile.
  func has(_ tile: TileID) -> Bool
}

/// Tiles that only cost memory and time.
struct VirtualTiles: ReplayTiles {
  let cost: Int
  let seconds: Double

  func load(_ tile: TileID) -> (outcome: LoadOutcome<ReplayTile>, seconds: Double) {
    (.tile(.virtual, byteCount: cost), seconds)
  }

  func has(_ tile: TileID) -> Bool { true }
}

/// The tiles of a bundle, read and decoded. Used by one thread at a time, which makes the unchecked `Sendable` valid.
final class BundleTiles: ReplayTiles, @unchecked Sendable {
  /// The bundle's extent.
  let coverage: BundleCoverage
  private let reader: any BundleReader
  private let tier: ReplaySettings.Tier
  /// The source's latency in seconds.
  let delay: Double
  private let clock = ContinuousClock()
  /// Whether the source has the tiles that came onto the screen.
  private var known: [TileID: Bool] = [:]
  private static let knownMax = 100_000

  /// - Parameter source: `network` adds the latency of a request to each load.
  /// - Throws: ``ReplayError/Code/unreadableBundle``.
  init(_ path: String, tier: ReplaySettings.Tier, source: ReplaySource) throws {
    self.tier = tier
    delay = source.requestTime
    do {
      reader = try BundleFile.open(path)
      coverage = try BundleCoverage(reader)
    } catch {
      throw ReplayError(bundle: error)
    }
  }

  func load(_ tile: TileID) -> (outcome: LoadOutcome<ReplayTile>, seconds: Double) {
    let start = clock.now
    let outcome: LoadOutcome<ReplayTile>
    do {
      let pixels = try reader.withTile(tile) { try ImageDecoder.decode($0) }
      if let pixels {
        let picture = tier == .palette ? TilePicture(pixels) : .pixels(pixels)
        outcome = .tile(.picture(picture), byteCount: picture.byteCount)
      } else {
        outcome = .absent
      }
    } catch {
      outcome = .failed(error)
    }
    let parts = (clock.now - start).components
    return (outcome, delay + Double(parts.seconds) + Double(parts.attoseconds) * 1e-18)
  }

  func has(_ tile: TileID) -> Bool {
    if let known = known[tile] { return known }
    // A tile that cannot be read exists, and counts as missing on the screen.
    let isThere = tile.zoom >= 0 && (try? reader.withTile(tile) { _ in true }) ?? false
    if known.count >= Self.knownMax { known = [:] }
    known[tile] = isThere
    return isThere
  }
}

/// The extent of a bundle's tiles, in which sessions are placed.
struct BundleCoverage: Sendable {
  let zooms: ClosedRange<Int>
  /// The bounding box of the finest tiles, in units of the world.
  let x: ClosedRange<Double>
  let y: ClosedRange<Double>

  /// - Throws: ``ReplayError/Code/unreadableBundle`` for a bundle without tiles, or with a tile matrix set other than
  ///   WebMercatorQuad; `BundleError`.
  init(_ reader: any BundleReader) throws {
    guard reader.matrixSet == .webMercatorQuad else {
      throw ReplayError(
        .unreadableBundle, path: reader.path, "has the grid \(reader.matrixSet)",
        remedy: "replay sessions on a bundle of WebMercatorQuad")
    }
    guard let covered = try PrefetchPredictor.Options(covering: reader) else {
      throw ReplayError(
        .unreadableBundle, path: reader.path, "the bundle has no tiles to replay sessions on")
    }
    (zooms, x, y) = (covered.zooms, covered.x, covered.y)
  }

  /// The session moved so that it starts in the middle of the bundle's finest tiles, and its finest zoom is theirs.
  func place(_ frames: SessionFrames) -> SessionFrames {
    guard let first = frames.frames.first else { return frames }
    let deeper = Double(zooms.upperBound) - (frames.frames.map { $0.viewport.zoom.rounded() }.max() ?? 0)
    let middle = (x: (x.lowerBound + x.upperBound) / 2, y: (y.lowerBound + y.upperBound) / 2)
    return frames.moved(from: (first.viewport.x, first.viewport.y), to: middle, zooms: deeper)
  }

  /// The area in which a user sees little beyond the edges: from the zoom at which the bundle fills half of a phone's
  /// width to its finest zoom.
  var area: SessionGenerator.Area {
    let width = min(x.upperBound - x.lowerBound, y.upperBound - y.lowerBound)
    let coarsest = log2(ReplayDevice.phone.shortSide / Viewport.tilePixels / width / 2).rounded(.up)
    let last = Double(zooms.upperBound)
    return SessionGenerator.Area(x: x, y: y, zooms: min(max(coarsest, Double(zooms.lowerBound)), last)...last)
  }
}

extension SessionGenerator {
  /// A generated session on a bundle: from the zoom at which it fills half of a phone's width to its finest zoom.
  ///
  /// - Throws: ``ReplayError``: `missingInput`, `unreadableBundle`.
  package static func session(seed: UInt64, gestureCount: Int = 40, bundle path: String) throws -> RecordedSession {
    let coverage = try BundleTiles(path, tier: .rgba, source: .local).coverage
    var session = session(seed: seed, gestureCount: gestureCount, in: coverage.area)
    session.isPlaced = true
    return session
  }
}
