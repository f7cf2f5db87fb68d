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
    return messages.compactMap { try? WireJSON.decode(LibraryRegion.self, from: Array($0.utf8)) }
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
      }
    }
  }
}
