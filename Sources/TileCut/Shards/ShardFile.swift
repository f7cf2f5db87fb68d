import Support
import TileImage
import TileIndex

/// A file with a finished shard:
///
/// ```
/// "TILESHD1"
/// for each subtree, in the order of SubtreeSequence:
///   how many tiles it gave (UInt32), those above it in the shard that it completed among them
///   each tile: zoom, column, row, number of bytes (UInt32 each), its bytes
/// 0xffffffff
/// left, top, right, bottom of the visible pixels (Int64 each; all 0 for none)
/// candidate tiles of the stored zooms (Int64)
/// whether the root has pixels (Int64: 0 or 1), and these as in PixelBuffer
/// ```
///
/// All numbers are little-endian. From such files the merge puts the same tiles in the same order as one process.
enum ShardFile {
  static let magic = Array("TILESHD1".utf8)
  static let end = UInt32.max

  /// What follows the last subtree.
  struct Ending {
    var extent: VisibleExtent?
    var tilesDone: Int
    var rootPixels: PixelBuffer?
  }
}

/// Writes a ``ShardFile``.
final class ShardWriter {
  private let file: SpoolFile
  private var hash = SHA256Hash()
  private(set) var tileCount = 0
  private(set) var tileBytes = 0

  /// - Parameter path: an empty file.
  init(_ path: String) throws {
    file = try SpoolFile(path)
    try append(ShardFile.magic)
  }

  /// Adds the tiles of the next subtree.
  func add(_ tiles: [EncodedTile]) throws {
    try append(UInt32(tiles.count))
    for tile in tiles {
      for number in [tile.id.zoom, tile.id.column, tile.id.row, tile.bytes.count] { try append(UInt32(number)) }
      try append(tile.bytes)
      tileCount += 1
      tileBytes += tile.bytes.count
    }
  }

  /// Completes the file.
  ///
  /// - Returns: its SHA-256 and its size.
  func finish(_ ending: ShardFile.Ending) throws -> (sha256: String, bytes: Int) {
    try append(ShardFile.end)
    let extent = ending.extent ?? VisibleExtent(left: 0, top: 0, right: 0, bottom: 0)
    let hasPixels = ending.rootPixels == nil ? 0 : 1
    for number in [extent.left, extent.top, extent.right, extent.bottom, ending.tilesDone, hasPixels] {
      try append(Int64(number))
    }
    if let pixels = ending.rootPixels {
      try append(UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount))
    }
    try file.flush()
    return (Hexadecimal.text(hash.digest()), file.end)
  }

  private func append(_ number: some FixedWidthInteger) throws {
    try withUnsafeBytes(of: number.littleEndian) { try append($0) }
  }

  private func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  private func append(_ bytes: UnsafeRawBufferPointer) throws {
    try file.append(bytes)
    hash.update(bytes)
  }
}

/// Reads a ``ShardFile`` from its beginning to its end.
final class ShardReader {
  /// The file is not what the receipt says.
  struct Damaged: Error {}

  private let file: ReadOnlyFile
  private let sha256: String
  private var hash = SHA256Hash()
  private var buffer: [UInt8] = []
  private var position = 0
  private var offset = 0
  private var nextCount: UInt32 = 0

  init(_ path: String, sha256: String) throws {
    file = try ReadOnlyFile(path)
    self.sha256 = sha256
    guard try take(ShardFile.magic.count) == ShardFile.magic[...] else { throw Damaged() }
    nextCount = try number()
  }

  /// No subtree is left.
  var isAtEnd: Bool { nextCount == ShardFile.end }

  /// The tiles of the next subtree.
  func subtree() throws -> [EncodedTile] {
    guard !isAtEnd else { throw Damaged() }
    var tiles: [EncodedTile] = []
    for _ in 0..<nextCount {
      let (zoom, column, row, count) = (try number(), try number(), try number(), try number()) as (
        UInt32, UInt32, UInt32, UInt32
      )
      let id = TileID(unchecked: Int(zoom), Int(column), Int(row))
      tiles.append(EncodedTile(id: id, bytes: Array(try take(Int(count)))))
    }
    nextCount = try number()
    return tiles
  }

  /// What follows the last subtree.
  ///
  /// - Throws: ``Damaged`` if the file, which has been read by now, is another one than the receipt's.
  func ending(_ matrix: TileMatrix) throws -> ShardFile.Ending {
    guard isAtEnd else { throw Damaged() }
    let numbers: [Int64] = [try number(), try number(), try number(), try number(), try number(), try number()]
    let extent = VisibleExtent(
      left: Int(numbers[0]), top: Int(numbers[1]), right: Int(numbers[2]), bottom: Int(numbers[3]))
    var ending = ShardFile.Ending(extent: extent.right > extent.left ? extent : nil, tilesDone: Int(numbers[4]))
    if numbers[5] == 1 {
      let pixels = PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
      try take(pixels.byteCount).withUnsafeBytes { pixels.bytes.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
      ending.rootPixels = pixels
    }
    guard position == buffer.count, offset == file.byteCount, Hexadecimal.text(hash.digest()) == sha256 else {
      throw Damaged()
    }
    return ending
  }

  private func number<Number: FixedWidthInteger>() throws -> Number {
    let size = MemoryLayout<Number>.size
    return try take(size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  private func take(_ count: Int) throws -> ArraySlice<UInt8> {
    if buffer.count - position < count {
      guard file.byteCount - offset >= count - (buffer.count - position) else { throw Damaged() }
      let more = try file.bytes(at: offset, count: min(max(count, 1 << 18), file.byteCount - offset))
      guard !more.isEmpty else { throw Damaged() }
      hash.update(more)
      offset += more.count
      buffer = Array(buffer[position...]) + more
      position = 0
      guard buffer.count >= count else { throw Damaged() }
    }
    position += count
    return buffer[(position - count)..<position]
  }
}
