import Support
import TileIndex

/// A URL template for tiles with `{z}`, `{x}`, `{y}`; `{-y}` counts rows from the south.
struct URLTemplate: Hashable, Sendable {
  /// The address of the tile 0/0/0, for its scheme and host.
  let address: HTTPAddress
  private let text: String

  init(_ text: String) throws {
    self.text = text
    guard text.contains("{z}"), text.contains("{x}"), text.contains("{y}") || text.contains("{-y}") else {
      throw HTTPAddress.InvalidURL(description: "needs {z}, {x} and {y} (or {-y} for rows from the south)")
    }
    let example = Self.filled(text, TileID(unchecked: 0, 0, 0))
    guard !example.contains("{"), !example.contains("}") else {
      throw HTTPAddress.InvalidURL(description: "has another place than {z}, {x}, {y} and {-y}")
    }
    address = try HTTPAddress(example)
    // The numbers must not decide which host is asked.
    let host = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...].prefix { $0 != "/" && $0 != "?" }
    guard !host.contains("{") else {
      throw HTTPAddress.InvalidURL(description: "must not have places in the host's name")
    }
  }

  /// The URL of a tile.
  func address(_ tile: TileID) throws -> HTTPAddress { try HTTPAddress(Self.filled(text, tile)) }

  private static func filled(_ text: String, _ tile: TileID) -> String {
    var url = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      url += rest[..<open]
      rest = rest[open...]
      let values = [
        ("{z}", tile.zoom), ("{x}", tile.column), ("{y}", tile.row),
        ("{-y}", MBTilesRow.flipped(tile.row, matrixHeight: 1 << tile.zoom)),
      ]
      if let (place, value) = values.first(where: { rest.hasPrefix($0.0) }) {
        url += String(value)
        rest = rest.dropFirst(place.count)
      } else {
        url += "{"
        rest = rest.dropFirst()
      }
    }
    return url + rest
  }
}
