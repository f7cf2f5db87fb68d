import RegionCatalog
import Support
package import TileImage
import TileIndex

/// A setting of a cut that an option of `tilecut cut` and a member of a manifest give alike: `--tile-size 512` and
/// `"tileSize": 512`.
///
/// ``all`` is the one place where such settings are defined. The command makes its options and their help of it, the
/// manifest its members; docs/reference/regions.schema.json has each ``schema`` (`make bless` writes it).
package struct CutSetting: Sendable {
  /// What an option takes, and how its text is written as JSON.
  package enum Form: Sendable {
    /// Nothing: the option alone means true.
    case flag
    /// A text as it is.
    case text
    /// A number, or several with commas between.
    case numbers
    /// `N` or `MIN-MAX`.
    case range
    /// `VALUE` for every source, or `SOURCE=VALUE` for one. Of texts, or else of numbers.
    case ofSource(isText: Bool = false)
    /// The name of a file, or of something that is built in.
    case file
  }

  /// Where the command's help lists the option.
  package enum Group: Sendable { case sources, area, tiles, metadata }

  /// The member of a manifest. The option has the same words.
  package let name: String
  package let group: Group
  package let form: Form
  /// What stands for the value in the help.
  package let valueName: String
  /// Of the option.
  package let help: String
  /// JSON Schema of the member.
  package let schema: String
  /// Takes the member over, or adds a fault.
  let take: @Sendable (_ object: ManifestObject, _ options: inout CutOptions) throws -> Void
  /// The same for one source.
  private(set) var takeOfSource: (@Sendable (_ object: ManifestObject, _ settings: inout SourceSettings) -> Void)?

  /// All values, where these are few.
  package var values: [String] {
    let few = (try? JSONValue(parsing: Array(schema.utf8)))?["enum"]?.array ?? []
    return few.map { $0.string ?? $0.text }
  }

  /// The option, such as `--tile-size`.
  package var option: String { "--" + Spelling.option(name) }

  private init(
    _ name: String, _ group: Group, _ form: Form, _ valueName: String, help: String, schema: String,
    take: @escaping @Sendable (ManifestObject, inout CutOptions) throws -> Void
  ) {
    (self.name, self.group, self.form, self.valueName) = (name, group, form, valueName)
    (self.help, self.schema, self.take) = (help, schema, take)
  }

  /// A setting of all sources or of one.
  private init<Value>(
    ofSources name: String, isText: Bool = false, _ valueName: String, help: String, schema: String,
    _ read: @escaping @Sendable (ManifestObject) -> Value?,
    _ all: any WritableKeyPath<CutOptions, Value?> & Sendable,
    _ own: any WritableKeyPath<SourceSettings, Value?> & Sendable
  ) {
    self.init(name, .sources, .ofSource(isText: isText), valueName, help: help, schema: schema) { object, options in
      if let value = read(object) { options[keyPath: all] = value }
    }
    takeOfSource = { object, settings in settings[keyPath: own] = read(object) ?? settings[keyPath: own] }
  }

  private static func words<Word: RawRepresentable<String> & CaseIterable>(_ type: Word.Type) -> [String] {
    type.allCases.map(\.rawValue)
  }

  private static func schema(ofWords words: [String], _ description: String? = nil) -> String {
    let about = description.map { "\"description\": \"\($0)\", " } ?? ""
    return "{\(about)\"enum\": [\(words.map { "\"\($0)\"" }.joined(separator: ", "))]}"
  }

  /// Encodings first: a format takes its other settings back, which follow it.
  package static let all: [CutSetting] = [
    CutSetting(
      ofSources: "crs", isText: true, "[source=]crs",
      help: """
        The coordinate reference system (CRS) of a source's or every source's positions, where they do not say it or \
        say it wrongly: EPSG:25832, WKT, a PROJ string or a .prj file; repeatable.
        """,
      schema: """
        {"description": "The sources' CRS, overriding their own: EPSG:n, WKT, a PROJ string.", \
        "$ref": "#/$defs/text"}
        """,
      { $0.text("crs", remedy: "write EPSG:n, WKT or a PROJ string") }, \.crs, \.crs),
    CutSetting(
      ofSources: "nodata", "[source=]V[,V...]",
      help: """
        The value of pixels that show nothing, which become transparent: 0, or one for each band, such as \
        255,255,255; of a source or of every source; repeatable.
        """,
      schema: """
        {"description": "The nodata value, one for all bands or one for each.", "type": "array", "minItems": 1, \
        "items": {"type": "number"}}
        """,
      { $0.numbers("nodata", remedy: $0.remedy("write [0], or a number for each band", option: "give numbers")) },
      \.nodata, \.nodata),
    CutSetting(
      ofSources: "bands", "[source=]N[,N,N]",
      help: """
        Bands to show, from 1: one as grey, or red, green and blue; without alpha unless --alpha names it. Of a source \
        or of every source; repeatable.
        """,
      schema: """
        {"description": "The bands to show, from 1: one as grey, or red, green and blue.", "type": "array", \
        "items": {"$ref": "#/$defs/band"}, "oneOf": [{"minItems": 1, "maxItems": 1}, {"minItems": 3, "maxItems": 3}]}
        """,
      { $0.bands("bands") }, \.bands, \.bands),
    CutSetting(
      ofSources: "alpha", "[source=]N|none",
      help: "The alpha band of a source or of every source, or none; what each says unless given; repeatable.",
      schema: """
        {"description": "The alpha band, where the sources do not say so themselves.", \
        "oneOf": [{"const": "none"}, {"$ref": "#/$defs/band"}]}
        """,
      { $0.alphaBand("alpha") }, \.alpha, \.alpha),
    CutSetting(
      "scale", .sources, .numbers, "MIN,MAX|auto",
      help: "Values that become black and white, for more than 8 bits; auto: the 2nd and 98th percentile.",
      schema: """
        {"description": "For more than 8 bits: the values that become black and white, or the 2nd and 98th \
        percentile.", "oneOf": [{"const": "auto"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, \
        "maxItems": 2, "uniqueItems": true}]}
        """
    ) { $1.scale = $0.sampleRange("scale") ?? $1.scale },

    CutSetting(
      "zoom", .area, .range, "N|MIN-MAX",
      help: """
        Zoom levels to store, such as 8 or 0-12; unless given, from 0 to the one that shows each pixel of the sources.
        """,
      schema: """
        {"description": "The coarsest and the finest level, or one; default 0 to the sources' own.", \
        "oneOf": [{"$ref": "#/$defs/zoom"}, {"type": "array", "items": {"$ref": "#/$defs/zoom"}, "minItems": 2, \
        "maxItems": 2}]}
        """
    ) { $1.zoom = $0.zooms("zoom").map { .levels($0) } ?? $1.zoom },
    CutSetting(
      "variableDepth", .area, .flag, "",
      help: """
        End each area at the zoom that shows each pixel of the sources there, at most the deepest of --zoom, so that a \
        fine source does not deepen all of a coarse one.
        """,
      schema: """
        {"description": "Whether each area ends at the zoom that shows each pixel of the sources there; default \
        false.", "type": "boolean"}
        """
    ) { $1.variableDepth = $0.flag("variableDepth") ?? $1.variableDepth },
    CutSetting(
      "matrix", .area, .file, "name|file.json",
      help: """
        The grid of the tiles, a tile matrix set: \(TileMatrixSet.builtIn.map(\.identifier).joined(separator: ", ")), \
        or a file with one in OGC's JSON form. (default: WebMercatorQuad)
        """,
      schema: """
        {"oneOf": [{"enum": [\(TileMatrixSet.builtIn.map { "\"\($0.identifier)\"" }.joined(separator: ", "))]}, \
        {"$ref": "#/$defs/matrix"}, {"description": "A tile matrix set in OGC's JSON form, version 2 or 1.", \
        "type": "object", "anyOf": [{"required": ["tileMatrices"]}, {"required": ["tileMatrix"]}]}]}
        """
    ) { $1.matrixSet = try $0.grid("matrix") ?? $1.matrixSet },
    CutSetting(
      "tileSize", .area, .numbers, "n",
      help: "Pixels of a tile's edge: 256, or 512 with the detail of the next zoom. (default: 256)",
      schema: """
        {"description": "Pixels of the screen along a tile's edge; default that of the grid.", "enum": [256, 512]}
        """
    ) { $1.tileSize = $0.whole("tileSize", among: 256, 512) ?? $1.tileSize },
    CutSetting(
      "scaleFactor", .area, .numbers, "n",
      help: "Pixels of a tile for each of the screen; 2 for dense screens (@2x). (default: 1)",
      schema: """
        {"description": "Pixels of a tile for each of the screen; default 1.", "enum": [1, 2]}
        """
    ) { $1.scaleFactor = $0.whole("scaleFactor", among: 1, 2) ?? $1.scaleFactor },

    CutSetting(
      "format", .tiles, .text, "format",
      help: """
        Tile format: png, jpeg, webp, or one where opaque and another elsewhere: auto (JPEG and PNG), jpeg+webp, \
        webp+png. (default: png)
        """,
      schema: schema(ofWords: words(TileEncoding.Name.self))
    ) { object, options in
      let name: TileEncoding.Name? = object.word("format", synonyms: ["jpg": .jpeg, "jpeg+png": .auto])
      if let name { options.encoding = TileEncoding(name) }
    },
    CutSetting(
      "quality", .tiles, .numbers, "n",
      help: """
        Quality of JPEG and WebP, 1-100, of a --format that has them (jpeg, webp, auto, ...); --format webp is \
        lossless unless it is given. (default: 85)
        """,
      schema: """
        {"description": "Of JPEG and WebP tiles; default 85, with webp alone lossless.", "type": "integer", \
        "minimum": 1, "maximum": 100}
        """
    ) { object, options in
      guard let quality = object.whole("quality", in: 1...100) else { return }
      if options.encoding.formats == [.png] {
        object.fault(
          "quality", "means nothing for png",
          remedy: "leave it out, or \(object.remedy("set \"format\": \"jpeg\"", option: "give --format jpeg"))")
      }
      options.encoding = options.encoding.changingQuality(to: quality)
    },
    CutSetting(
      "colors", .tiles, .numbers, "n",
      help: "Reduce PNG tiles to palettes of at most so many colours, 2-256.",
      schema: """
        {"description": "The most colours of a png tile; default exact.", "type": "integer", "minimum": 2, \
        "maximum": 256}
        """
    ) { object, options in
      guard let count = object.whole("colors", in: 2...256) else { return }
      requirePNG(options, "colors", object)
      options.encoding = options.encoding.changingPNG { PNGOptions(effort: $0.effort, colours: count) }
    },
    CutSetting(
      "effort", .tiles, .text, "effort",
      help: """
        How hard PNG tiles are compressed: fast, balanced, or small, which takes longest. (default: balanced)
        """,
      schema: schema(ofWords: words(PNGEffort.self), "Time against size of png tiles; default balanced.")
    ) { object, options in
      guard let effort: PNGEffort = object.word("effort") else { return }
      if effort != PNGOptions().effort { requirePNG(options, "effort", object) }
      options.encoding = options.encoding.changingPNG { PNGOptions(effort: effort, colours: $0.colours) }
    },
    CutSetting(
      "resampling", .tiles, .text, "kernel",
      help: """
        How pixels are interpolated: \(words(Resampling.self).joined(separator: ", ")). (default: bilinear)
        """,
      schema: schema(ofWords: words(Resampling.self))
    ) { $1.resampling = $0.word("resampling") ?? $1.resampling },
    CutSetting(
      "linear", .tiles, .flag, "",
      help: "Average coarser zooms in linear light, which keeps small lights bright, not in sRGB values.",
      schema: """
        {"description": "Whether overviews are averaged in linear light; default false.", "type": "boolean"}
        """
    ) { $1.isLinear = $0.flag("linear") ?? $1.isLinear },
    CutSetting(
      "tileHashes", .tiles, .flag, "", help: tileHashesHelp,
      schema: """
        {"description": "Whether MBTiles get a hash of each tile, by which damaged ones are found; default false.", \
        "type": "boolean"}
        """
    ) { $1.tileHashes = $0.flag("tileHashes") ?? $1.tileHashes },

    CutSetting(
      "attribution", .metadata, .text, "text", help: "Whom the data must be credited to.",
      schema: """
        {"description": "The required credit.", "$ref": "#/$defs/text"}
        """
    ) { $1.attribution = $0.shownText("attribution") ?? $1.attribution },
    CutSetting(
      "type", .metadata, .text, "type",
      help: """
        What the map is: a baselayer, which fills the screen, or an overlay, which is drawn over another map, such as \
        clouds or trails. (default: baselayer)
        """,
      schema: schema(
        ofWords: words(BundleMetadata.Kind.self), "Whether the map is drawn alone or over another; default baselayer.")
    ) { $1.type = $0.word("type") ?? $1.type },
  ]

  /// Other commands that write bundles have this option, too.
  package static let tileHashesHelp =
    "Store a hash of each tile in MBTiles, so that verify and tileserve --check find damaged tiles."

  /// Settings of ``CutOptions/encoding``.
  package static let encodingNames: Set = ["format", "quality", "colors", "effort"]

  private static func requirePNG(_ options: CutOptions, _ name: String, _ object: ManifestObject) {
    guard !options.encoding.formats.contains(.png) else { return }
    object.fault(
      name, "is for png alone",
      remedy: "leave it out, or \(object.remedy("set \"format\": \"png\"", option: "give --format png"))")
  }
}

extension CutOptions {
  /// Takes over what options of a command give: texts by the names of settings.
  ///
  /// - Throws: ``CutError`` `.invalidOption` naming the option and the values that it has; what reading a file throws.
  package mutating func take(_ texts: [String: [String]]) throws {
    let faults = ManifestFaults(path: "")
    for setting in CutSetting.all {
      for text in texts[setting.name] ?? [] { try take(setting, text, faults) }
    }
    guard let fault = faults.faults.first else { return }
    throw CutError(.invalidOption, "\(fault.place) \(fault.message)", remedy: fault.remedy)
  }

  private mutating func take(_ setting: CutSetting, _ text: String, _ faults: ManifestFaults) throws {
    guard case .ofSource(let isText) = setting.form else {
      return try setting.take(ManifestObject(setting, text, setting.form.value(text), faults), &self)
    }
    func sourceObject(_ text: String) throws -> ManifestObject {
      let value =
        try isText ? .string(Self.crsDefinition(ofOption: text)) : CutSetting.Form.numbers.value(text)
      return ManifestObject(setting, text, value, faults)
    }
    if let (index, own) = named(text) {
      let object = try sourceObject(own)
      changeSettings(of: index) { setting.takeOfSource?(object, &$0) }
      return
    }
    if let equals = text.lastIndex(of: "="), !isText || !Self.isCRSDefinition(text) {
      throw unknownSource(String(text[..<equals]), option: setting.option)
    }
    try setting.take(sourceObject(text), &self)
  }
}

extension CutSetting.Form {
  /// The text of an option as a manifest has it. What is no value of this form stays a text, which is refused then.
  fileprivate func value(_ text: String) -> JSONValue {
    switch self {
    case .flag: return .bool(true)
    case .text, .file, .ofSource: return .string(text)
    case .range:
      guard case .levels(let levels) = ZoomSelection(text) else { return .string(text) }
      return .numbers(Double(levels.lowerBound), Double(levels.upperBound))
    case .numbers:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let numbers = parts.compactMap { Double($0.trimmingWhitespace) }.filter(\.isFinite).map { JSONValue.number($0) }
      guard numbers.count == parts.count else { return .string(text) }
      return numbers.count == 1 ? numbers[0] : .array(numbers)
    }
  }
}

extension TileEncoding {
  /// Encodings as options and manifests name them.
  package enum Name: String, Hashable, Sendable, CaseIterable {
    /// PNG.
    case png
    /// JPEG.
    case jpeg
    /// WebP, lossless unless a quality is given.
    case webp
    /// JPEG where a tile is opaque, PNG elsewhere.
    case auto
    /// JPEG where a tile is opaque, lossy WebP elsewhere.
    case jpegAndWebP = "jpeg+webp"
    /// Lossy WebP where a tile is opaque, PNG elsewhere.
    case webPAndPNG = "webp+png"
  }

  /// The encoding of a name, with the usual quality and effort.
  package init(_ name: Name) {
    let lossy = TileEncoding.webp(WebPOptions(lossless: false, quality: 85))
    switch name {
    case .png: self = .png(PNGOptions())
    case .jpeg: self = .jpeg(JPEGOptions())
    case .webp: self = .webp(WebPOptions(lossless: true, quality: 85))
    case .auto: self = .auto(JPEGOptions(), PNGOptions())
    case .jpegAndWebP: self = .mixed(opaque: .jpeg(JPEGOptions()), other: lossy)
    case .webPAndPNG: self = .mixed(opaque: lossy, other: .png(PNGOptions()))
    }
  }
}
