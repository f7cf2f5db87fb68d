import Support
import TileIndex

/// Makes files and state consistent after a kill or a power failure.
///
/// 1. Recorded renames and removals are carried out.
/// 2. Recorded replacements are carried out: the file was complete and verified. If its rename is done already, only
///    the record is missing.
/// 3. Files without a download are deleted.
/// 4. Regions whose file was deleted by others are not installed any more; they stay owned.
/// 5. Tile packs that are older than their whole region are deleted: it contains them.
///
/// Steps that a full disk has no room to record are left to the next start.
struct InstallRecovery {
  let state: RegionDatabase
  let files: OfflineRegionFiles
  let now: Int64

  func run() throws {
    try RegionRenaming(state: state, files: files).recover()
    for file in try state.installed(removing: true) { try remove(file.part) }
    for download in try state.downloads() where download.state == .switching {
      try RegionDatabase.ifRoom { try finishSwitch(download) }
    }
    files.sweep(keeping: try state.downloads())
    for file in try state.installed() {
      let status = try FileSystem.status(files.installed(file.part))
      if status?.kind != .file || status?.bytes != file.bytes {
        try RegionDatabase.ifRoom { try state.forget(file.part) }
      }
    }
    for file in try state.installed() where file.part.pack != nil {
      guard let whole = try state.installed(RegionPart(region: file.part.region)) else { continue }
      // Later tile packs belong to an edition that the whole does not have yet.
      guard whole.edition == file.edition || file.installedAt < whole.installedAt else { continue }
      try RegionDatabase.ifRoom { try state.noteRemoval(of: file.part) }
      try remove(file.part)
    }
  }

  private func remove(_ part: RegionPart) throws {
    try files.remove(part)
    try RegionDatabase.ifRoom { try state.forget(part) }
  }

  private func finishSwitch(_ download: Download) throws {
    let wanted = download.wanted
    if let found = try FileDigest.sha256(files.result(download)) {
      guard found == wanted.resultSHA256 else {
        // The disk lost data that it had reported as written.
        if wanted.kind == .patch { FileSystem.remove(files.result(download)) }
        try state.set(.fetching, of: download)
        return
      }
      try files.putInPlace(download)
      try state.finish(download, at: now)
    } else if try FileDigest.sha256(files.installed(wanted.part)) == wanted.resultSHA256 {
      try state.finish(download, at: now)
    } else {
      try state.drop(download)
    }
  }
}
