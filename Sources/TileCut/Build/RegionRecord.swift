import RegionCatalog
import TileIndex

/// What was made for a region and from what: by it a later build knows what it need not make again.
struct RegionRecord: Codable, Equatable, Sendable {
  /// A file that is on the shelf, or finished and on its way there.
  struct MadeFile: Codable, Equatable, Sendable {
    var file: Catalogue.File
    /// The file's state after it was made; a rename does not change it.
    var stamp: FileStamp
  }

  /// Files that are made in one step from the same inputs.
  struct Piece: Codable, Equatable, Sendable {
    /// A hash of everything that they depend on.
    let fingerprint: String
    var files: [MadeFile]
  }

  var bundle: Piece
  var facts: Catalogue.BundleFacts
  var preview: Piece?
  var parcels: Piece?
  var parcelEntries: [Catalogue.Parcel] = []
  var patches: Piece?
  var patchEntries: [Catalogue.Patch] = []

  var files: [MadeFile] { [bundle, preview, parcels, patches].compactMap { $0?.files }.flatMap { $0 } }

  /// The record of a region; nil when there is none that can be read, which means that all is made anew.
  init?(path: String) {
    guard let record = try? JSONFile.read(path).decoded(as: RegionRecord.self) else { return nil }
    self = record
  }

  init(bundle: Piece, facts: Catalogue.BundleFacts) { (self.bundle, self.facts) = (bundle, facts) }

  func write(to path: String) throws {
    try OutputFile.write(JSONValue(encoding: self).bytes, to: path, replacing: true)
  }

  /// The region as the catalogue has it.
  func entry(_ region: RegionManifest.Region) -> Catalogue.Region {
    Catalogue.Region(
      region, bundle: bundle.files[0].file, facts: facts, preview: preview?.files.first?.file, parcels: parcelEntries,
      patches: patchEntries)
  }
}

extension RegionRecord.Piece {
  /// The files, when the fingerprint is this one and every file is as it was made; nil otherwise.
  ///
  /// A file whose state has changed, as in a copy of the folder, is read to see whether its content has.
  func intact(_ fingerprint: String, in folder: ShelfFolder) -> RegionRecord.Piece? {
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

extension ShelfFolder {
  /// True for a file that is finished but not yet on the shelf.
  func isWaiting(_ made: RegionRecord.MadeFile) -> Bool { FileStamp(finished(made.file.file)) == made.stamp }

  /// Where a file lies that was made before; nil when it is gone or has changed.
  func place(of made: RegionRecord.MadeFile) -> String? {
    let places = [finished(made.file.file), file(made.file.file)]
    if let place = places.first(where: { FileStamp($0) == made.stamp }) { return place }
    return places.first { place in
      FileStamp(place)?.bytes == made.file.bytes && (try? FileHash.sha256(ofFile: place)) == made.file.sha256
    }
  }
}
