import MapStoreWire
import Support
import TileIndex

/// The library, and the installed files.
extension RegionDatabase {
  /// The library as of the last answer of the server; empty before the first one.
  func library() throws -> [LibraryRegion] {
    let messages = try run { connection in
      let statement = try connection.prepare("SELECT message FROM library ORDER BY position")
      var messages: [String] = []
      while try statement.step() { messages.append(statement.text(0)) }
      return messages
    }
    // Messages of other versions of this software are ignored: the server is asked again soon.
    return messages.compactMap { message in
      guard let region = try? WireJSON.decode(LibraryRegion.self, from: Array(message.utf8)),
        (try? region.check()) != nil
      else { return nil }
      return region
    }
  }

  func replaceLibrary(_ regions: [LibraryRegion]) throws {
    try change { connection in
      try connection.execute("DELETE FROM library")
      let insert = try connection.prepare("INSERT OR REPLACE INTO library VALUES (?, ?, ?)")
      // What is installed keeps the product under which it was.
      let note = try connection.prepare(
        """
        INSERT INTO product VALUES (?1, ?2) ON CONFLICT (region) DO UPDATE SET product = excluded.product
        WHERE region NOT IN (SELECT region FROM installed)
        """)
      for (position, region) in regions.enumerated() {
        insert.bind(1, position)
        insert.bind(2, region.id)
        insert.bind(3, String(decoding: try WireJSON.encode(region), as: UTF8.self))
        try insert.run()
        note.bind(1, region.id)
        note.bind(2, region.productId)
        try note.run()
      }
    }
  }

  /// The product of a region, if the server ever named it; also of regions that left the library.
  func product(of region: String) throws -> String? {
    try run { connection in
      let statement = try connection.prepare("SELECT product FROM product WHERE region = ?")
      statement.bind(1, region)
      return try statement.step() ? statement.optionalText(0) : nil
    }
  }

  func note(product: String, of region: String) throws {
    guard try self.product(of: region) != product else { return }
    try run { connection in
      let insert = try connection.prepare("INSERT OR REPLACE INTO product VALUES (?, ?)")
      insert.bind(1, region)
      insert.bind(2, product)
      try insert.run()
    }
  }

  // MARK: Installed files

  /// The installed files, whole regions before their tile packs.
  func installed(removing: Bool = false) throws -> [InstalledFile] {
    try run { connection in
      let statement = try connection.prepare(
        """
        SELECT region, pack, edition, bytes, sha256, tiles_hash, installed_at, used_at FROM installed
        WHERE removing = \(removing ? 1 : 0) ORDER BY region, pack
        """)
      var files: [InstalledFile] = []
      while try statement.step() {
        guard let part = statement.part(0) else { continue }
        files.append(
          InstalledFile(
            part: part, edition: statement.text(2), bytes: statement.int(3),
            sha256: statement.text(4), tilesHash: statement.optionalText(5), installedAt: Int64(statement.int(6)),
            usedAt: Int64(statement.int(7))))
      }
      return files
    }
  }

  func installed(_ part: RegionPart) throws -> InstalledFile? { try installed().first { $0.part == part } }

  /// Turns a download into an installed file.
  func finish(_ download: Download, at time: Int64) throws {
    let wanted = download.wanted
    try change { connection in
      let insert = try connection.prepare(
        """
        INSERT INTO installed (region, pack, edition, bytes, sha256, tiles_hash, installed_at, used_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (region, pack) DO UPDATE SET edition = excluded.edition,
        bytes = excluded.bytes, sha256 = excluded.sha256, tiles_hash = excluded.tiles_hash,
        installed_at = excluded.installed_at, removing = 0
        """)
      insert.bind(1, wanted.part)
      insert.bind(3, wanted.edition)
      insert.bind(4, wanted.resultBytes)
      insert.bind(5, wanted.resultSHA256)
      insert.bind(6, wanted.tilesHash)
      insert.bind(7, Int(time))
      insert.bind(8, Int(time))
      try insert.run()
      try connection.execute("DELETE FROM download WHERE id = \(download.id)")
    }
  }

  func noteUse(of part: RegionPart, at time: Int64) throws {
    try update("UPDATE installed SET used_at = max(used_at, \(time)) WHERE region = ? AND pack = ?", part)
  }

  /// Records that the file is about to be deleted.
  func noteRemoval(of part: RegionPart) throws {
    try update("UPDATE installed SET removing = 1 WHERE region = ? AND pack = ?", part)
  }

  /// Records that the file is deleted.
  func forget(_ part: RegionPart) throws {
    try update("DELETE FROM installed WHERE region = ? AND pack = ?", part)
  }

  private func update(_ sql: String, _ part: RegionPart) throws {
    try run { connection in
      let statement = try connection.prepare(sql)
      statement.bind(1, part)
      try statement.run()
    }
    onChange()
  }
}
