import NIOCore
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

/// What the answers for the tiles of one tileset have in common, made once.
final class TileHeadline: Sendable {
  /// Value of Cache-Control.
  let caching: String
  /// When the bundle changed, in seconds since 1970.
  let modified: Int
  /// True where that date alone tells a client that its copy is still good.
  let dateTells: Bool
  private let format: TileFormat
  /// The fields for tiles of the tileset's own format, as they go out, and for its gzipped vector tiles.
  private let fields: String

  init(format: TileFormat, caching: String, modified: Int, dateTells: Bool = false) {
    self.caching = caching
    self.modified = modified
    self.dateTells = dateTells
    self.format = format
    fields = Self.fields(format, caching, modified)
  }

  /// Lines that end with CRLF: all but the entity tag and the coding.
  func fields(_ format: TileFormat) -> String {
    format == self.format ? fields : Self.fields(format, caching, modified)
  }

  private static func fields(_ format: TileFormat, _ caching: String, _ modified: Int) -> String {
    """
    Content-Type: \(format.mediaType)\r\n\
    Last-Modified: \(HTTPDate.text(modified))\r\n\
    Cache-Control: \(caching)\r\n\
    \(format == .pbf ? "Vary: Accept-Encoding\r\n" : "")
    """
  }
}

extension ReplyWriter {
  /// A tile, or 304 where the client has it.
  ///
  /// Images go out as they are: compressing them again only costs. Vector tiles are stored packed and go out so to clients that take it.
  func tile(_ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline) -> EncodedResponse {
    var fields = headline.fields(format)
    switch Self.packing(bytes, format) {
    case .gzip: fields += "Content-Encoding: gzip\r\n"
    case .deflate: fields += "Content-Encoding: deflate\r\n"
    case nil: break
    }
    return tile(bytes, EntityTag(hash: ContentHash.hash(bytes)), fields, headline)
  }

  /// A vector tile for a client that does not take it as it is packed.
  func unpackedTile(_ bytes: UnsafeRawBufferPointer, _ headline: TileHeadline) -> EncodedResponse {
    tile(
      bytes, EntityTag(hash: ContentHash.hash(bytes), isUnpacked: true), headline.fields(.pbf), headline)
  }

  /// How a tile is packed that the client does not take so; nil for one that may go out as it is.
  func unwantedPacking(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) -> Gunzip.Packing? {
    guard let packing = Self.packing(bytes, format), !request.accepts(packing) else { return nil }
    return packing
  }

  /// How a tile is packed as it is stored.
  static func packing(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) -> Gunzip.Packing? {
    format == .pbf ? Gunzip.packing(bytes) : nil
  }

  private func tile(
    _ bytes: UnsafeRawBufferPointer, _ tag: EntityTag, _ fields: String, _ headline: TileHeadline
  ) -> EncodedResponse {
    if request.hasConditions, isFresh(tag, headline) { return reply(304, fields: fields, tag: tag) }
    return reply(200, fields: fields, tag: tag, body: bytes)
  }

  /// True when the client's copy is still good (RFC 9110, section 13.2.2: the date counts only without tags).
  ///
  /// Only by the very date that it got with its copy: a later one may be that of another bundle, in whose place an older one was put.
  private func isFresh(_ tag: EntityTag, _ headline: TileHeadline) -> Bool {
    if let wanted = request.ifNoneMatch { return tag.isNamed(in: wanted) }
    guard headline.dateTells, let since = request.ifModifiedSince.flatMap(HTTPDate.seconds) else { return false }
    return headline.modified == since
  }
}
