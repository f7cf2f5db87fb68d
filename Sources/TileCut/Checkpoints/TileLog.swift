import Support
import TileIndex

/// The tiles of a cut in the order in which they were stored, from which any container can be written again.
///
/// A record is the tile's zoom, column, row and number of bytes (UInt32, little-endian), then its bytes. One thread at
/// a time.
final class TileLog {
  /// A place in the log, with a hash of everything before it.
  struct Position {
    let bytes: Int
    let hash: UInt64

    static var beginning: Position { Position(bytes: 0, hash: 0) }

    init(bytes: Int, hash: UInt64) { (self.bytes, self.hash) = (bytes, hash) }

    /// Nil for what ``members`` does not give.
    init?(_ json: JSONValue) {
      guard let bytes = json.numbers("logBytes")?.first,
        let hash = json["logHash"]?.string.flatMap({ UInt64($0, radix: 16) })
      else { return nil }
      self.init(bytes: Int(bytes), hash: hash)
    }

    var members: [JSONValue.Member] {
      [.init("logBytes", .array([.number(bytes)])), .init("logHash", .string(String(hash, radix: 16)))]
    }
  }

  private static let headBytes = 16
  private let file: SpoolFile
  private(set) var position: Position

  /// Opens a log to go on at a position; what is behind it is cut off.
  ///
  /// - Throws: `FileSystem.SystemError`.
  init(_ path: String, at position: Position) throws {
    if try FileSystem.status(path) == nil { try FileSystem.createExclusively(path) }
    try FileSystem.truncate(path, toBytes: position.bytes)
    file = try SpoolFile(path, from: position.bytes)
    self.position = position
  }

  func append(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try withUnsafeTemporaryAllocation(byteCount: Self.headBytes, alignment: 8) { head in
      for (index, number) in [tile.zoom, tile.column, tile.row, data.count].enumerated() {
        head.storeBytes(of: UInt32(number).littleEndian, toByteOffset: index * 4, as: UInt32.self)
      }
      try file.append(UnsafeRawBufferPointer(head))
      try file.append(data)
      position = Self.following(position, UnsafeRawBufferPointer(head), data)
    }
  }

  /// Hands everything to the system.
  func flush() throws { try file.flush() }

  private static func following(
    _ position: Position, _ head: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer
  ) -> Position {
    Position(
      bytes: position.bytes + head.count + data.count,
      hash: chained(chained(position.hash, ContentHash.hash(head)), ContentHash.hash(data)))
  }

  static func chained(_ hash: UInt64, _ next: UInt64) -> UInt64 {
    withUnsafeBytes(of: (hash.littleEndian, next.littleEndian)) { ContentHash.hash($0) }
  }

  /// Passes the tiles before a position to a closure.
  ///
  /// - Returns: false if the log does not hold what it held when the position was taken; the closure has then got tiles
  ///   that do not count.
  /// - Throws: `FileSystem.SystemError`; what the closure throws.
  static func read(
    _ path: String, to end: Position, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    guard end.bytes > 0 else { return true }
    let file = try ReadOnlyFile(path)
    guard file.byteCount >= end.bytes else { return false }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var position = Position.beginning
    /// The part of the log that the buffer holds.
    var held = 0..<0
    func fill(_ count: Int) throws -> Bool {
      if position.bytes + count <= held.upperBound { return true }
      guard position.bytes + count <= end.bytes else { return false }
      if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
      let wanted = min(buffer.count, end.bytes - position.bytes)
      let read = try buffer.withUnsafeMutableBytes {
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]), at: position.bytes)
      }
      held = position.bytes..<(position.bytes + read)
      return read >= count
    }
    while position.bytes < end.bytes {
      guard try fill(headBytes) else { return false }
      func number(_ index: Int) -> Int {
        buffer.withUnsafeBytes {
          Int($0.littleEndian(UInt32.self, at: position.bytes - held.lowerBound + 4 * index))
        }
      }
      let (tile, count) = (TileID(unchecked: number(0), number(1), number(2)), number(3))
      guard tile.zoom <= TileID.zoomMax, try fill(headBytes + count) else { return false }
      let start = position.bytes - held.lowerBound
      try buffer.withUnsafeBytes { buffer in
        let head = UnsafeRawBufferPointer(rebasing: buffer[start..<(start + headBytes)])
        let data = UnsafeRawBufferPointer(rebasing: buffer[(start + headBytes)..<(start + headBytes + count)])
        try body(tile, data)
        position = following(position, head, data)
      }
    }
    return position.hash == end.hash
  }
}
