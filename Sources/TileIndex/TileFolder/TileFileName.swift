/// The names of a tile folder's parts: `zoom/column/row.extension`, numbers as they are usually written.
struct TileFileName {
  let row: Int
  /// As it is written, in whatever case.
  let fileExtension: String

  /// The extensions that tiles have, the likelier first.
  static let extensions = ["png", "jpg", "webp", "pbf", "jpeg", "mvt"]

  /// Nil for other names than those of tiles.
  init?(_ name: UnsafeBufferPointer<UInt8>) {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")),
      let row = Self.number(UnsafeBufferPointer(rebasing: name[..<dot]))
    else { return nil }
    let fileExtension = String(decoding: name[(dot + 1)...], as: UTF8.self)
    guard Self.extensions.contains(fileExtension.lowercased()) else { return nil }
    (self.row, self.fileExtension) = (row, fileExtension)
  }

  /// A number without sign and leading zeros, which is how a path to a tile would write it; nil for other names.
  static func number(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
    guard (1...10).contains(name.count), name.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    guard name.count == 1 || name[0] != 0x30 else { return nil }
    return name.reduce(0) { $0 * 10 + Int($1 & 0x0f) }
  }
}
