import MapStoreWire
import TileIndex

extension ShelfState {
  /// The library as the server told it last; empty before it was asked.
  func library() throws -> [LibraryRegion] {
    let messages = try run { connection in
      let statement = try connection.prepare("SELECT message FROM library ORDER BY position")
      var messages: [String] = []
      while try statement.step() { messages.append(statement.text(0) ?? "") }
      return messages
    }
    // A message of another version of this software is as good as none: the server is asked again soon.
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
      for (position, region) in regions.enumerated() {
        insert.bind(position, at: 1)
        try insert.bind(region.id, at: 2)
        try insert.bind(String(decoding: try WireJSON.encode(region), as: UTF8.self), at: 3)
        try insert.run()
        try Self.note(product: region.productId, of: region.id, in: connection)
      }
    }
  }

  /// The product by which a region is bought, as far as the server ever told it: also of one that is in the library no more.
  func product(of region: String) throws -> String? {
    try run { connection in
      let statement = try connection.prepare("SELECT product FROM product WHERE region = ?")
      try statement.bind(region, at: 1)
      return try statement.step() ? statement.text(0) : nil
    }
  }

  func note(product: String, of region: String) throws {
    guard try self.product(of: region) != product else { return }
    try run { try Self.note(product: product, of: region, in: $0) }
  }

  private static func note(product: String, of region: String, in connection: SQLiteConnection) throws {
    let insert = try connection.prepare("INSERT OR REPLACE INTO product VALUES (?, ?)")
    try insert.bind(region, at: 1)
    try insert.bind(product, at: 2)
    try insert.run()
  }
}

extension ShelfState {
  /// What is installed, whole regions before their parcels.
  func installed(removing: Bool = false) throws -> [InstalledFile] {
    try run { connection in
      let statement = try connection.prepare(
        """
        SELECT region, parcel, edition, bytes, sha256, tiles_hash, installed_at, used_at FROM installed
        WHERE removing = \(removing ? 1 : 0) ORDER BY region, parcel
        """)
      var files: [InstalledFile] = []
      while try statement.step() {
        guard let part = statement.part(0) else { continue }
        files.append(
          InstalledFile(
            part: part, edition: statement.text(2) ?? "", bytes: statement.int(3),
            sha256: statement.text(4) ?? "", tilesHash: statement.text(5), installedAt: Int64(statement.int(6)),
            usedAt: Int64(statement.int(7))))
      }
      return files
    }
  }

  func installed(_ part: ShelfPart) throws -> InstalledFile? { try installed().first { $0.part == part } }

  /// A download has become an installed file.
  func finish(_ download: Download, at time: Int64) throws {
    let wanted = download.wanted
    try change { connection in
      let insert = try connection.prepare(
        """
        INSERT INTO installed (region, parcel, edition, bytes, sha256, tiles_hash, installed_at, used_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (region, parcel) DO UPDATE SET edition = excluded.edition,
        bytes = excluded.bytes, sha256 = excluded.sha256, tiles_hash = excluded.tiles_hash,
        installed_at = excluded.installed_at, removing = 0
        """)
      try insert.bind(wanted.part, at: 1)
      try insert.bind(wanted.edition, at: 3)
      insert.bind(wanted.resultBytes, at: 4)
      try insert.bind(wanted.resultSHA256, at: 5)
      try insert.bind(optional: wanted.tilesHash, at: 6)
      insert.bind(Int(time), at: 7)
      insert.bind(Int(time), at: 8)
      try insert.run()
      try connection.execute("DELETE FROM download WHERE id = \(download.id)")
    }
  }

  func noteUse(of part: ShelfPart, at time: Int64) throws {
    try update("UPDATE installed SET used_at = max(used_at, \(time)) WHERE region = ? AND parcel = ?", part)
  }

  /// Its file is about to go.
  func noteRemoval(of part: ShelfPart) throws {
    try update("UPDATE installed SET removing = 1 WHERE region = ? AND parcel = ?", part)
  }

  /// Its file is gone.
  func forget(_ part: ShelfPart) throws {
    try update("DELETE FROM installed WHERE region = ? AND parcel = ?", part)
  }

  private func update(_ sql: String, _ part: ShelfPart) throws {
    try run { connection in
      let statement = try connection.prepare(sql)
      try statement.bind(part, at: 1)
      try statement.run()
    }
  }
}
