import TileIndex
import TilePrefetch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Where a bundle's tiles lie: sessions are put there.
struct BundleCoverage: Sendable {
  let zooms: ClosedRange<Int>
  /// The rectangle around the finest tiles, in units of the world.
  let x: ClosedRange<Double>
  let y: ClosedRange<Double>

  /// - Throws: ``ReplayError/Code/unreadableBundle`` for a bundle without tiles, or of a grid other than Web Mercator's; `BundleError`.
  init(_ reader: any BundleReader) throws {
    guard reader.matrixSet == .webMercatorQuad else {
      throw ReplayError(
        .unreadableBundle,
        "\(reader.path): has the grid \(reader.matrixSet); sessions are replayed on bundles of WebMercatorQuad")
    }
    let all = try reader.zooms()
    guard let first = all.first, let last = all.last, let range = try reader.range(zoom: last) else {
      throw ReplayError(.unreadableBundle, "\(reader.path): the bundle has no tiles to replay sessions on")
    }
    zooms = first...last
    let count = Double(1 << last)
    x = Double(range.columns.lowerBound) / count...Double(range.columns.upperBound + 1) / count
    y = Double(range.rows.lowerBound) / count...Double(range.rows.upperBound + 1) / count
  }

  /// The session with its start in the middle of the bundle's finest tiles, and its finest zoom theirs.
  func place(_ frames: SessionFrames) -> SessionFrames {
    guard let first = frames.frames.first else { return frames }
    let deeper = Double(zooms.upperBound) - (frames.frames.map { $0.viewport.zoom.rounded() }.max() ?? 0)
    let middle = (x: (x.lowerBound + x.upperBound) / 2, y: (y.lowerBound + y.upperBound) / 2)
    return frames.moved(from: (first.viewport.x, first.viewport.y), to: middle, zooms: deeper)
  }

  /// Where somebody may look around without seeing much beyond the edges: from the zoom at which the bundle fills half of a phone's width to its finest.
  var area: SessionGenerator.Area {
    let width = min(x.upperBound - x.lowerBound, y.upperBound - y.lowerBound)
    let coarsest = log2(ReplayDevice.phone.shortSide / Viewport.tilePixels / width / 2).rounded(.up)
    let last = Double(zooms.upperBound)
    return SessionGenerator.Area(x: x, y: y, zooms: min(max(coarsest, Double(zooms.lowerBound)), last)...last)
  }
}
