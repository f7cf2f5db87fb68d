// snippet.begin
import TileIndex

/// Writes PNG tiles to a new bundle, and reads the tile of its finest zoom at a point.
func writeAndRead(
  _ tiles: [(id: TileID, png: [UInt8])], at path: String, longitude: Double, latitude: Double
) throws -> [UInt8]? {
  let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
  for tile in tiles { try writer.put(tile.id, tile.png) }
  var metadata = BundleMetadata(name: "Sample")
  metadata.attribution = "The publisher"
  // Until now the file has a temporary name.
  let summary = try writer.finish(metadata)
  print("\(summary.tiles) tiles, zooms \(summary.minZoom) to \(summary.maxZoom), \(summary.bytes) bytes")

  // Opens MBTiles, PMTiles, GeoPackages and folders of tiles.
  let bundle = try BundleFile.open(path)
  let tile = bundle.matrixSet.tile(longitude: longitude, latitude: latitude, zoom: summary.maxZoom)
  guard let tile else { return nil }
  return try bundle.tile(tile)
}
// snippet.end
