import Support

/// The empty unique index of a table of tiles by address, which gets its entries in their order, by ``AppendedPages``.
///
/// An entry is in the tree once: on a leaf page, or between two pages, on the page above them.
final class AppendedIndex {
  private let pages: AppendedPages
  private let root: Int
  private let page: BTreePage
  private let childrenMax: Int
  /// The entries of each leaf. Each leaf but the last takes the entry behind it along; the last one takes one that does
  /// not exist.
  private let leaves: [Range<Int>]
  private var count = 0
  private var children: [UInt32] = []
  /// The entry behind each child but the last.
  private var separators: [TileAddress] = []
  private var scratch: [UInt8] = []

  /// - Parameters:
  ///   - root: the index's root page, from `sqlite_schema`.
  ///   - count: the number of entries that come.
  ///   - entryBytesMax: the most bytes that an entry's record has.
  init(_ pages: AppendedPages, root: Int, count: Int, entryBytesMax: Int) {
    (self.pages, self.root) = (pages, root)
    page = BTreePage(pageBytes: pages.pageBytes)
    // Pointer, the record's size in one byte, and the record.
    let entriesMax = (pages.pageBytes - 8) / (2 + 1 + entryBytesMax)
    childrenMax = (pages.pageBytes - 12) / (2 + 4 + 1 + entryBytesMax) + 1
    leaves = (count + 1).evenShares(ofAtMost: entriesMax + 1)
    page.begin(.leafIndex)
  }

  /// Adds the next entry.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  func append(_ entry: TileAddress) throws {
    count += 1
    if count < leaves[children.count].upperBound { return add(entry, after: nil) }
    children.append(UInt32(try pages.append(page)))
    separators.append(entry)
    page.begin(.leafIndex)
  }

  /// Writes the last leaf and the pages above the leaves.
  func finish() throws {
    if leaves.count == 1 { return try pages.replace(root, by: page) }
    children.append(UInt32(try pages.append(page)))
    while true {
      let groups = children.count.evenShares(ofAtMost: childrenMax)
      var parents: [UInt32] = []
      var between: [TileAddress] = []
      for group in groups {
        page.begin(.interiorIndex, rightmost: children[group.upperBound - 1])
        for child in group.dropLast() { add(separators[child], after: children[child]) }
        if groups.count == 1 { return try pages.replace(root, by: page) }
        parents.append(UInt32(try pages.append(page)))
        if group.upperBound < children.count { between.append(separators[group.upperBound - 1]) }
      }
      (children, separators) = (parents, between)
    }
  }

  private func add(_ entry: TileAddress, after child: UInt32?) {
    scratch.removeAll(keepingCapacity: true)
    entry.append(to: &scratch)
    let childBytes = child == nil ? 0 : 4
    let cell = page.addCell(byteCount: childBytes + 1 + scratch.count)
    if let child { cell.storeBytes(of: child.bigEndian, as: UInt32.self) }
    cell[childBytes] = UInt8(scratch.count)
    let room = UnsafeMutableRawBufferPointer(rebasing: cell[(childBytes + 1)...])
    scratch.withUnsafeBytes { room.copyMemory(from: $0) }
  }
}

extension Int {
  /// Ranges of nearly equal length that together are `0..<self`, as few as possible; at least one.
  func evenShares(ofAtMost most: Int) -> [Range<Int>] {
    let count = Swift.max(1, (self + most - 1) / most)
    return (0..<count).map { (self * $0 / count)..<(self * ($0 + 1) / count) }
  }
}
