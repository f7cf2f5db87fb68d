import RegionCatalog
import Support
import Synchronization
import TileIndex

/// What a region's files depend on: the ``CutIdentity`` of its bundle, and a hash for each step. Facts that only the
/// catalogue holds (category, price) are in none of them.
struct RegionFingerprints {
  /// Incremented when the same inputs must give other files although the tool's version is unchanged.
  private static let revision = 6

  let identity: CutIdentity
  let bundle: String
  let preview: String
  let packs: String

  /// - Parameters:
  ///   - known: what was made last. Its fonts are taken over if the same ones are installed and all else is as it was.
  ///   - cutter: opens sources and layers; called where labels are drawn in fonts that are not known.
  /// - Throws: ``BundleError`` if an input cannot be read; ``CutError``.
  init(
    _ region: RegionManifest.Region, _ options: CatalogBuildOptions, _ hashes: InputHashes, known: RegionRecord?,
    cutter: () throws -> Cutter
  ) throws {
    let cut = CutOptions(of: region, in: options.manifest)
    let libraries = LibraryIdentity.all(for: cut)
    guard cut.drawsLabels else {
      try self.init(region, options, hashes, libraries: libraries)
      return
    }
    // Noted before fonts are looked for, so that one that changes meanwhile is noticed the next time.
    let installed = LibraryIdentity.installedFonts
    if let made = known?.identity, let installed, installed == known?.installedFonts {
      let same = try Self(region, options, hashes, libraries: libraries + made.libraries.filter(\.isFont))
      if same.identity.digest == made.digest {
        self = same
        return
      }
    }
    try self.init(region, options, hashes, libraries: libraries + cutter().fonts())
  }

  /// - Parameter libraries: with the fonts.
  init(
    _ region: RegionManifest.Region, _ options: CatalogBuildOptions, _ hashes: InputHashes,
    libraries: [LibraryIdentity]
  ) throws {
    identity = CutIdentity(
      toolVersion: "\(options.toolVersion) (\(Self.revision))", libraries: libraries,
      sources: try Self.inputs(of: region, options).map { try SourceIdentity(path: $0) { try hashes.sha256($0) } },
      options: CutOptions(of: region, in: options.manifest), name: region.title)
    let settings = region.settings
    func hash(_ words: String) -> String { FileHash.sha256(ofText: words) }
    bundle = hash("\(identity.digest) \(settings.container.rawValue)")
    let box = settings.preview.bounds ?? region.boundsAcrossAntimeridian
    preview = hash("\(bundle) preview \(CutIdentity.text(settings.preview)) \(CutIdentity.text(box as Any))")
    packs = hash("\(bundle) packs \(options.packBytesMax ?? settings.packBytesMax ?? -1)")
  }

  /// The files that are read for a region.
  private static func inputs(of region: RegionManifest.Region, _ options: CatalogBuildOptions) -> [String] {
    let cut = CutOptions(of: region, in: options.manifest)
    return cut.sources + cut.drawing.flatMap(\.files) + region.settings.gazetteers.map(options.manifest.resolved)
  }

  /// The files whose content is in the hashes.
  static func files(of region: RegionManifest.Region, _ options: CatalogBuildOptions) -> [String] {
    inputs(of: region, options).flatMap { [$0] + SourceIdentity.others(of: $0) }
  }

  /// Bundle, preview, packs and patches as one hash, for plans.
  func inputs(patches: String) -> String { Self.inputs([bundle, preview, packs, patches]) }

  static func inputs(_ steps: [String]) -> String { FileHash.sha256(ofText: steps.joined(separator: "\n")) }

  /// Why a bundle is made again, for people; nil if there is none yet.
  func reason(after record: RegionRecord?) -> String? {
    guard let record else { return nil }
    guard let made = record.identity else { return "earlier builds did not note fonts and libraries" }
    return identity.difference(from: made)
      ?? (record.bundle.fingerprint == bundle ? "its files were changed or removed" : "its container is another")
  }
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
