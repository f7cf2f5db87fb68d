import Support

/// The metadata of an existing bundle. All rows are kept as found; the typed properties parse them leniently and are
/// nil where a value is missing or invalid.
public struct StoredMetadata: Hashable, Sendable {
  /// One row.
  public struct Entry: Hashable, Sendable, Codable {
    /// The name of the row.
    public let name: String
    /// Its value.
    public let value: String

    /// A row, which is not checked.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// All rows in the order of the table, including repeated names.
  public let entries: [Entry]
  /// The rows by name; of a repeated name, the first.
  package let values: [String: String]

  /// The rows as they are stored. Of several with one name the first counts.
  public init(_ entries: [Entry]) {
    self.entries = entries
    values = Dictionary(entries.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The value of a name, or nil.
  public subscript(name: String) -> String? { values[name] }

  /// The title.
  public var name: String? { values["name"] }
  /// What the map shows, for people.
  public var description: String? { values["description"] }
  /// The credits: text, or HTML.
  public var attribution: String? { values["attribution"] }
  /// The version of the tileset, in any form.
  public var version: String? { values["version"] }
  /// JSON with the layers of vector tiles.
  public var json: String? { values["json"] }

  /// The format, including names that MBTiles does not define; see ``TileFormat/init(lenient:)``.
  public var format: TileFormat? { values["format"].flatMap(TileFormat.init(lenient:)) }
  /// The formats that tiles of a bundle of mixed formats have, by its row `formats`; empty for bundles of one format.
  package var mixedFormats: Set<TileFormat> {
    let words = values[MetadataKey.formats]?.split(separator: ",").map(String.init) ?? []
    let formats = Set(words.compactMap(TileFormat.init(rawValue:)).filter { $0 != .pbf })
    return formats.count > 1 && formats.count == words.count ? formats : []
  }

  /// The pixels of a screen that a tile's edge takes, by its row `tileSize`: what TileJSON calls so.
  package var tileSize: Int? { values[TileSizeRow.size].flatMap(Self.integer).flatMap { $0 > 0 ? $0 : nil } }

  /// The stored pixels for each of those of the screen, by its row `scale`: 2 for tiles for dense screens.
  package var tileScale: Int { values[TileSizeRow.scale].flatMap(Self.integer).flatMap { $0 > 0 ? $0 : nil } ?? 1 }

  /// Whether it is a map of its own, or lies over others; nil where the row says neither.
  public var type: BundleMetadata.Kind? {
    values["type"].flatMap { BundleMetadata.Kind(rawValue: $0.lowercased()) }
  }
  /// The coarsest zoom as the row says; nil where it is no number.
  public var minZoom: Int? { values["minzoom"].flatMap(Self.integer) }
  /// The finest zoom as the row says; nil where it is no number.
  public var maxZoom: Int? { values["maxzoom"].flatMap(Self.integer) }

  /// Degrees, in whatever order and range they are stored.
  public var bounds: BoundingBox? {
    guard let numbers = values["bounds"].flatMap(Self.numbers), numbers.count == 4 else { return nil }
    return BoundingBox(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
  }

  /// Degrees and zoom; without a zoom, the smallest.
  public var center: BundleMetadata.Center? {
    guard let numbers = values["center"].flatMap(Self.numbers), numbers.count == 2 || numbers.count == 3 else {
      return nil
    }
    guard let zoom = numbers.count == 3 ? Int(exactly: numbers[2].rounded()) : minZoom ?? 0 else { return nil }
    return BundleMetadata.Center(longitude: numbers[0], latitude: numbers[1], zoom: zoom)
  }

  /// Name or URI of the tile matrix set, unless it is WebMercatorQuad.
  package var matrixSetName: String? { values[MetadataKey.matrixSet] }

  /// A whole number, also when written as a decimal (`5.0`).
  private static func integer(_ text: String) -> Int? {
    number(text[...]).flatMap { Int(exactly: $0) }
  }

  /// Comma-separated finite numbers, with or without spaces; nil when one is invalid.
  private static func numbers(_ text: String) -> [Double]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let numbers = parts.compactMap(number)
    return numbers.count == parts.count ? numbers : nil
  }

  private static func number(_ text: Substring) -> Double? {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" }
    let trimmed = text.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    guard let number = Double(String(trimmed)), number.isFinite else { return nil }
    return number
  }
}

extension StoredMetadata {
  /// Where the map is: what is stored as far as it can be true, otherwise what follows from the tiles.
  ///
  /// - Parameters:
  ///   - zooms: those that have tiles, ascending; not empty.
  ///   - finest: the rectangle around the tiles of the last of them.
  /// - Returns: bounds with west below east, where the east of an area across the antimeridian is beyond 180; a center
  ///   with a longitude within ±180 and one of the zooms: the nearest to the stored one, else to the middle one. Of two
  ///   that are as near it is the coarser.
  package func location(
    zooms: [Int], finest: TileRange, in matrixSet: TileMatrixSet
  ) -> (bounds: BoundingBox, center: BundleMetadata.Center) {
    let bounds = bounds.flatMap(Self.plausible) ?? matrixSet.geographicBounds(of: finest)
    let stored = center.flatMap { abs($0.latitude) <= 90 && abs($0.longitude) <= 540 ? $0 : nil }
    let middle = bounds.centre
    let (first, last) = (zooms[0], zooms[zooms.count - 1])
    // Doubled, so that the middle is an integer.
    let twice = stored.map { 2 * min(max($0.zoom, first), last) } ?? first + last
    func distance(_ zoom: Int) -> Int { abs(2 * zoom - twice) }
    return (
      bounds,
      BundleMetadata.Center(
        longitude: TileMatrixSet.wrapped(stored?.longitude ?? middle.x), latitude: stored?.latitude ?? middle.y,
        zoom: zooms.min { distance($0) < distance($1) } ?? first)
    )
  }

  static func plausible(_ box: BoundingBox) -> BoundingBox? {
    guard box.south < box.north, abs(box.south) <= 90, abs(box.north) <= 90, abs(box.west) <= 540, abs(box.east) <= 540
    else { return nil }
    if box.west < box.east { return box }
    // As GeoJSON writes an area across the antimeridian. If it is more than half of the Earth, the numbers are in a
    // wrong order.
    guard box.west <= 180, box.east >= -180, box.east + 360 - box.west <= 180 else { return nil }
    return BoundingBox(west: box.west, south: box.south, east: box.east + 360, north: box.north)
  }
}

extension BundleMetadata {
  /// The metadata for a new bundle that is made from an existing one. Bounds and center are kept; format and zooms
  /// follow from the new tiles.
  ///
  /// - Parameter fallbackName: the title when the bundle has none.
  package init(_ stored: StoredMetadata, fallbackName: String) {
    self.init(
      name: stored.name.flatMap { $0.isEmpty ? nil : $0 } ?? fallbackName, description: stored.description,
      attribution: stored.attribution, type: stored.type ?? .baselayer,
      version: stored.version.flatMap { $0.isEmpty ? nil : $0 } ?? "1", bounds: stored.bounds, center: stored.center,
      json: stored.json,
      extra: stored.values.filter { !$0.key.isEmpty && !MetadataKey.reserved.contains($0.key) })
  }
}

/// The metadata documents of PMTiles archives and tile folders: an object whose members are strings, as in MBTiles, or
/// typed JSON values, as in TileJSON.
enum MetadataDocument {
  /// Members that MBTiles combines in its `json` row.
  private static let jsonMembers = ["vector_layers", "tilestats"]

  /// The members as rows of an MBTiles metadata table.
  ///
  /// Arrays of numbers become comma-separated lists; `vector_layers` and `tilestats` become the row `json` unless there
  /// is one; other arrays and objects become JSON text; null is left out.
  static func entries(_ members: [JSONValue.Member]) -> [StoredMetadata.Entry] {
    var entries: [StoredMetadata.Entry] = []
    var inner: [JSONValue.Member] = []
    var jsonIndex = 0
    for member in members {
      if jsonMembers.contains(member.name), member.value.isContainer {
        if inner.isEmpty { jsonIndex = entries.count }
        inner.append(member)
      } else if let value = text(member.value) {
        entries.append(StoredMetadata.Entry(name: member.name, value: value))
      }
    }
    if !inner.isEmpty, !entries.contains(where: { $0.name == "json" }) {
      entries.insert(StoredMetadata.Entry(name: "json", value: JSONValue.object(inner).text), at: jsonIndex)
    }
    return entries
  }

  /// Rows as members; the inverse of ``entries(_:)``. Every value is a string.
  ///
  /// The members of the row `json` have their places of their own. The row itself is kept only if its text could not be
  /// made from them again.
  static func members(_ rows: [StoredMetadata.Entry]) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    for row in rows {
      let inner =
        row.name == "json"
        ? (try? JSONValue(parsing: Array(row.value.utf8), duplicates: .lastWins))?.members?.filter { member in
          jsonMembers.contains(member.name) && member.value.isContainer && !rows.contains { $0.name == member.name }
        } ?? [] : []
      members += inner
      if row.name != "json" || entries(inner).first?.value != row.value {
        members.append(.init(row.name, .string(row.value)))
      }
    }
    return members
  }

  private static func text(_ value: JSONValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text), .number(let text): text
    case .bool, .object: value.text
    case .array(let values):
      values.allSatisfy { if case .number = $0 { true } else { false } } && !values.isEmpty
        ? values.map(\.text).joined(separator: ",") : value.text
    }
  }
}

extension JSONValue {
  fileprivate var isContainer: Bool {
    switch self {
    case .array, .object: true
    default: false
    }
  }
}

/// Names of the rows that say how large tiles are, where they do not have the pixels of their grid.
package enum TileSizeRow {
  /// As in TileJSON and in a source of a MapLibre style.
  package static let size = "tileSize"
  /// Stored pixels for each of the screen.
  package static let scale = "scale"
}

/// Names of metadata rows.
enum MetadataKey {
  /// OGC URI of the tile matrix set, unless it is WebMercatorQuad.
  static let matrixSet = "tile_matrix_set"
  /// CRS as authority and code, unless the grid is WebMercatorQuad.
  static let crs = "crs"
  /// The formats of the tiles, separated by commas, where they differ.
  static let formats = "formats"
  /// The value of ``formats``.
  static func text(_ formats: Set<TileFormat>) -> String { formats.map(\.rawValue).sorted().joined(separator: ",") }
  /// ``TilesHash``.
  static let tilesHash = "tiles_hash"
  /// Definition, as JSON, of a tile matrix set that is not a well-known one.
  static let grid = "tile_matrix_set_definition"

  /// The names that MBTiles 1.3 and this package define, which ``BundleMetadata/extra`` may not use.
  static let reserved: Set<String> = [
    "name", "format", "bounds", "center", "minzoom", "maxzoom", "attribution", "description", "type", "version", "json",
    matrixSet, crs, grid, formats, tilesHash,
  ]
}
