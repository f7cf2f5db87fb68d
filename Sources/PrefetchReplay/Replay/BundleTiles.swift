import TileImage
import TileIndex
import TilePrefetch

/// The tiles of a bundle, read and decoded.
final class BundleTiles: ReplayTiles {
  private let reader: any BundleReader
  private let tier: ReplaySettings.Tier
  private let range: TileRange
  private let clock = ContinuousClock()

  /// - Throws: ``ReplayError/Code/unreadableBundle``.
  init(_ path: String, tier: ReplaySettings.Tier) throws {
    self.tier = tier
    do {
      reader = try BundleFile.open(path)
      guard let zoom = try reader.zooms().last, let range = try reader.range(zoom: zoom) else {
        throw ReplayError(.unreadableBundle, "\(path): the bundle has no tiles to replay sessions on")
      }
      self.range = range
    } catch let error as ReplayError {
      throw error
    } catch {
      throw ReplayError(.unreadableBundle, "\(error)")
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
    return (outcome, Double(parts.seconds) + Double(parts.attoseconds) * 1e-18)
  }

  /// The session with its start in the middle of the bundle's finest tiles, and its finest zoom theirs.
  func place(_ frames: SessionFrames) throws -> SessionFrames {
    guard let first = frames.frames.first else { return frames }
    let zooms = Double(range.zoom) - (frames.frames.map { $0.viewport.zoom.rounded() }.max() ?? 0)
    let count = Double(1 << range.zoom)
    let middle = (
      x: Double(range.columns.lowerBound + range.columns.upperBound + 1) / 2 / count,
      y: Double(range.rows.lowerBound + range.rows.upperBound + 1) / 2 / count
    )
    return frames.moved(from: (first.viewport.x, first.viewport.y), to: middle, zooms: zooms)
  }
}
