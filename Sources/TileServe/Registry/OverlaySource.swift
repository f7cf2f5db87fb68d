import Support
import Synchronization
import TileIndex

/// A file of tracks and places, whose tiles are drawn when they are read: over a bundle, on the bundle's grid.
final class OverlaySource: ServedSource {
  private let place: BundlePlaces.Place
  private let open: OpenTilesets
  private let file: BundleSource
  /// The grid that it is drawn on.
  private let grid: TrackReader.Grid
  /// The same on other grids.
  private let variants = Mutex<[TrackReader.Grid: Tileset]>([:])

  init(
    _ place: BundlePlaces.Place, open: OpenTilesets, hasOwnDate: Bool, on grid: TrackReader.Grid = TrackReader.Grid()
  ) {
    (self.place, self.open, self.grid) = (place, open, grid)
    file = BundleSource(place, open: open, hasOwnDate: hasOwnDate) { try TrackReader(path: $0, on: grid) }
  }

  var hasOwnGrid: Bool { false }

  func tileset(_ own: Tileset, over info: TilesetInfo) -> Tileset {
    guard info.flatImage == nil else { return own }
    let gridPixels = info.matrixSet[info.zooms.lowerBound].tileWidth
    func factor(_ whole: Int) -> Int { max(1, min(info.tilePixels / max(whole, 1), 8)) }
    let wanted = TrackReader.Grid(
      matrixSet: info.matrixSet, factor: factor(gridPixels), density: factor(info.screenPixels))
    guard wanted != grid else { return own }
    return variants.withLock { variants in
      if let known = variants[wanted] { return known }
      let made = Tileset(own, drawnBy: OverlaySource(place, open: open, hasOwnDate: file.hasOwnDate, on: wanted))
      variants[wanted] = made
      return made
    }
  }

  func retire() {
    for variant in variants.withLock({ Array($0.values) }) { variant.retire() }
    file.retire()
  }

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
