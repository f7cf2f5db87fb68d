import Foundation
import OfflineMap
import TileImage

/// Flies into a bundle in a terminal of 24-bit colours: SessionViewer BUNDLE
@main struct SessionViewer {
  static func main() async {
    do {
      let bundle = try MapBundle(path: CommandLine.arguments.dropFirst().first ?? "map.mbtiles")
      let session = try MapSession(bundle: bundle, budget: 32 << 20, decoder: ImageDecoder())
      async let _: Void = session.run()  // is cancelled at the end of this block
      let (middle, zooms) = (bundle.metadata.bounds.centre, bundle.metadata.zooms)
      for zoom in stride(from: Double(zooms.lowerBound), through: Double(zooms.upperBound), by: 0.05) {
        session.update(Viewport(longitude: middle.x, latitude: middle.y, zoom: zoom, size: (96, 64)))
        if let failure = session.failedTiles.first { throw failure }
        try await Task.sleep(for: .milliseconds(33))
        print("\u{1b}[H" + drawn(session.visibleTiles) + "\u{1b}[0m\nzoom \(zoom), \(session.byteCount >> 10) KiB")
      }
    } catch {
      FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
      exit(1)
    }
  }

  static func drawn(_ tiles: [VisibleTile<PixelBuffer>]) -> String {  // 96 x 64 pixels, two of them in a character
    func colour(_ x: Int, _ y: Int) -> String {
      for (frame, pixels) in tiles.reversed().map({ ($0.frame, $0.picture) }) {
        let column = ((Double(x) - frame.x) / frame.side * Double(pixels.width)).rounded(.down)
        let row = ((Double(y) - frame.y) / frame.side * Double(pixels.height)).rounded(.down)
        guard 0..<Double(pixels.width) ~= column, 0..<Double(pixels.height) ~= row else { continue }
        let pixel = pixels.bytes.load(fromByteOffset: Int(row) * pixels.rowBytes + Int(column) * 4, as: RGBA.self)
        return "2;\(pixel.red);\(pixel.green);\(pixel.blue)"
      }
      return "2;0;0;0"
    }
    return stride(from: 0, to: 64, by: 2).map { y in
      (0..<96).map { x in "\u{1b}[38;\(colour(x, y));48;\(colour(x, y + 1))m▀" }.joined()
    }.joined(separator: "\u{1b}[0m\n")
  }
}
