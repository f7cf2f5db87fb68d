import Support
import TileIndex

/// TileJSON 3.0.0: the URLs and the description of a tileset.
package enum TileJSON {
  /// The document of one tileset. Beyond TileJSON's members it has `format` and `tileSize` (pixels of the screen),
  /// `places` where there are any, in other grids than WebMercatorQuad `crs` and `tileMatrixSet`, and as texts the rows
  /// of the metadata that this server does not know (``isExtra(_:)``), such as the `encoding` of heights.
  package static func document(_ info: TilesetInfo, at address: ServiceAddress) -> [UInt8] {
    let bounds = info.shownBounds
    let center = info.shownCenter
    var members: [JSONValue.Member] = [
      .init("tilejson", .string("3.0.0")),
      .init("tiles", .array([.string(address.url(info.tileTemplate))])),
      .init("scheme", .string("xyz")),
      .init("name", .string(info.name)),
    ]
    if let description = info.metadata.description { members.append(.init("description", .string(description))) }
    if let attribution = info.metadata.attribution {
      members.append(.init("attribution", .string(safeAttribution(attribution))))
    }
    if let version = info.metadata.version.flatMap(semanticVersion) {
      members.append(.init("version", .string(version)))
    }
    members += [
      .init("minzoom", .number(info.zooms.lowerBound)),
      .init("maxzoom", .number(info.zooms.upperBound)),
      .init("bounds", .numbers(bounds.west, bounds.south, bounds.east, bounds.north)),
      .init("center", .numbers(center.longitude, center.latitude, Double(center.zoom))),
      .init("format", .string(info.format.rawValue)),
      .init("tileSize", .number(info.screenPixels)),
    ]
    if info.hasPlaces { members.append(.init("places", .string(address.url(ServicePaths.places(info.id))))) }
    if let layers = VectorLayers.of(info) { members.append(.init("vector_layers", layers)) }
    if info.matrixSet != .webMercatorQuad {
      members.append(.init("crs", .string(info.matrixSet.crs)))
      members.append(.init("tileMatrixSet", matrixSet(info)))
    }
    for entry in info.metadata.entries where isExtra(entry.name) && entry.value.utf8.count <= extraBytesMax {
      // The first of a repeated name counts.
      if members.contains(where: { $0.name == entry.name }) { continue }
      members.append(.init(entry.name, .string(entry.value)))
      if members.count >= memberCountMax { break }
    }
    return JSONValue.object(members).bytes
  }

  /// True for the name of a row of the metadata that the document includes unchanged.
  ///
  /// Not names with a meaning in TileJSON or MBTiles: the document has correct values for them, and others (URLs of
  /// other tiles, HTML for pages) must not come from a bundle.
  static func isExtra(_ name: String) -> Bool {
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 64,
      name.utf8.allSatisfy({ isLetter($0) || 0x30...0x39 ~= $0 || "_-.:".utf8.contains($0) })
    else { return false }
    return !knownNames.contains(name.lowercased())
  }

  private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7a ~= byte | 0x20 }

  private static let knownNames: Set<String> = [
    // TileJSON, versions 1 to 3.
    "tilejson", "tiles", "vector_layers", "attribution", "bounds", "center", "data", "description", "fillzoom", "grids",
    "legend", "maxzoom", "minzoom", "name", "scheme", "template", "version",
    // MBTiles, and names that renderers treat as TileJSON's.
    "format", "json", "type", "tilestats", "url", "tileurl", "tilesize", "tile_size", "volatile", "promoteid",
    // This server's.
    "places", "crs", "tilematrixset", "tile_matrix_set", "tile_matrix_set_definition",
  ]
  private static let extraBytesMax = 4096
  private static let memberCountMax = 64

  /// Credits unchanged if they contain no tag; otherwise reduced to text and links, because viewers put them into
  /// pages.
  private static func safeAttribution(_ text: String) -> String {
    text.contains("<") || text.contains(">") ? Credits(html: text).html : text
  }

  /// A version in the form of TileJSON (semver.org): one or two numbers are completed, other texts are left out.
  static func semanticVersion(_ text: String) -> String? {
    var core = Substring(text)
    var rest = Substring("")
    if let end = text.firstIndex(where: { $0 == "-" || $0 == "+" }) { (core, rest) = (text[..<end], text[end...]) }
    var numbers = core.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    func isNumber(_ text: String) -> Bool {
      !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && (text == "0" || !text.hasPrefix("0"))
    }
    guard (1...3).contains(numbers.count), numbers.allSatisfy(isNumber) else { return nil }
    if !rest.isEmpty {
      let isPlain = rest.dropFirst().allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-+".contains($0)) }
      guard numbers.count == 3, rest.count > 1, isPlain else { return nil }
    }
    while numbers.count < 3 { numbers.append("0") }
    return numbers.joined(separator: ".") + rest
  }

  /// The grid; with its levels, in the terms of OGC 17-083r4, if it is not in a registry. `pointOfOrigin` is x before
  /// y.
  static func matrixSet(_ info: TilesetInfo) -> JSONValue {
    let set = info.matrixSet
    var members: [JSONValue.Member] = [.init("id", .string(set.identifier)), .init("uri", .string(set.uri))]
    if !info.hasWellKnownGrid {
      let levels = set.matrices.map { matrix in
        JSONValue.object([
          .init("id", .string(matrix.identifier)),
          .init("scaleDenominator", .number(matrix.scaleDenominator)),
          .init("cellSize", .number(matrix.cellSize)),
          .init("pointOfOrigin", .numbers(matrix.origin.x, matrix.origin.y)),
          .init("tileWidth", .number(matrix.tileWidth)),
          .init("tileHeight", .number(matrix.tileHeight)),
          .init("matrixWidth", .number(matrix.matrixWidth)),
          .init("matrixHeight", .number(matrix.matrixHeight)),
        ])
      }
      members.append(.init("tileMatrices", .array(levels)))
    }
    return .object(members)
  }
}

/// The `vector_layers` that a vector bundle's `json` metadata names (MBTiles 1.3, "Vector tileset metadata").
enum VectorLayers {
  /// The layers as TileJSON requires them (section 3.3): each with an `id` and `fields`. Nil for raster tilesets that
  /// name none; empty for vector tilesets that name none, since TileJSON requires the member there.
  static func of(_ info: TilesetInfo) -> JSONValue? {
    // Some tools store the member as a separate row.
    let stored =
      info.metadata.json.flatMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }?["vector_layers"]
      ?? info.metadata["vector_layers"].flatMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }
    guard let layers = stored?.array else { return info.isRaster ? nil : .array([]) }
    return .array(layers.compactMap(completed))
  }

  /// The ids of the layers.
  static func names(of info: TilesetInfo) -> [String] { of(info)?.array?.compactMap { $0["id"]?.string } ?? [] }

  private static func completed(_ layer: JSONValue) -> JSONValue? {
    guard let members = layer.members, layer["id"]?.string != nil else { return nil }
    return layer["fields"]?.members == nil
      ? .object(members.filter { $0.name != "fields" } + [.init("fields", .object([]))]) : layer
  }
}
