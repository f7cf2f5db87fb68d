import TileIndex

/// A tile in its bundle's file, to be read from there for each response: past SQLite, and from the system's memory, which keeps it anyway.
struct FileBody: Sendable {
  let file: ResidentReader
  let pieces: [FilePiece]

  /// Smaller bodies cost less to keep than to read.
  static let bytesMin = 16384
}
