import Support

/// The description of a patch, its base and its result: the rows of its table `info`.
struct PatchInfo {
  /// The format's version; others are refused.
  static let version = "1"

  var matrixSet: TileMatrixSet
  var format: TileFormat?
  /// Further formats of the result's tiles.
  var mixing: Set<TileFormat> = []
  var base: State
  var result: State

  /// The description of the base or the result.
  struct State: Hashable {
    /// The title and version of the metadata, for messages.
    var title: String
    var tiles: TilesHash
    /// ``PatchInfo/digest(metadata:)`` of all rows.
    var metadata: String
    /// ``PatchInfo/digest(places:)``; empty for a bundle without places.
    var places: String
    /// SHA-256 of the file. For the result, only if applying the patch was seen to give exactly this file.
    var file: String?
    /// ``PutOrder/digest()``; nil for bundles without an insertion order.
    var order: String?
    /// Version of the SQLite that wrote the file, from its header.
    var writer: Int?
    /// Whether it has a hash of each tile.
    var hashes = false
  }

  var rows: [(name: String, value: String)] {
    var rows = [("version", Self.version), ("tile_matrix_set", matrixSet.uri)]
    if TileMatrixSet.named(matrixSet.uri) != matrixSet, let definition = matrixSet.definition {
      rows.append((MetadataKey.grid, definition.text))
    }
    if let format { rows.append(("format", format.rawValue)) }
    if !mixing.isEmpty {
      rows.append((MetadataKey.formats, MetadataKey.text(mixing)))
    }
    for (prefix, state) in [("base", base), ("result", result)] {
      rows.append(("\(prefix)_title", state.title))
      rows.append(("\(prefix)_tiles", state.tiles.description))
      rows.append(("\(prefix)_metadata", state.metadata))
      rows.append(("\(prefix)_places", state.places))
      if let file = state.file { rows.append(("\(prefix)_file", file)) }
      if let order = state.order { rows.append(("\(prefix)_order", order)) }
      if let writer = state.writer { rows.append(("\(prefix)_sqlite", String(writer))) }
      if state.hashes { rows.append(("\(prefix)_hashes", "1")) }
    }
    return rows
  }

  /// - Parameters:
  ///   - rows: the table.
  ///   - matrixSet: the grid, if it is not a well-known one.
  /// - Throws: ``BundleError`` with `.malformed`.
  init(_ rows: [String: String], matrixSet: TileMatrixSet?, path: String) throws {
    guard rows["version"] == Self.version else {
      throw BundleError(
        .malformed, path: path,
        "is a patch of version \(rows["version"] ?? "?"); only version \(Self.version) is known here",
        remedy: "use a newer tilecut")
    }
    func state(_ prefix: String) throws -> State {
      guard let tiles = rows["\(prefix)_tiles"].flatMap(TilesHash.init), let metadata = rows["\(prefix)_metadata"],
        let places = rows["\(prefix)_places"]
      else { throw Self.damaged(path, "it does not say what its \(prefix) is") }
      return State(
        title: rows["\(prefix)_title"] ?? "", tiles: tiles, metadata: metadata, places: places,
        file: rows["\(prefix)_file"], order: rows["\(prefix)_order"],
        writer: rows["\(prefix)_sqlite"].flatMap { Int($0) }, hashes: rows["\(prefix)_hashes"] != nil)
    }
    let name = rows["tile_matrix_set"] ?? ""
    guard let known = matrixSet?.uri == name ? matrixSet : TileMatrixSet.named(name) ?? Self.defined(rows, name) else {
      throw BundleError(.malformed, path: path, "its tile matrix set \"\(name)\" is not one that is known here")
    }
    (base, result) = (try state("base"), try state("result"))
    self.matrixSet = known
    format = rows["format"].flatMap(TileFormat.init(rawValue:))
    mixing = StoredMetadata(rows.map { StoredMetadata.Entry(name: $0.key, value: $0.value) }).mixedFormats
  }

  /// The grid that the patch defines.
  private static func defined(_ rows: [String: String], _ name: String) -> TileMatrixSet? {
    guard let text = rows[MetadataKey.grid], text.utf8.count < 1 << 16,
      let set = try? TileMatrixSet(definition: JSONValue(parsing: Array(text.utf8))), set.uri == name
    else { return nil }
    return set
  }

  init(matrixSet: TileMatrixSet, format: TileFormat?, mixing: Set<TileFormat>, base: State, result: State) {
    (self.matrixSet, self.format, self.base, self.result) = (matrixSet, format, base, result)
    self.mixing = mixing
  }

  static func damaged(_ path: String, _ message: String) -> BundleError {
    BundleError(.malformed, path: path, "is damaged: \(message)", remedy: "make or copy the patch again")
  }

  /// Without the hash of the tiles, which are compared themselves: not every copy of a bundle has it.
  static func digest(metadata: StoredMetadata) -> String {
    digest(metadata.entries.filter { $0.name != MetadataKey.tilesHash }.flatMap { [$0.name, $0.value] })
  }

  static func digest(places: [Place]) -> String {
    guard !places.isEmpty else { return "" }
    return digest(
      places.flatMap { place in
        [place.name, place.kind] + [place.longitude, place.latitude, place.importance].map(DecimalText.text)
      })
  }

  private static func digest(_ texts: [String]) -> String {
    var hash = SHA256Hash()
    for text in texts { hash.update(Array(text.utf8) + [0]) }
    return Hexadecimal.text(hash.digest())
  }
}
