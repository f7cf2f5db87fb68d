import RegionCatalog

/// How a VRT opens its files, which may have any format: as ``RasterFile`` does.
struct VRTFiles {
  let open: (_ path: String, _ options: RasterOpenOptions) throws -> any RasterSource
  let valueSample: (_ file: SourceFile, _ options: RasterOpenOptions) throws -> ValueSample?
}

/// Which bands of a VRT are shown, and how its sources are opened.
struct VRTPlan {
  let document: VRTDocument
  private let files: VRTFiles
  /// The indices of the bands that are shown.
  let shown: [Int]
  /// The index of the alpha band.
  let alphaIndex: Int?
  private let colours: [VRTDocument.Band]
  /// Values of the sources are levels, also where these have colours for them.
  private let readsLevels: Bool
  private let alpha: VRTDocument.Band?
  /// The colours of the values of the one band that is shown. They are stated here, by a VRT that has this one as a
  /// source, or in neither: then the sources' own count.
  let colourTable: ColourTable?
  /// What hides pixels of all bands: the VRT's mask, or an alpha band that takes the masks of files.
  let mask: VRTDocument.Band?

  /// - Throws: ``CutError`` `.invalidOption` for bands that it does not have, `.badSource` for sources in too many
  ///   VRTs one in the other.
  init(_ document: VRTDocument, files: VRTFiles, options: RasterOpenOptions) throws {
    (self.document, self.files) = (document, files)
    guard options.vrtDepth < 4 else {
      throw CutError(
        .badSource, path: document.path, "lies in four other VRTs, or refers to itself",
        remedy: "name its sources themselves")
    }
    let bands = document.bands
    func named(_ name: String) -> Int? { bands.firstIndex { $0.interpretation == name } }
    let ownAlpha = options.bands == nil ? named("alpha") : nil
    let alphaIndex = try BandSelection.alpha(options, bandCount: bands.count, path: document.path) ?? ownAlpha
    self.alphaIndex = alphaIndex
    let given = alphaIndex.map { bands[$0] }
    let isOfMasks = given.map { !$0.sources.isEmpty && $0.sources.allSatisfy(\.isMask) } ?? false
    alpha = isOfMasks ? nil : given
    mask = isOfMasks ? given : document.mask
    let plain = bands.indices.filter { $0 != alphaIndex && bands[$0].interpretation != "alpha" }
    let rgb = ["red", "green", "blue"].compactMap(named)
    shown =
      try BandSelection.colours(options, bandCount: bands.count, path: document.path)
      ?? (rgb.count == 3 ? rgb : plain.count == 3 ? plain : Array(plain.prefix(1)))
    guard !shown.isEmpty else {
      throw CutError(.badSource, path: document.path, "has no band but alpha", remedy: "choose one with --bands")
    }
    colours = shown.map { bands[$0] }
    let first = shown[0]
    let table = options.colourTables.map { $0[first + 1] } ?? bands[first].colourTable
    colourTable = shown.count == 1 && !options.readsHeights ? table : nil
    readsLevels = shown.count > 1 || options.colourTables != nil && table == nil
    guard !(colours + (alpha.map { [$0] } ?? [])).flatMap(\.sources).contains(where: \.isMask) else {
      throw document.refused("the mask of a file as a band")
    }
  }

  /// Opens the sources: of all bands together if they lie in the same files, else of each band.
  func canvases(_ options: RasterOpenOptions) throws -> [[VRTPart]] {
    if let joined = joinedSources {
      return [try joined.map { try part($0.sources, alpha: $0.alpha, options) }]
    }
    guard isOpaqueAlpha || alpha == nil else {
      throw document.refused("an alpha band in other files than its colours")
    }
    return try colours.map { band in try band.sources.map { try part([$0], alpha: nil, options) } }
  }

  /// The parts of the mask; none if it says no more than the files' own masks, which are read with their colours.
  ///
  /// - Parameter canvases: the colours.
  func maskParts(_ options: RasterOpenOptions, beside canvases: [[VRTPart]]) throws -> [VRTPart] {
    guard let mask else { return [] }
    if let joined = joinedSources, joined.count == mask.sources.count, canvases.count == 1 {
      let isRepeated = joined.indices.allSatisfy { i in
        let own = mask.sources[i]
        // A file whose mask is an alpha band that is not shown is opaque here.
        let isRead = own.isMask && canvases[0][i].source.alphaKind != .opaque
        return own.isBeside(joined[i].sources[0]) && (isRead || (own.constant ?? 0) != 0)
      }
      if isRepeated { return [] }
    }
    return try mask.sources.map { source in
      guard source.constant == nil else { throw document.refused("a mask of constant values") }
      return part(source, try VRTMask(source, files: files, options: inner(options)))
    }
  }

  /// The nodata values that the VRT states for the bands that are shown; nil unless for all of them.
  var statedNodata: [Double]? {
    let values = colours.compactMap(\.nodata)
    return values.count == colours.count ? values : nil
  }

  func valueSample(_ options: RasterOpenOptions) throws -> ValueSample? {
    let all = joinedSources.map { $0.map(\.sources) } ?? colours.flatMap { $0.sources.map { [$0] } }
    let step = max(1, all.count / Self.sampledMax)
    var sample: ValueSample?
    for index in stride(from: 0, to: all.count, by: step) {
      var inner = childOptions(all[index], alpha: nil, options)
      inner.scale = nil
      guard let found = try files.valueSample(SourceFile(path: all[index][0].file), inner) else {
        continue
      }
      sample = sample ?? ValueSample()
      sample?.add(found)
    }
    if step > 1 { sample?.statedRange = nil }
    return sample
  }

  /// Of more sources than this some are sampled.
  private static let sampledMax = 16

  /// Every sample of the alpha band is opaque where a source lies.
  private var isOpaqueAlpha: Bool {
    alpha.map { band in !band.sources.isEmpty && band.sources.allSatisfy { $0.constant == 255 } } ?? false
  }

  /// The sources of all bands together; nil if they lie in different files.
  private var joinedSources: [(sources: [VRTDocument.Source], alpha: VRTDocument.Source?)]? {
    let count = colours[0].sources.count
    guard colours.allSatisfy({ $0.sources.count == count }) else { return nil }
    let alphas = alpha.map { isOpaqueAlpha ? [] : $0.sources }
    if let alphas, !alphas.isEmpty, alphas.count != count { return nil }
    var joined: [(sources: [VRTDocument.Source], alpha: VRTDocument.Source?)] = []
    for i in 0..<count {
      let sources = colours.map { $0.sources[i] }
      let own = alphas.flatMap { $0.isEmpty ? nil : $0[i] }
      guard (sources + (own.map { [$0] } ?? [])).allSatisfy({ $0.isBeside(sources[0]) && $0.constant == nil }) else {
        return nil
      }
      joined.append((sources, own))
    }
    return joined
  }

  /// The options for files of the VRT, which says where they lie.
  private func inner(_ options: RasterOpenOptions) -> RasterOpenOptions {
    var inner = options
    inner.vrtDepth += 1
    inner.isFlat = true
    (inner.crs, inner.bounds, inner.auxiliary, inner.colourTables) = (nil, nil, nil, nil)
    return inner
  }

  private func childOptions(
    _ sources: [VRTDocument.Source], alpha: VRTDocument.Source?, _ options: RasterOpenOptions
  ) -> RasterOpenOptions {
    var inner = inner(options)
    inner.bands = sources.map(\.band)
    inner.alpha = alpha.map { .number($0.band) } ?? .absent
    inner.colourTables = colourTable.map { [sources[0].band: $0] } ?? (readsLevels ? [:] : nil)
    let stated = zip(sources, colours).compactMap { $0.nodata ?? $1.nodata }
    if options.nodata == nil, stated.count == sources.count { inner.nodata = stated }
    return inner
  }

  private func part(_ sources: [VRTDocument.Source], alpha: VRTDocument.Source?, _ options: RasterOpenOptions) throws
    -> VRTPart
  {
    guard sources.allSatisfy({ $0.constant == nil }) else { throw document.refused("constant values") }
    let raster = try files.open(sources[0].file, childOptions(sources, alpha: alpha, options))
    return part(sources[0], raster)
  }

  private func part(_ source: VRTDocument.Source, _ raster: any RasterSource) -> VRTPart {
    let whole = VRTDocument.Rect(width: Double(raster.width), height: Double(raster.height))
    return VRTPart(
      source: raster, from: source.from ?? whole,
      to: source.to ?? VRTDocument.Rect(width: Double(document.width), height: Double(document.height)))
  }
}
