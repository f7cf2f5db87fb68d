/// The field `Forwarded` (RFC 7239): what proxies say of a client's connection.
package struct ForwardedField {
  /// Scheme and host of the first element, by the proxy nearest to the client; nil where it names none.
  package private(set) var proto: String?
  package private(set) var host: String?
  /// The addresses of all elements, in their order, as a list of `X-Forwarded-For` has them; nil without any. A name
  /// in place of an address stays a name; an element without either is `unknown`.
  package private(set) var addresses: String?

  /// What is not of the field's form is skipped.
  package init(_ field: String) {
    var clients: [String] = []
    for (index, element) in Self.split(field, at: ",").enumerated() {
      var client = "unknown"
      for pair in Self.split(element, at: ";") {
        guard let equals = pair.firstIndex(of: "=") else { continue }
        let value = Self.unquoted(pair[pair.index(after: equals)...])
        switch pair[..<equals].lowercased() {
        case "for": client = value
        case "proto" where index == 0: proto = value
        case "host" where index == 0: host = value
        default: break
        }
      }
      clients.append(client)
    }
    if clients.contains(where: { $0 != "unknown" }) { addresses = clients.joined(separator: ", ") }
  }

  /// Without the white space around the parts; a separator within quotes is none.
  private static func split(_ text: some StringProtocol, at separator: Character) -> [String] {
    var parts = [""]
    var (isQuoted, isEscaped) = (false, false)
    for character in text {
      if character == separator, !isQuoted {
        parts.append("")
        continue
      }
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && character == "\\" && !isEscaped
      parts[parts.count - 1].append(character)
    }
    return parts.map { $0.trimmingWhitespace }.filter { !$0.isEmpty }
  }

  /// A quoted string without quotes and escapes (RFC 9110, section 5.6.4); any other text as it is.
  private static func unquoted(_ text: Substring) -> String {
    guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return String(text) }
    var (value, isEscaped) = ("", false)
    for character in text.dropFirst().dropLast() {
      isEscaped = character == "\\" && !isEscaped
      if !isEscaped { value.append(character) }
    }
    return value
  }
}
