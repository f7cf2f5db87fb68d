// snippet.begin
import TileIndex
import TileServe

/// Serves the bundles of a folder on a free port of this machine, and reads one of their tiles without HTTP.
func serve(folder: String, tileset: String, tile: TileID) async throws -> [UInt8]? {
  let tilesets = try TilesetRegistry([folder])
  var options = TileServerOptions()
  options.port = 0  // any free port, as without options
  options.cacheBytes = 32 << 20
  options.missing = .overzoom
  // The server ends with the closure, also if something in it throws.
  let stored = try await withTileServer(tilesets, options) { server in
    // A map view takes this URL: http://127.0.0.1:43210/usa/{z}/{x}/{y}.png
    print(try await server.url(for: tileset))

    // When the app goes to the background, and when it comes back: the URL stays the same.
    await server.pause()
    try await server.resume()

    // The stored bytes, without HTTP.
    return try await tilesets.tile(tile, of: tileset)
  }
  await tilesets.close()
  return stored?.bytes
}
// snippet.end
