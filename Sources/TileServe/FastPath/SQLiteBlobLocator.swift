import TileIndex

extension MBTilesReader {
  /// Where a tile lies in the file; nil when that cannot be found.
  ///
  /// - Parameter bytes: the tile. What lies at the place is compared with it: a mistake about the file's format costs
  ///   speed, never a wrong tile.
  /// - Complexity: O(log tiles + bytes).
  func pieces(of tile: TileID, matching bytes: UnsafeRawBufferPointer) -> [FilePiece]? {
    guard let row = blobRow(of: tile), let pages = SQLiteBlobLocator({ self.readFile($0, at: $1) }),
      let pieces = pages.pieces(root: row.root, rowid: row.rowid, column: row.column, byteCount: bytes.count)
    else { return nil }
    var done = 0
    for piece in pieces {
      guard done + piece.count <= bytes.count else { return nil }
      let isSame = withUnsafeTemporaryAllocation(byteCount: piece.count, alignment: 16) { room in
        readFile(room, at: piece.offset)
          && room.elementsEqual(UnsafeRawBufferPointer(rebasing: bytes[done..<(done + piece.count)]))
      }
      guard isSame else { return nil }
      done += piece.count
    }
    return done == bytes.count ? pieces : nil
  }
}

/// Finds the place of a blob in a database file, so that the system can send it from there. Reads the pages itself
/// (SQLite's "Database File Format", sections 1.3, 1.6 and 2.1), because SQLite returns only copies. Supports the
/// common case, a table with rowids, and returns nil otherwise.
struct SQLiteBlobLocator {
  /// Fills a buffer from an offset of the file; false if that is not possible now.
  typealias Read = (UnsafeMutableRawBufferPointer, Int64) -> Bool

  private let read: Read
  private let pageSize: Int
  private let usableSize: Int

  /// Nil when the file's header cannot be read or is invalid.
  init?(_ read: @escaping Read) {
    var head = [UInt8](repeating: 0, count: 24)
    guard head.withUnsafeMutableBytes({ read($0, 0) }) else { return nil }
    let size = Int(head[16]) << 8 | Int(head[17])
    pageSize = size == 1 ? 65536 : size
    usableSize = pageSize - Int(head[20])
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0, usableSize >= 480 else { return nil }
    self.read = read
  }

  /// The pieces, in order, of the blob in a column of a row.
  ///
  /// - Parameters:
  ///   - root: the table's root page, from `sqlite_schema`.
  ///   - column: the column's index in the table, from 0.
  /// - Complexity: O(log rows) pages, and one short read for each overflow page of the blob.
  func pieces(root: Int, rowid: Int64, column: Int, byteCount: Int) -> [FilePiece]? {
    var page = [UInt8](repeating: 0, count: pageSize)
    var number = root
    // A tree of 2^31 pages is less deep; a deeper one has a cycle.
    for _ in 0..<20 {
      guard number > 0, page.withUnsafeMutableBytes({ read($0, Int64(number - 1) * Int64(pageSize)) }) else {
        return nil
      }
      let head = number == 1 ? 100 : 0
      switch page[head] {
      case 0x05:
        guard let child = child(page, head, rowid) else { return nil }
        number = child
      case 0x0d:
        guard let cell = leafCell(page, head, rowid) else { return nil }
        return pieces(page, number, cell: cell, column: column, byteCount: byteCount)
      default: return nil
      }
    }
    return nil
  }

  /// The child page of an interior page that contains the row.
  private func child(_ page: [UInt8], _ head: Int, _ rowid: Int64) -> Int? {
    let count = Self.u16(page, head + 3)
    guard head + 12 + 2 * count <= page.count else { return nil }
    // Binary search for the first cell whose key is not smaller.
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let cell = Self.u16(page, head + 12 + 2 * middle)
      guard let key = Self.varint(page, cell + 4) else { return nil }
      if key.value < rowid { low = middle + 1 } else { high = middle }
    }
    let place = low == count ? head + 8 : Self.u16(page, head + 12 + 2 * low)
    guard place + 4 <= page.count else { return nil }
    return Self.u32(page, place)
  }

  /// The offset of a row's payload on its page, and the payload's total size.
  private func leafCell(_ page: [UInt8], _ head: Int, _ rowid: Int64) -> (start: Int, payload: Int)? {
    let count = Self.u16(page, head + 3)
    guard head + 8 + 2 * count <= page.count else { return nil }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      guard let size = Self.varint(page, Self.u16(page, head + 8 + 2 * middle)),
        let key = Self.varint(page, size.end)
      else { return nil }
      if key.value == rowid { return (key.end, Int(truncatingIfNeeded: size.value)) }
      if key.value < rowid { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  private func pieces(
    _ page: [UInt8], _ number: Int, cell: (start: Int, payload: Int), column: Int, byteCount: Int
  ) -> [FilePiece]? {
    guard cell.payload > 0, let begin = Self.blobStart(page, cell.start, column: column, byteCount: byteCount),
      begin + byteCount <= cell.payload
    else { return nil }
    let local = SQLiteRecord.localBytes(ofPayload: cell.payload, usableBytes: usableSize)
    guard cell.start + local + (local < cell.payload ? 4 : 0) <= usableSize else { return nil }
    var pieces: [FilePiece] = []
    /// Adds the part of the blob that lies in a range of the payload stored at an offset of the file.
    func add(_ run: Range<Int>, at offset: Int64) {
      let part = run.clamped(to: begin..<(begin + byteCount))
      guard !part.isEmpty else { return }
      pieces.append(FilePiece(offset: offset + Int64(part.lowerBound - run.lowerBound), count: part.count))
    }
    add(0..<local, at: Int64(number - 1) * Int64(pageSize) + Int64(cell.start))
    var next = local < cell.payload ? Self.u32(page, cell.start + local) : 0
    var done = local
    while done < min(cell.payload, begin + byteCount) {
      guard next > 0 else { return nil }
      let offset = Int64(next - 1) * Int64(pageSize)
      let count = min(usableSize - 4, cell.payload - done)
      add(done..<(done + count), at: offset + 4)
      done += count
      guard done < cell.payload else { break }
      var link: UInt32 = 0
      guard withUnsafeMutableBytes(of: &link, { read($0, offset) }) else { return nil }
      next = Int(UInt32(bigEndian: link))
    }
    return pieces
  }

  /// The offset of a column's blob in the payload; nil when the column has another type or size, or the record's header
  /// continues on another page.
  private static func blobStart(_ page: [UInt8], _ start: Int, column: Int, byteCount: Int) -> Int? {
    guard let head = varint(page, start), head.value > 0, head.value < 256 else { return nil }
    let end = start + Int(head.value)
    var at = head.end
    var offset = Int(head.value)
    for index in 0...column {
      guard at < end, let type = varint(page, at), let size = contentSize(type.value) else { return nil }
      at = type.end
      if index == column { return type.value >= 12 && type.value & 1 == 0 && size == byteCount ? offset : nil }
      offset += size
    }
    return nil
  }

  /// The size of a value in bytes, by its serial type (section 2.1).
  private static func contentSize(_ type: Int64) -> Int? {
    switch type {
    case 0, 8, 9: 0
    case 1...4: Int(type)
    case 5: 6
    case 6, 7: 8
    case 12...(1 << 40): Int(type - 12) / 2
    default: nil
    }
  }

  private static func u16(_ page: [UInt8], _ place: Int) -> Int { Int(page[place]) << 8 | Int(page[place + 1]) }
  private static func u32(_ page: [UInt8], _ place: Int) -> Int { u16(page, place) << 16 | u16(page, place + 2) }

  /// A varint of one to nine bytes, big-endian, with seven bits in each byte and eight in the ninth (section 1.6).
  private static func varint(_ page: [UInt8], _ place: Int) -> (value: Int64, end: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard place + index < page.count else { return nil }
      let byte = page[place + index]
      if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(byte)), place + 9) }
      value = value << 7 | UInt64(byte & 0x7f)
      if byte < 0x80 { return (Int64(bitPattern: value), place + index + 1) }
    }
    return nil
  }
}
