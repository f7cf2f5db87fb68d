import Support
import TileImage
import TileIndex

/// How far a cut has come: the state of its pyramid, and the part of the tile log that belongs to it.
struct Checkpoint {
  var pyramid: PyramidState
  /// The position in the ``TileLog``.
  var log: TileLog.Position
  /// How long the cut has run.
  var seconds: Double

  /// Before the first tile.
  static var beginning: Checkpoint { Checkpoint(pyramid: PyramidState(), log: .beginning, seconds: 0) }
}

/// The file of a checkpoint:
///
/// ```
///  0  "TILECUT1"
///  8  bytes of the header (UInt32, little-endian)
/// 12  the header, JSON
///     pixels of the waiting tiles that have any, in the header's order, as in PixelBuffer
///     a hash of header and pixels (UInt64, little-endian)
/// ```
extension Checkpoint {
  private static let magic = Array("TILECUT1".utf8)

  /// Writes the file's content over an empty file.
  func write(to path: String) throws {
    let file = try SpoolFile(path)
    let header = json.bytes
    try file.append(Self.magic + [UInt8](littleEndian: UInt32(header.count)) + header)
    var hash = header.withUnsafeBytes { ContentHash.hash($0) }
    for pixels in pyramid.waiting.compactMap(\.pixels) {
      let bytes = UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount)
      try file.append(bytes)
      hash = Self.chained(hash, bytes)
    }
    try file.append([UInt8](littleEndian: hash))
    try file.flush()
  }

  /// Reads a file.
  ///
  /// - Parameter matrix: the size of the tiles.
  /// - Returns: nil for a file that is damaged or of another version.
  /// - Throws: `FileSystem.SystemError`.
  init?(path: String, matrix: TileMatrix) throws {
    let file = try ReadOnlyFile(path)
    guard let (json, header, end) = try Self.header(of: file) else { return nil }
    var hash = header.withUnsafeBytes { ContentHash.hash($0) }
    var offset = end
    func pixels() throws -> PixelBuffer? {
      let buffer = PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
      let target = UnsafeMutableRawBufferPointer(start: buffer.bytes, count: buffer.byteCount)
      guard try file.read(into: target, at: offset) == buffer.byteCount else { return nil }
      offset += buffer.byteCount
      hash = Self.chained(hash, UnsafeRawBufferPointer(target))
      return buffer
    }
    guard let state = try PyramidState(json, pixels: pixels), let log = TileLog.Position(json),
      let seconds = json.numbers("seconds")?.first,
      try file.bytes(at: offset, count: 9) == [UInt8](littleEndian: hash)
    else { return nil }
    self.init(pyramid: state, log: log, seconds: seconds)
  }

  /// How many tiles were done, from the file's header alone; nil for a file that is none.
  static func tilesDone(inFile path: String) -> Int? {
    guard let file = try? ReadOnlyFile(path), let json = try? header(of: file)?.json else { return nil }
    return json.numbers("tilesDone")?.first.map { Int($0) }
  }

  /// The file's header, and where the pixels begin.
  private static func header(of file: ReadOnlyFile) throws -> (json: JSONValue, bytes: [UInt8], end: Int)? {
    let head = try file.bytes(at: 0, count: 12)
    guard head.count == 12, Array(head.prefix(8)) == magic else { return nil }
    let count = head.withUnsafeBytes { Int($0.littleEndian(UInt32.self, at: 8)) }
    let bytes = try file.bytes(at: 12, count: min(count, file.byteCount))
    guard bytes.count == count, let json = try? JSONValue(parsing: bytes) else { return nil }
    return (json, bytes, 12 + count)
  }

  private var json: JSONValue {
    .object(pyramid.members + log.members + [.init("seconds", .array([.number(seconds)]))])
  }

  private static func chained(_ hash: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
    TileLog.chained(hash, ContentHash.hash(bytes))
  }
}

extension PyramidState {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("subtrees", .array([.number(subtreeCount)])),
      .init("tilesDone", .array([.number(tilesDone)])),
      .init("bytesStored", .array([.number(bytesStored)])),
      .init("formats", .array(formats.map(\.rawValue).sorted().map { .string($0) })),
      .init(
        "extent", .array((extent.map { [$0.left, $0.top, $0.right, $0.bottom] } ?? []).map { .number($0) })),
      .init(
        "waiting",
        .array(
          waiting.map { tile in
            let id = [tile.id.zoom, tile.id.column, tile.id.row, tile.missing, tile.pixels == nil ? 0 : 1]
            return .array((id + tile.strays.flatMap { [$0.x, $0.y, Int($0.rgba)] }).map { .number($0) })
          })),
    ]
  }

  /// - Parameter pixels: reads the pixels of the next tile that has some.
  fileprivate init?(_ json: JSONValue, pixels: () throws -> PixelBuffer?) throws {
    func number(_ name: String) -> Int? { json.numbers(name)?.first.flatMap { Int(exactly: $0) } }
    guard let subtrees = number("subtrees"), let done = number("tilesDone"), let stored = number("bytesStored"),
      let extent = json.numbers("extent"), let waiting = json["waiting"]?.array, let formats = json["formats"]?.array
    else { return nil }
    self.formats = Set(formats.compactMap { $0.string.flatMap(TileFormat.init(rawValue:)) })
    guard self.formats.count == formats.count else { return nil }
    (subtreeCount, tilesDone, bytesStored) = (subtrees, done, stored)
    if extent.count == 4 {
      let sides = extent.map { Int($0) }
      self.extent = VisibleExtent(left: sides[0], top: sides[1], right: sides[2], bottom: sides[3])
    }
    for entry in waiting {
      guard let numbers = entry.integers, numbers.count >= 5, numbers.count % 3 == 2 else { return nil }
      let strays = stride(from: 5, to: numbers.count, by: 3).map {
        (x: numbers[$0], y: numbers[$0 + 1], rgba: UInt32(truncatingIfNeeded: numbers[$0 + 2]))
      }
      let buffer = numbers[4] == 1 ? try pixels() : nil
      if numbers[4] == 1, buffer == nil { return nil }
      self.waiting.append(
        ParentTile(
          id: TileID(unchecked: numbers[0], numbers[1], numbers[2]), childCount: numbers[3], pixels: buffer,
          strays: strays))
    }
  }
}

extension JSONValue {
  /// The numbers of a member that is an array of nothing else.
  func numbers(_ name: String) -> [Double]? {
    guard let values = self[name]?.array else { return nil }
    let numbers = values.compactMap { if case .number(let digits) = $0 { Double(digits) } else { nil } }
    return numbers.count == values.count ? numbers : nil
  }

  fileprivate var integers: [Int]? {
    guard let values = array else { return nil }
    let numbers = values.compactMap { if case .number(let digits) = $0 { Int(digits) } else { nil } }
    return numbers.count == values.count ? numbers : nil
  }
}
