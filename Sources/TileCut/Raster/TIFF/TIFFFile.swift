import CTIFFShim
import Synchronization

/// One directory (image) of a TIFF file, read by several threads through handles of their own.
final class TIFFFile: Sendable {
  let file: OpenFile
  let directory: Int
  private let idle = Mutex<[TIFFHandle]>([])
  private let collected: WarningList

  /// - Parameter warnings: where libtiff's warnings go, each once.
  init(_ file: OpenFile, directory: Int, warnings: WarningList) {
    self.file = file
    self.directory = directory
    collected = warnings
  }

  var path: String { file.path }

  /// Lends a handle positioned at the directory. A handle whose use threw is not used again.
  func withHandle<Result>(_ body: (TIFFHandle) throws -> Result) throws -> Result {
    let handle = try idle.withLock { $0.popLast() } ?? newHandle()
    ctiff_clear_error(handle.pointer)
    let result: Result
    do {
      result = try body(handle)
    } catch {
      report(handle)
      throw error
    }
    report(handle)
    idle.withLock { if $0.count < Self.idleMax { $0.append(handle) } }
    return result
  }

  /// More threads than this are not expected to decode at once.
  private static let idleMax = 64

  /// A handle positioned at the directory, for one thread to keep.
  func newHandle() throws -> TIFFHandle {
    let handle = try TIFFHandle(file)
    if directory != 0, ctiff_set_directory(handle.pointer, UInt32(directory)) == 0 {
      throw CutError(
        .badSource, path: path, "directory \(directory) cannot be read: \(handle.takeError())",
        remedy: "the file is damaged; copy or make it again")
    }
    // Also asks libjpeg for RGB, which each handle must do for itself.
    var layout = ctiff_layout()
    _ = ctiff_read_layout(handle.pointer, &layout)
    return handle
  }

  private func report(_ handle: TIFFHandle) {
    for text in handle.takeWarnings() { collected.add("\(path): libtiff warns: \(text)") }
  }
}

/// Warnings of a source, each once and not too many, gathered by all its threads.
final class WarningList: Sendable {
  private let texts = Mutex<[String]>([])
  private static let countMax = 8

  func add(_ text: String) {
    texts.withLock { if $0.count < Self.countMax && !$0.contains(text) { $0.append(text) } }
  }

  var all: [String] { texts.withLock { $0 } }
}
