import NIOCore
import Support
import Synchronization
import TileIndex

/// A tileset with everything that its responses need, computed once.
final class ServedTileset: Sendable {
  let tileset: Tileset
  let info: TilesetInfo
  /// The state of the tileset that this belongs to.
  let revision: SourceRevision
  /// The policy of the configuration; nil for the client's default.
  private let chosenPolicy: MissingTilePolicy?
  /// For tiles as stored.
  let headline: TileHeadline
  /// For tiles that may be rendered: they can change without the bundle.
  let drawnHeadline: TileHeadline

  /// For the addresses that were asked for last: most servers have one or two.
  private let tileJSON = Mutex<[(address: ServiceAddress, bytes: [UInt8])]>([])
  private static let addressCountMax = 4

  /// Its TileJSON, if it was made before.
  func knownTileJSON(at address: ServiceAddress) -> [UInt8]? {
    tileJSON.withLock { known in known.first { $0.address == address }?.bytes }
  }

  /// Its TileJSON. The metadata may have a megabyte to read: not for event loops.
  func tileJSON(at address: ServiceAddress) -> [UInt8] {
    if let known = knownTileJSON(at: address) { return known }
    let bytes = TileJSON.document(info, at: address)
    tileJSON.withLock { known in
      if known.count >= Self.addressCountMax { known.removeFirst() }
      known.append((address, bytes))
    }
    return bytes
  }

  /// - Parameter revision: of the tileset, from before the description was read.
  init(_ tileset: Tileset, _ info: TilesetInfo, _ revision: SourceRevision, _ options: TileServerOptions) {
    (self.tileset, self.revision) = (tileset, revision)
    self.info = info
    let settings = options.settings(info.id)
    chosenPolicy = settings.missing ?? options.missing
    let caching = settings.caching ?? options.caching
    headline = TileHeadline(
      format: info.format, caching: caching, modified: info.modified, dateTells: tileset.source.hasOwnDate)
    drawnHeadline = TileHeadline(format: info.format, caching: caching, modified: info.modified)
  }

  /// Vector viewers and GDAL's TMS driver treat 404 as a failure, so their default is 204. Below tiles at which an area
  /// ends, nothing is missing.
  func policy(_ address: TileAddress) -> MissingTilePolicy {
    chosenPolicy
      ?? (info.format == .pbf || address.isTMS ? .noContent : info.hasVariableDepth ? .overzoom : .notFound)
  }
}

/// The header fields that all responses for tiles of a tileset share, computed once.
final class TileHeadline: Sendable {
  /// Value of Cache-Control.
  let caching: String
  /// When the bundle changed, in seconds since 1970.
  let modified: Int
  /// True if that date identifies the state of the tileset.
  let dateTells: Bool
  private let format: TileFormat
  /// The fields for tiles of the tileset's own format.
  private let fields: String

  init(format: TileFormat, caching: String, modified: Int, dateTells: Bool = false) {
    self.caching = caching
    // No answer names a date of the future (RFC 9110, section 8.8.2.1), and one in its place tells no state.
    let now = Int(WallClock.seconds)
    // The Date field is a tick old.
    self.modified = modified > now ? now - 2 : modified
    self.dateTells = dateTells && modified <= now
    self.format = format
    fields = Self.fields(format, caching, self.modified)
  }

  /// Lines that end with CRLF, without ETag and Content-Encoding.
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
  /// A tile, or 304 if the client's copy is valid.
  ///
  /// Images are sent as stored. Vector tiles are stored compressed and sent so to clients that accept the coding.
  func tile(_ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline) -> EncodedResponse {
    var fields = headline.fields(format)
    switch Self.packing(bytes, format) {
    case .gzip: fields += "Content-Encoding: gzip\r\n"
    case .deflate: fields += "Content-Encoding: deflate\r\n"
    case nil: break
    }
    return tile(bytes, EntityTag(hash: ContentHash.hash(bytes)), fields, headline)
  }

  /// A decompressed vector tile for a client that does not accept the stored coding.
  func unpackedTile(_ bytes: UnsafeRawBufferPointer, _ headline: TileHeadline) -> EncodedResponse {
    tile(
      bytes, EntityTag(hash: ContentHash.hash(bytes), isUnpacked: true), headline.fields(.pbf), headline)
  }

  /// The coding of a stored tile if the client does not accept it; nil if the tile can be sent as stored.
  func unwantedPacking(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) -> Gunzip.Packing? {
    guard let packing = Self.packing(bytes, format), !request.accepts(packing) else { return nil }
    return packing
  }

  /// The coding of a stored tile.
  static func packing(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) -> Gunzip.Packing? {
    format == .pbf ? Gunzip.packing(bytes) : nil
  }

  private func tile(
    _ bytes: UnsafeRawBufferPointer, _ tag: EntityTag, _ fields: String, _ headline: TileHeadline
  ) -> EncodedResponse {
    if request.hasConditions, isFresh(tag, headline) { return reply(304, fields: fields, tag: tag) }
    return reply(200, fields: fields, tag: tag, body: bytes)
  }

  /// True if the client's copy is valid (RFC 9110, section 13.2.2: the date counts only without tags).
  ///
  /// The dates must be equal: a later date may belong to a bundle that was replaced by an older one.
  private func isFresh(_ tag: EntityTag, _ headline: TileHeadline) -> Bool {
    if let wanted = request.ifNoneMatch { return tag.isNamed(in: wanted) }
    guard headline.dateTells, let since = request.ifModifiedSince.flatMap(HTTPDate.seconds) else { return false }
    return headline.modified == since
  }
}
