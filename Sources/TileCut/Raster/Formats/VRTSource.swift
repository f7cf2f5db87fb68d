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
  /// What hides pixels beside the sources' own masks: white where they are visible; empty if nothing does.
  private let mask: [VRTPart]
  private let overviews: VRTOverviews?

  init(_ file: SourceFile, files: VRTFiles, options: RasterOpenOptions) throws {
    let options = options.withAuxiliaryNodata
    let document = try VRTDocument(file)
    (path, width, height) = (file.path, document.width, document.height)
    let remarks = WarningList()
    let plan = try VRTPlan(document, files: files, options: options)
    georeference = try Self.place(document, options: options, warnings: remarks)
    canvases = try plan.canvases(options)
    let mask = try plan.maskParts(options, beside: canvases)
    self.mask = mask
    let parts = canvases.flatMap { $0 }
    let isCovered = canvases.count == 1 && parts.contains { $0.covers(width: document.width, height: document.height) }
    alphaKind =
      parts.contains { $0.source.alphaKind == .soft }
      ? .soft
      : isCovered && mask.isEmpty && parts.allSatisfy { $0.source.alphaKind == .opaque } ? .opaque : .mask
    overviews = VRTOverviews(plan, options: options, isOpaque: alphaKind == .opaque, warnings: remarks)
    for text in parts.flatMap(\.source.warnings) { remarks.add(text) }
    warnings = remarks.all
  }

  /// The overview of a VRT, from those of its sources.
  private init(_ whole: VRTSource, _ canvases: [[VRTPart]], width: Int, height: Int, georeference: Georeference) {
    (path, warnings, alphaKind) = (whole.path, whole.warnings, whole.alphaKind)
    (mask, overviews) = ([], nil)
    (self.width, self.height, self.georeference, self.canvases) = (width, height, georeference, canvases)
  }

  package func overview(factorMax: Double) throws -> (any RasterSource)? {
    if let found = try overviews?.overview(of: self, factorMax: factorMax) { return found }
    guard mask.isEmpty else { return nil }
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
  static func valueSample(_ file: SourceFile, files: VRTFiles, options: RasterOpenOptions) throws -> ValueSample? {
    let document = try VRTDocument(file)
    return try VRTPlan(document, files: files, options: options).valueSample(options)
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
    if !mask.isEmpty { try hide(window, in: target, rowBytes: rowBytes) }
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

  /// Makes pixels transparent where the mask is not white.
  private func hide(_ window: PixelRect, in target: UnsafeMutableRawPointer, rowBytes: Int) throws {
    try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: window.width * window.height) { plane in
      plane.update(repeating: 0)
      for part in mask { try part.draw(window, into: plane.baseAddress!, rowBytes: window.width * 4) }
      for y in 0..<window.height {
        let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
        for x in 0..<window.width where plane[y * window.width + x] != VRTMask.visible { words[x] = 0 }
      }
    }
  }

  private static func place(
    _ document: VRTDocument, options: RasterOpenOptions, warnings: WarningList
  ) throws -> Georeference {
    let affine = document.transform.map { Affine(a: $0[1], b: $0[2], c: $0[0], d: $0[4], e: $0[5], f: $0[3]) }
    let placement = Placement(
      path: document.path, width: document.width, height: document.height, affine: affine,
      controlPoints: document.controlPoints,
      crs: {
        try document.projection.map { try CoordinateReferenceSystem(definition: $0, path: document.path) }
      },
      warnings: warnings)
    return try placement.georeference(options)
  }
}
