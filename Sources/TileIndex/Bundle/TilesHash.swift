import Crypto
import Support

/// One hash over all tiles of a bundle: equal for bundles that show the same, whatever file format, order and page size they are kept in.
///
/// SHA-256 over the URI of the tile matrix set and a NUL, then for every tile, by zoom, column and row from the south: zoom (one byte), column and row from
/// the north (four bytes each, the highest first), and the SHA-256 of the tile's bytes as a reader hands them out. Metadata and places do not count.
public struct TilesHash: Hashable, Sendable, CustomStringConvertible {
  /// 64 hexadecimal digits in lower case.
  public let description: String

  /// - Parameter text: 64 hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 64, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    description = text.lowercased()
  }

  init(_ digest: SHA256.Digest) { description = Hexadecimal.text(digest) }

  /// The hash of a bundle's tiles.
  ///
  /// - Complexity: O(bytes), in constant memory for MBTiles; a PMTiles archive takes 8 bytes for each tile of its largest zoom.
  /// - Throws: ``BundleError``, also with `.malformed` when a tile is there twice, since nobody can say which of them counts.
  public static func of(_ bundle: any BundleReader) throws -> TilesHash {
    var hasher = Hasher(matrixSet: bundle.matrixSet)
    var last: TileID?
    try bundle.forEachTile { tile, bytes in
      // In the order of the index equal ones are neighbours.
      if tile == last { throw BundleError.repeated(tile, path: bundle.path) }
      last = tile
      hasher.insert(tile, bytes)
    }
    return hasher.finalize()
  }

  /// Takes tiles in the order of the hash.
  package struct Hasher {
    private var hash = SHA256()
    /// So far.
    package private(set) var tileCount = 0

    package init(matrixSet: TileMatrixSet) {
      hash.update(data: Array(matrixSet.uri.utf8) + [0])
    }

    package mutating func insert(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) {
      var digest = SHA256()
      digest.update(bufferPointer: bytes)
      hash.update(data: [UInt8(truncatingIfNeeded: tile.zoom)] + Self.big(tile.column) + Self.big(tile.row))
      digest.finalize().withUnsafeBytes { hash.update(bufferPointer: $0) }
      tileCount += 1
    }

    package func finalize() -> TilesHash { TilesHash(hash.finalize()) }

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
