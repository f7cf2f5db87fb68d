import CCairo
import CCairoShim
import Support

/// A text in one font, as outlines of glyphs.
///
/// Nothing of it is rounded to pixels, so that it can be turned, and is the same at every place.
final class ShapedText: Sendable {
  /// Glyphs that belong together, such as a letter and its accents.
  struct Cluster: Sendable {
    let outline: Outline
    /// From the line's start to the cluster's, in pixels.
    let x: Double
    let advance: Double
    var isBlank: Bool { outline.steps.isEmpty }
  }

  struct Line: Sendable {
    /// From left to right; outlines are around the baseline, from each cluster's start.
    let clusters: [Cluster]
    let width: Double
  }

  let lines: [Line]
  var width: Double { lines.map(\.width).max() ?? 0 }

  init(_ lines: [Line]) { self.lines = lines }
}

/// Turns texts into outlines: Pango chooses fonts, orders and shapes the letters, and breaks lines.
///
/// The fonts are those that fontconfig knows. One per thread.
final class TextShaper {
  struct Request: Hashable {
    var text: String
    /// In order of preference.
    var fonts: [String]
    /// Pixels for one em.
    var size: Double
    /// In pixels; nil for one line.
    var widthMax: Double?
    /// In pixels, between clusters.
    var letterSpacing: Double
  }

  /// As the specification has it, and what Debian has in place of the latter.
  static let usualFonts = ["Open Sans Regular", "Arial Unicode MS Regular", "Noto Sans Regular", "DejaVu Sans"]

  private let fontMap: OpaquePointer
  private let context: OpaquePointer
  private let surface: OpaquePointer
  private let cairo: OpaquePointer
  /// Those that were used last; what is forgotten is shaped again, to the same outlines.
  private var known: [Request: ShapedText] = [:]
  private var descriptions: [[String]: OpaquePointer] = [:]
  private var outlines: [GlyphKey: Outline] = [:]
  /// The start of the SHA-256 of the files of all fonts that letters were taken from, by family and style.
  private(set) var fonts: [String: String] = [:]
  /// Of all texts so far.
  private(set) var missing = MissingLetters()

  private struct GlyphKey: Hashable {
    /// With its size. Not its address, which may be another one's later.
    let font: String
    let glyph: UInt32
  }

  private static let knownMax = 2048

  /// - Throws: ``DrawingError`` if Pango is missing.
  init() throws(DrawingError) {
    try DrawingError.requireLibrary()
    try DrawingError.requireTextLibrary()
    fontMap = pango_cairo_font_map_new()
    context = pango_font_map_create_context(fontMap)
    let options = cairo_font_options_create()
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
    pango_cairo_context_set_font_options(context, options)
    cairo_font_options_destroy(options)
    pango_context_set_round_glyph_positions(context, 0)
    surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 1, 1)
    cairo = cairo_create(surface)
  }

  deinit {
    for description in descriptions.values { pango_font_description_free(description) }
    cairo_destroy(cairo)
    cairo_surface_destroy(surface)
    g_object_unref(UnsafeMutableRawPointer(context))
    g_object_unref(UnsafeMutableRawPointer(fontMap))
  }

  /// - Throws: ``DrawingError`` if none of the fonts is installed.
  func shape(_ request: Request) throws(DrawingError) -> ShapedText {
    if let shaped = known[request] { return shaped }
    let description = try description(request.fonts)
    pango_font_description_set_absolute_size(description, request.size * Double(CPANGO_SCALE))
    let layout = pango_layout_new(context)!
    defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
    pango_layout_set_font_description(layout, description)
    pango_layout_set_text(layout, request.text, -1)
    if let widthMax = request.widthMax { breakLines(layout, widthMax) }
    if known.count == Self.knownMax { known = [:] }
    var lacked: [Unicode.Scalar] = []
    let shaped = ShapedText(lines(layout, request, &lacked))
    missing.add(lacked, of: request.text)
    known[request] = shaped
    return shaped
  }

  /// Breaks between words, into as few lines as fit, which are then made about equally wide.
  private func breakLines(_ layout: OpaquePointer, _ widthMax: Double) {
    let scale = Double(CPANGO_SCALE)
    let whole = Self.width(layout)
    guard whole > widthMax else { return }
    pango_layout_set_width(layout, Int32(min(widthMax * scale, 1e9)))
    let count = pango_layout_get_line_count(layout)
    guard count > 1 else { return }
    for share in [1.05, 1.15, 1.3, 1.5] {
      let narrow = whole / Double(count) * share
      guard narrow < widthMax else { break }
      pango_layout_set_width(layout, Int32(narrow * scale))
      if pango_layout_get_line_count(layout) == count, Self.width(layout) <= narrow + 1 { return }
    }
    pango_layout_set_width(layout, Int32(min(widthMax * scale, 1e9)))
  }

  private static func width(_ layout: OpaquePointer) -> Double {
    var logical = CPangoRectangle()
    pango_layout_get_extents(layout, nil, &logical)
    return Double(logical.width) / Double(CPANGO_SCALE)
  }

  /// - Parameter lacked: gets the letters that no font has.
  private func lines(
    _ layout: OpaquePointer, _ request: Request, _ lacked: inout [Unicode.Scalar]
  ) -> [ShapedText.Line] {
    let iterator = pango_layout_get_iter(layout)!
    defer { pango_layout_iter_free(iterator) }
    var lines: [ShapedText.Line] = []
    var clusters: [ShapedText.Cluster] = []
    var x = 0.0
    func endLine() {
      // Spaces at which a line is broken take no place.
      while clusters.last?.isBlank == true { clusters.removeLast() }
      let width = clusters.last.map { $0.x + $0.advance } ?? 0
      if !clusters.isEmpty { lines.append(ShapedText.Line(clusters: clusters, width: width)) }
      (clusters, x) = ([], 0)
    }
    repeat {
      guard let run = pango_layout_iter_get_run_readonly(iterator) else {
        endLine()
        continue
      }
      if !hasOutlines(run.pointee.item.pointee.font) { Self.forget(run.pointee, of: request.text) }
      add(run.pointee, request.letterSpacing, &clusters, &x)
      lacked += Self.unknown(run.pointee.glyphs.pointee)
    } while pango_layout_iter_next_run(iterator) != 0
    endLine()
    return lines
  }

  private func add(
    _ run: CPangoGlyphItem, _ letterSpacing: Double, _ clusters: inout [ShapedText.Cluster], _ x: inout Double
  ) {
    let scale = Double(CPANGO_SCALE)
    let (glyphs, font) = (run.glyphs.pointee, run.item.pointee.font!)
    let name = remember(font)
    let count = Int(glyphs.num_glyphs)
    var start = 0
    while start < count {
      var end = start + 1
      while end < count, glyphs.log_clusters[end] == glyphs.log_clusters[start] { end += 1 }
      var outline = Outline()
      var advance = 0.0
      for i in start..<end {
        let info = glyphs.glyphs[i]
        let offset = SIMD2(advance + Double(info.x_offset) / scale, Double(info.y_offset) / scale)
        let placed = PlacedOutline(outline: glyphOutline(info, font, name), place: offset)
        // Letters alone share their outlines.
        if end == start + 1, offset == .zero {
          outline = placed.outline
        } else {
          outline.steps += placed.outline.steps.map { $0.mapped(placed.point) }
        }
        advance += Double(info.width) / scale
      }
      clusters.append(ShapedText.Cluster(outline: outline, x: x, advance: advance))
      x += advance + letterSpacing
      start = end
    }
  }

  /// A font whose glyphs are pictures, such as coloured emoji, has none.
  private func hasOutlines(_ font: OpaquePointer) -> Bool {
    let face = hb_font_get_face(pango_font_get_hb_font(font))
    return Self.outlineTables.contains { tag in
      let table = hb_face_reference_table(face, tag)
      defer { hb_blob_destroy(table) }
      return hb_blob_get_length(table) > 0
    }
  }

  /// `glyf`, `CFF ` and `CFF2`.
  private static let outlineTables: [UInt32] = [0x676c_7966, 0x4346_4620, 0x4346_4632]

  /// Makes the letters of a run unknown.
  private static func forget(_ run: CPangoGlyphItem, of text: String) {
    let (glyphs, start) = (run.glyphs.pointee, Int(run.item.pointee.offset))
    let bytes = text.utf8
    for i in 0..<Int(glyphs.num_glyphs) where glyphs.glyphs[i].glyph != CPANGO_GLYPH_EMPTY {
      let place = start + Int(glyphs.log_clusters[i])
      guard place < bytes.count else { continue }
      let letter = text.unicodeScalars[bytes.index(bytes.startIndex, offsetBy: place)]
      if !letter.properties.isDefaultIgnorableCodePoint {
        glyphs.glyphs[i].glyph = CPANGO_GLYPH_UNKNOWN | letter.value
      }
    }
  }

  private static func unknown(_ glyphs: CPangoGlyphString) -> [Unicode.Scalar] {
    (0..<Int(glyphs.num_glyphs)).compactMap { i in
      let glyph = glyphs.glyphs[i].glyph
      return glyph & ~CPANGO_GLYPH_EMPTY == CPANGO_GLYPH_UNKNOWN ? Unicode.Scalar(glyph & CPANGO_GLYPH_EMPTY) : nil
    }
  }

  /// - Parameter name: the font's, with its size.
  private func glyphOutline(_ info: CPangoGlyphInfo, _ font: OpaquePointer, _ name: String) -> Outline {
    let key = GlyphKey(font: name, glyph: info.glyph)
    if let known = outlines[key] { return known }
    var (alone, cluster) = (info, Int32(0))
    (alone.x_offset, alone.y_offset) = (0, 0)
    var outline = Outline()
    withUnsafeMutablePointer(to: &alone) { glyph in
      withUnsafeMutablePointer(to: &cluster) { cluster in
        var string = CPangoGlyphString(num_glyphs: 1, glyphs: glyph, log_clusters: cluster, space: 1)
        cairo_new_path(cairo)
        pango_cairo_glyph_string_path(cairo, font, &string)
      }
    }
    let path = cairo_copy_path(cairo)!
    defer { cairo_path_destroy(path) }
    func point(_ i: Int) -> SIMD2<Double> {
      let data = path.pointee.data[i].point
      return SIMD2(data.x, data.y)
    }
    var i = 0
    while i < Int(path.pointee.num_data) {
      let header = path.pointee.data[i].header
      switch header.type {
      case CAIRO_PATH_MOVE_TO: outline.steps.append(.move(point(i + 1)))
      case CAIRO_PATH_LINE_TO: outline.steps.append(.line(point(i + 1)))
      case CAIRO_PATH_CURVE_TO: outline.steps.append(.curve(point(i + 1), point(i + 2), to: point(i + 3)))
      default: outline.steps.append(.close)
      }
      i += max(Int(header.length), 1)
    }
    // A path ends with the start of another.
    if case .move? = outline.steps.last { outline.steps.removeLast() }
    cairo_new_path(cairo)
    outlines[key] = outline
    return outline
  }

  // MARK: - Fonts

  /// - Returns: the font's name with its size.
  private func remember(_ font: OpaquePointer) -> String {
    let description = pango_font_describe(font)!
    defer { pango_font_description_free(description) }
    let sized = Self.text(description)
    pango_font_description_unset_fields(description, CPANGO_SIZE_FIELD)
    let name = Self.text(description)
    guard fonts[name] == nil, let blob = hb_face_reference_blob(hb_font_get_face(pango_font_get_hb_font(font))) else {
      return sized
    }
    defer { hb_blob_destroy(blob) }
    var count: UInt32 = 0
    let bytes = UnsafeRawBufferPointer(start: hb_blob_get_data(blob, &count), count: Int(count))
    var hash = SHA256Hash()
    hash.update(bytes)
    fonts[name] = String(Hexadecimal.text(hash.digest()).prefix(16))
    return sized
  }

  private static func text(_ description: OpaquePointer) -> String {
    let text = pango_font_description_to_string(description)!
    defer { g_free(text) }
    return String(cString: text)
  }

  private static let genericFamilies: Set<String> = ["sans-serif", "sans", "serif", "monospace", "system-ui"]

  /// The style of the first name, with the families of all.
  private func description(_ names: [String]) throws(DrawingError) -> OpaquePointer {
    if let known = descriptions[names] { return known }
    var families: [String] = []
    var first: OpaquePointer?
    for name in names {
      let description = pango_font_description_from_string(name)!
      let family = pango_font_description_get_family(description).map { String(cString: $0) } ?? name
      if isInstalled(family, description) {
        families.append(family)
        if first == nil {
          first = description
          continue
        }
      }
      pango_font_description_free(description)
    }
    guard let first else {
      throw DrawingError(
        message: "a font is missing: \(names.map { "\"\($0)\"" }.joined(separator: ", "))",
        remedy: "install it (fc-list prints those that are there; apt-get install fonts-open-sans has the usual one),"
          + " or name another one as text-font", isOfStyle: true)
    }
    pango_font_description_set_family(first, families.joined(separator: ","))
    descriptions[names] = first
    return first
  }

  /// Whether fontconfig has a family, rather than another one in its place.
  private func isInstalled(_ family: String, _ description: OpaquePointer) -> Bool {
    if Self.genericFamilies.contains(family.lowercased()) { return true }
    guard let font = pango_context_load_font(context, description) else { return false }
    defer { g_object_unref(UnsafeMutableRawPointer(font)) }
    let found = pango_font_describe(font)!
    defer { pango_font_description_free(found) }
    return pango_font_description_get_family(found).map { String(cString: $0).lowercased() } == family.lowercased()
  }
}
