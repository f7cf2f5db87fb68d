import CZlib
import TileIndex

/// Writes PMTiles v3 archives for the reader's tests, honest ones and others.
struct SmallArchive {
  struct Entry {
    var id: UInt64
    var run: UInt64 = 1
    var bytes: UInt64
    var offset: UInt64
  }

  /// By tile id: the bytes of each tile. Equal neighbours become runs, equal tiles share their bytes.
  var tiles: [UInt64: [UInt8]] = [:]
  var metadata = Array(#"{"name":"small"}"#.utf8)
  /// 0 unknown, 1 none, 2 gzip
  var internalCompression: UInt8 = 2
  var tileCompression: UInt8 = 1
  var tileType: UInt8 = 2
  var zooms: (UInt8, UInt8) = (0, 3)
  /// 10⁻⁷ degrees: west, south, east, north.
  var bounds: [Int32] = [-1_800_000_000, -850_511_287, 1_800_000_000, 850_511_287]
  var center: (UInt8, Int32, Int32) = (1, 123_456_789, -5)
  /// Entries in a leaf directory; nil to put all into the root.
  var leafEntries: Int?
  /// Levels of leaf directories.
  var leafLevels = 1

  var bytes: [UInt8] {
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

  /// Puts an archive together from parts.
  func archive(root: [UInt8], leaves: [UInt8] = [], data: [UInt8] = []) -> [UInt8] {
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

  func pack(_ bytes: [UInt8]) -> [UInt8] { internalCompression == 2 ? Self.gzip(bytes) : bytes }

  static func directory(_ entries: [Entry]) -> [UInt8] {
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

  static func varint(_ value: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], value)
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  static func little(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  static func gzip(_ bytes: [UInt8]) -> [UInt8] {
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

extension SmallArchive {
  /// An archive of random tiles, some of them equal, some in runs.
  static func random(using random: inout some RandomNumberGenerator, zoomMax: Int = 6) -> SmallArchive {
    var archive = SmallArchive()
    for _ in 0..<Int.random(in: 1...120, using: &random) {
      let zoom = Int.random(in: 0...zoomMax, using: &random)
      let side = 1 << zoom
      let tile = TileID(
        unchecked: zoom, Int.random(in: 0..<side, using: &random), Int.random(in: 0..<side, using: &random))
      let bytes = blob(UInt8.random(in: 0...20, using: &random), count: Int.random(in: 0...9, using: &random))
      let first = tile.hilbertID
      for id in first..<(first + UInt64.random(in: 1...12, using: &random)) { archive.tiles[id] = bytes }
    }
    archive.leafEntries = Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil
    archive.leafLevels = Int.random(in: 1...3, using: &random)
    archive.internalCompression = UInt8.random(in: 1...2, using: &random)
    return archive
  }
}
