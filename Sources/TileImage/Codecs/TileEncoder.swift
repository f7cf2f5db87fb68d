public import TileIndex

/// Encodes pixels as tiles. Equal pixels give equal bytes, on any machine with the same codec libraries.
///
/// One instance per worker: it reuses compressors, buffers and the results for uniform tiles, and is not thread-safe.
public final class TileEncoder {
  /// What it encodes to.
  public let encoding: TileEncoding
  /// The format in a bundle's metadata, as ``TileEncoding/format``.
  public var format: TileFormat { encoding.format }

  private let codec: Codec
  private var uniformTiles: [UniformTile: [UInt8]] = [:]
  /// The limit for kept uniform tiles: a map has a sea and a few land colours.
  private static let uniformTileCountMax = 64

  private indirect enum Codec {
    case png(PNGTiles)
    case jpeg(JPEGEncoder)
    case webp(WebPEncoder)
    case mixed(opaque: Codec, other: Codec)

    init(_ encoding: TileEncoding) {
      switch encoding {
      case .png(let options): self = .png(PNGTiles(options))
      case .jpeg(let options): self = .jpeg(JPEGEncoder(options: options))
      case .webp(let options): self = .webp(WebPEncoder(options: options))
      case .mixed(let opaque, let other): self = .mixed(opaque: Codec(opaque), other: Codec(other))
      }
    }

    func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
      switch self {
      case .png(let encoder): try encoder.encode(pixels)
      case .jpeg(let encoder): try encoder.encode(pixels)
      case .webp(let encoder): try encoder.encode(pixels)
      case .mixed(let opaque, let other): try (pixels.opacity == .opaque ? opaque : other).encode(pixels)
      }
    }
  }

  private struct UniformTile: Hashable {
    var colour: RGBA
    var width: Int
    var height: Int
  }

  /// An encoder of tiles in one format.
  ///
  /// - Precondition: a compression level is within 1...12, a quality within 1...100, an effort within 0...9.
  public init(_ encoding: TileEncoding) {
    self.encoding = encoding
    codec = Codec(encoding)
  }

  /// Encodes a tile of any size.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`: the format has no images of this size, or memory ran out.
  /// - Complexity: O(pixels). A uniform tile that was encoded before costs one pass over its pixels.
  public func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    guard let colour = pixels.uniformColour else { return try codec.encode(pixels) }
    let key = UniformTile(colour: colour, width: pixels.width, height: pixels.height)
    if let known = uniformTiles[key] { return known }
    let bytes = try codec.encode(pixels)
    if uniformTiles.count == Self.uniformTileCountMax { uniformTiles.removeAll(keepingCapacity: true) }
    uniformTiles[key] = bytes
    return bytes
  }
}

/// PNG tiles, with fewer colours where that is asked for.
private final class PNGTiles {
  private let encoder: PNGEncoder
  private let colours: Int?
  private let table = ColourIndex()
  private let indices = ScratchBuffer()
  private var quantizer: ColourQuantizer?

  init(_ options: PNGOptions) {
    encoder = PNGEncoder(options: options)
    colours = options.colours
  }

  func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    guard let colours, hasMore(than: colours, pixels) else { return try encoder.encode(pixels) }
    if let quantizer { return try encoder.encode(quantizer.reduced(pixels)) }
    let made = try ColourQuantizer(colours: colours)
    quantizer = made
    return try encoder.encode(made.reduced(pixels))
  }

  /// Tiles that have few colours keep them exactly.
  private func hasMore(than colours: Int, _ pixels: PixelBuffer) -> Bool {
    let count = pixels.width * pixels.height
    let numbers = indices.reserve(count).bindMemory(to: UInt8.self, capacity: count)
    return !table.number(pixels.bytes, count: count, into: numbers) || table.count > colours
  }
}

/// The format and options of tiles.
public indirect enum TileEncoding: Hashable, Sendable {
  /// Lossless.
  case png(PNGOptions)
  /// Lossy and opaque.
  case jpeg(JPEGOptions)
  /// Lossless or lossy, with transparency.
  case webp(WebPOptions)
  /// One encoding where all pixels of a tile are opaque, another elsewhere.
  case mixed(opaque: TileEncoding, other: TileEncoding)

  /// JPEG where all pixels of a tile are opaque, PNG elsewhere.
  package static func auto(_ jpeg: JPEGOptions, _ png: PNGOptions) -> TileEncoding {
    .mixed(opaque: .jpeg(jpeg), other: .png(png))
  }

  /// All formats that tiles may have.
  public var formats: Set<TileFormat> {
    switch self {
    case .png: [.png]
    case .jpeg: [.jpg]
    case .webp: [.webp]
    case .mixed(let opaque, let other): opaque.formats.union(other.formats)
    }
  }

  /// The format in a bundle's metadata; of a mixture the one that shows all that its tiles do.
  public var format: TileFormat { TileFormat(stating: formats) }

  /// Further formats that single tiles may have.
  package var mixing: Set<TileFormat> { formats.subtracting([format]) }

  /// The same with other options of its PNG tiles.
  package func changingPNG(_ change: (PNGOptions) -> PNGOptions) -> TileEncoding {
    switch self {
    case .png(let options): .png(change(options))
    case .mixed(let opaque, let other):
      .mixed(opaque: opaque.changingPNG(change), other: other.changingPNG(change))
    case .jpeg, .webp: self
    }
  }

  /// The same with another quality of its JPEG and WebP tiles, from 1 to 100; lossless WebP becomes lossy.
  package func changingQuality(to quality: Int) -> TileEncoding {
    switch self {
    case .png: return self
    case .jpeg(var options):
      options.quality = quality
      return .jpeg(options)
    case .webp: return .webp(WebPOptions(lossless: false, quality: quality))
    case .mixed(let opaque, let other):
      return .mixed(opaque: opaque.changingQuality(to: quality), other: other.changingQuality(to: quality))
    }
  }
}
