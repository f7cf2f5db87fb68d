import Support

/// The files in the folder of regions.
///
/// | | |
/// |---|---|
/// | `REGION.mbtiles`, tile packs by their own names | installed bundles: always complete and verified |
/// | `.mapstore/state.sqlite` | installed files, library, downloads (``RegionDatabase``) |
/// | `.mapstore/lock` | locked by the process that uses the folder |
/// | `.mapstore/N.part` | a download |
/// | `.mapstore/N.new` | the result of a patch |
/// | `.mapstore/REGION.renamed` | a bundle that is about to get another name (``RegionRenaming``) |
struct OfflineRegionFiles: Sendable {
  let folder: String
  var work: String { "\(folder)/.mapstore" }
  var state: String { "\(work)/state.sqlite" }
  var lock: String { "\(work)/lock" }

  func installed(_ part: RegionPart) -> String { "\(folder)/\(part.fileName)" }
  func part(_ download: Download) -> String { "\(work)/\(download.partName)" }
  func result(_ download: Download) -> String { "\(work)/\(download.resultName)" }

  /// Renames the finished file over the old edition. Open readers keep the old file.
  func putInPlace(_ download: Download) throws {
    let target = installed(download.wanted.part)
    // SQLite would apply journals of the old edition to the new one.
    for suffix in ["-wal", "-shm", "-journal"] { FileSystem.remove(target + suffix) }
    try FileSystem.rename(result(download), replacing: target)
    try FileSystem.synchronise(folder)
  }

  func remove(_ part: RegionPart) throws {
    for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.remove(installed(part) + suffix) }
    try FileSystem.synchronise(folder)
  }

  func removeParts(of download: Download) {
    FileSystem.remove(part(download))
    FileSystem.remove(result(download))
  }

  /// Deletes files without a download: remains of downloads that were dropped when the process was killed.
  func sweep(keeping downloads: [Download]) {
    let kept = Set(downloads.flatMap { [$0.partName, $0.resultName] } + [".", "..", "lock"])
    for name in FileSystem.names(in: work) where !kept.contains(name) && !name.hasPrefix("state.sqlite") {
      FileSystem.remove("\(work)/\(name)")
    }
  }
}
