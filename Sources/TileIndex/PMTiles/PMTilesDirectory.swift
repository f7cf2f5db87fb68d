/// A root or leaf directory of a PMTiles archive (PMTiles v3, section 4): entries by rising tile id.
struct PMTilesDirectory {
  struct Entry: Hashable {
    /// The first tile, as ``TileID/hilbertID`` counts.
    let firstID: UInt64
    /// From the start of the tile data, or of the leaf directories.
    let offset: UInt64
    /// Above 0.
    let byteCount: UInt32
    /// The number of consecutive tiles with these bytes; 0 for a leaf directory.
    let runLength: UInt32

    var isLeaf: Bool { runLength == 0 }
    /// The id after the last of the run.
    var endID: UInt64 { firstID + UInt64(runLength) }
  }

  /// Why the bytes are not a directory.
  struct Damage: Error { let message: String }

  /// Real directories have some thousand entries.
  static let entryCountMax = 1 << 20
  /// The size of that many typical entries.
  static let byteCountMax = 16 << 20

  /// Never empty; ids ascend.
  let entries: [Entry]

  /// Reads a decompressed directory: the number of entries, then all ids as differences, all run lengths, all lengths,
  /// all offsets, as varints.
  init(_ bytes: [UInt8]) throws(Damage) {
    entries = try Self.entries(bytes)
  }

  private static func entries(_ bytes: [UInt8]) throws(Damage) -> [Entry] {
    var varints = Varints(bytes: bytes)
    let claimed = try varints.next()
    guard claimed > 0 else { throw Damage(message: "a directory is empty") }
    // Each entry takes at least four bytes: a false count is detected before memory is allocated for it.
    guard claimed <= UInt64(bytes.count / 4) else { throw Damage(message: "a directory ends early") }
    guard claimed <= UInt64(entryCountMax) else {
      throw Damage(message: "a directory has \(claimed) entries, more than \(entryCountMax)")
    }
    let count = Int(claimed)

    var ids: [UInt64] = []
    ids.reserveCapacity(count)
    let idEnd = TileID.firstHilbertID(zoom: TileID.zoomMax + 1)
    var id: UInt64 = 0
    for index in 0..<count {
      let step = try varints.next()
      guard index == 0 || step > 0 else { throw Damage(message: "a directory is not in order") }
      // Both are below 2^61, so the sum is no overflow.
      guard step < idEnd, id + step < idEnd else {
        throw Damage(message: "a directory has tiles beyond zoom \(TileID.zoomMax)")
      }
      id += step
      ids.append(id)
    }
    var runs: [UInt32] = []
    runs.reserveCapacity(count)
    for _ in 0..<count { runs.append(try varints.next32()) }
    var sizes: [UInt32] = []
    sizes.reserveCapacity(count)
    for _ in 0..<count {
      let size = try varints.next32()
      guard size > 0 else { throw Damage(message: "a directory has an entry without bytes") }
      sizes.append(size)
    }
    var entries: [Entry] = []
    entries.reserveCapacity(count)
    for index in 0..<count {
      let word = try varints.next()
      let offset: UInt64
      if word > 0 {
        offset = word - 1
      } else {
        // Directly after the previous entry.
        guard let previous = entries.last else { throw Damage(message: "a directory's first entry has no offset") }
        offset = previous.offset + UInt64(previous.byteCount)
      }
      guard offset < 1 << 62 else { throw Damage(message: "a directory points beyond any file") }
      entries.append(Entry(firstID: ids[index], offset: offset, byteCount: sizes[index], runLength: runs[index]))
    }
    // Trailing bytes are refused: padding would let a small file demand much decompression.
    guard varints.index == bytes.count else { throw Damage(message: "something follows a directory's entries") }
    return entries
  }

  /// The index of the last entry that begins at or before an id; nil when all begin after it.
  ///
  /// - Complexity: O(log entries).
  func index(atOrBefore id: UInt64) -> Int? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].firstID <= id { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? low - 1 : nil
  }

  /// The ids that a leaf may contain: from its own entry to the next, or to the end of this directory's range.
  func ids(ofLeafAt index: Int, in ids: Range<UInt64>) -> Range<UInt64> {
    entries[index].firstID..<(index + 1 < entries.count ? entries[index + 1].firstID : ids.upperBound)
  }

  /// Variable-length integers: 7 bits a byte, least significant first.
  private struct Varints {
    let bytes: [UInt8]
    var index = 0

    mutating func next() throws(Damage) -> UInt64 {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while index < bytes.count {
        let byte = bytes[index]
        index += 1
        guard shift < 63 || byte < 2 else { throw Damage(message: "a directory has a number above 2^64") }
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
      throw Damage(message: "a directory ends early")
    }

    mutating func next32() throws(Damage) -> UInt32 {
      guard let value = UInt32(exactly: try next()) else {
        throw Damage(message: "a directory has a length above 2^32")
      }
      return value
    }
  }
}
