import NIOCore
import Support
import TileIndex

extension ReplyWriter {
  /// A tile, or 304 where the client has it.
  ///
  /// Images go out as they are: compressing them again only costs. Vector tiles are stored packed and go out so to clients that take it.
  func tile(_ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline) -> Reply {
    var fields = headline.fields(format)
    switch Self.packing(bytes, format) {
    case .gzip: fields += "Content-Encoding: gzip\r\n"
    case .deflate: fields += "Content-Encoding: deflate\r\n"
    case nil: break
    }
    return tile(bytes, EntityTag(hash: ContentHash.hash(bytes)), fields, headline)
  }

  /// A vector tile for a client that does not take it as it is packed.
  func unpackedTile(_ bytes: UnsafeRawBufferPointer, _ headline: TileHeadline) -> Reply {
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
  ) -> Reply {
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
