import Support

/// The pages that are appended to the file of an ``AppendedDatabase``, through a buffer of a megabyte (SQLite's
/// "Database File Format", sections 1.2 to 1.6).
final class AppendedPages {
  /// Systems lock files by locking bytes from here on; their page is empty (section 1.11).
  private static let lockedByte = 1 << 30
  /// SQLite before version 3.45 writes to no larger file.
  private static let countMax = 1_073_741_823

  let pageBytes: Int
  /// Of a page. Some builds of SQLite reserve bytes at the end of each, for themselves (section 1.3.4).
  let usableBytes: Int
  /// Pages of the file so far.
  private(set) var count: Int
  private let file: SpoolFile
  private let lockPage: Int
  private let zeros: [UInt8]
  private let scratch: UnsafeMutableRawBufferPointer

  /// - Parameter path: a database in one file that nobody has open.
  /// - Throws: ``FileSystem/SystemError``.
  init(_ path: String, pageBytes: Int) throws {
    self.pageBytes = pageBytes
    count = FileSystem.size(path) / pageBytes
    let file = try SpoolFile(path, from: count * pageBytes)
    self.file = file
    var reserved: UInt8 = 0
    try withUnsafeMutableBytes(of: &reserved) { try file.read(into: $0, at: 20) }
    usableBytes = pageBytes - Int(reserved)
    lockPage = Self.lockedByte / pageBytes + 1
    zeros = [UInt8](repeating: 0, count: pageBytes)
    scratch = .allocate(byteCount: pageBytes, alignment: 16)
  }

  deinit { scratch.deallocate() }

  /// The number of the next page.
  private func nextNumber(after number: Int) -> Int { number + 1 == lockPage ? number + 2 : number + 1 }

  /// Makes room for a page that is appended next.
  private func advance() throws {
    if count + 1 == lockPage {
      try file.append(zeros)
      count += 1
    }
    count += 1
    guard count <= Self.countMax else { throw FileSystem.SystemError.tooLarge }
  }

  /// Appends a page and returns its number.
  func append(_ page: BTreePage) throws -> Int {
    try advance()
    try file.append(UnsafeRawBufferPointer(page.bytes))
    return count
  }

  /// Appends an empty page, which ``replace(_:by:)`` fills, and returns its number.
  func reserve() throws -> Int {
    try advance()
    try file.append(zeros)
    return count
  }

  /// Replaces an empty page.
  func replace(_ number: Int, by page: BTreePage) throws {
    try file.overwrite(UnsafeRawBufferPointer(page.bytes), at: (number - 1) * pageBytes)
  }

  /// Reads a page that is in the file.
  func read(_ number: Int, into page: UnsafeMutableRawBufferPointer) throws {
    try file.read(into: page, at: (number - 1) * pageBytes)
  }

  /// Appends the part of a payload that is not on its leaf page, and returns the number of its first page (section
  /// 1.6.1).
  func appendOverflow(_ payload: UnsafeRawBufferPointer) throws -> Int {
    let first = nextNumber(after: count)
    let share = usableBytes - 4
    var done = 0
    while done < payload.count {
      let part = UnsafeRawBufferPointer(rebasing: payload[done..<min(done + share, payload.count)])
      done += part.count
      try advance()
      let next = done < payload.count ? nextNumber(after: count) : 0
      try withUnsafeBytes(of: UInt32(next).bigEndian) { try file.append($0) }
      try file.append(part)
      let unused = pageBytes - 4 - part.count
      if unused > 0 { try zeros.withUnsafeBytes { try file.append(UnsafeRawBufferPointer(rebasing: $0[..<unused])) } }
    }
    return first
  }

  /// Whether a chain of pages of ``appendOverflow(_:)`` has given bytes.
  func isOverflow(from first: Int, _ payload: UnsafeRawBufferPointer) throws -> Bool {
    let share = usableBytes - 4
    var (number, done) = (first, 0)
    while done < payload.count {
      let part = UnsafeRawBufferPointer(rebasing: payload[done..<min(done + share, payload.count)])
      try read(number, into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<(4 + part.count)]))
      guard UnsafeRawBufferPointer(rebasing: scratch[4..<(4 + part.count)]).isSame(as: part) else { return false }
      done += part.count
      number = Int(scratch.loadUnaligned(as: UInt32.self).bigEndian)
    }
    return true
  }

  /// Writes what is in the buffer, and the number of pages into the file's header (section 1.3.8).
  func finish() throws {
    try file.flush()
    try withUnsafeBytes(of: UInt32(count).bigEndian) { try file.overwrite($0, at: 28) }
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
  private let usableBytes: Int
  private var kind = Kind.leafTable
  private(set) var cellCount = 0
  private var contentStart = 0
  /// For a cell, with its pointer.
  var room: Int { contentStart - kind.headBytes - 2 * cellCount }

  init(_ pages: AppendedPages) {
    bytes = .allocate(byteCount: pages.pageBytes, alignment: 16)
    usableBytes = pages.usableBytes
  }

  deinit { bytes.deallocate() }

  /// Empties the page.
  func begin(_ kind: Kind) {
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    (self.kind, cellCount, contentStart) = (kind, 0, usableBytes)
    bytes[0] = kind.rawValue
    // A page of 65,536 bytes says 0.
    put(UInt16(truncatingIfNeeded: contentStart), at: 5)
  }

  /// Sets the last child of an interior page.
  func setRightmost(_ child: UInt32) { bytes.storeBytes(of: child.bigEndian, toByteOffset: 8, as: UInt32.self) }

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

  /// Where the cells of a table's leaf page begin, whoever filled it.
  static func cells(ofLeaf bytes: UnsafeRawBufferPointer) -> some Sequence<Int> {
    func number(at offset: Int) -> Int { Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self).bigEndian) }
    let head = Kind.leafTable.headBytes
    return (0..<number(at: 3)).lazy.map { number(at: head + 2 * $0) }
  }
}
