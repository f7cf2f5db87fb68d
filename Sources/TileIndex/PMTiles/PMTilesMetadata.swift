import Support

/// What a PMTiles archive says about itself, in the words of MBTiles.
enum PMTilesMetadata {
  /// What the header knows goes before what the metadata say: readers of archives go by the header, so a difference has been seen there.
  ///
  /// - Throws: ``BundleError`` with `.malformed` when the metadata are no JSON object.
  static func stored(_ archive: PMTilesArchive) throws -> StoredMetadata {
    let found = try entries(archive)
    let header = headerEntries(archive.header)
    let known = Set(header.map(\.name))
    var entries = found.filter { !known.contains($0.name) }
    let place = entries.firstIndex { $0.name == "name" }.map { $0 + 1 } ?? 0
    entries.insert(contentsOf: header, at: place)
    return StoredMetadata(entries)
  }

  private static func entries(_ archive: PMTilesArchive) throws -> [StoredMetadata.Entry] {
    let text = try archive.metadataText()
    if text.isEmpty { return [] }
    do {
      guard let members = try JSONValue(parsing: text, duplicates: .lastWins).members else {
        throw archive.damaged("its metadata are not a JSON object")
      }
      return MetadataDocument.entries(members)
    } catch let error as JSONValue.SyntaxError {
      throw archive.damaged("its metadata are not JSON: \(error)")
    }
  }

  private static func headerEntries(_ header: PMTilesHeader) -> [StoredMetadata.Entry] {
    var entries: [StoredMetadata.Entry] = []
    func add(_ name: String, _ value: String) { entries.append(StoredMetadata.Entry(name: name, value: value)) }
    switch header.tileType {
    case 1: add("format", TileFormat.pbf.rawValue)
    case 2: add("format", TileFormat.png.rawValue)
    case 3: add("format", TileFormat.jpg.rawValue)
    case 4: add("format", TileFormat.webp.rawValue)
    case 5: add("format", "avif")
    case 6: add("format", "mlt")
    default: break
    }
    let box = header.bounds
    // A box without area says that its maker did not know; nothing is better than a wrong one.
    if box.west < box.east, box.south < box.north, box.west >= -180, box.east <= 180, box.south >= -90, box.north <= 90
    {
      add("bounds", [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ","))
      let center = header.center
      // Archives of GDAL have centers whose average of two longitudes has run over 32 bits.
      if (box.west...box.east).contains(center.longitude), (box.south...box.north).contains(center.latitude) {
        add("center", "\(DecimalText.text(center.longitude)),\(DecimalText.text(center.latitude)),\(center.zoom)")
      }
    }
    if header.zooms.min <= header.zooms.max, header.zooms.max <= TileID.zoomMax {
      add("minzoom", String(header.zooms.min))
      add("maxzoom", String(header.zooms.max))
    }
    return entries
  }
}
