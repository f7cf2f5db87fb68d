import Support
import TileIndex

/// Brings files and state together again after the process was killed or the device lost its power.
///
/// 1. Removals that were noted are carried out.
/// 2. Switches that were noted are carried out: the file was complete and verified then. Where its rename is done already, only the note is missing.
/// 3. Files of no download go.
/// 4. What somebody else has taken out of the folder is installed no more; it stays owned.
/// 5. Parcels go that were there before their whole region was: it has all that they had.
///
/// Steps that a full disk has no room to note are left to the next opening: what is there can be looked at, and removed.
struct ShelfRecovery {
  let state: ShelfState
  let files: ShelfFiles
  let now: Int64

  func run() throws {
    for file in try state.installed(removing: true) { try remove(file.part) }
    for download in try state.downloads() where download.state == .switching {
      try ShelfState.ifRoom { try finishSwitch(download) }
    }
    files.sweep(keeping: try state.downloads())
    for file in try state.installed() {
      let status = try FileSystem.status(files.installed(file.part))
      if status?.kind != .file || status?.bytes != file.bytes { try ShelfState.ifRoom { try state.forget(file.part) } }
    }
    for file in try state.installed() where file.part.parcel != nil {
      guard let whole = try state.installed(ShelfPart(region: file.part.region)) else { continue }
      // Those that came later are of an edition that the whole does not have yet.
      guard whole.edition == file.edition || file.installedAt < whole.installedAt else { continue }
      try ShelfState.ifRoom { try state.noteRemoval(of: file.part) }
      try remove(file.part)
    }
  }

  private func remove(_ part: ShelfPart) throws {
    try files.remove(part)
    try ShelfState.ifRoom { try state.forget(part) }
  }

  private func finishSwitch(_ download: Download) throws {
    let wanted = download.wanted
    if let found = try FileDigest.sha256(files.result(download)) {
      guard found == wanted.resultSHA256 else {
        // The disk has lost what it promised to keep.
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
