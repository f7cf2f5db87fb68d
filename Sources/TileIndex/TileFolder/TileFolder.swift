import Support

/// What lies in a tile folder, read from the folders' own entries.
struct TileFolder {
  let path: String

  static let metadataName = "metadata.json"
  static let resourceName = "tilemapresource.xml"

  /// The folders of zooms, rising, whether or not there are tiles in them.
  func zoomFolders() throws -> [Int] {
    var zooms: [Int] = []
    try FileSystem.forEachName(in: path) { name in
      if let zoom = TileFileName.number(name), zoom <= TileID.zoomMax { zooms.append(zoom) }
      return true
    }
    return zooms.sorted()
  }

  /// Hands the columns of a zoom to a closure, in no order, until it returns false.
  func forEachColumn(zoom: Int, _ body: (Int) throws -> Bool) throws {
    try FileSystem.forEachName(in: "\(path)/\(zoom)") { name in
      try TileFileName.number(name).map(body) ?? true
    }
  }

  /// Hands the tile files of a column to a closure, in no order, until it returns false.
  func forEachFile(zoom: Int, column: Int, _ body: (TileFileName) throws -> Bool) throws {
    try FileSystem.forEachName(in: "\(path)/\(zoom)/\(column)") { name in
      try TileFileName(name).map(body) ?? true
    }
  }

  /// True when a zoom has a tile file in one of its first columns.
  ///
  /// - Parameter columnCountMax: how many columns are looked into.
  func hasTile(zoom: Int, columnCountMax: Int = .max) throws -> Bool {
    var isFound = false
    var columnsLeft = columnCountMax
    try forEachColumn(zoom: zoom) { column in
      try forEachFile(zoom: zoom, column: column) { _ in
        isFound = true
        return false
      }
      columnsLeft -= 1
      return !isFound && columnsLeft > 0
    }
    return isFound
  }

  /// The extensions of the tiles, found in one column of each zoom; in the order of ``TileFileName/extensions``.
  func extensions() throws -> [String] {
    var found: Set<String> = []
    for zoom in try zoomFolders() {
      try forEachColumn(zoom: zoom) { column in
        var filesLeft = 1024
        try forEachFile(zoom: zoom, column: column) { file in
          found.insert(file.fileExtension)
          filesLeft -= 1
          return filesLeft > 0
        }
        return filesLeft == 1024
      }
    }
    func rank(_ text: String) -> Int { TileFileName.extensions.firstIndex(of: text.lowercased()) ?? 0 }
    return found.sorted { (rank($0), $0) < (rank($1), $1) }
  }

  /// See ``TileFolderReader/isTileFolder(_:)``.
  var isTileset: Bool {
    var zooms: [Int] = []
    var isMarked = false
    do {
      try FileSystem.forEachName(in: path) { name in
        if let zoom = TileFileName.number(name), zoom <= TileID.zoomMax { zooms.append(zoom) }
        if name.elementsEqual(Self.metadataName.utf8) || name.elementsEqual(Self.resourceName.utf8) { isMarked = true }
        return true
      }
      guard !zooms.isEmpty else { return false }
      if isMarked {
        return try zooms.contains { try FileSystem.status("\(path)/\($0)")?.kind == .folder }
      }
      // A tileset has tiles in its first folders; a few looks tell it from a folder of other things.
      return try zooms.prefix(3).contains { try hasTile(zoom: $0, columnCountMax: 3) }
    } catch {
      return false
    }
  }
}
