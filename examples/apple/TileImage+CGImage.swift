import CoreGraphics
import Foundation
import ImageIO
import OfflineMap

/// A tile as Core Graphics draws it, decoded by the system: premultiplied pixels, no library of codecs.
///
/// A CGImage never changes, which makes the unchecked `Sendable` valid.
struct TileImage: @unchecked Sendable {
  let image: CGImage

  init(_ bytes: [UInt8]) throws {
    let options = [kCGImageSourceShouldCacheImmediately: true] as CFDictionary
    guard let source = CGImageSourceCreateWithData(Data(bytes) as CFData, nil),
      let image = CGImageSourceCreateImageAtIndex(source, 0, options)
    else { throw CocoaError(.fileReadCorruptFile) }
    self.image = image
  }

  /// What keeping it takes.
  var byteCount: Int { image.bytesPerRow * image.height }
}

extension MapSession where Picture == TileImage {
  /// A session of images, decoded by the system.
  convenience init(images bundle: MapBundle, budget: Int) throws {
    try self.init(bundle: bundle, budget: budget) { bytes in
      let image = try TileImage(bytes)
      return (image, byteCount: image.byteCount)
    }
  }
}
