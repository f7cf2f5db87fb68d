import TileImage
import TileIndex
import TilePrefetch

/// The tiles of a bundle, read and decoded. Used by one thread at a time, which is what the unchecked `Sendable` promises.
final class BundleTiles: ReplayTiles, @unchecked Sendable {
  /// Where the bundle's tiles lie.
  let coverage: BundleCoverage
  private let reader: any BundleReader
  private let tier: ReplaySettings.Tier
  /// Seconds that the source takes before it hands a tile out.
  let delay: Double
  private let clock = ContinuousClock()
  /// What is known of tiles that came onto the screen.
  private var known: [TileID: Bool] = [:]
  private static let knownMax = 100_000

  /// - Parameter source: `network` adds what a request takes to each load.
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
        if tier == .palette, let palette = PalettePixels.from(pixels) {
          outcome = .tile(.palette(palette), byteCount: palette.byteCount)
        } else {
          outcome = .tile(.pixels(pixels), byteCount: pixels.byteCount)
        }
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
    // What cannot be read is there, and missing on the screen.
    let isThere = tile.zoom >= 0 && (try? reader.withTile(tile) { _ in true }) ?? false
    if known.count >= Self.knownMax { known = [:] }
    known[tile] = isThere
    return isThere
  }
}
