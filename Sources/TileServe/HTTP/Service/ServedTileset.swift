import TileIndex

/// A tileset with what its answers need at hand, so that nothing is put together anew for each tile.
final class ServedTileset: Sendable {
  let tileset: Tileset
  let info: TilesetInfo
  let policy: MissingTilePolicy
  let headline: TileHeadline

  init(_ tileset: Tileset, _ info: TilesetInfo, _ options: TileServerOptions) {
    self.tileset = tileset
    self.info = info
    let settings = options.settings(info.id)
    // Vector viewers take a 404 for a failure, so they get 204 unless something else was chosen.
    policy = settings.missing ?? options.missing ?? (info.format == .pbf ? .noContent : .notFound)
    headline = TileHeadline(
      format: info.format, caching: settings.caching ?? options.caching, modified: info.modified)
  }
}
