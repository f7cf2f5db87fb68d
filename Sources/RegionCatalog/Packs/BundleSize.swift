import TileIndex

/// What tiles will take in a bundle of ours, before it is written: an upper estimate, from SQLite's file format (sqlite.org/fileformat2.html, sections 1.5 and 1.6).
package enum BundleSize {
  private static let page = BundleTables.pageBytes
  /// The schema, the metadata and the roots of the other trees: eight pages.
  package static let emptyBundle = 8 * page

  /// Bytes for one tile, with a thirty-second more, since cells of different sizes fill pages less well than equal ones: its blob's cell and overflow pages, its row in the map, and the entry of the map's index, whose pages are filled to two thirds.
  package static func estimate(blob bytes: Int) -> Int {
    let cells = cells(blob: bytes)
    return cells + cells / 32 + row
  }

  private static let row = 72

  private static func cells(blob bytes: Int) -> Int {
    let payload = bytes + 12
    guard payload > page - 35 else {
      // Cells are put one after the other: what does not fit whole begins a new page.
      let share = page / max((page - 16) / (payload + 8), 1)
      return min(share, 2 * payload)
    }
    let overflow = page - 4
    let least = (page - 12) * 32 / 255 - 23
    let kept = least + (payload - least) % overflow
    let local = kept <= page - 35 ? kept : least
    let pages = (payload - local + overflow - 1) / overflow
    return pages * page + min(page / max((page - 16) / (local + 12), 1), 2 * local)
  }
}
