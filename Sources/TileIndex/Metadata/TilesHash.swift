import Support

/// A hash over all tiles of a bundle: equal for bundles with equal tiles, whatever their file format, order and page
/// size.
///
/// SHA-256 over the URI of the tile matrix set and a NUL, then for every tile, by zoom, column and row from the south:
/// zoom (one byte), column and row from the north (four bytes each, big-endian), and the SHA-256 of the tile's bytes.
/// Metadata and places are not included.
public struct TilesHash: Hashable, Sendable, CustomStringConvertible {
  /// 64 hexadecimal digits in lower case.
  public let description: String

  /// A hash in its text form.
  ///
  /// - Parameter text: 64 hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 64, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    description = text.lowercased()
  }

  /// Computes the hash from tiles in its order.
  package struct Hasher {
    private var hash = SHA256Hash()
    /// Tiles inserted so far.
    package private(set) var tileCount = 0

    package init(matrixSet: TileMatrixSet) {
      hash.update(Array(matrixSet.uri.utf8) + [0])
    }

    package mutating func insert(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) {
      insert(tile, digest: Self.digest(bytes))
    }

    /// - Parameter digest: of the tile's bytes.
    mutating func insert(_ tile: TileID, digest: [UInt8]) {
      hash.update([UInt8(truncatingIfNeeded: tile.zoom)] + Self.big(tile.column) + Self.big(tile.row))
      hash.update(digest)
      tileCount += 1
    }

    static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
      var hash = SHA256Hash()
      hash.update(bytes)
      return hash.digest()
    }

    package func finalize() -> TilesHash { TilesHash(Hexadecimal.text(hash.digest()))! }

    private static func big(_ number: Int) -> [UInt8] {
      (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
  }
}

extension TilesHash: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let hash = TilesHash(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a hash of 64 hexadecimal digits")
    }
    self = hash
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
