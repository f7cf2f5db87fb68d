import Foundation

extension MapSession {
  /// Reads sessions: files, and all `.jsonl` files of folders in the order of their names.
  ///
  /// - Throws: ``ReplayError``: `missingInput`, `malformedSession`.
  public static func read(_ paths: [String]) throws -> [MapSession] {
    var sessions: [MapSession] = []
    for path in paths {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
        throw ReplayError(.missingInput, "\(path): there is no such file or folder")
      }
      guard isFolder.boolValue else {
        sessions.append(try read(file: path))
        continue
      }
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
        throw ReplayError(.missingInput, "\(path): the folder cannot be read; check its permissions")
      }
      let files = names.filter { $0.hasSuffix(".jsonl") }.sorted()
      guard !files.isEmpty else {
        throw ReplayError(.missingInput, "\(path): the folder has no .jsonl files, which hold sessions")
      }
      for file in files { sessions.append(try read(file: (path as NSString).appendingPathComponent(file))) }
    }
    return sessions
  }

  private static func read(file path: String) throws -> MapSession {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ReplayError(.missingInput, "\(path): the file cannot be read; check its permissions")
    }
    let name = ((path as NSString).lastPathComponent as NSString).deletingPathExtension
    return try SessionReader.read([UInt8](data), name: name, file: path)
  }
}
