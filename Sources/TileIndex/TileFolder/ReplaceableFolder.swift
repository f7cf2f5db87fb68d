import LibC
import Support

/// Decides whether a folder may be replaced: whatever else it holds would be lost.
///
/// It may when a document in it says that it is a folder of tiles, and every name at each of its levels is one that
/// such folders have. Names alone are not enough: photos may be sorted as `12/24/1234.jpg`.
struct ReplaceableFolder {
  private let path: String
  private let target: String

  /// - Parameters:
  ///   - path: the folder.
  ///   - target: its name in messages.
  init(_ path: String, target: String) { (self.path, self.target) = (path, target) }

  /// - Throws: ``BundleError`` `.exists` for a folder that may not be replaced; ``FileSystem/SystemError``.
  /// - Complexity: O(files).
  func check() throws {
    try checkNames("") { name, text in
      if TileFolder.documents.contains(text) { return .file }
      return TileFileName.number(name).map { $0 <= TileID.zoomMax } == true ? .folder : nil
    }
    guard isMarked else {
      throw refusal("no \(TileFolder.metadataName) in it says that it is a folder of tiles")
    }
    for zoom in FileSystem.names(in: path) where !TileFolder.documents.contains(zoom) {
      try checkNames(zoom) { name, _ in TileFileName.number(name) == nil ? nil : .folder }
      for column in FileSystem.names(in: "\(path)/\(zoom)") {
        try checkNames("\(zoom)/\(column)") { name, _ in TileFileName(name, isTexture: true) == nil ? nil : .file }
      }
    }
  }

  /// Checks the names in a folder; `kind` says what a name stands for, nil if no folder of tiles has it.
  private func checkNames(
    _ folder: String, kind: (UnsafeBufferPointer<UInt8>, String) -> FileSystem.Kind?
  ) throws {
    let prefix = folder.isEmpty ? "" : "\(folder)/"
    try FileSystem.forEachName(in: "\(path)/\(folder)") { name in
      let text = SystemPath.text(name)
      if text == "." || text == ".." { return true }
      let found = try FileSystem.status("\(path)/\(prefix)\(text)", followingLinks: false)
      // Nil for a file that has just gone, or whose name is not UTF-8.
      guard let wanted = kind(name, text), found == nil || found?.kind == wanted else {
        throw refusal("it also holds \(prefix)\(text), which no folder of tiles has")
      }
      return true
    }
  }

  private var isMarked: Bool {
    let marks = [(TileFolder.metadataName, ["format", "scheme", "minzoom"]), (TileJSONDocument.name, ["tilejson"])]
    return FileSystem.size("\(path)/\(TileFolder.resourceName)") > 0
      || marks.contains { name, members in
        guard let document = try? JSONFile.read("\(path)/\(name)", duplicates: .lastWins) else { return false }
        return members.contains { document[$0] != nil }
      }
  }

  private func refusal(_ reason: String) -> BundleError {
    BundleError(
      .exists, path: target, "is not replaced: \(reason)", remedy: "choose another name, or move it away")
  }
}
