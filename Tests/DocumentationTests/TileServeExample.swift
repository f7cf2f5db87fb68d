// snippet.begin
import TileIndex
import TileServe

/// Serves the bundles of a folder on a free port of this machine, and reads one of their tiles without HTTP.
func serve(folder: String, tileset: String, tile: TileID) async throws -> [UInt8]? {
  let tilesets = try TilesetRegistry([folder])
  var options = TileServerOptions()
  options.port = 0  // any free port
  options.cacheBytes = 32 << 20
  options.missing = .overzoom
  let server = try await TileServer.start(tilesets, options)

  // A map view takes this URL.
  print("\(server.url)\(tileset)/{z}/{x}/{y}.png")

  // The stored bytes, without HTTP.
  let stored = try await tilesets.tile(tile, of: tileset)

  try await server.shutdown()
  await tilesets.close()
  return stored?.bytes
}
// snippet.end
