import Foundation
package import Testing
package import TileImage

/// Pictures that people have looked at, as files of the project. `BLESS=1` accepts new ones.
package enum GoldenPicture {
  /// Expects a picture to look like that of a file.
  ///
  /// Other versions of fonts and libraries move edges by parts of a pixel. A letter that is missing, a label elsewhere
  /// or another colour changes more.
  ///
  /// - Parameter file: a PNG below the project's folder.
  package static func expect(
    _ drawn: PixelBuffer, looksLike file: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let path = URL(filePath: ProjectFiles.path(file))
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(TileEncoder(TileEncoding.png(PNGOptions())).encode(drawn)).write(to: path)
    }
    let golden = try Data(contentsOf: path).withUnsafeBytes { try ImageDecoder.decode($0) }
    try #require(golden.width == drawn.width && golden.height == drawn.height, sourceLocation: sourceLocation)
    var changed = 0
    for i in 0..<(drawn.width * drawn.height) {
      let (a, b) = (
        drawn.bytes.load(fromByteOffset: i * 4, as: SIMD4<UInt8>.self),
        golden.bytes.load(fromByteOffset: i * 4, as: SIMD4<UInt8>.self)
      )
      let away = SIMD4<Int>(truncatingIfNeeded: a) &- SIMD4<Int>(truncatingIfNeeded: b)
      if (0..<4).contains(where: { abs(away[$0]) > 64 }) { changed += 1 }
    }
    #expect(changed * 400 < drawn.width * drawn.height, "\(changed) pixels differ", sourceLocation: sourceLocation)
  }
}
