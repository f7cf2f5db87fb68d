import NIOCore
import TileIndex

/// What the answers for the tiles of one tileset have in common.
struct TileHeadline: Sendable {
  /// Value of Cache-Control.
  var caching: String
  /// When the bundle changed, in seconds since 1970.
  var modified: Int
}

extension ReplyWriter {
  /// A tile, or 304 where the client has it.
  ///
  /// Images go out as they are: compressing them again only costs. Vector tiles are stored gzipped and go out so to clients that take it.
  /// - Parameter plain: the unpacked bytes of a gzipped tile; needed only when ``needsUnpacking(_:)``.
  func tile(
    _ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline
  ) -> Reply {
    tile(bytes, format: format, headline, isGzipped: Self.isGzipped(bytes), suffix: "")
  }

  /// A vector tile for a client that does not take gzip.
  func unpackedTile(_ bytes: UnsafeRawBufferPointer, _ headline: TileHeadline) -> Reply {
    tile(bytes, format: .pbf, headline, isGzipped: false, suffix: "-i")
  }

  /// True when the bytes are gzipped and the client does not take that.
  func needsUnpacking(_ bytes: UnsafeRawBufferPointer) -> Bool { !request.acceptsGzip && Self.isGzipped(bytes) }

  private func tile(
    _ bytes: UnsafeRawBufferPointer, format: TileFormat, _ headline: TileHeadline, isGzipped: Bool, suffix: String
  ) -> Reply {
    let tag = EntityTag.text(hash: ContentHash.hash(bytes), suffix: suffix)
    var fields = "Content-Type: "
    fields += format.mediaType
    fields += "\r\nETag: "
    fields += tag
    fields += "\r\nLast-Modified: "
    fields += HTTPDate.text(headline.modified)
    fields += "\r\nCache-Control: "
    fields += headline.caching
    fields += "\r\n"
    if format == .pbf {
      fields += "Vary: Accept-Encoding\r\n"
      if isGzipped { fields += "Content-Encoding: gzip\r\n" }
    }
    if isFresh(tag: tag, modified: headline.modified) {
      return reply(304, fields: fields, body: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return reply(200, fields: fields, body: bytes)
  }

  /// True when the client's copy is still good (RFC 9110, section 13.2.2: the date counts only without tags).
  private func isFresh(tag: String, modified: Int) -> Bool {
    if let wanted = request.ifNoneMatch { return EntityTag.isNamed(tag, in: wanted) }
    guard let since = request.ifModifiedSince.flatMap(HTTPDate.seconds) else { return false }
    return modified <= since
  }

  private static func isGzipped(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b
  }
}
