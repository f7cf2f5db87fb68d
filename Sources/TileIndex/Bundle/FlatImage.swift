/// A picture that lies nowhere on Earth (a scan, a plan, a view from a plane), cut into tiles that every reader of map tiles can show.
///
/// Its top left corner is that of the world in WebMercatorQuad, and one of its pixels is one of the first zoom whose square of tiles holds all of it: tiles of
/// that zoom are its pixels, as they are. The metadata say so (``metadataKey``), for readers that would show degrees otherwise.
package struct FlatImage: Hashable, Sendable {
  /// Pixels.
  package let width: Int
  /// Pixels.
  package let height: Int

  /// Row of the metadata table; its value is `width,height`.
  package static let metadataKey = "flat_image"

  /// - Parameters: pixels, from 1 up to what the grid has.
  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Reads the metadata's value; nil for what is none.
  package init?(_ text: String) {
    let numbers = text.split(separator: ",").compactMap { Int($0) }
    guard numbers.count == 2, numbers.allSatisfy({ (1...Self.edgeMax).contains($0) }) else { return nil }
    self.init(width: numbers[0], height: numbers[1])
  }

  /// The metadata's value.
  package var text: String { "\(width),\(height)" }

  private static let edgeMax = 1 << 30

  /// The zoom whose pixels are the picture's.
  package var zoom: Int {
    var zoom = 0
    while 256 << zoom < max(width, height) { zoom += 1 }
    return zoom
  }
}
