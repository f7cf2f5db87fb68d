import Support
import TileIndex

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
