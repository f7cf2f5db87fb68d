/// Keeping to a size.
extension GrowingBundle {
  /// Bytes of all pages that hold something.
  static func byteCount(_ connection: SQLiteConnection) throws -> Int {
    func number(_ name: String) throws -> Int {
      let pragma = try connection.prepare("PRAGMA \(name)")
      return try pragma.step() ? pragma.int(0) : 0
    }
    return try (number("page_count") - number("freelist_count")) * number("page_size")
  }

  /// Removes tiles, those first that were not used for longest, until the file's used pages take less. The file itself does not get shorter: what is free in
  /// it is used for the next tiles.
  ///
  /// - Returns: how many went.
  /// - Complexity: O(tiles) for each thousand that go: they are sorted by their use, which keeps no index that every use would have to change.
  func evict(downTo byteCount: Int) throws -> Int {
    var count = 0
    while try Self.byteCount(connection) > byteCount {
      let oldest = try connection.prepare(
        "SELECT zoom_level, tile_column, tile_row FROM upstream ORDER BY used, fetched LIMIT \(Self.batchCount)")
      var places: [(Int, Int, Int)] = []
      while try oldest.step() { places.append((oldest.int(0), oldest.int(1), oldest.int(2))) }
      guard !places.isEmpty else { break }
      try connection.execute("BEGIN IMMEDIATE")
      do {
        for table in ["tiles", "upstream"] {
          let delete = try connection.prepare(
            "DELETE FROM \(table) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3")
          for place in places {
            delete.bind(place.0, at: 1)
            delete.bind(place.1, at: 2)
            delete.bind(place.2, at: 3)
            try delete.run()
          }
        }
        try connection.execute("COMMIT")
      } catch {
        try? connection.execute("ROLLBACK")
        throw error
      }
      count += places.count
    }
    return count
  }

  /// Few enough not to empty a small file, many enough not to sort a large one often.
  private static let batchCount = 64
}
