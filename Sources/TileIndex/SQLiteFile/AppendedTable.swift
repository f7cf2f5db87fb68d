import Support

/// An empty table with rowids that gets its rows in their order, by ``AppendedPages``: some integers each, and a blob
/// behind them or none.
///
/// The overflow pages of rows follow their leaf page, and a page above the leaves follows the last of those. The
/// topmost one replaces the table's empty root. The memory does not depend on the number of rows.
final class AppendedTable {
  /// SQLite's limit of a row, which other programs' builds of it have too.
  private static let blobBytesMax = 1_000_000_000

  private struct Child {
    let page, lastRow: UInt32
  }

  private let pages: AppendedPages
  private let root: Int
  /// Whether the first column is an INTEGER PRIMARY KEY, whose place in a record is empty.
  private let hasPrimaryKey: Bool
  private let leaf: BTreePage
  /// The page that was reserved for the leaf. The first leaf is the root until there is another one.
  private var leafNumber: Int
  /// Of the first leaf, when it is written.
  private var firstLeaf = 0
  private let inner: BTreePage
  private let childrenMax: Int
  /// Pages without a parent: leaves, those above them, and so on.
  private var levels: [[Child]] = []
  private(set) var rowCount: UInt32 = 0
  private var scratch: [UInt8] = []
  private lazy var found = BTreePage(pages)

  /// - Parameter root: the table's root page, from `sqlite_schema`.
  init(_ pages: AppendedPages, root: Int, hasPrimaryKey: Bool) {
    (self.pages, self.root, self.hasPrimaryKey) = (pages, root, hasPrimaryKey)
    leaf = BTreePage(pages)
    inner = BTreePage(pages)
    // Pointer, child and a rowid of 32 bits.
    childrenMax = (pages.usableBytes - 12) / (2 + 4 + 5) + 1
    leafNumber = root
    leaf.begin(.leafTable)
  }

  /// Adds a row with the next rowid.
  ///
  /// - Parameters:
  ///   - integers: the columns behind an INTEGER PRIMARY KEY.
  ///   - blob: the last column; nil without one.
  /// - Returns: what ``row(on:with:)`` finds the row by.
  /// - Throws: ``FileSystem/SystemError``.
  @discardableResult
  func append(_ integers: [UInt32], _ blob: UnsafeRawBufferPointer? = nil) throws -> Int {
    let blobBytes = blob?.count ?? 0
    guard blobBytes < Self.blobBytesMax, rowCount < .max else { throw FileSystem.SystemError.tooLarge }
    // The record's head and integers; before it come the cell's two numbers.
    scratch.removeAll(keepingCapacity: true)
    SQLiteRecord.append(integers, startsWithNull: hasPrimaryKey, blobBytes: blob?.count, to: &scratch)
    let recordHead = scratch.count
    let payload = recordHead + blobBytes
    let local = SQLiteRecord.localBytes(ofPayload: payload, usableBytes: pages.usableBytes)
    SQLiteRecord.append(varint: payload, to: &scratch)
    SQLiteRecord.append(varint: Int(rowCount) + 1, to: &scratch)
    let cellHead = scratch.count - recordHead
    let cellBytes = cellHead + local + (local < payload ? 4 : 0)
    if leaf.room < cellBytes + 2 {
      try closeLeaf()
      leafNumber = try pages.reserve()
    }
    rowCount += 1

    let cell = leaf.addCell(byteCount: cellBytes)
    scratch.withUnsafeBytes { scratch in
      cell.copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[recordHead...]))
      UnsafeMutableRawBufferPointer(rebasing: cell[cellHead...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<recordHead]))
    }
    guard let blob else { return leafNumber }
    let localBlob = local - recordHead
    UnsafeMutableRawBufferPointer(rebasing: cell[(cellHead + recordHead)...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: blob[..<localBlob]))
    if local < payload {
      let first = try pages.appendOverflow(UnsafeRawBufferPointer(rebasing: blob[localBlob...]))
      cell.storeBytes(of: UInt32(first).bigEndian, toByteOffset: cellHead + local, as: UInt32.self)
    }
    return leafNumber
  }

  /// The rowid of a row with nothing but a given blob behind its primary key.
  ///
  /// - Parameter place: what ``append(_:_:)`` returned for the row.
  /// - Returns: nil when there is no such row at that place.
  func row(on place: Int, with blob: UnsafeRawBufferPointer) throws -> UInt32? {
    let page: BTreePage
    if place == leafNumber {
      page = leaf
    } else {
      page = found
      try pages.read(place == root ? firstLeaf : place, into: page.bytes)
    }
    let bytes = UnsafeRawBufferPointer(page.bytes)
    var recordHead: [UInt8] = []
    SQLiteRecord.append([], startsWithNull: true, blobBytes: blob.count, to: &recordHead)
    let payload = recordHead.count + blob.count
    let local = SQLiteRecord.localBytes(ofPayload: payload, usableBytes: pages.usableBytes)
    for cell in BTreePage.cells(ofLeaf: bytes) {
      var offset = cell
      guard SQLiteRecord.varint(bytes, at: &offset) == payload else { continue }
      let row = UInt32(SQLiteRecord.varint(bytes, at: &offset))
      let start = offset + recordHead.count
      let localBlob = local - recordHead.count
      guard
        UnsafeRawBufferPointer(rebasing: bytes[start..<(start + localBlob)]).isSame(
          as: UnsafeRawBufferPointer(rebasing: blob[..<localBlob]))
      else { continue }
      if local == payload { return row }
      let first = bytes.loadUnaligned(fromByteOffset: offset + local, as: UInt32.self).bigEndian
      if try pages.isOverflow(from: Int(first), UnsafeRawBufferPointer(rebasing: blob[localBlob...])) { return row }
    }
    return nil
  }

  private func closeLeaf() throws {
    if leafNumber == root {
      leafNumber = try pages.append(leaf)
      firstLeaf = leafNumber
    } else {
      try pages.replace(leafNumber, by: leaf)
    }
    try add(Child(page: UInt32(leafNumber), lastRow: rowCount), at: 0)
    leaf.begin(.leafTable)
  }

  /// Writes the last leaf and what is left of the pages above. No row may follow.
  func finish() throws {
    guard !levels.isEmpty else { return try pages.replace(root, by: leaf) }
    try closeLeaf()
    var level = 0
    while level < levels.count - 1 || levels[level].count > childrenMax {
      for share in levels[level].count.evenShares(ofAtMost: childrenMax) {
        fill(inner, with: levels[level][share])
        let parent = Child(page: UInt32(try pages.append(inner)), lastRow: levels[level][share].last!.lastRow)
        try add(parent, at: level + 1)
      }
      level += 1
    }
    fill(inner, with: levels[level][...])
    try pages.replace(root, by: inner)
  }

  /// Adds a page to those that have no parent yet. Two are kept back, so that the last parent gets two at least.
  private func add(_ child: Child, at level: Int) throws {
    if level == levels.count { levels.append([]) }
    levels[level].append(child)
    guard levels[level].count == childrenMax + 2 else { return }
    let full = levels[level][..<childrenMax]
    fill(inner, with: full)
    let parent = Child(page: UInt32(try pages.append(inner)), lastRow: full.last!.lastRow)
    levels[level].removeFirst(childrenMax)
    try add(parent, at: level + 1)
  }

  private func fill(_ page: BTreePage, with children: ArraySlice<Child>) {
    page.begin(.interiorTable)
    page.setRightmost(children.last!.page)
    // Not the scratch of the row that made this necessary.
    var key: [UInt8] = []
    for child in children.dropLast() {
      key.removeAll(keepingCapacity: true)
      SQLiteRecord.append(varint: Int(child.lastRow), to: &key)
      let cell = page.addCell(byteCount: 4 + key.count)
      cell.storeBytes(of: child.page.bigEndian, as: UInt32.self)
      key.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: cell[4...]).copyMemory(from: $0) }
    }
  }
}

extension Int {
  /// Ranges of nearly equal length that together are `0..<self`, as few as possible; at least one.
  fileprivate func evenShares(ofAtMost most: Int) -> [Range<Int>] {
    let count = Swift.max(1, (self + most - 1) / most)
    return (0..<count).map { (self * $0 / count)..<(self * ($0 + 1) / count) }
  }
}
