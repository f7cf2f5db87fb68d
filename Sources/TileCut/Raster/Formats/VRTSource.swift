import RegionCatalog
import TileIndex

/// A VRT read as a mosaic: its sources drawn in their order, each where its rectangle lies.
///
/// Pixels that no source covers are transparent. A source whose rectangle has another size is resampled to the nearest
/// pixel, as GDAL does unless told otherwise.
package final class VRTSource: RasterSource {
  package let path: String
  package let width: Int
  package let height: Int
  package let alphaKind: AlphaKind
  package let georeference: Georeference
  package let warnings: [String]
  /// One if all shown bands have the same sources, else one for each band, of which the red channel counts.
  private let canvases: [[VRTPart]]

  init(_ file: SourceFile, options: RasterOpenOptions) throws {
    let document = try VRTDocument(file)
    (path, width, height) = (file.path, document.width, document.height)
    let remarks = WarningList()
    let plan = try VRTPlan(document, options: options)
    georeference = try Self.place(document, options: options, warnings: remarks)
    canvases = try plan.canvases(options)
    let parts = canvases.flatMap { $0 }
    let isCovered = canvases.count == 1 && parts.contains { $0.covers(width: document.width, height: document.height) }
    alphaKind =
      parts.contains { $0.source.alphaKind == .soft }
      ? .soft : isCovered && parts.allSatisfy { $0.source.alphaKind == .opaque } ? .opaque : .mask
    for text in parts.flatMap(\.source.warnings) { remarks.add(text) }
    warnings = remarks.all
  }

  /// The overview of a VRT, from those of its sources.
  private init(_ whole: VRTSource, _ canvases: [[VRTPart]], width: Int, height: Int, georeference: Georeference) {
    (path, warnings, alphaKind) = (whole.path, whole.warnings, whole.alphaKind)
    (self.width, self.height, self.georeference, self.canvases) = (width, height, georeference, canvases)
  }

  package func overview(factorMax: Double) throws -> (any RasterSource)? {
    let parts = canvases.flatMap { $0 }.compactMap(\.mosaicPart)
    guard parts.count == canvases.reduce(0, { $0 + $1.count }),
      let found = try MosaicOverviews(of: parts, width: width, height: height, factorMax: factorMax)
    else { return nil }
    var rest = found.parts[...]
    return VRTSource(
      self, canvases.map { parts in parts.map { _ in VRTPart(rest.removeFirst()) } }, width: found.width,
      height: found.height, georeference: georeference.coarser(by: found.factor))
  }

  /// A sample of the values of some of the sources; nil if they need no scale.
  static func valueSample(_ file: SourceFile, options: RasterOpenOptions) throws -> ValueSample? {
    let document = try VRTDocument(file)
    return try VRTPlan(document, options: options).valueSample(options)
  }

  package func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    for y in 0..<window.height {
      (target + y * rowBytes).initializeMemory(as: UInt8.self, repeating: 0, count: window.width * 4)
    }
    if canvases.count == 1 {
      for part in canvases[0] { try part.draw(window, into: target, rowBytes: rowBytes) }
    } else {
      try readBands(window, into: target, rowBytes: rowBytes)
    }
    return (0..<window.height).allSatisfy { PixelForm.isOpaque(target + $0 * rowBytes, count: window.width) }
  }

  /// Joins bands from different files. A pixel is transparent if all its bands are.
  private func readBands(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws {
    let count = window.width * window.height
    try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count) { plane in
      for (shift, parts) in canvases.enumerated() {
        plane.update(repeating: 0)
        for part in parts { try part.draw(window, into: plane.baseAddress!, rowBytes: window.width * 4) }
        for y in 0..<window.height {
          let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
          for x in 0..<window.width {
            let value = plane[y * window.width + x]
            if value != 0 { words[x] |= (value & 255) << UInt32(8 * shift) | value & 0xff00_0000 }
          }
        }
      }
    }
  }

  private static func place(
    _ document: VRTDocument, options: RasterOpenOptions, warnings: WarningList
  ) throws -> Georeference {
    let affine = document.transform.map { Affine(a: $0[1], b: $0[2], c: $0[0], d: $0[4], e: $0[5], f: $0[3]) }
    let placement = Placement(
      path: document.path, width: document.width, height: document.height, affine: affine,
      crs: {
        try document.projection.map { try CoordinateReferenceSystem(definition: $0, path: document.path) }
      },
      warnings: warnings)
    return try placement.georeference(options)
  }
}

/// Which bands of a VRT are shown, and how its sources are opened.
struct VRTPlan {
  private let document: VRTDocument
  private let colours: [VRTDocument.Band]
  private let alpha: VRTDocument.Band?

  /// - Throws: ``CutError`` `.invalidOption` for bands that it does not have, `.badSource` for sources in too many
  ///   VRTs one in the other.
  init(_ document: VRTDocument, options: RasterOpenOptions) throws {
    self.document = document
    guard options.vrtDepth < 4 else {
      throw CutError(
        .badSource, path: document.path, "lies in four other VRTs, or refers to itself",
        remedy: "name its sources themselves")
    }
    let bands = document.bands
    func named(_ name: String) -> Int? { bands.firstIndex { $0.interpretation == name } }
    let ownAlpha = options.bands == nil ? named("alpha") : nil
    let alphaIndex = try BandSelection.alpha(options, bandCount: bands.count, path: document.path) ?? ownAlpha
    alpha = alphaIndex.map { bands[$0] }
    let plain = bands.indices.filter { $0 != alphaIndex && bands[$0].interpretation != "alpha" }
    let rgb = ["red", "green", "blue"].compactMap(named)
    let shown =
      try BandSelection.colours(options, bandCount: bands.count, path: document.path)
      ?? (rgb.count == 3 ? rgb : plain.count == 3 ? plain : Array(plain.prefix(1)))
    guard !shown.isEmpty else {
      throw CutError(.badSource, path: document.path, "has no band but alpha", remedy: "choose one with --bands")
    }
    colours = shown.map { bands[$0] }
  }

  /// Opens the sources: of all bands together if they lie in the same files, else of each band.
  func canvases(_ options: RasterOpenOptions) throws -> [[VRTPart]] {
    if let joined = joinedSources {
      return [try joined.map { try part($0.sources, alpha: $0.alpha, options) }]
    }
    guard isOpaqueAlpha || alpha == nil else {
      throw CutError(
        .badSource, path: document.path, "is a VRT whose alpha band lies in other files than its colours",
        remedy: "write its pixels to a GeoTIFF first: gdal_translate \(document.path) map.tif")
    }
    return try colours.map { band in try band.sources.map { try part([$0], alpha: nil, options) } }
  }

  func valueSample(_ options: RasterOpenOptions) throws -> ValueSample? {
    let all = joinedSources.map { $0.map(\.sources) } ?? colours.flatMap { $0.sources.map { [$0] } }
    let step = max(1, all.count / Self.sampledMax)
    var sample: ValueSample?
    for index in stride(from: 0, to: all.count, by: step) {
      var inner = childOptions(all[index], alpha: nil, options)
      inner.scale = nil
      guard let found = try RasterFile.valueSample(SourceFile(path: all[index][0].file), options: inner) else {
        continue
      }
      sample = sample ?? ValueSample()
      sample?.add(found)
    }
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

  private func childOptions(
    _ sources: [VRTDocument.Source], alpha: VRTDocument.Source?, _ options: RasterOpenOptions
  ) -> RasterOpenOptions {
    var inner = options
    inner.vrtDepth += 1
    // The VRT says where a source lies.
    inner.isFlat = true
    (inner.crs, inner.bounds) = (nil, nil)
    inner.bands = sources.map(\.band)
    inner.alpha = alpha.map { .number($0.band) } ?? .absent
    let stated = zip(sources, colours).compactMap { $0.nodata ?? $1.nodata }
    if options.nodata == nil, stated.count == sources.count { inner.nodata = stated }
    return inner
  }

  private func part(_ sources: [VRTDocument.Source], alpha: VRTDocument.Source?, _ options: RasterOpenOptions) throws
    -> VRTPart
  {
    guard sources.allSatisfy({ $0.constant == nil }) else {
      throw CutError(
        .badSource, path: document.path, "is a VRT with constant values; only mosaics of simple sources are read",
        remedy: "write its pixels to a GeoTIFF first: gdal_translate \(document.path) map.tif")
    }
    let raster = try RasterFile.open(path: sources[0].file, options: childOptions(sources, alpha: alpha, options))
    let whole = VRTDocument.Rect(width: Double(raster.width), height: Double(raster.height))
    return VRTPart(
      source: raster, from: sources[0].from ?? whole,
      to: sources[0].to ?? VRTDocument.Rect(width: Double(document.width), height: Double(document.height)))
  }
}
