import Support

/// The empty unique index of a table of tiles by address, which gets its entries in their order, by ``AppendedPages``.
///
/// An entry is in the tree once: on a leaf page, or between two pages, on the page above them. How many come is known,
/// so that each page takes an equal share and is written when it has it. The memory does not depend on their number.
final class AppendedIndex {
  /// The pages of one level, of which one is being filled. A place is an entry, above the leaves with the child before
  /// it; the entry of a page's last place goes to the level above.
  private final class Level {
    let page: BTreePage
    let kind: BTreePage.Kind
    private let placeCount: Int
    let pageCount: Int
    private var pagesDone = 0
    private var placesDone = 0

    init(_ kind: BTreePage.Kind, places: Int, ofAtMost most: Int, _ pages: AppendedPages) {
      (self.kind, placeCount) = (kind, places)
      pageCount = (places + most - 1) / most
      page = BTreePage(pages)
      page.begin(kind)
    }

    /// Takes the next place; true when it is the page's last one.
    func takePlace() -> Bool {
      placesDone += 1
      return placesDone == placeCount * (pagesDone + 1) / pageCount
    }

    func beginPage() {
      pagesDone += 1
      page.begin(kind)
    }
  }

  private let pages: AppendedPages
  private let root: Int
  /// From the leaves to the root.
  private var levels: [Level] = []
  private var scratch: [UInt8] = []

  /// - Parameters:
  ///   - root: the index's root page, from `sqlite_schema`.
  ///   - count: the number of entries that come.
  ///   - entryBytesMax: the most bytes that an entry's record has.
  init(_ pages: AppendedPages, root: Int, count: Int, entryBytesMax: Int) {
    (self.pages, self.root) = (pages, root)
    // Pointer, the record's size in one byte, and the record.
    let entriesMax = (pages.usableBytes - 8) / (2 + 1 + entryBytesMax)
    let childrenMax = (pages.usableBytes - 12) / (2 + 4 + 1 + entryBytesMax) + 1
    // The last page takes an entry along that does not exist.
    levels = [Level(.leafIndex, places: count + 1, ofAtMost: entriesMax + 1, pages)]
    while let below = levels.last, below.pageCount > 1 {
      levels.append(Level(.interiorIndex, places: below.pageCount, ofAtMost: childrenMax, pages))
    }
  }

  /// Adds the next entry.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  func append(_ entry: TileEntry) throws { try put(nil, entry, at: 0) }

  /// Writes the last page of each level, after all entries.
  func finish() throws { try put(nil, nil, at: 0) }

  /// - Parameters:
  ///   - child: for a page above the leaves.
  ///   - entry: the one behind it; nil behind the last.
  private func put(_ child: UInt32?, _ entry: TileEntry?, at height: Int) throws {
    let level = levels[height]
    guard level.takePlace() else {
      if let entry { add(entry, after: child, to: level.page) }
      return
    }
    if let child { level.page.setRightmost(child) }
    if level.pageCount == 1 { return try pages.replace(root, by: level.page) }
    let number = UInt32(try pages.append(level.page))
    level.beginPage()
    try put(number, entry, at: height + 1)
  }

  private func add(_ entry: TileEntry, after child: UInt32?, to page: BTreePage) {
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
