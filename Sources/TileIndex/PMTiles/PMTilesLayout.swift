import Support

/// The order of the contents in an archive. Clustered: the content of each tile follows that of the tile before it,
/// unless an earlier tile has the same (PMTiles v3, section 3, "Clustered").
struct PMTilesLayout {
  let isClustered: Bool

  /// - Parameter entries: one for each tile, by rising id.
  init(entries: [PMTilesDirectory.Entry]) {
    var end: UInt64 = 0
    for entry in entries where entry.offset >= end {
      guard entry.offset == end else {
        isClustered = false
        return
      }
      end += UInt64(entry.byteCount)
    }
    isClustered = true
  }

  /// Copies the contents in the order of the entries, and gives the entries their new offsets. Nothing to do for
  /// entries that are clustered.
  ///
  /// - Complexity: O(bytes + n log n), 16 bytes of memory for each entry.
  func cluster(
    _ entries: inout [PMTilesDirectory.Entry], from source: SpoolFile, into target: SpoolFile
  ) throws {
    guard !isClustered else { return }
    // Of the entries with one content the first, whose content is copied.
    var first = [UInt32](repeating: 0, count: entries.count)
    var byOffset = Array(0..<UInt32(entries.count))
    byOffset.sort { a, b in
      let (left, right) = (entries[Int(a)].offset, entries[Int(b)].offset)
      return left != right ? left < right : a < b
    }
    for (place, index) in byOffset.enumerated() {
      let previous = place > 0 ? byOffset[place - 1] : nil
      let isShared = previous.map { entries[Int($0)].offset == entries[Int(index)].offset } ?? false
      first[Int(index)] = isShared ? first[Int(previous!)] : index
    }
    let head = PMTilesSpool.headBytes
    for index in entries.indices {
      let entry = entries[index]
      var offset = UInt64(target.end - head)
      if Int(first[index]) == index {
        try target.append(Int(entry.byteCount), of: source, at: head + Int(entry.offset))
      } else {
        // Earlier in the order, so it has its new offset already.
        offset = entries[Int(first[index])].offset
      }
      entries[index] = PMTilesDirectory.Entry(
        firstID: entry.firstID, offset: offset, byteCount: entry.byteCount, runLength: 1)
    }
  }

  /// Joins neighbours with the same content to runs.
  static func join(_ entries: inout [PMTilesDirectory.Entry]) {
    var count = 0
    for index in entries.indices {
      let tile = entries[index]
      if count > 0, entries[count - 1].endID == tile.firstID, entries[count - 1].offset == tile.offset,
        entries[count - 1].runLength < .max
      {
        let last = entries[count - 1]
        entries[count - 1] = PMTilesDirectory.Entry(
          firstID: last.firstID, offset: last.offset, byteCount: last.byteCount, runLength: last.runLength + 1)
      } else {
        entries[count] = tile
        count += 1
      }
    }
    entries.removeSubrange(count...)
  }

  /// The number of different contents of clustered tiles.
  static func contentCount(_ tiles: [PMTilesDirectory.Entry]) -> Int {
    var (count, end): (Int, UInt64) = (0, 0)
    for tile in tiles where tile.offset == end {
      count += 1
      end += UInt64(tile.byteCount)
    }
    return count
  }
}

/// The directories of an archive, packed (PMTiles v3, section 4): a root, with leaf directories if it would not fit.
struct PMTilesTree {
  let root: [UInt8]
  /// One after the other by rising tile id; empty when the root has all entries.
  let leaves: [UInt8]

  /// Entries in a leaf directory at first; more when the root would have too many leaves.
  private static let leafEntryCount = 4096
  /// Packed entries take a byte or more, so that more of them need not be tried.
  private static let rootEntryCountMax = 16_384

  /// - Parameter rootBytesMax: room for the packed root directory.
  /// - Throws: ``FileSystem/SystemError`` when there is no memory to pack them.
  init(_ entries: [PMTilesDirectory.Entry], rootBytesMax: Int) throws {
    if entries.count <= Self.rootEntryCountMax {
      let all = try Self.packed(PMTilesDirectory.bytes(entries[...]))
      if all.count <= rootBytesMax {
        (root, leaves) = (all, [])
        return
      }
    }
    var leafEntries = Self.leafEntryCount
    while true {
      var tops: [PMTilesDirectory.Entry] = []
      var leaves: [UInt8] = []
      for start in stride(from: 0, to: entries.count, by: leafEntries) {
        let leaf = try Self.packed(
          PMTilesDirectory.bytes(entries[start..<min(start + leafEntries, entries.count)]))
        tops.append(
          PMTilesDirectory.Entry(
            firstID: entries[start].firstID, offset: UInt64(leaves.count), byteCount: UInt32(leaf.count), runLength: 0))
        leaves += leaf
      }
      let root = try Self.packed(PMTilesDirectory.bytes(tops[...]))
      if root.count <= rootBytesMax {
        (self.root, self.leaves) = (root, leaves)
        return
      }
      leafEntries += leafEntries / 4
    }
  }

  /// - Throws: ``FileSystem/SystemError`` when there is no memory.
  static func packed(_ bytes: [UInt8]) throws -> [UInt8] {
    guard let packed = Gzip.compress(bytes) else { throw FileSystem.SystemError.noMemory }
    return packed
  }
}

extension PMTilesDirectory {
  /// The bytes of a directory before they are packed; the inverse of ``init(_:)``.
  static func bytes(_ entries: ArraySlice<Entry>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.count * 6)
    func append(_ value: UInt64) {
      var rest = value
      while rest >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }
    append(UInt64(entries.count))
    var last: UInt64 = 0
    for entry in entries {
      append(entry.firstID - last)
      last = entry.firstID
    }
    for entry in entries { append(UInt64(entry.runLength)) }
    for entry in entries { append(UInt64(entry.byteCount)) }
    var end: UInt64?
    for entry in entries {
      append(entry.offset == end ? 0 : entry.offset + 1)
      end = entry.offset + UInt64(entry.byteCount)
    }
    return bytes
  }
}
