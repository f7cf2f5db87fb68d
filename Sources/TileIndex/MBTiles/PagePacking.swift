/// Chooses the order in which blobs fill the leaf pages of a table with rowids, so that little of each page stays empty
/// (SQLite's "Database File Format", sections 1.5 and 1.6).
///
/// Rows are appended: SQLite fills one leaf page after the other, and a cell that does not fit starts a new page. A
/// blob longer than a page leaves only its remainder on the leaf. Cells of a quarter to a whole page would leave a
/// fifth of each leaf empty if they came in any order.
struct PagePacking {
  let pageBytes: Int
  /// What is left on the leaf page that the next cell goes to; 0 before the first.
  private var room = 0
  /// Leaf and overflow pages so far.
  private(set) var pageCount = 0
  private var blobCount = 0

  init(pageBytes: Int) { self.pageBytes = pageBytes }

  /// A page without its header.
  private var emptyPage: Int { pageBytes - 8 }

  /// Orders blobs, given by their sizes, and counts their pages. Returns positions in `blobs`.
  ///
  /// The page that is open and then every new one gets the largest cell that is left, then the cell or pair of cells
  /// that fills it best.
  ///
  /// - Complexity: O(blobs^2 / blobs on a page); call it with a few hundred at a time.
  mutating func order(_ blobs: [Int]) -> [Int] {
    let rowIDBytes = SQLiteRecord.varintBytes(blobCount + blobs.count)
    blobCount += blobs.count
    var left = CellList(
      blobs.enumerated().map { index, bytes in
        let (cell, overflow) = cell(bytes, rowIDBytes: rowIDBytes)
        pageCount += overflow
        return CellList.Cell(index: index, bytes: cell)
      })
    var pages: [(cells: [Int], room: Int)] = []
    var page = (cells: [Int](), room: room)
    while !left.isEmpty {
      for cell in left.takeBest(in: page.room) {
        page.cells.append(cell.index)
        page.room -= cell.bytes
      }
      if !left.isEmpty, left.smallest > page.room {
        pages.append(page)
        pageCount += 1
        let largest = left.takeLargest()
        page = ([largest.index], emptyPage - largest.bytes)
      }
    }
    pages.append(page)
    // The page with the most room comes last, since only that one can still be filled. The first one is open already.
    if let roomiest = pages.indices.dropFirst().max(by: { pages[$0].room < pages[$1].room }) {
      pages.swapAt(roomiest, pages.count - 1)
    }
    room = pages[pages.count - 1].room
    // On a page they stay in the order in which they came.
    return pages.flatMap { $0.cells.sorted() }
  }

  /// The bytes of a blob's row on its leaf page, with its two bytes in the page's list of cells, and its overflow
  /// pages.
  private func cell(_ blobBytes: Int, rowIDBytes: Int) -> (bytes: Int, overflowPages: Int) {
    // A record of two columns: the size of its header, NULL for the rowid, and the blob's type.
    let payload = 2 + SQLiteRecord.varintBytes(2 * blobBytes + 12) + blobBytes
    let head = SQLiteRecord.varintBytes(payload) + rowIDBytes + 2
    let local = SQLiteRecord.localBytes(ofPayload: payload, usableBytes: pageBytes)
    guard local < payload else { return (head + payload, 0) }
    return (head + local + 4, (payload - local + pageBytes - 5) / (pageBytes - 4))
  }
}

extension PagePacking {
  /// The page sizes of bundles. Larger ones take fewer reads for a tile, but more of each page may stay empty.
  static let pageBytes = [4096, 8192, 16384]
  /// The largest share of the tiles' bytes that a file may add to them where a smaller page would avoid it.
  private static let overheadMax = 0.04
  /// The pages of a bundle that hold no blobs: the schema, the metadata and their index, the roots of the trees.
  private static let otherPages = 7
  /// Fewer bytes tell nothing about those that follow.
  private static let sampleBytesMin = 1 << 18

  /// The page size for a bundle that begins with the given blobs: the largest with which the file adds at most 4% to
  /// them, otherwise the one that adds least.
  ///
  /// - Parameter isAll: whether the bundle has no more than these.
  static func pageBytes(for blobs: [Int], isAll: Bool) -> Int {
    let bytes = blobs.reduce(0, +)
    guard isAll || bytes >= sampleBytesMin else { return pageBytes.last! }
    func overhead(_ pageBytes: Int) -> Int {
      var packing = PagePacking(pageBytes: pageBytes)
      _ = packing.order(blobs)
      let pages = packing.pageCount + (isAll ? otherPages : 0)
      return pages * pageBytes - bytes
    }
    let overheads = pageBytes.map { (pageBytes: $0, bytes: overhead($0)) }
    let most = Int(overheadMax * Double(bytes))
    return (overheads.last { $0.bytes <= most } ?? overheads.min { $0.bytes < $1.bytes }!).pageBytes
  }
}

/// Cells that have no page yet, the smallest first.
private struct CellList {
  struct Cell {
    let index: Int
    let bytes: Int
  }
  private var cells: [Cell]

  init(_ cells: [Cell]) {
    // Equal ones in reverse, so that they are taken in their order.
    self.cells = cells.sorted { ($0.bytes, $1.index) < ($1.bytes, $0.index) }
  }

  var isEmpty: Bool { cells.isEmpty }
  var smallest: Int { cells.first?.bytes ?? 0 }

  mutating func takeLargest() -> Cell { cells.removeLast() }

  /// Takes the cell or the pair of cells that leaves the least of a room; nothing if none fits.
  mutating func takeBest(in room: Int) -> [Cell] {
    var best = (bytes: 0, low: -1, high: -1)
    var low = 0
    var high = cells.count - 1
    cells.withUnsafeBufferPointer { cells in
      while high >= 0, cells[high].bytes > room { high -= 1 }
      if high >= 0 { best = (cells[high].bytes, -1, high) }
      // The best pair lies on the line along which one gets larger and the other smaller.
      while low < high {
        let sum = cells[low].bytes + cells[high].bytes
        if sum > room {
          high -= 1
        } else {
          if sum > best.bytes { best = (sum, low, high) }
          low += 1
        }
      }
    }
    guard best.high >= 0 else { return [] }
    var taken = [cells.remove(at: best.high)]
    if best.low >= 0 { taken.append(cells.remove(at: best.low)) }
    return taken
  }
}
