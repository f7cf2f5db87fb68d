public import TileIndex

/// Encodes pixels as tiles. Equal pixels give equal bytes, on any machine with the same codec libraries.
///
/// One instance per worker: it reuses compressors, buffers and the results for uniform tiles, and is not thread-safe.
public final class TileEncoder {
  public let encoding: TileEncoding
  public var format: TileFormat { encoding.format }

  private let codec: Codec
  private var uniformTiles: [UniformTile: [UInt8]] = [:]
  /// The limit for kept uniform tiles: a map has a sea and a few land colours.
  private static let uniformTileCountMax = 64

  private enum Codec {
    case png(PNGEncoder)
    case jpeg(JPEGEncoder)
    case webp(WebPEncoder)
  }

  private struct UniformTile: Hashable {
    var colour: RGBA
    var width: Int
    var height: Int
  }

  /// - Precondition: a compression level is within 1...12, a quality within 1...100, an effort within 0...9.
  public init(_ encoding: TileEncoding) {
    self.encoding = encoding
    switch encoding {
    case .png(let options): codec = .png(PNGEncoder(options: options))
    case .jpeg(let options): codec = .jpeg(JPEGEncoder(options: options))
    case .webp(let options): codec = .webp(WebPEncoder(options: options))
    }
  }

  /// Encodes a tile of any size.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`: the format has no images of this size, or memory ran out.
  /// - Complexity: O(pixels). A uniform tile that was encoded before costs one pass over its pixels.
  public func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    guard let colour = pixels.uniformColour else { return try encodeAny(pixels) }
    let key = UniformTile(colour: colour, width: pixels.width, height: pixels.height)
    if let known = uniformTiles[key] { return known }
    let bytes = try encodeAny(pixels)
    if uniformTiles.count == Self.uniformTileCountMax { uniformTiles.removeAll(keepingCapacity: true) }
    uniformTiles[key] = bytes
    return bytes
  }

  private func encodeAny(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    switch codec {
    case .png(let encoder): try encoder.encode(pixels)
    case .jpeg(let encoder): try encoder.encode(pixels)
    case .webp(let encoder): try encoder.encode(pixels)
    }
  }
}

/// The format and options of tiles.
public enum TileEncoding: Hashable, Sendable {
  /// Lossless.
  case png(PNGOptions)
  /// Lossy and opaque.
  case jpeg(JPEGOptions)
  /// Lossless or lossy, with transparency.
  case webp(WebPOptions)

  /// The format in a bundle's metadata.
  public var format: TileFormat {
    switch self {
    case .png: .png
    case .jpeg: .jpg
    case .webp: .webp
    }
  }
}
