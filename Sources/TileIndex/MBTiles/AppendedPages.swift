import Support

/// The pages of a new SQLite database that are appended to its file past SQLite, for tables that are written once in
/// the order of their rows (SQLite's "Database File Format", sections 1.2 to 1.6).
///
/// SQLite makes the file and its schema, and is closed. ``AppendedTable`` and ``AppendedIndex`` then fill empty tables.
/// After ``finish()`` SQLite opens the file again. For each page SQLite would copy the bytes three times and make a
/// call of its own; here they are copied once, into a buffer of a megabyte.
final class AppendedPages {
  /// Systems lock files by locking bytes from here on; their page is empty (section 1.11).
  private static let lockedByte = 1 << 30

  let pageBytes: Int
  /// Pages of the file so far.
  private(set) var count: Int
  private let file: SpoolFile
  private let lockPage: Int
  private let zeros: [UInt8]

  /// - Parameter path: a database in one file that nobody has open.
  /// - Throws: ``FileSystem/SystemError``.
  init(_ path: String, pageBytes: Int) throws {
    self.pageBytes = pageBytes
    count = FileSystem.size(path) / pageBytes
    file = try SpoolFile(path, from: count * pageBytes)
    lockPage = Self.lockedByte / pageBytes + 1
    zeros = [UInt8](repeating: 0, count: pageBytes)
  }

  /// The number of the next page.
  private func nextNumber(after number: Int) -> Int { number + 1 == lockPage ? number + 2 : number + 1 }

  /// Makes room for a page that is appended next.
  private func advance() throws {
    if count + 1 == lockPage {
      try file.append(zeros)
      count += 1
    }
    count += 1
    guard count < Int(UInt32.max) else { throw FileSystem.SystemError.tooLarge }
  }

  /// Appends a page and returns its number.
  func append(_ page: BTreePage) throws -> Int {
    try advance()
    try file.append(UnsafeRawBufferPointer(page.bytes))
    return count
  }

  /// Replaces an empty root page.
  func replace(_ root: Int, by page: BTreePage) throws {
    try file.overwrite([UInt8](page.bytes), at: (root - 1) * pageBytes)
  }

  /// Appends the part of a payload that is not on its leaf page, and returns the number of its first page (section
  /// 1.6.1).
  func appendOverflow(_ payload: UnsafeRawBufferPointer) throws -> Int {
    let first = nextNumber(after: count)
    let share = pageBytes - 4
    var done = 0
    while done < payload.count {
      let part = UnsafeRawBufferPointer(rebasing: payload[done..<min(done + share, payload.count)])
      done += part.count
      try advance()
      let next = done < payload.count ? nextNumber(after: count) : 0
      try withUnsafeBytes(of: UInt32(next).bigEndian) { try file.append($0) }
      try file.append(part)
      if part.count < share {
        try zeros.withUnsafeBytes { try file.append(UnsafeRawBufferPointer(rebasing: $0[..<(share - part.count)])) }
      }
    }
    return first
  }

  /// Writes what is in the buffer, and the number of pages into the file's header (section 1.3.8).
  func finish() throws {
    try file.flush()
    try withUnsafeBytes(of: UInt32(count).bigEndian) { try file.overwrite([UInt8]($0), at: 28) }
  }
}

/// One page of a b-tree: the pointers to its cells grow from the start, the cells from the end (section 1.6).
final class BTreePage {
  enum Kind: UInt8 {
    case interiorIndex = 2
    case interiorTable = 5
    case leafIndex = 10
    case leafTable = 13

    var headBytes: Int { rawValue < 8 ? 12 : 8 }
  }

  let bytes: UnsafeMutableRawBufferPointer
  private var kind = Kind.leafTable
  private(set) var cellCount = 0
  private var contentStart = 0
  /// For a cell, with its pointer.
  var room: Int { contentStart - kind.headBytes - 2 * cellCount }

  init(pageBytes: Int) { bytes = .allocate(byteCount: pageBytes, alignment: 16) }

  deinit { bytes.deallocate() }

  /// Empties the page. An interior page has `rightmost` as its last child.
  func begin(_ kind: Kind, rightmost: UInt32 = 0) {
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    (self.kind, cellCount, contentStart) = (kind, 0, bytes.count)
    bytes[0] = kind.rawValue
    if kind.headBytes == 12 { bytes.storeBytes(of: rightmost.bigEndian, toByteOffset: 8, as: UInt32.self) }
    // A page of 65,536 bytes says 0.
    put(UInt16(truncatingIfNeeded: contentStart), at: 5)
  }

  /// Adds a cell of so many bytes, which must have room, and returns where it goes.
  func addCell(byteCount: Int) -> UnsafeMutableRawBufferPointer {
    contentStart -= byteCount
    put(UInt16(contentStart), at: kind.headBytes + 2 * cellCount)
    cellCount += 1
    put(UInt16(cellCount), at: 3)
    put(UInt16(contentStart), at: 5)
    return UnsafeMutableRawBufferPointer(rebasing: bytes[contentStart..<(contentStart + byteCount)])
  }

  private func put(_ value: UInt16, at offset: Int) {
    bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
  }
}

/// The encoding of rows (section 2.1).
package enum SQLiteRecord {
  /// The bytes of a row's payload that lie on its leaf page in a table; the rest has pages of its own (section 1.6).
  ///
  /// - Parameter usableBytes: of a page.
  package static func localBytes(ofPayload payload: Int, usableBytes: Int) -> Int {
    let largest = usableBytes - 35
    guard payload > largest else { return payload }
    let smallest = (usableBytes - 12) * 32 / 255 - 23
    let rest = smallest + (payload - smallest) % (usableBytes - 4)
    return rest <= largest ? rest : smallest
  }

  /// The bytes of a number that is not negative.
  static func varintBytes(_ value: Int) -> Int {
    var (bytes, rest) = (1, value >> 7)
    while rest > 0 { (bytes, rest) = (bytes + 1, rest >> 7) }
    return bytes
  }

  /// Appends a number below 2^56 that is not negative, seven bits a byte, the first ones first.
  static func append(varint value: Int, to bytes: inout [UInt8]) {
    for index in (0..<varintBytes(value)).reversed() {
      bytes.append(UInt8(value >> (7 * index) & 0x7f) | (index > 0 ? 0x80 : 0))
    }
  }

  /// Appends the head of a record and its integers, which are not negative; behind them comes its blob if it has one.
  ///
  /// - Parameters:
  ///   - startsWithNull: whether the first column is NULL, as an INTEGER PRIMARY KEY is stored.
  ///   - blobBytes: of the last column; nil without it.
  static func append(
    _ integers: [UInt32], startsWithNull: Bool = false, blobBytes: Int? = nil, to bytes: inout [UInt8]
  ) {
    let blobType = blobBytes.map { 2 * $0 + 12 }
    // The head has fewer than 128 bytes.
    bytes.append(UInt8(1 + (startsWithNull ? 1 : 0) + integers.count + (blobType.map(varintBytes) ?? 0)))
    if startsWithNull { bytes.append(0) }
    for value in integers { bytes.append(type(value)) }
    if let blobType { append(varint: blobType, to: &bytes) }
    for value in integers {
      for index in (0..<size(value)).reversed() {
        bytes.append(UInt8(truncatingIfNeeded: UInt64(value) >> (8 * index)))
      }
    }
  }

  private static func type(_ value: UInt32) -> UInt8 {
    switch value {
    case 0: 8
    case 1: 9
    case ..<0x80: 1
    case ..<0x8000: 2
    case ..<0x80_0000: 3
    case ..<0x8000_0000: 4
    default: 5
    }
  }

  private static func size(_ value: UInt32) -> Int {
    switch value {
    case 0...1: 0
    case ..<0x80: 1
    case ..<0x8000: 2
    case ..<0x80_0000: 3
    case ..<0x8000_0000: 4
    default: 6
    }
  }
}
