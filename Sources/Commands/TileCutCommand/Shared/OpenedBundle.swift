import CommandSupport
import Support
import TileIndex

/// Opens a bundle to read it, and says what is read otherwise than its container says, and what makes it slow.
///
/// - Parameter readingTiles: false where places or metadata are read alone.
/// - Throws: ``BundleError``.
func openBundle(_ path: String, readingTiles: Bool = true) throws -> any BundleReader {
  let bundle = try BundleFile.open(path)
  if let warning = bundle.placementWarning { printError("tilecut: warning: \(warning)") }
  if readingTiles {
    warnOfTilesElsewhere(bundle)
    warnOfMissingIndex(bundle)
  }
  return bundle
}

/// Where tiles of the deepest zoom lie nowhere near the stated bounds, as the bundle is read: the tiles may have been
/// mirrored before, or the bounds be those of another map.
private func warnOfTilesElsewhere(_ bundle: any BundleReader) {
  guard let bounds = bundle.metadata.bounds,
    let zoom = try? bundle.zooms().last, let tiles = try? bundle.range(zoom: zoom)
  else { return }
  func isNear(_ first: ClosedRange<Int>, _ second: ClosedRange<Int>) -> Bool {
    first.lowerBound <= second.upperBound + 1 && second.lowerBound <= first.upperBound + 1
  }
  let stated = bundle.matrixSet.ranges(covering: bounds, zoom: zoom)
  guard !stated.isEmpty, !stated.contains(where: { isNear($0.columns, tiles.columns) && isNear($0.rows, tiles.rows) })
  else { return }
  printError(
    "tilecut: warning: \(bundle.path): its tiles lie outside the bounds that it states; see which are wrong: "
      + "tilecut verify \(bundle.path.shellQuoted)")
}

/// The number of a bundle's tiles, if it is known before they are read, for work that opens the bundle itself: says
/// what is read otherwise than its container says. What cannot be opened is left to the work.
func knownTileCount(of path: String) -> Int? {
  (try? openBundle(path, readingTiles: false))?.knownTileCount
}

/// With the command that makes an index.
func warnOfMissingIndex(_ bundle: any BundleReader) {
  guard bundle.scansForTiles else { return }
  let warning = BundleError.notIndexed(bundle.path, "each command")
  printError("tilecut: warning: \(warning)" + (nextCommand(after: warning).map { ": \($0)" } ?? ""))
}
