import Support

/// The metadata table of any bundle as it was found. The raw rows are all there; the typed properties read them leniently
/// and are nil where a value is missing or makes no sense.
public struct StoredMetadata: Hashable, Sendable {
  /// One row.
  public struct Entry: Hashable, Sendable, Codable {
    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// All rows in the order of the table, with repeated names.
  public let entries: [Entry]
  /// The rows by name; the first of a repeated name.
  public let values: [String: String]

  public init(_ entries: [Entry]) {
    self.entries = entries
    values = Dictionary(entries.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The value of a name, or nil.
  public subscript(name: String) -> String? { values[name] }

  public var name: String? { values["name"] }
  public var description: String? { values["description"] }
  public var attribution: String? { values["attribution"] }
  public var version: String? { values["version"] }
  public var json: String? { values["json"] }

  /// The format, also under names that are not those of MBTiles; see ``TileFormat/init(lenient:)``.
  public var format: TileFormat? { values["format"].flatMap(TileFormat.init(lenient:)) }
  public var type: BundleMetadata.Kind? {
    values["type"].flatMap { BundleMetadata.Kind(rawValue: $0.lowercased()) }
  }
  public var minZoom: Int? { values["minzoom"].flatMap(Self.integer) }
  public var maxZoom: Int? { values["maxzoom"].flatMap(Self.integer) }

  /// Degrees. Not checked for order or range.
  public var bounds: BoundingBox? {
    guard let numbers = values["bounds"].flatMap(Self.numbers), numbers.count == 4 else { return nil }
    return BoundingBox(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
  }

  /// Degrees and zoom; a missing zoom is the smallest.
  public var center: BundleMetadata.Center? {
    guard let numbers = values["center"].flatMap(Self.numbers), numbers.count == 2 || numbers.count == 3 else {
      return nil
    }
    guard let zoom = numbers.count == 3 ? Int(exactly: numbers[2].rounded()) : minZoom ?? 0 else { return nil }
    return BundleMetadata.Center(longitude: numbers[0], latitude: numbers[1], zoom: zoom)
  }

  /// The name of the tile matrix set, where the bundle has another than Web Mercator.
  public var matrixSetName: String? { values[MBTilesSchema.matrixSetKey] }

  /// The tile matrix set that the bundle itself defines; nil where it defines none, or none that can be.
  var definedMatrixSet: TileMatrixSet? {
    guard let text = values[MBTilesSchema.gridKey], text.utf8.count < 1 << 16 else { return nil }
    guard let set = try? TileMatrixSet(definition: JSONValue(parsing: Array(text.utf8))) else { return nil }
    return set.uri == matrixSetName ? set : nil
  }

  /// A number that is whole, even when written as one that is not (`5.0`).
  private static func integer(_ text: String) -> Int? {
    number(text[...]).flatMap { Int(exactly: $0) }
  }

  /// Finite numbers separated by commas, with or without spaces; nil when one of them is none.
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
