import NIOCore
import TileIndex

extension ReplyWriter {
  /// A tile, or 304 where the client has it.
  ///
  /// Images go out as they are: compressing them again only costs. Vector tiles are stored gzipped and go out so to clients that take it.
  func tile(_ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline) -> Reply {
    var fields = headline.fields(format)
    if format == .pbf, Gunzip.isGzip(bytes) { fields += "Content-Encoding: gzip\r\n" }
    return tile(bytes, EntityTag(hash: ContentHash.hash(bytes)), fields, headline.modified)
  }

  /// A vector tile for a client that does not take gzip.
  func unpackedTile(_ bytes: UnsafeRawBufferPointer, _ headline: TileHeadline) -> Reply {
    tile(
      bytes, EntityTag(hash: ContentHash.hash(bytes), isUnpacked: true), headline.fields(.pbf), headline.modified)
  }

  /// True when the bytes are gzipped and the client does not take that.
  func needsUnpacking(_ bytes: UnsafeRawBufferPointer) -> Bool { Gunzip.isGzip(bytes) && !request.acceptsGzip }

  private func tile(
    _ bytes: UnsafeRawBufferPointer, _ tag: EntityTag, _ fields: String, _ modified: Int?
  ) -> Reply {
    if request.hasConditions, isFresh(tag, modified) { return reply(304, fields: fields, tag: tag) }
    return reply(200, fields: fields, tag: tag, body: bytes)
  }

  /// True when the client's copy is still good (RFC 9110, section 13.2.2: the date counts only without tags).
  ///
  /// Only by the very date that it got with its copy: a later one may be that of another bundle, whose place an older one took.
  private func isFresh(_ tag: EntityTag, _ modified: Int?) -> Bool {
    if let wanted = request.ifNoneMatch { return tag.isNamed(in: wanted) }
    guard let modified, let since = request.ifModifiedSince.flatMap(HTTPDate.seconds) else { return false }
    return modified == since
  }
}
