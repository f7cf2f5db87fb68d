import TileIndex

/// What the bands of a TIFF show: by its photometric interpretation and ExtraSamples (TIFF 6.0), over which the colour
/// interpretations in GDAL's metadata tag go, and over these the ones in the file beside it.
///
/// Aerial imagery of four bands is often written with ExtraSamples = 2 (alpha) although the fourth band is near
/// infrared; only GDAL's tag says so then.
struct TIFFBandRoles {
  private enum Role {
    case red, green, blue, alpha, other
  }

  private let roles: [Role]
  private let extra: [TIFFLayout.ExtraSample]
  private let named: Set<Int>

  /// - Parameters:
  ///   - metadata: the text of the tag GDAL_METADATA (42112), if there is one.
  ///   - beside: names in the file beside it, by the bands' numbers from 1.
  init(_ layout: TIFFLayout, metadata: String?, beside: [Int: String]) {
    let extra = Self.extraBands(layout)
    let first = layout.samples - extra.count
    let isRGB =
      layout.photometric == .rgb && layout.samples >= 3
      || layout.photometric == .ycbcr && layout.isRGBFromJPEG && layout.samples >= 3
    var roles = (0..<layout.samples).map { band -> Role in
      if band >= first { return extra[band - first] == .unspecified ? .other : .alpha }
      return isRGB && band < 3 ? [Role.red, .green, .blue][band] : .other
    }
    var named: Set<Int> = []
    let names = GDALMetadata.colourInterpretations(metadata) + beside.map { (band: $0.key - 1, name: $0.value) }
    for (band, name) in names where roles.indices.contains(band) {
      named.insert(band)
      roles[band] =
        switch name {
        case "red": .red
        case "green": .green
        case "blue": .blue
        case "alpha": .alpha
        default: .other
        }
    }
    // Red, green and blue by position, unless all three are named elsewhere.
    if isRGB, Set([Role.red, .green, .blue].map { roles.firstIndex(of: $0) }).contains(nil) {
      for (band, role) in [Role.red, .green, .blue].enumerated() where roles[band] != .alpha { roles[band] = role }
    }
    (self.roles, self.extra, self.named) = (roles, extra, named)
  }

  /// The bands of red, green and blue, if all three are known.
  var colours: [Int]? {
    let found = [Role.red, .green, .blue].compactMap { roles.firstIndex(of: $0) }
    return found.count == 3 ? found : nil
  }

  /// The alpha band.
  var alpha: Int? { roles.firstIndex(of: .alpha) }

  /// GDAL's metadata says which band is alpha.
  var isAlphaCertain: Bool { alpha.map { named.contains($0) } ?? true }

  /// Whether colours are premultiplied by this band.
  func isAssociated(_ band: Int) -> Bool {
    let index = band - (roles.count - extra.count)
    return extra.indices.contains(index) && extra[index] == .associatedAlpha
  }

  /// The samples after the colours of the photometric interpretation. Those that the file does not declare count as
  /// unspecified.
  private static func extraBands(_ layout: TIFFLayout) -> [TIFFLayout.ExtraSample] {
    let colours = layout.photometric == .rgb || layout.photometric == .ycbcr ? 3 : 1
    let unsaid = layout.samples - layout.extraSamples.count - colours
    let extra = unsaid > 0 ? [TIFFLayout.ExtraSample](repeating: .unspecified, count: unsaid) : []
    return (extra + layout.extraSamples).suffix(max(0, layout.samples - colours))
  }
}

/// GDAL's metadata tag: XML with one `Item` for each statement.
enum GDALMetadata {
  /// The names of colour interpretations in lower case, with the bands' indices. Text that is no XML has none.
  static func colourInterpretations(_ text: String?) -> [(band: Int, name: String)] {
    items(text, containing: "COLORINTERP").filter { $0.name == "COLORINTERP" }
      .map { ($0.band, $0.value.lowercased()) }
  }

  /// The bands' statistics, by their numbers from 1.
  static func statistics(_ text: String?) -> BandStatistics {
    var statistics = BandStatistics()
    for item in items(text, containing: "STATISTICS_") { statistics.take(item.name, item.value, band: item.band + 1) }
    return statistics
  }

  /// The items of single bands, without white space in their values.
  private static func items(
    _ text: String?, containing word: String
  ) -> [(name: String, band: Int, value: String)] {
    guard let text, text.contains(word) else { return [] }
    var found: [(String, Int, String)] = []
    var open: (name: String, band: Int)?
    var value = ""
    try? XMLReader.read(Array(text.utf8)) { event in
      switch event {
      case .start("Item", let attributes, _):
        let band = attributes["sample"].flatMap { Int($0) }.flatMap { 0..<65535 ~= $0 ? $0 : nil }
        open = band.flatMap { band in attributes["name"].map { ($0, band) } }
        value = ""
      case .text(let piece): value += piece
      case .end("Item"):
        if let open { found.append((open.name, open.band, value.filter { !$0.isWhitespace })) }
        open = nil
      default: break
      }
    }
    return found
  }
}
