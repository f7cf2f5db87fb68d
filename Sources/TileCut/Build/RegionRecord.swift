import RegionCatalog
import Support
import TileIndex

/// What was made for a region and from which inputs; tells a later build what it can keep.
struct RegionRecord: Codable, Equatable, Sendable {
  /// A file that is published, or finished and not published yet.
  struct MadeFile: Codable, Equatable, Sendable {
    var file: Catalog.File
    /// The file's state after it was made; a rename does not change it.
    var stamp: FileStamp
  }

  /// Files that one step makes from the same inputs.
  struct Piece: Codable, Equatable, Sendable {
    /// A hash of all inputs of the step.
    let fingerprint: String
    var files: [MadeFile]
  }

  var bundle: Piece
  /// The text of the bundle's ``CutIdentity``; nil in records of earlier builds.
  private var cut: String?
  /// ``LibraryIdentity/installedFonts`` when it was made or last found to be the same.
  var installedFonts: String?
  var facts: Catalog.BundleFacts
  var preview: Piece?
  var packs: Piece?
  var packEntries: [Catalog.TilePack] = []
  var patches: Piece?
  var patchEntries: [Catalog.Patch] = []

  var files: [MadeFile] { [bundle, preview, packs, patches].compactMap { $0?.files }.flatMap { $0 } }

  /// What the bundle depends on.
  var identity: CutIdentity? { cut.flatMap { try? JSONValue(parsing: Array($0.utf8)) }.flatMap(CutIdentity.init) }

  /// The ``RegionFingerprints/inputs(_:)`` of what was made; nil while a step is to be made.
  var inputs: String? {
    let steps = [bundle, preview, packs, patches].compactMap { $0?.fingerprint }
    return steps.count == 4 ? RegionFingerprints.inputs(steps) : nil
  }

  /// The record of a region; nil if it cannot be read, and then everything is made again.
  init?(path: String) {
    guard let record = try? JSONFile.read(path).decoded(as: RegionRecord.self) else { return nil }
    self = record
  }

  init(bundle: Piece, identity: CutIdentity, facts: Catalog.BundleFacts) {
    (self.bundle, cut, self.facts) = (bundle, identity.json.text, facts)
  }

  func write(to path: String) throws {
    try OutputFile.write(JSONValue(encoding: self).bytes, to: path, replacing: true)
  }

  /// The report of a build that ended well.
  func report(
    _ region: RegionManifest.Region, _ outcome: RegionReport.Outcome, reason: String? = nil, seconds: Double,
    warnings: [String] = []
  ) -> RegionReport {
    RegionReport(
      id: region.id, edition: region.settings.edition, outcome: outcome, reason: reason, tileCount: facts.tileCount,
      bytes: bundle.files[0].file.bytes, packCount: packEntries.count, patchCount: patchEntries.count,
      seconds: seconds, warnings: warnings, error: nil)
  }

  /// The region's entry in the catalogue.
  func entry(_ region: RegionManifest.Region) -> Catalog.Region {
    let (settings, across) = (region.settings, region.boundsAcrossAntimeridian)
    return Catalog.Region(
      region.names, title: region.title, category: region.category, description: region.description,
      bounds: across.map { [$0.west, facts.bounds[1], $0.east, facts.bounds[3]] } ?? facts.bounds,
      boundary: region.boundary, matrixSet: settings.cut.matrixSet, edition: settings.edition,
      attribution: settings.cut.attribution, priceTier: settings.priceTier, bundle: bundle.files[0].file, facts: facts,
      preview: preview?.files.first?.file,
      previewBounds: settings.preview.bounds.map { [$0.west, $0.south, $0.east, $0.north] }, packs: packEntries,
      patches: patchEntries)
  }
}

extension RegionRecord.Piece {
  /// The files, if the fingerprint is equal and every file is unchanged; else nil.
  ///
  /// If a file's state differs, as in a copy of the folder, its content is hashed.
  func intact(_ fingerprint: String, in folder: CatalogFolder) -> RegionRecord.Piece? {
    guard fingerprint == self.fingerprint else { return nil }
    var piece = self
    for (index, made) in files.enumerated() {
      guard let place = folder.place(of: made) else { return nil }
      guard let stamp = FileStamp(place) else { return nil }
      piece.files[index].stamp = stamp
    }
    return piece
  }
}

extension CatalogFolder {
  /// True for a file that is finished but not published yet.
  func isWaiting(_ made: RegionRecord.MadeFile) -> Bool { FileStamp(finished(made.file.file)) == made.stamp }

  /// The path of a file that was made before; nil if it is missing or has changed.
  func place(of made: RegionRecord.MadeFile) -> String? {
    let places = [finished(made.file.file), file(made.file.file)]
    if let place = places.first(where: { FileStamp($0) == made.stamp }) { return place }
    return places.first { place in
      FileStamp(place)?.bytes == made.file.bytes && (try? FileHash.sha256(ofFile: place)) == made.file.sha256
    }
  }
}
