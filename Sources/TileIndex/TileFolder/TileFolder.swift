import Support

/// The files of a tile folder, as listed by the file system.
struct TileFolder {
  let path: String
  /// What the names of the zooms' folders exceed the zooms by.
  var zoomShift = 0

  /// The folder of a zoom.
  func path(zoom: Int) -> String { "\(path)/\(zoom + zoomShift)" }

  static let metadataName = "metadata.json"
  static let resourceName = "tilemapresource.xml"
  static let pageName = "index.html"
  /// The files beside the zooms.
  static let documents: Set<String> = [
    metadataName, resourceName, TileJSONDocument.name, pageName, PlaceDocument.fileName, "openlayers.html",
    "leaflet.html",
    "googlemaps.html", "doc.kml", "mapml.mapml",
  ]

  /// The zoom folders in ascending order, whether or not they have tiles.
  func zoomFolders() throws -> [Int] {
    var zooms: [Int] = []
    try FileSystem.forEachName(in: path) { name in
      if let number = TileFileName.number(name), (zoomShift...TileID.zoomMax + zoomShift).contains(number) {
        zooms.append(number - zoomShift)
      }
      return true
    }
    return zooms.sorted()
  }

  /// Passes the columns of a zoom to a closure, in no order, until it returns false.
  func forEachColumn(zoom: Int, _ body: (Int) throws -> Bool) throws {
    try FileSystem.forEachName(in: path(zoom: zoom)) { name in
      try TileFileName.number(name).map(body) ?? true
    }
  }

  /// Passes the tile files of a column to a closure, in no order, until it returns false.
  func forEachFile(zoom: Int, column: Int, _ body: (TileFileName) throws -> Bool) throws {
    try FileSystem.forEachName(in: "\(path(zoom: zoom))/\(column)") { name in
      try TileFileName(name).map(body) ?? true
    }
  }

  /// The files in all columns with an extension of tiles, whatever their names, of any zoom.
  func imageCount() throws -> Int {
    var zooms: [Int] = []
    try FileSystem.forEachName(in: path) { name in
      TileFileName.number(name).map { zooms.append($0) }
      return true
    }
    var count = 0
    for zoom in zooms {
      try forEachColumn(zoom: zoom - zoomShift) { column in
        try FileSystem.forEachName(in: "\(path)/\(zoom)/\(column)") { name in
          if TileFileName.hasExtensionOfTiles(name) { count += 1 }
          return true
        }
        return true
      }
    }
    return count
  }

  /// True when one of the first columns of a zoom has a tile file.
  ///
  /// - Parameter columnCountMax: the number of columns to look into.
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

  /// The extensions of the tiles in one column of each zoom; in the order of ``TileFileName/extensions``.
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
      // A tileset has tiles in its first folders; a few listings tell it from a folder of other files.
      return try zooms.prefix(3).contains { try hasTile(zoom: $0, columnCountMax: 3) }
    } catch {
      return false
    }
  }
}

/// A tile's file name in `zoom/column/row.extension`.
struct TileFileName {
  let row: Int
  /// As written, in upper or lower case.
  let fileExtension: String

  /// The extensions of tiles, the most likely first.
  static let extensions = ["png", "jpg", "webp", "pbf", "jpeg", "mvt"]

  /// Of tiles that a GPU draws as they are.
  static let textureExtension = "ktx2"

  /// Nil for names that are not those of tiles.
  init?(_ name: UnsafeBufferPointer<UInt8>, isTexture: Bool = false) {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")),
      let row = Self.number(UnsafeBufferPointer(rebasing: name[..<dot]))
    else { return nil }
    let fileExtension = String(decoding: name[(dot + 1)...], as: UTF8.self)
    guard
      Self.extensions.contains(fileExtension.lowercased()) || isTexture && fileExtension == Self.textureExtension
    else { return nil }
    (self.row, self.fileExtension) = (row, fileExtension)
  }

  /// True for names such as `7.png` and `copy of 7.png`, but not for hidden files.
  static func hasExtensionOfTiles(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard name.first != UInt8(ascii: "."), let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return false }
    return extensions.contains(String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased())
  }

  /// A number without sign and leading zeros, as in tile paths; nil for other names.
  static func number(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
    guard (1...10).contains(name.count), name.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    guard name.count == 1 || name[0] != 0x30 else { return nil }
    return name.reduce(0) { $0 * 10 + Int($1 & 0x0f) }
  }
}

/// How the rows in the file names of a tile folder count.
public enum TileScheme: String, Sendable, CaseIterable, Codable {
  /// From the north.
  case xyz
  /// From the south.
  case tms
}
