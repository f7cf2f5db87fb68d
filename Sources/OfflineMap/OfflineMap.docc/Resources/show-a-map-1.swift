import OfflineMap

/// Opens a bundle, and says what it shows.
func openMap(_ path: String) throws -> MapBundle {
  let bundle = try MapBundle(path: path)
  print(bundle.metadata.name, bundle.metadata.zooms, bundle.metadata.attribution ?? "")
  return bundle
}
