import TileIndex

/// What the answers for the tiles of one tileset have in common, made once.
final class TileHeadline: Sendable {
  /// Value of Cache-Control.
  let caching: String
  /// Seconds since 1970; nil for tiles that a date says nothing of.
  let modified: Int?
  private let format: TileFormat
  /// The fields for tiles of the tileset's own format, as they go out, and for its gzipped vector tiles.
  private let fields: String

  init(format: TileFormat, caching: String, modified: Int?) {
    self.caching = caching
    self.modified = modified
    self.format = format
    fields = Self.fields(format, caching, modified)
  }

  /// Lines that end with CRLF: all but the entity tag and the coding.
  func fields(_ format: TileFormat) -> String {
    format == self.format ? fields : Self.fields(format, caching, modified)
  }

  private static func fields(_ format: TileFormat, _ caching: String, _ modified: Int?) -> String {
    """
    Content-Type: \(format.mediaType)\r\n\
    \(modified.map { "Last-Modified: \(HTTPDate.text($0))\r\n" } ?? "")\
    Cache-Control: \(caching)\r\n\
    \(format == .pbf ? "Vary: Accept-Encoding\r\n" : "")
    """
  }
}
