import Foundation
import Support
import Synchronization
import TileIndex

/// SHA-256 of input files, remembered by path, size, time of the last change and inode, so that gigabytes are not read again to find that nothing has changed.
final class InputHashes: Sendable {
  private struct Entry: Codable {
    let path: String
    let stamp: FileStamp
    let sha256: String
  }

  private struct State {
    var known: [String: Entry]
    var isChanged = false
  }

  private let file: String
  private let state: Mutex<State>
  /// Only one file is read at a time: the disk is the bottleneck, and regions share sources.
  private let reading = NSLock()

  /// - Parameter file: where hashes are kept from one build to the next; what cannot be read there is forgotten.
  init(file: String) {
    self.file = file
    let entries = (try? JSONFile.read(file).decoded(as: [Entry].self)) ?? []
    state = Mutex(State(known: Dictionary(entries.map { ($0.path, $0) }, uniquingKeysWith: { $1 })))
  }

  /// The hash of a file's content.
  ///
  /// - Throws: ``BundleError`` when it cannot be read.
  func sha256(_ path: String) throws -> String {
    // The same file by whatever name, from wherever the build was started.
    let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
    if let known = lookUp(absolute) { return known }
    reading.lock()
    defer { reading.unlock() }
    if let known = lookUp(absolute) { return known }
    let before = FileStamp(absolute)
    let hash = try FileHash.sha256(ofFile: path)
    // A file that was written to meanwhile has no hash that could be remembered.
    if let before, FileStamp(absolute) == before {
      state.withLock { state in
        state.known[absolute] = Entry(path: absolute, stamp: before, sha256: hash)
        state.isChanged = true
      }
    }
    return hash
  }

  /// Writes down what is new.
  func save() throws {
    let entries = state.withLock { state -> [Entry]? in
      guard state.isChanged else { return nil }
      state.isChanged = false
      return state.known.values.filter { FileStamp($0.path) == $0.stamp }.sorted { $0.path < $1.path }
    }
    if let entries { try OutputFile.write(JSONValue(encoding: entries).bytes, to: file, replacing: true) }
  }

  private func lookUp(_ path: String) -> String? {
    guard let entry = state.withLock({ $0.known[path] }), entry.stamp == FileStamp(path) else { return nil }
    return entry.sha256
  }
}
