import Support
import TileIndex

/// The credits of a bundle, which may be HTML (TileJSON 3.0.0, section 3.2), reduced to text and links.
///
/// Bundles are untrusted and viewers put credits into pages, so only text and links to http(s) addresses are kept;
/// other elements are removed and their text stays, except for `script` and `style`, which are removed completely.
package struct Credits: Hashable, Sendable {
  package enum Part: Hashable, Sendable {
    case text(String)
    /// An address that begins with `http://` or `https://`, and the text of its link.
    case link(url: String, text: String)
  }

  package let parts: [Part]

  /// Reads HTML or plain text; every input is valid.
  package init(html: String) {
    var reader = CreditsReader(html)
    parts = reader.read()
  }

  /// The text alone.
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

/// Parses credits that may be HTML. Lenient like browsers: a `<` that begins no tag is text, tags may be left open.
struct CreditsReader {
  private let source: [Character]
  private var place = 0
  private var parts: [Credits.Part] = []
  private var pending = ""
  private var link: String?

  init(_ html: String) { source = Array(html) }

  mutating func read() -> [Credits.Part] {
    while place < source.count {
      switch source[place] {
      case "<": if !skipComment(), !readAddress(), !readTag() { appendCharacter() }
      case "&": readEntity()
      default: appendCharacter()
      }
    }
    flush()
    return parts
  }

  private mutating func appendCharacter() {
    pending.append(source[place])
    place += 1
  }

  /// Ends the current part.
  private mutating func flush() {
    defer { pending = "" }
    guard !pending.isEmpty else { return }
    if let link { parts.append(.link(url: link, text: pending)) } else { parts.append(.text(pending)) }
  }

  private mutating func skipComment() -> Bool {
    guard source[place...].starts(with: "<!--") else { return false }
    place += 4
    while place < source.count, !source[place...].starts(with: "-->") { place += 1 }
    place = min(place + 3, source.count)
    return true
  }

  /// Reads an address in angle brackets, as plain texts have them: `<https://example.org>`.
  private mutating func readAddress() -> Bool {
    let rest = source[(place + 1)...].prefix(Self.addressCountMax)
    guard let end = rest.firstIndex(of: ">") else { return false }
    let address = String(rest[..<end])
    let start = address.prefix(8).lowercased()
    guard start.hasPrefix("http://") || start == "https://", !address.contains(where: { $0.isWhitespace || $0 == "<" }),
      let url = Self.safeURL(address)
    else { return false }
    // Within a link the text belongs to that link.
    if link == nil {
      flush()
      parts.append(.link(url: url, text: address))
    } else {
      pending += address
    }
    place = end + 1
    return true
  }

  private static let addressCountMax = 2048

  /// Reads `<name ...>` or `</name>`; false, at the same place, when what follows is no tag.
  private mutating func readTag() -> Bool {
    var at = place + 1
    let isEnd = at < source.count && source[at] == "/"
    if isEnd { at += 1 }
    guard at < source.count, source[at].isLetter || source[at] == "!" || source[at] == "?" else { return false }
    var name = ""
    while at < source.count, source[at].isLetter || source[at].isNumber {
      name.append(contentsOf: source[at].lowercased())
      at += 1
    }
    // No element has such a name: `<maps@example.org>`, `<www.example.org>`.
    if at < source.count, source[at] == "@" || source[at] == "." { return false }
    var attributes: [Character] = []
    var quote: Character?
    while at < source.count {
      let character = source[at]
      if quote == nil, character == ">" { break }
      if character == quote {
        quote = nil
      } else if quote == nil, character == "\"" || character == "'" {
        quote = character
      }
      attributes.append(character)
      at += 1
    }
    place = min(at + 1, source.count)
    apply(name, attributes, isEnd: isEnd)
    return true
  }

  private mutating func apply(_ name: String, _ attributes: [Character], isEnd: Bool) {
    switch name {
    case "a":
      flush()
      link = isEnd ? nil : CreditsAttribute.value("href", in: attributes).flatMap(Self.safeURL)
    case "br", "p", "div", "li":
      if let last = pending.last, !last.isWhitespace { pending.append(" ") }
    case "script", "style":
      if !isEnd { skipElement(name) }
    default: break
    }
  }

  private mutating func skipElement(_ name: String) {
    while place < source.count {
      if source[place] == "<", String(source[place...].prefix(name.count + 2)).lowercased() == "</\(name)" { return }
      place += 1
    }
  }

  private mutating func readEntity() {
    guard let entity = HTMLEntity(source[place...]) else {
      appendCharacter()
      return
    }
    pending += entity.text
    place += entity.length
  }

  /// An address that cannot run anything; nil for all but http and https.
  private static func safeURL(_ text: String) -> String? {
    // Browsers drop these from addresses, so they must not hide a scheme here.
    let url = String(text.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7f })
    let start = url.prefix(8).lowercased()
    if url.hasPrefix("//") { return "https:" + url }
    return start.hasPrefix("http://") || start == "https://" ? url : nil
  }
}
