import Crypto
import Support
import TileIndex

/// Writes bytes as they arrive, and notes pieces of them once they are on the disk.
///
/// The checksum rolls along with the bytes, so that nothing has to be read again for it. Bytes after the last piece do not count after a kill.
struct PieceWriter {
  let file: PartFile
  let state: ShelfState
  let download: Download
  let pieceBytes: Int
  let onStep: @Sendable (InstallStep) -> Void

  private var hash = SHA256()
  private var first = 0
  private var end = 0

  init(
    file: PartFile, state: ShelfState, download: Download, pieceBytes: Int,
    onStep: @escaping @Sendable (InstallStep) -> Void
  ) {
    (self.file, self.state, self.download) = (file, state, download)
    (self.pieceBytes, self.onStep) = (pieceBytes, onStep)
  }

  /// Writes bytes that belong at a place. Where that is not where the last ones ended, a new piece begins.
  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    precondition(first == end || offset == end, "a piece is closed before another begins")
    if first == end { (first, end, hash) = (offset, offset, SHA256()) }
    try file.write(bytes, at: offset)
    hash.update(bufferPointer: bytes)
    end += bytes.count
  }

  /// Where the next byte of the piece under way belongs; nil when there is none under way.
  var position: Int? { first < end ? end : nil }
  var isFull: Bool { end - first >= pieceBytes }

  /// Puts the piece on the disk, then notes it: never the other way round.
  mutating func close() async throws {
    guard first < end else { return }
    let piece = Piece(range: first..<end, sha256: Hexadecimal.text(hash.finalize()))
    first = end
    let (file, state, download) = (file, state, download)
    try await Blocking.run {
      try file.synchronise()
      try state.record(piece, of: download)
    }
    onStep(.pieceRecorded)
  }
}
