import Support
import TestSupport
import TileImage
import TileIndex

@testable import TileServe

/// The tiles of one edition of a bundle: their pixels show the edition, and their bytes also the tile.
struct Edition: Sendable {
  static let zoom = 4
  static let addresses = TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom).map { $0 }
  /// Made once for all tests.
  static let all = Result { try (0..<3).map { try Edition($0) } }

  let number: Int
  let colour: RGBA
  private var tiles: [TileID: [UInt8]] = [:]
  private var tags: [TileID: String] = [:]

  private init(_ number: Int) throws {
    self.number = number
    colour = Self.colour(number)
    // PNGs of 6 to 30 kB; what follows their end is ignored when they are decoded.
    let image = try TileEncoder(.png(PNGOptions())).encode(Drawings.uniform(colour))
    for tile in Self.addresses {
      let text = "edition \(number) tile \(tile.column)/\(tile.row) "
      let count = 200 + (tile.column * 31 + tile.row * 17) % 40 * 20 + number * 30
      let bytes = image + Array(String(repeating: text, count: count).utf8)
      tiles[tile] = bytes
      tags[tile] = EntityTag(hash: bytes.withUnsafeBytes(ContentHash.hash)).text
    }
  }

  static func number(_ number: Int) throws -> Edition { try all.get()[number % 3] }

  private static func colour(_ number: Int) -> RGBA {
    RGBA(red: UInt8(number * 40), green: UInt8(number * 90), blue: 77)
  }

  /// The edition whose pixels have a colour, as well as a lossy format keeps it.
  static func number(of colour: RGBA) -> Int? {
    (0..<3).first { number in
      let own = Self.colour(number)
      return colour.alpha == 255
        && [(own.red, colour.red), (own.green, colour.green), (own.blue, colour.blue)].allSatisfy {
          abs(Int($0.0) - Int($0.1)) <= 12
        }
    }
  }

  func bytes(_ tile: TileID) -> [UInt8] { tiles[tile]! }

  func tag(_ tile: TileID) -> String { tags[tile]! }

  /// A flat table of tiles, as most tools write it.
  func writeMBTiles(_ path: String) throws {
    let connection = try SQLiteConnection(creating: path)
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'edition'), ('format', 'png'), ('minzoom', '4'), ('maxzoom', '4');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
      """)
    try connection.transaction(.immediate) {
      let insert = try connection.prepare("INSERT INTO tiles VALUES (\(Self.zoom), ?1, ?2, ?3)")
      for tile in Self.addresses {
        insert.bind(1, tile.column)
        insert.bind(2, (1 << Self.zoom) - 1 - tile.row)
        insert.bind(3, bytes(tile))
        try insert.run()
      }
    }
    try connection.close()
  }

  /// The same tiles in another container, by the ending of the path.
  func write(_ path: String) throws {
    let sink = try BundleFile.create(path, matrixSet: .webMercatorQuad, format: .png)
    defer { sink.discard() }
    for tile in Self.addresses { try sink.put(tile, bytes(tile)) }
    _ = try sink.finish(BundleMetadata(name: "edition"))
  }
}
