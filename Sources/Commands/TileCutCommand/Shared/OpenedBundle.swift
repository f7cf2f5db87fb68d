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
    if let zoom = try? bundle.zooms().last, let tiles = try? bundle.range(zoom: zoom),
      let warning = bundle.metadata.tilesElsewhere(tiles, in: bundle.matrixSet, path: bundle.path)
    {
      warn(warning)
    }
    warnOfMissingIndex(bundle)
  }
  return bundle
}

/// The number of a bundle's tiles, if it is known before they are read, for work that opens the bundle itself: says
/// what is read otherwise than its container says. What cannot be opened is left to the work.
func knownTileCount(of path: String) -> Int? {
  (try? openBundle(path, readingTiles: false))?.knownTileCount
}

/// With the command that makes an index.
func warnOfMissingIndex(_ bundle: any BundleReader) {
  guard bundle.scansForTiles else { return }
  warn(.notIndexed(bundle.path, "each command"))
}

/// With the command that its remedy means.
private func warn(_ warning: BundleError) {
  printError("tilecut: warning: \(warning)" + (nextCommand(after: warning).map { ": \($0)" } ?? ""))
}
