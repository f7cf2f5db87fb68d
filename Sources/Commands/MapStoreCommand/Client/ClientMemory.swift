import Foundation
import MapStoreClient
import MapStoreWire
import Support
import TileIndex

/// What the command remembers in the folder, `.mapstore-client.json`: the server, the session and the keys of grants. Nobody else may read it.
///
/// An app keeps the session in the system's key store instead, and has the keys built in.
struct ClientMemory: Codable {
  var server: String
  var session: SessionDetails?
  /// Of the last sign-in; it outlasts the session.
  var deviceToken: String?
  /// Those that the server had at the last sign-in, or when it began to sign with another.
  var grantKeys: [GrantKey] = []

  private static func path(_ folder: String) -> String { "\(folder)/.mapstore-client.json" }

  /// Nil where there is none.
  static func read(_ folder: String) throws -> ClientMemory? {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path(folder))
    } catch let error as JSONFile.Unreadable {
      if error.isMissing { return nil }
      throw BundleError(
        .readFailed, path: path(folder), "cannot be read: \(error)",
        remedy: "check its permissions, or remove it and sign in again")
    }
    do {
      return try WireJSON.decode(ClientMemory.self, from: bytes)
    } catch {
      throw BundleError(.malformed, path: path(folder), "\(error)", remedy: "remove it and sign in again")
    }
  }

  func write(_ folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = Self.path(folder)
    // The new file takes the place of one that only its owner could read, so it must be such a file from its beginning.
    let before = umask(0o077)
    defer { umask(before) }
    try OutputFile.write(try WireJSON.encode(self), to: path, replacing: true)
  }
}
