import CZlib

/// Writes PMTiles v3 archives for tests, valid and invalid ones.
package struct SmallArchive {
  package struct Entry {
    package var id: UInt64
    package var run: UInt64 = 1
    package var bytes: UInt64
    package var offset: UInt64

    package init(id: UInt64, run: UInt64 = 1, bytes: UInt64, offset: UInt64) {
      (self.id, self.run, self.bytes, self.offset) = (id, run, bytes, offset)
    }
  }

  package init() {}

  /// By tile id: the bytes of each tile. Equal neighbours become runs, equal tiles share their bytes.
  package var tiles: [UInt64: [UInt8]] = [:]
  package var metadata = Array(#"{"name":"small"}"#.utf8)
  /// 0 unknown, 1 none, 2 gzip
  package var internalCompression: UInt8 = 2
  package var tileCompression: UInt8 = 1
  package var tileType: UInt8 = 2
  package var zooms: (UInt8, UInt8) = (0, 3)
  /// 10⁻⁷ degrees: west, south, east, north.
  package var bounds: [Int32] = [-1_800_000_000, -850_511_287, 1_800_000_000, 850_511_287]
  package var center: (UInt8, Int32, Int32) = (1, 123_456_789, -5)
  /// Entries in a leaf directory; nil to put all into the root.
  package var leafEntries: Int?
  /// Levels of leaf directories.
  package var leafLevels = 1

  package var bytes: [UInt8] {
    var data: [UInt8] = []
    var places: [[UInt8]: UInt64] = [:]
    var entries: [Entry] = []
    for (id, tile) in tiles.sorted(by: { $0.key < $1.key }) {
      let offset = places[tile] ?? UInt64(data.count)
      if places[tile] == nil {
        places[tile] = offset
        data += tile
      }
      if let last = entries.last, last.id + last.run == id, last.offset == offset {
        entries[entries.count - 1].run += 1
      } else {
        entries.append(Entry(id: id, bytes: UInt64(tile.count), offset: offset))
      }
    }
    var leaves: [UInt8] = []
    if let leafEntries {
      for _ in 0..<leafLevels {
        var parents: [Entry] = []
        for start in stride(from: 0, to: entries.count, by: leafEntries) {
          let part = Array(entries[start..<min(start + leafEntries, entries.count)])
          let leaf = pack(Self.directory(part))
          parents.append(Entry(id: part[0].id, run: 0, bytes: UInt64(leaf.count), offset: UInt64(leaves.count)))
          leaves += leaf
        }
        entries = parents
      }
    }
    return archive(root: pack(Self.directory(entries)), leaves: leaves, data: data)
  }

  /// Assembles an archive from parts.
  package func archive(root: [UInt8], leaves: [UInt8] = [], data: [UInt8] = []) -> [UInt8] {
    let text = metadata.isEmpty ? [] : pack(metadata)
    var offset: UInt64 = 127
    var head = Array("PMTiles".utf8) + [3]
    for part in [root, text, leaves, data] {
      head += Self.little(offset) + Self.little(UInt64(part.count))
      offset += UInt64(part.count)
    }
    head += Self.little(UInt64(tiles.count)) + Self.little(UInt64(0)) + Self.little(UInt64(0))
    head += [0, internalCompression, tileCompression, tileType, zooms.0, zooms.1]
    head += bounds.flatMap(Self.little) + [center.0] + Self.little(center.1) + Self.little(center.2)
    return head + root + text + leaves + data
  }

  package func pack(_ bytes: [UInt8]) -> [UInt8] { internalCompression == 2 ? Self.gzip(bytes) : bytes }

  package static func directory(_ entries: [Entry]) -> [UInt8] {
    var bytes = varint(UInt64(entries.count))
    var last: UInt64 = 0
    for entry in entries {
      bytes += varint(entry.id &- last)
      last = entry.id
    }
    for entry in entries { bytes += varint(entry.run) }
    for entry in entries { bytes += varint(entry.bytes) }
    for (index, entry) in entries.enumerated() {
      let previous = index > 0 ? entries[index - 1] : nil
      bytes += varint(previous.map { $0.offset + $0.bytes } == entry.offset ? 0 : entry.offset + 1)
    }
    return bytes
  }

  package static func varint(_ value: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], value)
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  package static func little(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  package static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    guard
      deflateInit2_(
        &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        == Z_OK
    else { return [] }
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let capacity = output.count
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
        (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(capacity))
        _ = deflate(&stream, Z_FINISH)
        return capacity - Int(stream.avail_out)
      }
    }
    return Array(output[..<count])
  }
}
