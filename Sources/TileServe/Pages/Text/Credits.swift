import Support
import TileIndex

/// Credits as bundles have them, which may be HTML (TileJSON 3.0.0, section 3.2), reduced to text and links.
///
/// Bundles come from strangers and viewers put credits into pages, so nothing is passed on but text and links to http(s) addresses;
/// every other element goes, its text stays, but for `script` and `style`, which go whole.
package struct Credits: Hashable, Sendable {
  package enum Part: Hashable, Sendable {
    case text(String)
    /// An address that begins with `http://` or `https://`, and the words that lead there.
    case link(url: String, text: String)
  }

  package let parts: [Part]

  /// Reads HTML or plain text; anything can be read.
  package init(html: String) {
    var reader = CreditsReader(html)
    parts = reader.read()
  }

  /// The words alone.
  package var plainText: String {
    parts.map { part in
      switch part {
      case .text(let text), .link(_, let text): text
      }
    }.joined()
  }

  /// HTML that is safe in any page.
  package var html: String {
    parts.map { part in
      switch part {
      case .text(let text): Markup.escaped(text)
      case .link(let url, let text):
        "<a href=\"\(Markup.escaped(url))\" rel=\"noopener noreferrer\" target=\"_blank\">\(Markup.escaped(text))</a>"
      }
    }.joined()
  }
}
