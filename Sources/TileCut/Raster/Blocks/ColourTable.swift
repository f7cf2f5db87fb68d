/// The colours of a band's values, as GDAL keeps them beside the pixels: in a VRT, or in `IMAGE.aux.xml`.
struct ColourTable: Hashable, Sendable {
  /// An RGBA word for each value from 0 on. Values beyond have no colour: they are transparent, as
  /// `gdal_translate -expand rgba` makes them.
  private(set) var words: [UInt32] = []

  /// More values than bands of 16 bits have are no indices.
  private static let countMax = 1 << 16

  /// Takes the attributes of the next element `Entry`.
  mutating func add(_ entry: [String: String]) {
    guard words.count < Self.countMax else { return }
    func component(_ name: String, unless given: Int) -> UInt8 {
      UInt8(max(0, min(255, entry[name].flatMap { Int($0.filter { !$0.isWhitespace }) } ?? given)))
    }
    words.append(
      PixelTable.word(
        red: component("c1", unless: 0), green: component("c2", unless: 0), blue: component("c3", unless: 0),
        alpha: component("c4", unless: 255)))
  }

  /// The colour of a value; of its whole part if it is no integer.
  @inline(__always)
  static func word(_ value: Double, in words: UnsafeBufferPointer<UInt32>) -> UInt32 {
    guard value >= 0, value < Double(words.count) else { return 0 }
    let word = words[Int(value)]
    return word >> 24 == 0 ? 0 : word
  }

  /// Of pixels with the colours of a table.
  ///
  /// - Parameter bits: of the values; values without a colour are transparent.
  static func alphaKind(_ words: [UInt32], bits: Int) -> AlphaKind {
    if words.contains(where: { 1..<255 ~= $0 >> 24 }) { return .soft }
    return bits <= 16 && words.count >= 1 << bits && words.allSatisfy { $0 >> 24 == 255 } ? .opaque : .mask
  }
}
