import MapDrawing
import RegionCatalog
import Support
import TileImage
import TileIndex

/// What a cut reads: pictures, elevation models, and what is drawn over them.
extension Cutter {
  /// Opens the sources with what is said of each. Models that follow each other with the same style become one picture.
  static func open(
    _ options: CutOptions, _ resources: CutResources, _ scratchDirectory: String, _ remote: RemoteCache?
  ) throws -> (files: [SourceFile], sources: [any RasterSource], scale: SampleScale?, cache: BlockCache?) {
    var open = RasterOpenOptions()
    open.crs = try options.crs.map { try CoordinateReferenceSystem(definition: $0) }
    open.bounds = options.bounds
    open.isFlat = options.isFlat
    open.nodata = options.nodata
    open.bands = options.bands
    open.alpha = options.alpha
    open.scratchDirectory = scratchDirectory
    open.cache = BlockCache(bytesMax: resources.cacheBytes(tilePixels: options.tilePixels) - (remote?.bytesMax ?? 0))
    open.remoteCache = remote
    open.memoryAdvice = { resources.megabytes(forCache: $0, tilePixels: options.tilePixels, isRemote: remote != nil) }
    // Each source keeps its file open.
    if options.sources.count > 64 { FileDescriptors.raiseLimit() }
    let files = try options.sources.map { try open.file(named: $0) }
    func pictures(_ open: RasterOpenOptions) throws -> [(SourceFile, RasterOpenOptions)] {
      try files.indices.filter { options.sourceSettings[$0]?.relief == nil }.map { index in
        (files[index], try open.with(options.sourceSettings[index]))
      }
    }
    var automaticScale: SampleScale?
    switch options.scale {
    case .values(let low, let high):
      // Of pictures of different depths those that need a scale have it: the values of 16 bits would make the others
      // black.
      let all = try pictures(open)
      let needs = try all.count > 1 ? Set(all.map { try RasterFile.needsScale($0, options: $1) }) : []
      open.scale = try SampleScale(low: low, high: high)
      open.keeps8Bit = needs.count > 1
    case .auto:
      automaticScale = try Self.automaticScale(pictures(open))
      open.scale = automaticScale
      open.keeps8Bit = true
    case nil: break
    }
    var sources: [any RasterSource] = []
    var models: [any RasterSource] = []
    for index in options.sources.indices {
      let settings = options.sourceSettings[index] ?? SourceSettings()
      var own = open
      // What is said of all sources is meant for pictures.
      if settings.relief != nil {
        own = open.forHeights
        (own.nodata, own.crs) = (nil, nil)
      }
      let source = try Self.source(files[index], settings, own, isFlat: options.isFlat)
      guard let relief = settings.relief else {
        sources.append(source)
        continue
      }
      models.append(source)
      if options.sourceSettings[index + 1]?.relief != relief {
        sources += try ReliefRaster.layer(models, relief)
        models = []
      }
    }
    return (files, sources, automaticScale, open.cache)
  }

  /// Opens a source with what is said of it alone.
  static func source(
    _ file: SourceFile, _ settings: SourceSettings, _ open: RasterOpenOptions, isFlat: Bool = false
  ) throws -> any RasterSource {
    var source = try RasterFile.open(file, options: open.with(settings))
    if let crop = settings.crop { source = try CroppedRaster(source, crop, isFlat: isFlat) }
    if let cutline = settings.cutline { source = try CutlineRaster(source, cutline) }
    return source
  }

  /// One scale for all sources, so that no seam appears between them; nil if none needs one.
  private static func automaticScale(_ sources: [(SourceFile, RasterOpenOptions)]) throws -> SampleScale? {
    var all: ValueSample?
    for (file, open) in sources {
      guard let sample = try RasterFile.valueSample(file, options: open) else { continue }
      all = all ?? ValueSample()
      all?.add(sample)
    }
    return try all?.automaticScale(path: sources[0].0.path)
  }

  /// What is drawn over the sources; nil if that is nothing.
  static func drawing(_ options: CutOptions, _ data: LayerData, _ plan: CutPlan) throws -> VectorMap? {
    guard !options.drawing.isEmpty else { return nil }
    do {
      let layers = try zip(options.drawing, data.sources).map { try drawn($0, $1) }
      return try VectorMap(
        layers, matrixSet: plan.matrixSet, density: Double(options.scaleFactor), frame: plan.labelFrame)
    } catch let error as DrawingError {
      throw CutError(error)
    }
  }

  static func drawn(_ layer: VectorLayer, _ source: VectorMap.Layer.Source) throws -> VectorMap.Layer {
    VectorMap.Layer(source, rules: layer.rules, images: try layer.images.mapValues(icon))
  }

  /// What the layers have and the map lacks: features beside it, labels without room, the ends of long texts, and
  /// letters that no font has. A line for each.
  ///
  /// - Throws: ``CutError`` only if the work is to stop.
  func lossesOfLayers() throws -> [String] {
    guard let drawing = plan.drawing else { return [] }
    do {
      let beside = try drawing.featuresBeside().compactMap { found -> String? in
        // Contours are where their models are.
        guard case .file(let path) = options.drawing[found.layer].data else { return nil }
        let name = found.name.map { "\"\($0)\" at " } ?? ""
        let place = "longitude \(found.first.x), latitude \(found.first.y)"
        let hint = found.isExchanged ? "; GeoJSON has the longitude first: are they exchanged?" : ""
        let lie = found.count == 1 ? "feature lies" : "features lie"
        return "\(path): \(found.count) of \(found.total) \(lie) beside the map and \(found.count == 1 ? "is" : "are")"
          + " not drawn, the first is \(name)\(place)\(hint)"
      }
      // Whoever joins shards has not drawn them.
      _ = try drawing.fonts(through: plan.zooms.upperBound)
      return beside + drawing.labelLosses.flatMap(lines) + drawing.missingLetters.lines
    } catch {
      throw CutError(error)
    }
  }

  private func lines(_ losses: LabelLosses) -> [String] {
    // Contours and graticules have more labels than anybody needs.
    guard case .file(let path) = options.drawing[losses.layer].data else { return [] }
    var lines: [String] = []
    let (dropped, cut) = (losses.dropped, losses.cut)
    if dropped.count > 0 {
      lines.append(
        "\(path): \(dropped.count) of \(losses.total) labels \(dropped.count == 1 ? "has" : "have") no room at any zoom"
          + " and \(dropped.count == 1 ? "is" : "are") not drawn, the first is \"\(dropped.first)\"; deeper zooms have"
          + " more room")
    }
    if cut.count > 0 {
      lines.append(
        "\(path): the \(cut.count == 1 ? "text of 1 label is" : "texts of \(cut.count) labels are") longer than"
          + " \(LabelLosses.textBytesMax) bytes and cut off there, the first is \"\(cut.first)\"")
    }
    return lines
  }

  /// - Throws: ``CutError``.
  static func fonts(of map: VectorMap, through zoom: Int) throws -> [String: String] {
    do {
      return try map.fonts(through: zoom)
    } catch {
      throw CutError(error)
    }
  }

  private static func icon(_ path: String) throws -> IconFile {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      throw CutError(.unreadableSource, path: path, "cannot be read: \(error)", remedy: "check the name")
    }
    do {
      if SVGDrawing.isSVG(bytes) { return .drawing(try SVGDrawing(bytes)) }
      let buffer = try bytes.withUnsafeBytes { try ImageDecoder.decode($0, pixelCountMax: 1 << 20) }
      return .picture(IconPicture(buffer))
    } catch let error as DrawingError where !error.isOfStyle {
      throw error
    } catch let error as DrawingError {
      throw CutError(.badSource, path: path, "is no icon that can be drawn: \(error.message)", remedy: error.remedy)
    } catch {
      throw CutError(
        .badSource, path: path, "is no icon that can be drawn: \(error)",
        remedy: "save it as SVG, or as PNG of at most 1024 x 1024 pixels")
    }
  }
}

extension RasterOpenOptions {
  /// With what is said of one source alone.
  fileprivate func with(_ settings: SourceSettings?) throws -> RasterOpenOptions {
    var own = self
    if let crs = settings?.crs { own.crs = try CoordinateReferenceSystem(definition: crs) }
    own.nodata = settings?.nodata ?? nodata
    own.bands = settings?.bands ?? bands
    own.alpha = settings?.alpha ?? alpha
    return own
  }
}

extension CutOptions {
  /// The systems of ``crs`` and ``sourceSettings``.
  ///
  /// - Throws: ``CutError`` if PROJ does not know one.
  func givenCRS() throws -> [(source: String?, title: String)] {
    let own = sourceSettings.sorted { $0.key < $1.key }.compactMap { index, settings in
      settings.crs.map { (source: Optional(sources[index]), definition: $0) }
    }
    let all = crs.map { [(source: String?.none, definition: $0)] } ?? []
    return try (all + own).map { ($0.source, try CoordinateReferenceSystem(definition: $0.definition).title) }
  }
}

extension TilePainter {
  /// A tile's picture with the map drawn over it, as ``painted(_:_:)`` makes it.
  ///
  /// - Throws: ``CutError``, also for fonts and icons that are missing.
  func drawn(over picture: PixelBuffer?, _ tile: TileID) throws -> PixelBuffer? {
    do {
      return try painted(picture, tile)
    } catch let error as DrawingError {
      throw CutError(error)
    }
  }
}

extension CutError {
  init(_ error: DrawingError) {
    let code: Code = error.isCancelled ? .cancelled : error.isOfStyle ? .badSource : .systemError
    self.init(code, error.message, remedy: error.remedy)
  }
}
