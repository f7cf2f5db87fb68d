import TileIndex

/// A coarser version of a raster that covers the same ground.
final class RasterOverview: RasterSource {
  let path: String
  let width: Int
  let height: Int
  let alphaKind: AlphaKind
  let georeference: Georeference
  var warnings: [String] { [] }
  private let reader: any WindowReader

  /// - Parameter reader: reads the overview's pixels, of which there are `width` x `height`.
  init(of source: any RasterSource, reader: any WindowReader, width: Int, height: Int, alphaKind: AlphaKind) {
    (path, self.reader, self.width, self.height, self.alphaKind) = (source.path, reader, width, height, alphaKind)
    let step = SIMD2(Double(source.width) / Double(width), Double(source.height) / Double(height))
    georeference = source.georeference.part(origin: .zero, step: step)
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try reader.read(window, into: target, rowBytes: rowBytes)
  }
}
