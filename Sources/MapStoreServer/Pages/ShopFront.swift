import LibC
import Support

/// What the pages have of the operator: checked and read once, at the start.
struct ShopFront: Sendable {
  let name: String?
  /// The name below `/assets/`, and the file's bytes.
  let logo: (name: String, body: ReplyBody)?
  /// The style sheet with the operator's colours; nil for the built-in ones.
  let colours: ReplyBody?
  /// English first.
  let languages: [PageLanguage]
  let options: PageOptions

  private static let logoBytesMax = 256 << 10

  /// - Throws: ``StoreError``.
  init(_ options: PageOptions) throws(StoreError) {
    self.options = options
    name = options.name
    logo = try options.logo.map { path throws(StoreError) in try Self.logo(path) }
    var languages = [PageLanguage.english]
    for path in options.texts {
      let language = try PageLanguage(path: path)
      guard !languages.dropFirst().contains(where: { $0.tag == language.tag }) else {
        throw StoreError(
          .unreadableInput, at: path, "has the language \(language.tag), as another file has", remedy: "leave one out")
      }
      // A file for English takes the place of the built-in texts.
      languages.removeAll { $0.tag == language.tag }
      languages.append(language)
    }
    self.languages = languages
    colours = try Self.colours(options)
    for (name, url) in [
      ("openInApp", options.openInApp), ("appStore", options.appStore), ("googlePlay", options.googlePlay),
      ("checkout", options.checkout),
    ] {
      guard let url else { continue }
      let scheme = url.prefix { $0 != ":" }
      let isScheme = !scheme.isEmpty && scheme.count < url.count && scheme.allSatisfy { $0.isASCII && $0.isLetter }
      guard isScheme, scheme.lowercased() != "javascript", url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
        throw StoreError(
          .invalidOption, at: "pages.\(name)", "\"\(url)\" is no URL",
          remedy: "give one such as https://shop.example.org/buy?map={id}")
      }
    }
  }

  private static func logo(_ path: String) throws(StoreError) -> (String, ReplyBody) {
    func refused(_ message: String, _ remedy: String) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    guard let file = RegularFile(path) else { throw refused("cannot be read", "check the name and permissions") }
    guard file.byteCount <= logoBytesMax else {
      throw refused(
        "has \(file.byteCount) bytes, and each visitor of the pages would load them",
        "give a logo of at most \(logoBytesMax) bytes, such as SVG")
    }
    guard let bytes = try? file.allBytes(countMax: logoBytesMax) else {
      throw refused("cannot be read", "check the disk")
    }
    func begins(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    let kind =
      if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) { "png" } else if bytes.starts(with: [0xff, 0xd8, 0xff]) {
        "jpg"
      } else if begins("RIFF"), begins("WEBP", at: 8) {
        "webp"
      } else if String(decoding: bytes, as: UTF8.self)
        .contains("<svg")
      { "svg" } else { "" }
    guard !kind.isEmpty else { throw refused("is neither SVG, PNG, WebP nor JPEG", "give one of these") }
    return ("logo.\(kind)", ReplyBody(bytes))
  }

  // MARK: Colours

  /// The papers of store.css, on which the accents are read.
  private static let (paper, darkPaper) = ("#f6f5f0", "#151a17")

  private static func colours(_ options: PageOptions) throws(StoreError) -> ReplyBody? {
    guard options.accent != nil || options.accentDark != nil else { return nil }
    var css = ""
    if let accent = options.accent {
      try check(accent, "accent", on: paper)
      css += ":root {--accent: \(accent);}\n"
    }
    // A light page's accent is too dark for a dark page, so each has its own.
    if let accent = options.accentDark {
      try check(accent, "accentDark", on: darkPaper)
      css += "@media (prefers-color-scheme: dark) { :root {--accent: \(accent);} }\n"
    } else {
      css += "@media (prefers-color-scheme: dark) { :root {--accent: #7cc79f;} }\n"
    }
    return ReplyBody(Array(css.utf8))
  }

  /// Links have to be readable: a contrast of 4.5 (WCAG 2.1, 1.4.3).
  private static func check(_ colour: String, _ name: String, on paper: String) throws(StoreError) {
    guard let light = luminance(colour), let ground = luminance(paper) else {
      throw StoreError(
        .invalidOption, at: "pages.\(name)", "\"\(colour)\" is no colour", remedy: "give six digits: #2f6f4f")
    }
    let contrast = (max(light, ground) + 0.05) / (min(light, ground) + 0.05)
    guard contrast < 4.5 else { return }
    let tenths = Int(contrast * 10)
    throw StoreError(
      .invalidOption, at: "pages.\(name)",
      "\(colour) on \(paper) has a contrast of \(tenths / 10).\(tenths % 10), and text needs 4.5",
      remedy: "give a \(light < ground ? "darker" : "lighter") one")
  }

  /// The relative luminance (WCAG 2.1, definitions).
  private static func luminance(_ colour: String) -> Double? {
    guard colour.utf8.count == 7, colour.hasPrefix("#"), let bytes = Hexadecimal.bytes(String(colour.dropFirst()))
    else { return nil }
    let parts = bytes.map { byte in
      let value = Double(byte) / 255
      return value <= 0.03928 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }
}
