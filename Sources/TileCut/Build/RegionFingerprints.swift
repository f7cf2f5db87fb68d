import RegionCatalog
import TileIndex

/// Hashes of everything that a region's files depend on, one for each step of making them. What only the catalogue says (category, price) is in none.
struct RegionFingerprints {
  /// Counts up when the same inputs shall give other files although the tool's version is the same.
  private static let revision = 1

  let bundle: String
  let preview: String
  let parcels: String

  /// - Throws: ``BundleError`` when an input cannot be read.
  init(_ region: RegionManifest.Region, _ options: ShelfOptions, _ hashes: InputHashes) throws {
    let settings = region.settings
    var lines = ["tilecut \(options.toolVersion) \(Self.revision)"]
    func add(_ name: String, _ value: (any Encodable)?) throws {
      if let value { lines.append("\(name) \(try JSONValue(encoding: value).text)") }
    }
    try add("id", region.id)
    try add("product", region.productID)
    try add("title", region.title)
    try add("description", region.description)
    try add("bounds", region.bounds.map { [$0.west, $0.south, $0.east, $0.north] })
    try add("boundary", region.boundary)
    lines.append("grid \(settings.matrixSet.definition?.text ?? "")")
    try add("zooms", settings.zooms)
    try add("format", settings.format.rawValue)
    try add("quality", settings.quality)
    try add("resampling", settings.resampling)
    try add("nodata", settings.nodata)
    try add("crs", settings.crs)
    try add("attribution", settings.attribution)
    try add("edition", settings.edition)
    for source in settings.sources.map(options.manifest.resolved) {
      lines.append("source \(try hashes.sha256(source))")
      for side in SideFiles(path: source).present { lines.append("side \(try hashes.sha256(side))") }
    }
    for file in settings.gazetteers.map(options.manifest.resolved) {
      lines.append("gazetteer \(try hashes.sha256(file))")
    }
    bundle = FileHash.sha256(ofText: lines.joined(separator: "\n"))

    let picture = settings.preview
    let box = (picture.bounds ?? region.boundsAcrossAntimeridian).map {
      "\($0.west) \($0.south) \($0.east) \($0.north)"
    }
    preview = FileHash.sha256(
      ofText: "\(bundle) preview \(box ?? "-") \(picture.zoom ?? -1) \(picture.width ?? -1) \(picture.height ?? -1)")
    parcels = FileHash.sha256(ofText: "\(bundle) parcels \(options.parcelBytesMax ?? settings.parcelBytesMax ?? -1)")
  }
}

extension SideFiles {
  /// The paths of those that are there: which one counts may depend on which others are.
  var present: [String] {
    (worldFileSuffixes + ["prj", "PRJ"]).map(path(withSuffix:)).filter(ShelfFiles.exists)
  }
}
