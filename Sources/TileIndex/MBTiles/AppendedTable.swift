import Support

/// An empty table with rowids that gets its rows in their order, by ``AppendedPages``: some integers and a blob each.
///
/// A leaf page follows the overflow pages of its rows, and a page above the leaves the last of those. The topmost one
/// replaces the table's empty root. The memory does not depend on the number of rows.
final class AppendedTable {
  /// SQLite's limit of a row, which other programs' builds of it have too.
  private static let blobBytesMax = 1_000_000_000

  private struct Child {
    let page, lastRow: UInt32
  }

  private let pages: AppendedPages
  private let root: Int
  private let leaf: BTreePage
  private let inner: BTreePage
  private let childrenMax: Int
  /// Pages without a parent: leaves, those above them, and so on.
  private var levels: [[Child]] = []
  private(set) var rowCount: UInt32 = 0
  private var scratch: [UInt8] = []

  /// - Parameter root: the table's root page, from `sqlite_schema`.
  init(_ pages: AppendedPages, root: Int) {
    (self.pages, self.root) = (pages, root)
    leaf = BTreePage(pageBytes: pages.pageBytes)
    inner = BTreePage(pageBytes: pages.pageBytes)
    // Pointer, child and a rowid of 32 bits.
    childrenMax = (pages.pageBytes - 12) / (2 + 4 + 5) + 1
    leaf.begin(.leafTable)
  }

  /// Adds a row with the next rowid.
  ///
  /// - Parameter integers: the columns between the INTEGER PRIMARY KEY and the blob.
  /// - Throws: ``FileSystem/SystemError``.
  func append(_ integers: [UInt32], _ blob: UnsafeRawBufferPointer) throws {
    guard blob.count < Self.blobBytesMax, rowCount < .max else { throw FileSystem.SystemError.tooLarge }
    // The record's head and integers; before it come the cell's two numbers.
    scratch.removeAll(keepingCapacity: true)
    SQLiteRecord.append(integers, startsWithNull: true, blobBytes: blob.count, to: &scratch)
    let recordHead = scratch.count
    let payload = recordHead + blob.count
    let local = SQLiteRecord.localBytes(ofPayload: payload, usableBytes: pages.pageBytes)
    SQLiteRecord.append(varint: payload, to: &scratch)
    SQLiteRecord.append(varint: Int(rowCount) + 1, to: &scratch)
    let cellHead = scratch.count - recordHead
    let cellBytes = cellHead + local + (local < payload ? 4 : 0)
    if leaf.room < cellBytes + 2 { try closeLeaf() }
    rowCount += 1

    let cell = leaf.addCell(byteCount: cellBytes)
    scratch.withUnsafeBytes { scratch in
      cell.copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[recordHead...]))
      UnsafeMutableRawBufferPointer(rebasing: cell[cellHead...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: scratch[..<recordHead]))
    }
    let localBlob = local - recordHead
    UnsafeMutableRawBufferPointer(rebasing: cell[(cellHead + recordHead)...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: blob[..<localBlob]))
    guard local < payload else { return }
    let first = try pages.appendOverflow(UnsafeRawBufferPointer(rebasing: blob[localBlob...]))
    cell.storeBytes(of: UInt32(first).bigEndian, toByteOffset: cellHead + local, as: UInt32.self)
  }

  private func closeLeaf() throws {
    try add(Child(page: UInt32(try pages.append(leaf)), lastRow: rowCount), at: 0)
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
    page.begin(.interiorTable, rightmost: children.last!.page)
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

/// The empty index of a table, which gets its entries all at once, by ``AppendedPages``.
struct AppendedIndex {
  let pages: AppendedPages
  /// The index's root page, from `sqlite_schema`.
  let root: Int

  /// Writes entries.
  ///
  /// An entry is in the tree once: on a leaf page, or between two pages, on the page above them.
  ///
  /// - Parameters:
  ///   - count: the number of entries.
  ///   - entryBytesMax: the most bytes that an entry's record has.
  ///   - record: appends the record of an entry, by its place in the index's order: the columns and the rowid.
  /// - Throws: ``FileSystem/SystemError``.
  func write(count: Int, entryBytesMax: Int, record: (Int, inout [UInt8]) -> Void) throws {
    let page = BTreePage(pageBytes: pages.pageBytes)
    var scratch: [UInt8] = []
    func add(_ entry: Int, after child: UInt32?) {
      scratch.removeAll(keepingCapacity: true)
      record(entry, &scratch)
      let childBytes = child == nil ? 0 : 4
      let cell = page.addCell(byteCount: childBytes + 1 + scratch.count)
      if let child { cell.storeBytes(of: child.bigEndian, as: UInt32.self) }
      cell[childBytes] = UInt8(scratch.count)
      let room = UnsafeMutableRawBufferPointer(rebasing: cell[(childBytes + 1)...])
      scratch.withUnsafeBytes { room.copyMemory(from: $0) }
    }
    // Pointer, the record's size in one byte, and the record.
    let entriesMax = (pages.pageBytes - 8) / (2 + 1 + entryBytesMax)
    let childrenMax = (pages.pageBytes - 12) / (2 + 4 + 1 + entryBytesMax) + 1
    var children: [UInt32] = []
    /// The entry behind each child but the last.
    var separators: [Int] = []
    // Each leaf but the last takes the entry behind it along; the last one takes one that does not exist.
    let leaves = (count + 1).evenShares(ofAtMost: entriesMax + 1)
    for leaf in leaves {
      page.begin(.leafIndex)
      for entry in leaf.dropLast() { add(entry, after: nil) }
      if leaves.count == 1 { return try pages.replace(root, by: page) }
      children.append(UInt32(try pages.append(page)))
      separators.append(leaf.upperBound - 1)
    }
    while true {
      let groups = children.count.evenShares(ofAtMost: childrenMax)
      var parents: [UInt32] = []
      var between: [Int] = []
      for group in groups {
        page.begin(.interiorIndex, rightmost: children[group.upperBound - 1])
        for child in group.dropLast() { add(separators[child], after: children[child]) }
        if groups.count == 1 { return try pages.replace(root, by: page) }
        parents.append(UInt32(try pages.append(page)))
        between.append(separators[group.upperBound - 1])
      }
      (children, separators) = (parents, between)
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
