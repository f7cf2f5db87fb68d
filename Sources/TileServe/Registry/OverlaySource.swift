import Support
import TileIndex

/// A file of tracks and places, whose tiles are drawn when they are read: over a bundle, on the bundle's grid.
final class OverlaySource: ServedSource {
  private let place: BundlePlaces.Place
  private let open: OpenTilesets
  private let file: BundleSource
  /// The grid that it is drawn on.
  private let grid: TrackReader.Grid

  init(
    _ place: BundlePlaces.Place, open: OpenTilesets, hasOwnDate: Bool, on grid: TrackReader.Grid = TrackReader.Grid()
  ) {
    (self.place, self.open, self.grid) = (place, open, grid)
    file = BundleSource(place, open: open, hasOwnDate: hasOwnDate) { try TrackReader(path: $0, on: grid) }
  }

  /// The grid of a bundle that it lies over; nil where it is drawn on that already, or cannot be.
  func otherGrid(over info: TilesetInfo) -> TrackReader.Grid? {
    guard info.flatImage == nil else { return nil }
    let gridPixels = info.matrixSet[info.zooms.lowerBound].tileWidth
    func factor(_ whole: Int) -> Int { max(1, min(info.tilePixels / max(whole, 1), 8)) }
    let wanted = TrackReader.Grid(
      matrixSet: info.matrixSet, factor: factor(gridPixels), density: factor(info.screenPixels))
    return wanted == grid ? nil : wanted
  }

  /// The same on another grid.
  func drawn(on grid: TrackReader.Grid) -> OverlaySource {
    OverlaySource(place, open: open, hasOwnDate: file.hasOwnDate, on: grid)
  }

  func retire() { file.retire() }

  func info() throws -> TilesetInfo { try file.info() }
  func storedTile(_ tile: TileID) throws -> [UInt8]? { try file.storedTile(tile) }
  var revision: SourceRevision { file.revision }
  var isSlow: Bool { true }
  var knownInfo: TilesetInfo? { file.knownInfo }
  var hasOwnDate: Bool { file.hasOwnDate }
  var quarantine: BundleError? { file.quarantine }
  func check() throws { try file.check() }
  func closeIdle() { file.closeIdle() }
}
