import Foundation
import Support
public import TileIndex

extension TemporaryFolder {
  /// Writes a bundle with all tiles of some zooms, except those to leave out.
  ///
  /// - Parameters:
  ///   - name: with its extension, `.mbtiles`.
  ///   - seed: bundles of different seeds have different tiles; every third tile of one is the same.
  /// - Returns: the path.
  @discardableResult
  public func writeBundle(
    _ name: String, _ format: TileFormat = .png, zooms: ClosedRange<Int> = 0...2, seed: Int = 0, edge: Int = 256,
    hollow: Bool = false, matrixSet: TileMatrixSet = .webMercatorQuad, without: Set<TileID> = [],
    metadata: BundleMetadata? = nil, places: [Place] = []
  ) throws -> String {
    let images: [[UInt8]] = try (0..<3).map { index in
      format == .pbf
        ? SampleTiles.gzip(Array("no real vector tile, but the server does not look inside: \(seed) \(index)".utf8))
        : try SampleTiles.image(seed * 3 + index, format, edge: edge, hollow: hollow)
    }
    let writer = try BundleWriter(path: file(name), matrixSet: matrixSet, format: format, replacing: true)
    for zoom in zooms {
      for tile in matrixSet.wholeRange(zoom: zoom) where !without.contains(tile) {
        try writer.put(tile, images[(tile.zoom + tile.column + tile.row) % 3])
      }
    }
    if !places.isEmpty { try writer.write(places: places) }
    var metadata = metadata ?? BundleMetadata(name: "Sample \(seed)")
    if format == .pbf, metadata.json == nil { metadata.json = #"{"vector_layers":[{"id":"roads","fields":{}}]}"# }
    _ = try writer.finish(metadata)
    return file(name)
  }
}

extension TemporaryFolder {
  /// Writes a bundle of one PNG tile, 0/0/0.
  public func writeSingleTile(_ name: String, _ bytes: [UInt8]) throws {
    let writer = try BundleWriter(path: file(name), matrixSet: .webMercatorQuad, format: .png)
    try writer.put(TileID(unchecked: 0, 0, 0), bytes)
    _ = try writer.finish(BundleMetadata(name: name))
  }

  /// A bundle whose tiles are a view without end, in which no look-up finds a row.
  ///
  /// - Parameter megabytes: what the file is made longer by. A query may cost more in a larger file: of 1 MB it ends
  ///   by itself after a second or so, of 256 MB after more than a minute.
  public func writeEndlessView(_ name: String, megabytes: Int = 0) throws {
    let connection = try SQLiteConnection(creating: file(name))
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'v'), ('format', 'png'), ('minzoom', '4'), ('maxzoom', '4');
      CREATE VIEW tiles AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c)
      SELECT 4 AS zoom_level, x % 16 AS tile_column, x % 16 + 20 AS tile_row, x'89504e470d0a1a0a' AS tile_data FROM c;
      """)
    try connection.close()
    // A hole would not count.
    guard megabytes > 0 else { return }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
    try handle.seekToEnd()
    for _ in 0..<megabytes { try handle.write(contentsOf: Data(count: 1 << 20)) }
    try handle.close()
  }

  /// A small bundle whose one tile, 0/0/0, would take 900 MB.
  public func writeHugeTile(_ name: String) throws {
    let connection = try SQLiteConnection(creating: file(name))
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'z'), ('format', 'png'), ('minzoom', '0'), ('maxzoom', '0');
      CREATE VIEW tiles AS
      SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, zeroblob(900000000) AS tile_data;
      """)
    try connection.close()
  }
}
