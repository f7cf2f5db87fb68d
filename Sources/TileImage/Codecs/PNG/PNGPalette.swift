/// A palette in the order in which it is written, and the way from the colour table's numbers to it.
struct PNGPalette {
  /// The colours as pixel words; those that are not opaque come first, so that tRNS (which may end early) is short.
  private(set) var colours: [UInt32]
  /// How many colours are not opaque: the entries of tRNS.
  let translucentCount: Int
  /// The new index for each number of the colour table.
  private(set) var order: [UInt8]

  init(_ table: ColourTable) {
    let numbers = (0..<table.count).sorted { a, b in
      Self.rank(table.colours[a]) < Self.rank(table.colours[b])
    }
    colours = numbers.map { table.colours[$0] }
    translucentCount = colours.prefix { $0 >> 24 != 255 }.count
    order = [UInt8](repeating: 0, count: table.count)
    for (index, number) in numbers.enumerated() {
      order[number] = UInt8(index)
    }
  }

  /// Not opaque before opaque, then by luminance, then by the colour itself: a total order, so that equal tiles are equal files.
  private static func rank(_ colour: UInt32) -> UInt64 {
    let luminance = (colour & 255) * 299 + (colour >> 8 & 255) * 587 + (colour >> 16 & 255) * 114
    return UInt64(colour >> 24 == 255 ? 1 : 0) << 63 | UInt64(luminance) << 32 | UInt64(colour)
  }
}
