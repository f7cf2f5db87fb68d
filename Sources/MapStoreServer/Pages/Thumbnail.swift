import MapStoreWire
import RegionCatalog
import Support
import TileImage

/// The sizes in which the pages have a region's preview. The names are part of addresses.
enum ThumbnailSize: String, CaseIterable, Sendable {
  /// On a card, and on a card of a screen with twice the density; cut to the card's shape.
  case card, card2
  /// Whole, for the coverage map.
  case map

  /// The longer edge at most, and the bytes at most: a page of 100 cards loads in 300 kB.
  var limits: (edge: Int, bytes: Int) {
    switch self {
    case .card: (320, 6_500)
    case .card2: (640, 20_000)
    case .map: (512, 16_000)
    }
  }

  /// The address; another one for each picture, so that browsers need not ask again. Nil without a preview.
  func path(_ region: Catalog.Region) -> String? {
    region.preview.map { picture in
      Markup.escaped(
        "\(StoreRoute.thumbnail.path(region.id))?size=\(rawValue)&v=\(picture.sha256.prefix(10))")
    }
  }
}

/// Makes small pictures of previews.
enum Thumbnail {
  /// A card's shape.
  static let (width, height) = (320, 200)
  /// Decoded, a larger preview would take too much memory: 16 million pixels are 64 MB.
  private static let pixelsMax = 16 << 20

  /// The element of a card; nil without a preview.
  static func image(of region: Catalog.Region) -> String? {
    guard let small = ThumbnailSize.card.path(region), let large = ThumbnailSize.card2.path(region) else { return nil }
    return """
      <img src="\(small)" srcset="\(small) 1x, \(large) 2x" alt="" width="\(width)" height="\(height)" loading="lazy" \
      decoding="async">
      """
  }

  /// WebP within the limits of a size.
  ///
  /// 1. Cut to the shape of a card, unless the whole picture is wanted.
  /// 2. Reduce by a whole number, so that each pixel is the mean of a block.
  /// 3. Encode with less and less quality until the bytes fit.
  ///
  /// - Throws: `ImageError`.
  static func webp(_ preview: [UInt8], _ size: ThumbnailSize) throws -> [UInt8] {
    var pixels = try preview.withUnsafeBytes { try ImageDecoder.decode($0, pixelCountMax: pixelsMax) }
    if size != .map { pixels = cut(pixels) }
    let limits = size.limits
    while max(pixels.width, pixels.height) > limits.edge {
      let ratio = min((max(pixels.width, pixels.height) + limits.edge - 1) / limits.edge, Reduce.ratioMax)
      pixels = reduced(pixels, by: ratio)
    }
    var bytes: [UInt8] = []
    for quality in [75, 60, 45, 30, 15, 5] {
      bytes = try TileEncoder(.webp(WebPOptions(lossless: false, quality: quality))).encode(pixels)
      if bytes.count <= limits.bytes { return bytes }
    }
    // Noise: fewer pixels of it.
    while bytes.count > limits.bytes, max(pixels.width, pixels.height) > 32 {
      pixels = reduced(pixels, by: 2)
      bytes = try TileEncoder(.webp(WebPOptions(lossless: false, quality: 30))).encode(pixels)
    }
    return bytes
  }

  private static func reduced(_ pixels: PixelBuffer, by ratio: Int) -> PixelBuffer {
    let target = PixelBuffer(
      width: (pixels.width + ratio - 1) / ratio, height: (pixels.height + ratio - 1) / ratio)
    Reduce.average(pixels, ratio: ratio, into: target, x: 0, y: 0)
    return target
  }

  /// The middle, in the shape of a card.
  private static func cut(_ pixels: PixelBuffer) -> PixelBuffer {
    let wide = min(pixels.width, max(pixels.height * width / height, 1))
    let high = min(pixels.height, max(pixels.width * height / width, 1))
    guard wide < pixels.width || high < pixels.height else { return pixels }
    let target = PixelBuffer(width: wide, height: high)
    target.copy(pixels, x: (wide - pixels.width) / 2, y: (high - pixels.height) / 2)
    return target
  }
}
