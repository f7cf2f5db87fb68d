import MapStoreWire
import Support

/// A region that the server knows by another name than the device.
struct RegionRename: Hashable, Sendable, Codable {
  let from: String
  let to: String
}

/// Gives installed regions and downloads other names, all or none of them, also after a kill. Nothing is downloaded.
///
/// 1. The intention is recorded.
/// 2. The files are moved aside, so that regions may exchange their names.
/// 3. One transaction renames all records, and records that the files are to follow.
/// 4. The files get their new names.
/// 5. The intention is removed.
struct RegionRenaming {
  let state: RegionDatabase
  let files: OfflineRegionFiles
  /// Called after each step; for tests.
  var onStep: (Step) throws -> Void = { _ in }

  enum Step: CaseIterable { case noted, aside, recorded, placed }

  private struct Intention: Codable {
    var renames: [RegionRename]
    /// Whether step 3 is done.
    var isRecorded = false
  }

  private static let setting = "renaming"

  /// - Parameter renames: no two have the same old name or the same new one; a region that is installed under a new
  ///   name is renamed too.
  /// - Throws: ``MapStoreError`` `.storage`, `.noSpace`: then nothing is renamed.
  func run(_ renames: [RegionRename]) throws {
    guard !renames.isEmpty else { return }
    try state.set(Self.setting, try Self.text(Intention(renames: renames)))
    try onStep(.noted)
    try finish(Intention(renames: renames))
  }

  /// Completes renames that a kill has interrupted.
  func recover() throws {
    guard let text = try state.setting(Self.setting) else { return }
    guard let intention = try? WireJSON.decode(Intention.self, from: Array(text.utf8)),
      intention.renames.allSatisfy({ RegionPart(region: $0.from).isSafe && RegionPart(region: $0.to).isSafe })
    else { return try state.set(Self.setting, nil) }
    try RegionDatabase.ifRoom { try finish(intention) }
  }

  private func finish(_ intention: Intention) throws {
    do {
      if !intention.isRecorded {
        for rename in intention.renames { try move(installed(rename.from), to: aside(rename)) }
        try onStep(.aside)
        do {
          let recorded = Intention(renames: intention.renames, isRecorded: true)
          try state.rename(intention.renames, noting: Self.setting, try Self.text(recorded))
        } catch {
          // As before: what is recorded must be in its place.
          for rename in intention.renames { try move(aside(rename), to: installed(rename.from)) }
          throw error
        }
        try onStep(.recorded)
      }
      for rename in intention.renames { try move(aside(rename), to: installed(rename.to)) }
      try FileSystem.synchronise(files.folder)
      try onStep(.placed)
    } catch let error as FileSystem.SystemError {
      throw MapStoreError(error, files.folder)
    }
    // Without room for it, the next start does nothing once more.
    try RegionDatabase.ifRoom { try state.set(Self.setting, nil) }
  }

  private static func text(_ intention: Intention) throws -> String {
    String(decoding: try WireJSON.encode(intention), as: UTF8.self)
  }

  private func installed(_ region: String) -> String { files.installed(RegionPart(region: region)) }
  private func aside(_ rename: RegionRename) -> String { "\(files.work)/\(rename.from).renamed" }

  /// Does nothing if the file was moved before, or was never there.
  private func move(_ path: String, to target: String) throws {
    guard try FileSystem.status(path) != nil else { return }
    // SQLite would apply journals of the one file to the other.
    for suffix in ["-wal", "-shm", "-journal"] { FileSystem.remove(path + suffix) }
    try FileSystem.rename(path, replacing: target)
  }
}

extension RegionDatabase {
  /// Renames the records of installed files and downloads, and notes a setting, in one transaction.
  fileprivate func rename(_ renames: [RegionRename], noting name: String, _ value: String) throws {
    let products = try renames.map { try product(of: $0.from) }
    try change { connection in
      func run(_ sql: String, _ values: String...) throws {
        let statement = try connection.prepare(sql)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        try statement.run()
      }
      for table in ["installed", "download"] {
        // Aside first, by a name that no region has.
        for rename in renames { try run("UPDATE \(table) SET region = '/' || ?1 WHERE region = ?1", rename.from) }
        for rename in renames {
          try run("UPDATE OR IGNORE \(table) SET region = ?2 WHERE region = '/' || ?1", rename.from, rename.to)
        }
        // What the region has under its new name too.
        try connection.execute("DELETE FROM \(table) WHERE region LIKE '/%'")
      }
      for (rename, product) in zip(renames, products) {
        if let product { try run("INSERT OR REPLACE INTO product VALUES (?, ?)", rename.to, product) }
      }
      try run("INSERT OR REPLACE INTO setting VALUES (?, ?)", name, value)
    }
  }
}
