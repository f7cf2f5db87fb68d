import Support
import TileIndex

/// File operations in a catalogue's folder.
enum CatalogFiles {
  static func makeFolder(_ path: String) throws {
    do {
      try FileSystem.makeFolders(path)
    } catch let error as FileSystem.SystemError where error.isNoFolder {
      throw CatalogBuildError(
        .unwritableOutput, path: path, "is no folder", remedy: "give the catalogue a folder of its own")
    } catch let error as FileSystem.SystemError {
      throw unwritable(path, "the folder cannot be made", error)
    }
  }

  /// Names in a folder, sorted; none where there is no such folder.
  static func names(in folder: String) -> [String] {
    FileSystem.names(in: folder).sorted()
  }

  static func exists(_ path: String) -> Bool { FileSystem.kind(path) != nil }

  /// Removes a file, or a folder with all that is in it.
  static func remove(_ path: String) { FileSystem.removeTree(path) }

  /// Gives a file another name, in place of what has that name.
  static func move(_ path: String, to target: String) throws {
    do { try FileSystem.rename(path, replacing: target) } catch let error as FileSystem.SystemError {
      throw unwritable(target, "cannot be put in place", error)
    }
  }

  /// Puts a folder's entries on the disk.
  static func synchronise(_ folder: String) throws {
    do { try FileSystem.synchronise(folder) } catch let error as FileSystem.SystemError {
      throw unwritable(folder, "cannot be put on the disk", error)
    }
  }

  /// A failed write, with what the system says of it.
  static func unwritable(_ path: String, _ what: String, _ error: FileSystem.SystemError) -> CatalogBuildError {
    CatalogBuildError(
      .unwritableOutput, path: path, "\(what): \(error)",
      remedy: error.isDiskFull ? "free space or choose another disk" : "choose a folder you may write to")
  }
}
