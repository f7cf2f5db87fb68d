import Support

extension PageLanguage {
  /// Reads the texts of a language: `{"language": "de", "name": "Deutsch", "decimalSign": ",", "texts": {...}}`.
  ///
  /// - Throws: ``StoreError`` that names the keys that are missing, unknown, or have other words in braces.
  init(path: String) throws(StoreError) {
    func refused(_ message: String, _ remedy: String) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    let document: JSONValue
    do { document = try JSONFile.read(path, bytesMax: 1 << 20) } catch {
      throw refused("cannot be read: \(error)", "give a file with the texts of a language, in JSON")
    }
    func text(_ name: String) throws(StoreError) -> String {
      guard case .string(let text)? = document[name], !text.isEmpty else {
        throw refused("has no text \"\(name)\"", "see docs/reference/store.md, Languages")
      }
      return text
    }
    let tag = try text("language")
    let isTag = tag.utf8.allSatisfy {
      ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a) || $0 == 0x2d || $0 >= 0x30 && $0 <= 0x39
    }
    guard isTag, tag.utf8.count <= 20 else { throw refused("language: \"\(tag)\" is no tag", "write de, or pt-BR") }
    guard case .object(let members)? = document["texts"] else {
      throw refused("has no object \"texts\"", "write a text for each key: see docs/reference/store.md, Languages")
    }
    let known = PageText.allCases.map(\.rawValue)
    var texts: [PageText: String] = [:]
    for member in members {
      guard let key = PageText(rawValue: member.name) else {
        throw refused(
          "texts has an unknown key \"\(member.name)\"", Spelling.remedy(for: member.name, among: known))
      }
      guard case .string(let text) = member.value else {
        throw refused("texts.\(member.name) is no text", "write it in quotation marks")
      }
      let wanted = PageText.placeholders(PageText.english[key] ?? "")
      guard PageText.placeholders(text) == wanted else {
        throw refused(
          "texts.\(member.name) has other words in braces than English",
          wanted.isEmpty ? "leave them out" : "use \(wanted.sorted().map { "{\($0)}" }.joined(separator: ", "))")
      }
      texts[key] = text
    }
    let missing = PageText.allCases.filter { texts[$0] == nil }.map(\.rawValue)
    guard missing.isEmpty else {
      throw refused("texts lacks \(missing.joined(separator: ", "))", "translate them")
    }
    self.init(
      tag: tag, name: try text("name"), decimalSign: try text("decimalSign"), texts: texts)
  }

  /// The best of some languages for an `Accept-Language` (RFC 9110, section 12.5.4; lookup of RFC 4647, section 3.4);
  /// the first one where none fits.
  static func best(of languages: [PageLanguage], for field: String?) -> PageLanguage {
    for range in ranges(field) {
      var range = range[...]
      while !range.isEmpty {
        if let found = languages.first(where: { $0.tag.lowercased() == range }) { return found }
        range = range.lastIndex(of: "-").map { range[..<$0] } ?? ""
      }
    }
    return languages[0]
  }

  /// The country of the first range that names one: `CH` for `de-CH, en;q=0.5`.
  static func country(_ field: String?) -> String? {
    for range in ranges(field) {
      if let part = range.split(separator: "-").dropFirst().first(where: { $0.utf8.count == 2 }) {
        return part.uppercased()
      }
    }
    return nil
  }

  /// In lower case, by quality.
  private static func ranges(_ field: String?) -> [String] {
    let items = (field ?? "").utf8.prefix(500).split(separator: UInt8(ascii: ",")).prefix(20).map { item in
      let parts = String(decoding: item, as: UTF8.self).split(separator: ";").map { $0.trimmingWhitespace }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      return (range: parts.first?.lowercased() ?? "", quality: quality)
    }
    return items.enumerated().filter { $1.quality > 0 }
      .sorted { ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset) }.map(\.element.range)
  }
}
