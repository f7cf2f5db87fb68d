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
