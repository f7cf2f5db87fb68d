import Foundation
import Synchronization
import TileIndex

/// Hashes of everything that a region's files depend on, one for each step of making them. What only the catalogue says (category, price) is in none.
struct RegionFingerprints {
  /// Counts up when the same inputs shall give other files although the tool's version is the same.
  private static let revision = 1

  let bundle: String
  let preview: String
  let parcels: String

  /// - Throws: ``BundleError`` when an input cannot be read.
  init(_ region: RegionManifest.Region, _ options: CatalogBuildOptions, _ hashes: InputHashes) throws {
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
    try add("format", settings.format.rawValue)
    try add("quality", settings.quality)
    try add("resampling", settings.resampling)
    try add("nodata", settings.nodata)
    try add("crs", settings.crs)
    try add("attribution", settings.attribution)
    try add("edition", settings.edition)
    for source in settings.sources.map(options.manifest.resolved) {
      lines.append("source \(try hashes.sha256(source))")
      for side in SideFiles(path: source).present { lines.append("side \(try hashes.sha256(side))") }
    }
    for file in settings.gazetteers.map(options.manifest.resolved) {
      lines.append("gazetteer \(try hashes.sha256(file))")
    }
    bundle = FileHash.sha256(ofText: lines.joined(separator: "\n"))

    let picture = settings.preview
    let box = (picture.bounds ?? region.boundsAcrossAntimeridian).map {
      "\($0.west) \($0.south) \($0.east) \($0.north)"
    }
    preview = FileHash.sha256(
      ofText: "\(bundle) preview \(box ?? "-") \(picture.zoom ?? -1) \(picture.width ?? -1) \(picture.height ?? -1)")
    parcels = FileHash.sha256(ofText: "\(bundle) parcels \(options.parcelBytesMax ?? settings.parcelBytesMax ?? -1)")
  }
}

extension SideFiles {
  /// The paths of those that are there: which one counts may depend on which others are.
  var present: [String] {
    (worldFileSuffixes + ["prj", "PRJ"]).map(path(withSuffix:)).filter(CatalogFiles.exists)
  }
}

/// SHA-256 of input files, remembered by path, size, time of the last change and inode, so that gigabytes are not read again to find that nothing has changed.
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
  /// Only one file is read at a time: the disk is the bottleneck, and regions share sources.
  private let reading = NSLock()

  /// - Parameter file: where hashes are kept from one build to the next; what cannot be read there is forgotten.
  init(file: String) {
    self.file = file
    let entries = (try? JSONFile.read(file).decoded(as: [Entry].self)) ?? []
    state = Mutex(State(known: Dictionary(entries.map { ($0.path, $0) }, uniquingKeysWith: { $1 })))
  }

  /// The hash of a file's content.
  ///
  /// - Throws: ``BundleError`` when it cannot be read.
  func sha256(_ path: String) throws -> String {
    // The same file by whatever name, from wherever the build was started.
    let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
    if let known = lookUp(absolute) { return known }
    reading.lock()
    defer { reading.unlock() }
    if let known = lookUp(absolute) { return known }
    let before = FileStamp(absolute)
    let hash = try FileHash.sha256(ofFile: path)
    // A file that was written to meanwhile has no hash that could be remembered.
    if let before, FileStamp(absolute) == before {
      state.withLock { state in
        state.known[absolute] = Entry(path: absolute, stamp: before, sha256: hash)
        state.isChanged = true
      }
    }
    return hash
  }

  /// Writes down what is new.
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
