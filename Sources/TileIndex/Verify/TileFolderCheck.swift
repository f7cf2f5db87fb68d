import LibC
import Support

/// A folder of tiles, which no specification describes: what readers of XYZ and TMS folders rely on.
struct TileFolderCheck: ContainerCheck {
  let reader: TileFolderReader
  let bundle: VerifiedBundle

  static var list: [ContainerRule<Self>] {
    [
      .init { FolderFilesRule(reader: $0.reader) },
      .init { FolderMetadataRule(reader: $0.reader) },
      .init { BlobFormatRule($0.bundle) },
      .init { DecodeRule($0.bundle) },
      .init { TilesHashRule($0.reader) },
      .init { ZoomRule($0.bundle) },
      .init { BoundsRule($0.bundle) },
      .init { CenterRule($0.bundle) },
      .init { DescriptiveMetadataRule($0.bundle) },
    ]
  }

  init(_ reader: TileFolderReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .folder, decode: decode)
  }
}

/// The names in the folder.
private struct FolderFilesRule: BundleRule {
  static let rule = VerificationRule(
    "files", .practice, "tiles are zoom/column/row.extension inside the grid, each in one file, and nothing else")
  let reader: TileFolderReader

  mutating func begin(_ findings: inout Findings) throws {
    for zoom in try reader.folder.zoomFolders() {
      guard reader.matrixSet.zooms.contains(zoom) else {
        findings.error(
          "the folder \(zoom + reader.folder.zoomShift) is no zoom of \(reader.matrixSet.identifier)",
          remedy: "remove it")
        continue
      }
      try checkColumns(zoom, &findings)
    }
  }

  private func checkColumns(_ zoom: Int, _ findings: inout Findings) throws {
    let matrix = reader.matrixSet[zoom]
    var columns: [Int] = []
    var others: [String] = []
    try FileSystem.forEachName(in: reader.folder.path(zoom: zoom)) { name in
      if let column = TileFileName.number(name), column < matrix.matrixWidth {
        columns.append(column)
      } else if !Self.isFolderItself(name) {
        others.append("\(zoom)/\(SystemPath.text(name))")
      }
      return true
    }
    for column in columns.sorted() {
      var rows: [Int: Int] = [:]
      try FileSystem.forEachName(in: "\(reader.folder.path(zoom: zoom))/\(column)") { name in
        if let file = TileFileName(name), file.row < matrix.matrixHeight {
          rows[file.row, default: 0] += 1
        } else if !Self.isFolderItself(name) {
          others.append("\(zoom)/\(column)/\(SystemPath.text(name))")
        }
        return true
      }
      for (row, count) in rows.sorted(by: { $0.key < $1.key }) where count > 1 {
        findings.error(
          "there are \(count) files of the tile",
          tile: TileID(unchecked: zoom, column, reader.fileRow(row, zoom: zoom)), remedy: "keep one of them")
      }
    }
    for name in others.sorted() {
      findings.warning("\(name) is no tile of \(reader.matrixSet.identifier)", remedy: "remove it")
    }
  }

  private static func isFolderItself(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
  }
}

/// `metadata.json`, without which readers must guess.
private struct FolderMetadataRule: BundleRule {
  static let rule = VerificationRule(
    "folder-metadata", .practice, "metadata.json names the tileset, its format and the direction of its rows")
  let reader: TileFolderReader

  mutating func begin(_ findings: inout Findings) throws {
    for name in ["name", "format"] where reader.metadata[name]?.isEmpty ?? true {
      findings.warning("\(name) is not given", remedy: "add it to \(TileFolder.metadataName)")
    }
    if !reader.statesScheme {
      findings.warning(
        "nothing says whether rows count from the north (xyz) or the south (tms)",
        remedy: "add \"scheme\" to \(TileFolder.metadataName)")
    }
    if reader.metadata.format == .pbf, reader.metadata.json?.contains("\"vector_layers\"") != true {
      findings.warning("vector tiles have no vector_layers", remedy: "add the layers and their fields as JSON")
    }
  }
}
