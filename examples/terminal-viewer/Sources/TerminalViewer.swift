import Foundation
import TileImage
import TileIndex

/// Draws the tile at a place in a terminal of 24-bit colours: TerminalViewer BUNDLE LONGITUDE LATITUDE [ZOOM [COLUMNS]]
@main struct TerminalViewer {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    let numbers = words.dropFirst().compactMap { Double($0) }
    guard let path = words.first, numbers.count >= 2, numbers.count == words.count - 1 else {
      return print("usage: TerminalViewer BUNDLE LONGITUDE LATITUDE [ZOOM [COLUMNS]]")
    }
    do {
      let bundle = try BundleFile.open(path)  // MBTiles, PMTiles, a GeoPackage or a folder of tiles
      let zooms = try bundle.zooms()
      let zoom = numbers.count > 2 ? Int(numbers[2]) : zooms.last ?? 0
      guard let tile = bundle.matrixSet.tile(longitude: numbers[0], latitude: numbers[1], zoom: zoom),
        let image = try bundle.withTile(tile, { try ImageDecoder.decode($0) })
      else { return print("no tile there at zoom \(zoom); the bundle has zooms \(zooms)") }
      print("\(tile.zoom)/\(tile.column)/\(tile.row), \(image.width) x \(image.height) pixels")
      let step = max(image.width / max(numbers.count > 3 ? Int(numbers[3]) : 64, 1), 1)
      for y in stride(from: 0, to: image.height - step, by: 2 * step) {
        let line = stride(from: 0, to: image.width, by: step).map { x in
          "\u{1b}[38;2;\(colour(image, x, y))m\u{1b}[48;2;\(colour(image, x, y + step))m▀"
        }
        print(line.joined() + "\u{1b}[0m")  // each character is two pixels, one above the other
      }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  /// A pixel of straight RGBA over black, as a terminal takes it.
  private static func colour(_ image: PixelBuffer, _ x: Int, _ y: Int) -> String {
    let pixel = image.bytes.load(fromByteOffset: y * image.rowBytes + 4 * x, as: RGBA.self)
    return [pixel.red, pixel.green, pixel.blue].map { "\(Int($0) * Int(pixel.alpha) / 255)" }.joined(separator: ";")
  }
}
