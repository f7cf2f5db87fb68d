public import TileIndex

extension MapSession {
  /// A session of what a decoder makes of the tiles.
  ///
  /// - Throws: as ``init(bundle:budget:encodedBytes:decode:)``.
  public convenience init(
    bundle: MapBundle, budget: Int, encodedBytes: Int = 0, decoder: some TileDecoder<Picture>
  ) throws {
    try self.init(bundle: bundle, budget: budget, encodedBytes: encodedBytes) { try decoder.decode($0) }
  }
}

#if canImport(ImageIO)
  public import CoreGraphics
  import Foundation
  import ImageIO

  /// A tile as Core Graphics draws it: premultiplied pixels.
  ///
  /// A CGImage never changes, which makes the unchecked `Sendable` valid.
  public struct SystemImage: @unchecked Sendable {
    /// The decoded picture.
    public let image: CGImage

    /// A picture that another decoder has made.
    public init(_ image: CGImage) { self.image = image }

    /// What keeping it takes.
    public var byteCount: Int { image.bytesPerRow * image.height }
  }

  /// Decodes PNG, JPEG and WebP with ImageIO.
  public struct SystemImageDecoder: TileDecoder {
    /// A decoder without settings.
    public init() {}

    /// - Throws: `CocoaError` `.fileReadCorruptFile` for bytes that are no image.
    public func decode(_ bytes: [UInt8]) throws -> (SystemImage, byteCount: Int) {
      // At once, on the thread that loads, and not when it is drawn.
      let options = [kCGImageSourceShouldCacheImmediately: true] as CFDictionary
      guard let source = CGImageSourceCreateWithData(Data(bytes) as CFData, nil),
        let image = CGImageSourceCreateImageAtIndex(source, 0, options)
      else { throw CocoaError(.fileReadCorruptFile) }
      let picture = SystemImage(image)
      return (picture, byteCount: picture.byteCount)
    }
  }
#endif
