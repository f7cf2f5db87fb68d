import Support
import TileIndex

/// Where a shelf keeps what.
///
/// | | |
/// |---|---|
/// | `REGION.mbtiles`, parcels by their own names | installed bundles: whole and verified, always |
/// | `.mapstore/state.sqlite` | what is installed, owned and on its way |
/// | `.mapstore/lock` | held by the process that has the shelf |
/// | `.mapstore/N.part` | a download |
/// | `.mapstore/N.new` | what a patch has made |
struct ShelfFiles: Sendable {
  let folder: String
  var work: String { "\(folder)/.mapstore" }
  var state: String { "\(work)/state.sqlite" }
  var lock: String { "\(work)/lock" }

  func installed(_ part: ShelfPart) -> String { "\(folder)/\(part.fileName)" }
  func part(_ download: Download) -> String { "\(work)/\(download.partName)" }
  func result(_ download: Download) -> String { "\(work)/\(download.resultName)" }

  /// Gives the finished file its place, over the old edition. Who has that open reads on in it.
  func putInPlace(_ download: Download) throws {
    let target = installed(download.wanted.part)
    // What a program left beside the old edition would be played back into the new one.
    for suffix in ["-wal", "-shm", "-journal"] { FileSystem.remove(target + suffix) }
    try FileSystem.rename(result(download), replacing: target)
    try FileSystem.synchronise(folder)
  }

  func remove(_ part: ShelfPart) throws {
    for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.remove(installed(part) + suffix) }
    try FileSystem.synchronise(folder)
  }

  func removeParts(of download: Download) {
    FileSystem.remove(part(download))
    FileSystem.remove(result(download))
  }

  /// Removes what no download has: remains of those that were given up as the process died.
  func sweep(keeping downloads: [Download]) {
    let kept = Set(downloads.flatMap { [$0.partName, $0.resultName] } + [".", "..", "lock"])
    for name in FileSystem.names(in: work) where !kept.contains(name) && !name.hasPrefix("state.sqlite") {
      FileSystem.remove("\(work)/\(name)")
    }
  }
}
