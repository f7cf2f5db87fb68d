import CoreGraphics
import Foundation
import OfflineMap
import TileImage

/// Decodes with the codecs of `TileImage` in place of the system's, for an app that builds them:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: PixelDecoder())`.
struct PixelDecoder: TileDecoder {
  func decode(_ bytes: [UInt8]) throws -> (SystemImage, byteCount: Int) {
    let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    guard let image = pixels.premultiplied() else { throw CocoaError(.fileReadCorruptFile) }
    return (SystemImage(image), byteCount: pixels.byteCount)
  }
}

extension PixelBuffer {
  /// The picture as Core Graphics draws it at once: it would convert straight alpha at each drawing.
  func premultiplied() -> CGImage? {
    var data = Data(bytes: bytes, count: byteCount)
    data.withUnsafeMutableBytes { pixels in
      for pixel in stride(from: 0, to: pixels.count, by: 4) where pixels[pixel + 3] < 255 {
        let alpha = Int(pixels[pixel + 3])
        for channel in pixel..<pixel + 3 { pixels[channel] = UInt8((Int(pixels[channel]) * alpha + 127) / 255) }
      }
    }
    guard let provider = CGDataProvider(data: data as CFData), let space = CGColorSpace(name: CGColorSpace.sRGB)
    else { return nil }
    return CGImage(
      width: width, height: height, bitsPerComponent: 8, bitsPerPixel: 32, bytesPerRow: rowBytes, space: space,
      bitmapInfo: CGBitmapInfo(rawValue: CGImageAlphaInfo.premultipliedLast.rawValue), provider: provider, decode: nil,
      shouldInterpolate: true, intent: .defaultIntent)
  }
}
