import CTIFFShim

/// A TIFF colour map, brought to 8 bits.
struct TIFFPalette {
  /// RGBA words, opaque, one for each index.
  let words: [UInt32]

  /// - Returns: nil when the directory has none.
  init?(_ handle: TIFFHandle, bits: Int) {
    var red: UnsafePointer<UInt16>?
    var green: UnsafePointer<UInt16>?
    var blue: UnsafePointer<UInt16>?
    guard ctiff_colormap(handle.pointer, &red, &green, &blue) != 0, let red, let green, let blue else { return nil }
    let count = 1 << bits
    // Sixteen bits by the specification, 65535 the brightest; some writers put 8-bit values there, or shift them by eight.
    let all = (0..<count).lazy.flatMap { [red[$0], green[$0], blue[$0]] }
    let divisor: UInt16 = all.allSatisfy { $0 < 256 } ? 1 : all.allSatisfy { $0 % 256 == 0 } ? 256 : 257
    words = (0..<count).map { i in
      PixelTable.word(
        red: UInt8(red[i] / divisor), green: UInt8(green[i] / divisor), blue: UInt8(blue[i] / divisor))
    }
  }
}

extension TIFFHandle {
  /// A tag of text, up to its null byte if it has one.
  func text(tag: UInt32) -> String? {
    var start: UnsafePointer<CChar>?
    let count = ctiff_text(pointer, tag, &start)
    guard count > 0, let start else { return nil }
    let bytes = UnsafeBufferPointer(start: start, count: Int(count)).prefix { $0 != 0 }
    return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// A tag of doubles, empty when absent.
  func doubles(tag: UInt32) -> [Double] {
    var start: UnsafePointer<Double>?
    let count = ctiff_doubles(pointer, tag, &start)
    return start.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) } ?? []
  }

  /// Why libtiff's RGBA interface cannot show the directory, or nil when it can.
  func rgbaRefusal() -> String? {
    var reason = [CChar](repeating: 0, count: 1024)
    return ctiff_rgba_ok(pointer, &reason) != 0 ? nil : Self.string(reason)
  }
}
