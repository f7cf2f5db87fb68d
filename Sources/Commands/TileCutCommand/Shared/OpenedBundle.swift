import CommandSupport
import TileIndex

/// Opens a bundle to read it, and says what is read otherwise than its container says, and what makes it slow.
///
/// - Parameter readingTiles: false where places or metadata are read alone.
/// - Throws: ``BundleError``.
func openBundle(_ path: String, readingTiles: Bool = true) throws -> any BundleReader {
  let bundle = try BundleFile.open(path)
  if let warning = bundle.placementWarning { printError("tilecut: warning: \(warning)") }
  if readingTiles { warnOfMissingIndex(bundle) }
  return bundle
}

/// With the command that makes an index.
func warnOfMissingIndex(_ bundle: any BundleReader) {
  guard bundle.scansForTiles else { return }
  let warning = BundleError.notIndexed(bundle.path, "each command")
  printError("tilecut: warning: \(warning)" + (nextCommand(after: warning).map { ": \($0)" } ?? ""))
}
