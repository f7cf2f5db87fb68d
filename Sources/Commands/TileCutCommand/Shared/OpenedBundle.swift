import CommandSupport
import TileIndex

/// Opens a bundle to read it, and says what is read otherwise than its container says.
///
/// - Throws: ``BundleError``.
func openBundle(_ path: String) throws -> any BundleReader {
  let bundle = try BundleFile.open(path)
  if let warning = bundle.placementWarning { printError("tilecut: warning: \(warning)") }
  return bundle
}
