import Foundation
import Support
import TileIndex

/// File operations in a catalogue's folder.
enum CatalogFiles {
  static func makeFolder(_ path: String) throws {
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
      // A folder in a folder that is not there yet.
      do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return
      } catch {
        throw unwritable(path, "the folder cannot be made")
      }
    }
    var info = stat()
    guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
      throw CatalogBuildError(
        .unwritableOutput, path: path, "is no folder", remedy: "give the catalogue a folder of its own")
    }
  }

  /// Names in a folder, sorted; none where there is no such folder.
  static func names(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Removes a file, or a folder with all that is in it.
  static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  /// Gives a file another name, in place of what has that name.
  static func move(_ path: String, to target: String) throws {
    guard rename(path, target) == 0 else { throw unwritable(target, "cannot be put in place") }
  }

  /// Puts a folder's entries on the disk.
  static func synchronise(_ folder: String) throws {
    do { try FileSystem.synchronise(folder) } catch let error as FileSystem.SystemError {
      throw unwritable(folder, "cannot be put on the disk", error)
    }
  }

  /// What the system, errno if nothing else, says of a failed write.
  static func unwritable(
    _ path: String, _ what: String, _ error: FileSystem.SystemError = .init(number: errno)
  ) -> CatalogBuildError {
    CatalogBuildError(
      .unwritableOutput, path: path, "\(what): \(error)",
      remedy: error.isDiskFull ? "free space or choose another disk" : "choose a folder you may write to")
  }
}
