import TileIndex

/// Whether a tile of an upstream has its end: an answer without a length ends where its connection breaks.
enum WholeTile {
  /// False for the beginning of a tile. Compressed vector tiles are taken: their check sum is looked at when they come.
  ///
  /// - Parameter format: what the upstream's description promises, for tiles that do not show their format.
  static func isWhole(_ bytes: UnsafeRawBufferPointer, expecting format: TileFormat?) -> Bool {
    let found = TileFormat(sniffing: bytes) ?? format
    guard found == .pbf else { return found?.isWhole(bytes) ?? true }
    return Gunzip.packing(bytes) != nil || hasWholeFields(bytes)
  }

  /// False where a field ends beyond the bytes, or is none (Protocol Buffers, wire format). A vector tile that was cut
  /// between two layers looks whole.
  private static func hasWholeFields(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    func number() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 64, by: 7) where at < bytes.count {
        let byte = bytes[at]
        at += 1
        value |= UInt64(byte & 0x7f) << shift
        if byte & 0x80 == 0 { return value }
      }
      return nil
    }
    while at < bytes.count {
      guard let key = number(), key >> 3 > 0 else { return false }
      switch key & 7 {
      case 0: guard number() != nil else { return false }
      case 1: at += 8
      case 2:
        guard let count = number(), count <= UInt64(bytes.count - at) else { return false }
        at += Int(count)
      case 5: at += 4
      default: return false
      }
    }
    return at == bytes.count
  }
}
