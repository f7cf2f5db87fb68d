public import Foundation

/// A folder of a test's own that goes, with everything in it, when the object does.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("map-toolkit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    // Tests may have taken the right to write away.
    try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a name inside the folder.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  public var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

  /// Writes a text file.
  public func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: url.appendingPathComponent(name))
  }

  public func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file(name))) }

  /// The names of everything in the folder, hidden files too, sorted.
  public var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
