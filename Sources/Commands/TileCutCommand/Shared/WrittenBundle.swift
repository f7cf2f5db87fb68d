import CommandSupport
import TileCut
import TileIndex

/// What a command prints of the bundle that it wrote.
struct WrittenBundle: Encodable {
  /// As the user named it.
  let path: String
  let tiles: Int
  let distinctTiles: Int
  let minzoom: Int
  let maxzoom: Int
  let bytes: Int
  /// Of cuts alone.
  private(set) var seconds: Double?

  init(_ summary: BundleSummary, _ path: String) {
    (self.path, tiles, distinctTiles) = (path, summary.tiles, summary.distinctTiles)
    (minzoom, maxzoom, bytes) = (summary.minZoom, summary.maxZoom, summary.bytes)
  }

  init(_ summary: CutSummary, _ path: String) {
    (self.path, tiles, distinctTiles) = (path, summary.tileCount, summary.distinctTileCount)
    (minzoom, maxzoom, bytes, seconds) = (summary.zoomMin, summary.zoomMax, summary.fileBytes, summary.seconds)
  }

  func show(json: Bool) throws {
    if json { return printText(try prettyJSON(self)) }
    let distinct = distinctTiles == tiles || seconds == nil ? "" : " (\(distinctTiles) distinct)"
    let zooms = minzoom == maxzoom ? "zoom \(minzoom)" : "zoom \(minzoom)-\(maxzoom)"
    let parts = ["\(counted(tiles, "tile"))\(distinct)", zooms, formatted(bytes: bytes)]
    printLine("\(path): \((parts + (seconds.map { [formatted(seconds: $0)] } ?? [])).joined(separator: ", "))")
  }
}
