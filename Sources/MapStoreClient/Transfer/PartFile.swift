import LibC
import Support
import TileIndex

/// The file of a download: written at any offset, and flushed to the disk on request.
final class PartFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// Opens a file, or creates it.
  ///
  /// - Throws: `FileSystem.SystemError`.
  init(_ path: String) throws {
    descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    self.path = path
  }

  deinit { close(descriptor) }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    try FileSystem.write(bytes, to: descriptor, at: offset)
  }

  /// Flushes the file; returns once it is on the disk.
  func synchronise() throws {
    try FileSystem.synchronise(descriptor)
  }

  /// Removes everything beyond a length.
  func truncate(to bytes: Int) throws {
    guard ftruncate(descriptor, off_t(bytes)) == 0 else { throw FileSystem.SystemError(number: errno) }
  }
}

/// Writes bytes as they arrive, and records pieces of them once they are on the disk.
///
/// The checksum is updated with each write, so nothing is read again for it. Bytes after the last recorded piece are
/// lost if the process is killed.
struct PieceWriter {
  let file: PartFile
  let state: RegionDatabase
  let download: Download
  let pieceBytes: Int
  let onStep: @Sendable (InstallStep) -> Void

  private var hash = SHA256Hash()
  private var first = 0
  private var end = 0

  init(
    file: PartFile, state: RegionDatabase, download: Download, pieceBytes: Int,
    onStep: @escaping @Sendable (InstallStep) -> Void
  ) {
    (self.file, self.state, self.download) = (file, state, download)
    (self.pieceBytes, self.onStep) = (pieceBytes, onStep)
  }

  /// Writes bytes at an offset: the end of the current piece, or the beginning of a new one.
  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    precondition(first == end || offset == end, "a piece is closed before another begins")
    if first == end { (first, end, hash) = (offset, offset, SHA256Hash()) }
    try file.write(bytes, at: offset)
    hash.update(bytes)
    end += bytes.count
  }

  /// The end of the current piece; nil if there is none.
  var position: Int? { first < end ? end : nil }
  var isFull: Bool { end - first >= pieceBytes }

  /// Flushes the piece, then records it: never the other way round.
  mutating func close() async throws {
    guard first < end else { return }
    let piece = Piece(range: first..<end, sha256: Hexadecimal.text(hash.digest()))
    first = end
    let (file, state, download) = (file, state, download)
    try await Blocking.run {
      try file.synchronise()
      try state.record(piece, of: download)
    }
    onStep(.pieceRecorded)
  }
}
