import RegionCatalog
import Support
import Synchronization
import TileIndex

/// Hashes of everything that a region's files depend on, one for each step. Facts that only the catalogue holds
/// (category, price) are in none of them.
struct RegionFingerprints {
  /// Incremented when the same inputs must give other files although the tool's version is unchanged.
  private static let revision = 6

  let bundle: String
  let preview: String
  let packs: String

  /// - Throws: ``BundleError`` if an input cannot be read.
  init(_ region: RegionManifest.Region, _ options: CatalogBuildOptions, _ hashes: InputHashes) throws {
    try self.init(region, options) { try hashes.sha256($0) }
  }

  /// The files whose content is in the hashes.
  static func files(of region: RegionManifest.Region, _ options: CatalogBuildOptions) throws -> [String] {
    var files: [String] = []
    _ = try Self(region, options) {
      files.append($0)
      return ""
    }
    return files
  }

  private init(
    _ region: RegionManifest.Region, _ options: CatalogBuildOptions, hashing sha256: (String) throws -> String
  ) throws {
    let settings = region.settings
    var lines = ["tilecut \(options.toolVersion) \(Self.revision)"]
    func add(_ name: String, _ value: (any Encodable)?) throws {
      if let value { lines.append("\(name) \(try JSONValue(encoding: value).text)") }
    }
    try add("id", region.id)
    try add("product", region.productID)
    try add("title", region.title)
    try add("description", region.description)
    try add("bounds", region.bounds.map { [$0.west, $0.south, $0.east, $0.north] })
    try add("boundary", region.boundary)
    lines.append("grid \(settings.matrixSet.definition?.text ?? "")")
    try add("zooms", settings.zooms)
    if settings.variableDepth { lines.append("variable depth") }
    if settings.container != .mbtiles { lines.append("container \(settings.container.rawValue)") }
    try add("format", settings.format.rawValue)
    try add("quality", settings.quality)
    try add("effort", settings.effort)
    try add("colors", settings.colors)
    try add("resampling", settings.resampling)
    if settings.linear { lines.append("linear") }
    try add("tile size", settings.tileSize)
    if settings.scaleFactor != 1 { lines.append("scale factor \(settings.scaleFactor)") }
    try add("nodata", settings.nodata)
    switch settings.scale {
    case .values(let low, let high): lines.append("scale \(low) \(high)")
    case .auto: lines.append("scale auto")
    case nil: break
    }
    try add("bands", settings.bands)
    if let alpha = settings.alpha { lines.append("alpha \(alpha.text)") }
    try add("crs", settings.crs)
    if settings.clip { lines.append("clip \(settings.buffer)") }
    for (index, source) in settings.sourceSettings.sorted(by: { $0.key < $1.key }) {
      try add("source \(index) crop", source.crop)
      try add("source \(index) cutline", source.cutline)
      try add("source \(index) crs", source.crs)
      try add("source \(index) nodata", source.nodata)
      try add("source \(index) bands", source.bands)
      try add("source \(index) alpha", source.alpha?.text)
      try add("source \(index) relief", source.relief)
    }
    try add("attribution", settings.attribution)
    if settings.type != .baselayer { lines.append("type \(settings.type.rawValue)") }
    try add("edition", settings.edition)
    func addRaster(_ name: String, _ path: String) throws {
      lines.append("\(name) \(try sha256(path))")
      for side in SideFiles(path: path).present { lines.append("side \(try sha256(side))") }
    }
    for source in settings.sources.map(options.manifest.resolved) {
      try addRaster("source", source)
      for part in VRTDocument.files(of: source) { try addRaster("part", part) }
    }
    for layer in settings.drawing {
      switch layer.data {
      case .file(let file): lines.append("vector \(try sha256(options.manifest.resolved(file)))")
      case .contours(let contours):
        lines.append("contours \(contours.interval) \(contours.indexEvery)")
        for (index, model) in contours.models.enumerated() {
          try addRaster("model", options.manifest.resolved(model))
          for part in VRTDocument.files(of: options.manifest.resolved(model)) { try addRaster("part", part) }
          try add("model crop", contours.settings[index]?.crop)
          try add("model crs", contours.settings[index]?.crs)
          try add("model nodata", contours.settings[index]?.nodata)
        }
      case .graticule(let interval): lines.append("graticule \(interval ?? 0)")
      }
      for (name, file) in layer.images.sorted(by: { $0.key < $1.key }) {
        lines.append("image \(name) \(try sha256(options.manifest.resolved(file)))")
      }
      lines += layer.rules.map { "rule \($0.text)" }
    }
    for file in settings.gazetteers.map(options.manifest.resolved) {
      lines.append("gazetteer \(try sha256(file))")
    }
    bundle = FileHash.sha256(ofText: lines.joined(separator: "\n"))

    let picture = settings.preview
    let box = (picture.bounds ?? region.boundsAcrossAntimeridian).map {
      "\($0.west) \($0.south) \($0.east) \($0.north)"
    }
    preview = FileHash.sha256(
      ofText: "\(bundle) preview \(box ?? "-") \(picture.zoom ?? -1) \(picture.width ?? -1) \(picture.height ?? -1)")
    // 2: a bundle that fits has no pack of its own any more.
    packs = FileHash.sha256(ofText: "\(bundle) packs 2 \(options.packBytesMax ?? settings.packBytesMax ?? -1)")
  }

  /// Bundle, preview, packs and patches as one hash, for plans.
  static func inputs(_ steps: [String]) -> String { FileHash.sha256(ofText: steps.joined(separator: "\n")) }
}

/// The SHA-256 of input files, cached by path, size, modification time and inode, so that gigabytes are not read again
/// to find them unchanged.
final class InputHashes: Sendable {
  private struct Entry: Codable {
    let path: String
    let stamp: FileStamp
    let sha256: String
  }

  private struct State {
    var known: [String: Entry]
    var isChanged = false
  }

  private let file: String
  private let state: Mutex<State>
  /// Files are read one at a time: the disk is the bottleneck, and regions share sources.
  private let reading = ThreadCondition()

  /// - Parameter file: where hashes are kept between builds; ignored if it cannot be read.
  init(file: String) {
    self.file = file
    let entries = (try? JSONFile.read(file).decoded(as: [Entry].self)) ?? []
    state = Mutex(State(known: Dictionary(entries.map { ($0.path, $0) }, uniquingKeysWith: { $1 })))
  }

  /// The hash of a file's content.
  ///
  /// - Parameter onBytes: as ``FileHash/sha256(ofFile:onBytes:)``; not called for a hash that is known.
  /// - Throws: ``BundleError`` if it cannot be read.
  func sha256(_ path: String, onBytes: (Int) throws -> Void = { _ in }) throws -> String {
    // The absolute path, so that the working directory does not matter.
    let absolute = FileSystem.absolutePath(path)
    if let known = lookUp(absolute) { return known }
    reading.lock()
    defer { reading.unlock() }
    if let known = lookUp(absolute) { return known }
    let before = FileStamp(absolute)
    let hash = try FileHash.sha256(ofFile: path, onBytes: onBytes)
    // The hash of a file that was written meanwhile is not cached.
    if let before, FileStamp(absolute) == before {
      state.withLock { state in
        state.known[absolute] = Entry(path: absolute, stamp: before, sha256: hash)
        state.isChanged = true
      }
    }
    return hash
  }

  /// Reads the files whose hashes are not known, so that ``sha256(_:onBytes:)`` need not.
  ///
  /// - Parameter onProgress: called for each quarter of a megabyte.
  /// - Throws: ``BundleError``; ``CutError`` `.cancelled`.
  func read(
    _ files: [String], _ cancellation: CutCancellation, _ onProgress: ((SourceReading) -> Void)?
  ) throws {
    var paths: Set<String> = []
    let unknown = files.map(FileSystem.absolutePath).filter { paths.insert($0).inserted && lookUp($0) == nil }
    let sizes = unknown.map { FileStamp($0)?.bytes ?? 0 }
    let (total, start) = (sizes.reduce(0, +), ContinuousClock.now)
    var before = 0
    for (path, size) in zip(unknown, sizes) {
      var done = before
      func report(_ bytes: Int) throws {
        if cancellation.isCancelled {
          throw CutError(.cancelled, "the build was stopped", remedy: "build again to go on")
        }
        done += bytes
        onProgress?(
          SourceReading(
            bytesDone: min(done, total), bytesTotal: total, seconds: (ContinuousClock.now - start) / .seconds(1)))
      }
      try report(0)
      _ = try sha256(path, onBytes: report)
      before += size
    }
  }

  /// Writes the cache if it has changed.
  func save() throws {
    let entries = state.withLock { state -> [Entry]? in
      guard state.isChanged else { return nil }
      state.isChanged = false
      return state.known.values.filter { FileStamp($0.path) == $0.stamp }.sorted { $0.path < $1.path }
    }
    if let entries { try OutputFile.write(JSONValue(encoding: entries).bytes, to: file, replacing: true) }
  }

  private func lookUp(_ path: String) -> String? {
    guard let entry = state.withLock({ $0.known[path] }), entry.stamp == FileStamp(path) else { return nil }
    return entry.sha256
  }
}
