public import Foundation

/// A folder of a test's own that is removed, with everything in it, when the object is released.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("map-toolkit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    // Tests may have removed the permission to write.
    try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a name inside the folder.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  public var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

  /// Writes a text file and returns its path.
  @discardableResult
  public func write(_ name: String, _ text: String) throws -> String { try write(name, bytes: Array(text.utf8)) }

  /// Writes a file and returns its path.
  @discardableResult
  public func write(_ name: String, bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: url.appendingPathComponent(name))
    return file(name)
  }

  public func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file(name))) }

  /// The sorted names of everything in the folder, with hidden files.
  public var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
