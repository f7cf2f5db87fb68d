import TileIndex

/// A tileset with what its answers need at hand, so that nothing is put together anew for each tile.
final class ServedTileset: Sendable {
  let tileset: Tileset
  let info: TilesetInfo
  /// The state of the tileset that all this is of.
  let revision: SourceRevision
  /// What the operator chose; nil for what suits the client.
  private let chosenPolicy: MissingTilePolicy?
  /// For tiles as they are stored.
  let headline: TileHeadline
  /// For tiles that may have been drawn: they can change without the bundle.
  let drawnHeadline: TileHeadline

  init(_ tileset: Tileset, _ info: TilesetInfo, _ options: TileServerOptions) {
    self.tileset = tileset
    revision = tileset.revision
    self.info = info
    let settings = options.settings(info.id)
    chosenPolicy = settings.missing ?? options.missing
    let caching = settings.caching ?? options.caching
    headline = TileHeadline(
      format: info.format, caching: caching, modified: info.modified, dateTells: tileset.hasOwnDate)
    drawnHeadline = TileHeadline(format: info.format, caching: caching, modified: info.modified)
  }

  /// Vector viewers and GDAL's TMS driver take a 404 for a failure, so they get 204 unless something else was chosen.
  func policy(_ address: TileAddress) -> MissingTilePolicy {
    chosenPolicy ?? (info.format == .pbf || address.isTMS ? .noContent : .notFound)
  }
}
